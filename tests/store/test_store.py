"""What a store does with memories: reads them, applies plans or refuses them, takes them back, and erases them."""

from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import apsw
import pytest

from recollect.base.errors import Conflict, NotFound, StoreBusy, StoreDamaged
from recollect.lifecycle import edits
from recollect.lifecycle.edits import Whole
from recollect.model.codec import encode
from recollect.model.memory import BridgeType, Kind, Message, Rating, Rule, Sketch, Status, Thread
from recollect.model.plan import (
    Alias,
    Change,
    Create,
    Link,
    Move,
    Plan,
    Remove,
    Say,
    Unalias,
    Unlink,
    Unsay,
    Update,
    UpdateAll,
)
from recollect.model.query import Drop, Query
from recollect.store import LocalStore, SqliteStore, Store, Tuning, rows
from tests.store.helpers import (
    AUTH,
    DEPLOY,
    DEPLOYED,
    HOUSE,
    LINK,
    OLD,
    SAID,
    TABS,
    do,
    merge_plan,
    search,
    state,
    traces,
    vector,
)
from tests.values import AGE, MINT, NOW, act, bridge, messages, note, plan, renamed, rule, thread

NOBODY = "thread_20200101_000000_000000"
NEW = thread("New", topics=("ui",))
WHOLE = Whole(DEPLOY, DEPLOYED, (LINK,), (OLD,))


def renaming(memory: Thread | Rule, title: str) -> Update:
    return Update.between(memory, renamed(memory, title))


# Every kind of change, alone and as the plans that people make.
PLANS: dict[str, Plan | Drop] = {
    "create": plan(Create(NEW, messages(NEW, "dark", "tabs")), Link(bridge(NEW, AUTH))),
    "remove": edits.delete(WHOLE),
    "remove what has no ties": plan(Remove(TABS)),
    "update": edits.revise(
        AUTH, title="Dark", body="Dark tabs 日本", topics=("solana",), now=NOW.plus(days=1)
    ),
    "move": plan(Move((SAID[0].id, SAID[2].id), AUTH.id, DEPLOY.id)),
    "say": plan(Say(DEPLOY.id, messages(DEPLOY, "the validators are up", "日本"))),
    "unsay": plan(Unsay(AUTH.id, SAID[1:])),
    "link": plan(Link(bridge(TABS, AUTH, BridgeType.SIBLING, 0.25))),
    "unlink": plan(Unlink(LINK)),
    "alias": plan(Alias("thread_20240101_000000_000002", AUTH.id)),
    "unalias": plan(Unalias(OLD, DEPLOY.id)),
    "merge": edits.merge(Whole(AUTH, SAID, (LINK,)), WHOLE, now=NOW, rules=AGE),
    "split": edits.split(AUTH, SAID, ("billing",), new_id=MINT.draw("thread"), now=NOW),
    "archive": edits.archive(DEPLOY),
}

# What was true when the plan was made, and no longer is.
STALE: dict[str, Change] = {
    "a creation under a taken id": Create(renamed(AUTH, "Somebody else's")),
    "an update": Update.between(renamed(TABS, "Was"), renamed(TABS, "Wanted")),
    "an update of a counter": Update(TABS.id, {"weight": 0.3}, {"weight": 0.5}),
    "an update of nobody": Update(NOBODY, {"title": "a"}, {"title": "b"}),
    "a removal of other words": Remove(renamed(TABS, "Was")),
    "a removal of other messages": Remove(AUTH, SAID[:2]),
    "a removal of what others need": Remove(AUTH, SAID),
    "a move of messages that are elsewhere": Move((SAID[0].id,), DEPLOY.id, TABS.id),
    "a move of some that are elsewhere": Move((SAID[0].id, DEPLOYED[0].id), AUTH.id, TABS.id),
    "a move to nobody": Move((SAID[0].id,), AUTH.id, NOBODY),
    "a message that is elsewhere": Say(DEPLOY.id, (replace(SAID[0], thread_id=DEPLOY.id),)),
    "a message of other words": Say(AUTH.id, (replace(SAID[0], content="Never said"),)),
    "a message to nobody": Say(
        "thread_x", (Message("message_x", "thread_x", NOW, "user", "Hello"),)
    ),
    "a message gone that is elsewhere": Unsay(DEPLOY.id, SAID[:1]),
    "a message gone that is another": Unsay(AUTH.id, (replace(SAID[0], content="Never said"),)),
    "a bridge of another weight": Link(replace(LINK, weight=0.9)),
    "a bridge to nobody": Link(bridge(AUTH, note("Nobody"))),
    "a bridge gone that is another": Unlink(replace(LINK, weight=0.9)),
    "an alias of another": Alias(OLD, AUTH.id),
    "an alias to nobody": Alias("thread_x", "thread_y"),
    "an alias gone that is another": Unalias(OLD, AUTH.id),
}


# Plans, each applied after the other, of which the first cannot be undone because of the later ones.
LATE_UNDOS: dict[str, tuple[tuple[Change, ...], ...]] = {
    "a creation that was reworded": ((Create(NEW),), (renaming(NEW, "Newer"),)),
    "a creation that was linked": ((Create(NEW),), (Link(bridge(AUTH, NEW)),)),
    "a creation that got messages": ((Create(NEW),), (Move((SAID[0].id,), AUTH.id, NEW.id),)),
    "a revision under a later one": ((renaming(TABS, "Second"),), (renaming(renamed(TABS, "Second"), "Third"),)),
    "a link that was made again differently": (
        (Link(bridge(TABS, AUTH)),), (Unlink(bridge(TABS, AUTH)),), (Link(bridge(TABS, AUTH, weight=0.9)),),
    ),
    "an alias that was given away": (
        (Alias("thread_x", AUTH.id),), (Unalias("thread_x", AUTH.id),), (Alias("thread_x", DEPLOY.id),),
    ),
    "a deletion whose link lost its other end": (edits.delete(WHOLE).changes, (Remove(AUTH, SAID),)),
}  # fmt: skip


def check_refused(store: Store, attempt: Callable[[], object]) -> None:
    """A Conflict, and nothing differs."""
    before, log, counts = state(store), store.log(limit=100), store.counts()
    with pytest.raises(Conflict):
        attempt()
    assert (state(store), store.log(limit=100), store.counts()) == (before, log, counts)


# Reading


def test_what_was_created_can_be_read_and_an_alias_answers_as_what_it_became(house: Store):
    assert house.get(AUTH.id) == house.get(AUTH.id, follow=False) == AUTH
    assert (house.get(OLD), house.get(OLD, follow=False)) == (DEPLOY, None)
    assert house.records(Alias, new=DEPLOY.id) == [Alias(OLD, DEPLOY.id)]
    assert house.messages(AUTH.id) == SAID
    assert house.messages(ids=[SAID[0].id, "message_x"]) == SAID[:1]
    strangers = [f"t{n}" for n in range(40_000)]
    assert (
        house.bridges(DEPLOY.id) == house.bridges() == house.bridges(*strangers, AUTH.id) == (LINK,)
    )
    assert house.bridges(TABS.id) == ()
    assert (house.get(NOBODY), house.messages(NOBODY), house.records(Alias, new=NOBODY)) == (
        None,
        (),
        [],
    )
    assert house.log(limit=5, memory=NOBODY) == []
    assert not house.apply(Plan(), act())


@pytest.mark.parametrize(
    ("query", "titles"),
    [
        (Query(), ["Auth", "Deploy", "Tabs", "Old"]), (Query(limit=1), ["Auth"]),  # most recently active first
        (Query(kinds=(Kind.RULE,)), ["Tabs"]), (Query(kinds=(Kind.NOTE,)), []),
        (Query(statuses=(Status.ARCHIVED,)), ["Old"]),
        (Query(statuses=(Status.ACTIVE,), kinds=(Kind.THREAD,)), ["Auth", "Deploy"]),
        (Query(topic="AUTH"), ["Auth"]), (Query(topic="aut"), []), (Query(group="session-1"), ["Old"]),
        (Query(since=NOW.plus(days=-2)), ["Auth", "Deploy"]),
        (Query(until=NOW.plus(days=-2)), ["Deploy", "Tabs", "Old"]),
        (Query(since=NOW.plus(days=-3), until=NOW.plus(days=-1)), ["Deploy"]),
    ],
)  # fmt: skip
def test_filters_hold_for_finding_and_searching(house: Store, query: Query, titles: list[str]):
    do(
        house,
        Create(
            thread("Old", body="at night", status=Status.ARCHIVED, group="session-1", days_old=9)
        ),
    )
    assert [m.title for m in house.find(query)] == titles
    found = search(house, replace(query, text="auth deploy tabs old"))
    assert query.limit == 1 or {hit.memory.title for hit in found} == set(titles)


def test_memories_are_found_by_judgement_drift_and_a_text_like_theirs(house: Store):
    rated, shown = (
        thread("rated", ratings=(Rating(False, NOW),), days_old=1),
        rule("shown", outcomes="+" + 10 * "-"),
    )
    drifted = thread("much", drift=("a", "b", "c", "d"))
    do(house, *map(Create, (rated, shown, drifted, thread("little", drift=("a", "b", "c")))))
    assert house.find(Query(marks_against=10)) == [shown, rated]
    assert house.find(Query(drifts_over=3)) == [drifted]
    for text in (AUTH.id.replace("2026", "2025"), AUTH.id[-6:], AUTH.title[1:-1].upper()):
        assert house.find(Query(like=text))[0] == AUTH


def test_each_gives_everything_in_order_while_others_write(store: Store):
    many = [thread(f"Thread {i}") for i in range(1_003)]
    said = {m.id: messages(m, m.title) for m in many}
    do(store, *(Create(m, said[m.id]) for m in many))
    walk = store.each()
    seen = [next(walk)]
    do(store, Create(note("Later")))
    assert [*seen, *walk][: len(many)] == [(m, said[m.id]) for m in many]


def test_counts_and_sketches_are_of_what_is_there(house: Store):
    do(house, *edits.archive(TABS).changes)
    counts = house.counts()
    assert counts.by_kind_and_status == (("rule", "archived", 1), ("thread", "active", 2))
    assert (counts.messages, counts.bridges, counts.vectors, counts.changes, counts.passages) == (
        4,
        1,
        0,
        2,
        7,
    )
    assert counts.bytes > 0
    made = thread("one", days_old=3, weight=0.5, pinned=True)
    do(house, Create(made))
    [found] = [one for one in house.sketches() if one.id == made.id]
    times = (made.reinforced_at.micros, made.last_active_at.micros)
    assert found == Sketch(found.seq, made.id, made.status, 0.5, True, *times, made.lane)


# Writing


@pytest.mark.parametrize("made", PLANS.values(), ids=PLANS)
def test_a_plan_is_applied_once_undone_and_done_again(house: Store, made: Plan):
    before, done = state(house), act()
    undo = act("undo", undoes=done.change)

    assert house.apply(made, done)
    after, log = state(house), house.log(limit=10)
    assert after != before
    assert not house.apply(made, act()), "it is so already"
    dry = house.undo(done.change, act(), dry_run=True)
    assert (state(house), house.log(limit=10)) == (after, log), "neither wrote anything"

    assert house.undo(done.change, undo) == dry
    assert state(house) == before
    assert house.undo(undo.change, act("undo", undoes=undo.change))
    assert state(house) == after


@pytest.mark.parametrize("stale", STALE.values(), ids=STALE)
def test_a_plan_from_another_state_is_refused_whole(house: Store, stale: Change):
    whole = plan(Create(NEW), *edits.archive(DEPLOY).changes, stale)
    check_refused(house, lambda: house.apply(whole, act()))


@pytest.mark.parametrize(
    "wrong",
    [{"status": "gone"}, {"weight": float("nan")}, {"title": 5}, {"topics": ["a", 1]}],
    ids=str,
)
def test_what_no_memory_can_be_is_refused(house: Store, wrong: dict[str, Any]):
    before, now = state(house), encode(TABS)
    update = Update(TABS.id, {name: now[name] for name in wrong}, wrong)
    with pytest.raises(StoreDamaged, match="would become unreadable"):
        house.apply(plan(Create(NEW), update), act())
    assert state(house) == before


def test_many_updates_are_one_sound_change_with_one_undo(store: Store):
    made = [thread(f"thread {n} 日本") for n in range(1_203)]
    do(store, *map(Create, made))
    before, done = state(store), act("compact")
    archive = [Update.between(one, replace(one, status=Status.ARCHIVED)) for one in made[:1_100]]
    fade = [Update.between(one, replace(one, weight=0.5)) for one in made[1_100:]]
    again = Update.between(replace(made[-1], weight=0.5), replace(made[-1], weight=0.2))

    assert store.apply(plan(*archive, *fade, again), done)

    found = [(memory.status, memory.weight) for memory, _ in store.each()]
    assert found == [(Status.ARCHIVED, 1.0)] * 1_100 + [(Status.ACTIVE, 0.5)] * 102 + [
        (Status.ACTIVE, 0.2)
    ]
    assert store.verify() == []
    assert not store.apply(plan(*archive, *fade[:-1]), act()), "it is so already"
    store.undo(done.change, act("undo", undoes=done.change))
    assert state(store) == before


@pytest.mark.parametrize(
    ("cells", "hash"),
    [
        (("thread_1", "dark", 1.0, 0, None), "8338946f50c13798"),
        (("日本", 'it\'s "x"\n', -0.0), "8c9b81f7a193f645"),
        (("model", b"\x00\xff:'"), "cfda717ab0d58957"),
        (("a", b"b", "é"), "209d8a9480c53664"),
    ],
)
def test_a_row_is_sealed_as_it_always_was(cells: tuple[rows.Cell, ...], hash: str):
    assert rows.seal(cells).hex() == hash


# Undo and the journal


@pytest.mark.parametrize("plans", LATE_UNDOS.values(), ids=LATE_UNDOS)
def test_a_change_that_others_build_on_is_not_undone(
    house: Store, plans: tuple[tuple[Change, ...], ...]
):
    first, *later = plans
    change = do(house, *first)
    for one in later:
        do(house, *one)
    check_refused(house, lambda: house.undo(change, act()))


def test_a_merge_is_not_undone_under_a_later_merge(house: Store):
    merged = do(house, *merge_plan(house, AUTH, DEPLOY).changes)
    keep, other = house.get(AUTH.id, follow=False), thread("Third", body="third words")
    assert keep is not None
    do(house, Create(other))
    later = do(house, *merge_plan(house, other, keep).changes)
    assert house.get(DEPLOY.id) == house.get(OLD) == house.get(other.id, follow=False)
    check_refused(house, lambda: house.undo(merged, act()))
    house.undo(later, act())
    house.undo(merged, act())
    assert house.get(OLD) == DEPLOY


def test_what_was_only_used_since_can_be_undone_and_counters_stay(house: Store):
    new = thread("New", weight=0.5)
    created = do(house, Create(new))
    change = do(house, Update.between(new, replace(new, title="Newer", weight=0.9)))
    house.use([new.id], lambda memory: replace(memory, weight=1.0, frequency=3))
    house.undo(change, act())
    assert house.get(new.id) == replace(new, weight=1.0, frequency=3)
    house.undo(created, act())
    assert house.get(new.id) is None
    with pytest.raises(NotFound):
        house.undo("change_20200101_000000_000000", act())


def test_messages_of_one_instant_keep_their_order(store: Store):
    owner, other = thread("t"), thread("u")
    said = tuple(
        Message(MINT.draw("message"), owner.id, NOW, "user", word) for word in ("x", "b", "c", "a")
    )
    do(store, Create(owner, said))
    away = do(store, Create(other), Move((said[0].id, said[2].id), owner.id, other.id))
    assert [m.content for m in store.messages(other.id)] == ["x", "c"]
    store.undo(away, act())
    assert store.messages(owner.id) == said


def test_the_log_is_newest_first_by_memory_or_change_and_says_what_was_undone(store: Store):
    for i, day in enumerate((5, -5, 0)):  # whatever the clock says
        store.apply(
            plan(Create(note(f"Note {i}"))),
            act(f"op {i}", at=NOW.plus(days=day), summary=f"did {i}"),
        )
    assert [(e.op, e.summary, e.at) for e in store.log(limit=2)] == [
        ("op 2", "did 2", NOW), ("op 1", "did 1", NOW.plus(days=-5)),
    ]  # fmt: skip

    new = thread("New")
    chain = [do(store, Create(new))]
    for _ in range(4):  # undo, redo, undo, redo
        undo = act("undo", undoes=chain[-1])
        store.undo(chain[-1], undo)
        chain.append(undo.change)
        by = {e.change: e.undone_by for e in store.log(limit=len(chain))}
        last = len(chain) - 1
        # What was undone last is undone; from there back they take turns.
        assert by == {c: chain[i + 1] if (last - i) % 2 else None for i, c in enumerate(chain)}
        assert (store.get(new.id) is None) == (by[chain[0]] is not None)
    assert [e.change for e in store.log(limit=9, memory=new.id)] == chain[::-1]
    assert [e.memories for e in store.log(limit=9, change=chain[0])] == [(new.id,)]


def test_the_parts_of_one_change_are_one_entry_undone_as_one(store: Store):
    work, made = act("import"), [note(f"Note {i}") for i in range(6)]
    for i in (0, 2, 4):
        store.apply(plan(Create(made[i]), Create(made[i + 1])), work)
    [entry] = store.log(limit=10)
    assert list(entry.memories) == sorted(m.id for m in made)
    store.undo(work.change, act("undo", undoes=work.change))
    assert store.find(Query()) == []


def test_old_changes_leave_the_journal_a_few_at_a_time_and_their_memories_stay(path: Path):
    with closing(SqliteStore(path, Tuning(journal_days=30, synchronous="OFF"))) as store:
        for age in (*[100] * 50, 29):
            store.apply(plan(Create(note("Note"))), act(at=NOW.plus(days=-age)))
        assert 51 - 2 * 20 <= store.counts().changes < 51, "no write pays for all of them"
        for _ in range(3):
            do(store, Create(note("Newer")))
        assert store.counts().changes == 4
        assert len(store.find(Query(limit=100))) == 54
        assert store.verify() == []


# Purge

CANARY = "xylocarp"
QUIET = note("Quiet", body=f"{CANARY} and more")


def _long_life(store: Store) -> str:
    """A memory whose every part holds the canary, with a life behind it."""
    secret = thread(
        CANARY,
        body=f"{CANARY} " * 400,
        topics=(CANARY,),
        tags=(CANARY,),
        origin=CANARY,
        group=CANARY,
    )
    said = messages(secret, CANARY, f"say {CANARY}", *(f"{CANARY} {i}" for i in range(30)))
    other = note("Linked")
    store.apply(
        plan(Create(secret, said), Create(other), Link(bridge(secret, other))),
        act("pin", summary=CANARY),
    )
    change = do(store, renaming(secret, f"{CANARY} again"))
    own = [seq for seq, text in store.vectorless("small", 500) if CANARY in text]
    store.put_vectors("small", [(seq, CANARY.encode() * 8) for seq in own])
    store.undo(change, act("undo", undoes=change))
    return secret.id


def _then(*later: Change) -> Callable[[Store], str]:
    return lambda store: (do(store, Create(QUIET)), do(store, *later), QUIET.id)[-1]


@pytest.mark.parametrize(
    "make",
    [
        _long_life,
        _then(Remove(QUIET)),
        _then(Update.between(QUIET, replace(QUIET, body="nothing to see"))),
    ],
    ids=["long life", "deleted", "revised"],
)
def test_a_purge_leaves_no_byte_in_any_file(
    local: LocalStore, path: Path, make: Callable[[Store], str]
):
    store = local
    do(store, *(Create(note(f"Other {i}", body="some words " * 50)) for i in range(25)))
    id = make(store)
    do(store, *(Create(note(f"Other {i}", body="some words " * 50)) for i in range(25, 50)))
    assert traces(path.parent, CANARY), "or this proves nothing"

    with closing(apsw.Connection(str(path))) as reader:
        reader.execute("BEGIN")
        reader.execute("SELECT count(*) FROM memory").fetchall()
        with pytest.raises(StoreBusy, match="another process still reads"):
            store.purge((id,))
    assert store.get(id) is None

    store.purge((id,))

    assert traces(path.parent, CANARY) == []
    assert len(store.find(Query(limit=100))) >= 50


def test_a_purge_takes_ties_and_journal_along_and_cannot_be_undone(house: Store):
    revision = do(house, renaming(DEPLOY, "Deployment"))
    kept = do(house, renaming(TABS, "Spaces"))
    strangers = tuple(f"thread_20200101_000000_{number:06x}" for number in range(40_000))
    before = state(house)
    assert house.purge(strangers) == house.purge(()) == 0
    assert state(house) == before

    assert house.purge((*strangers, DEPLOY.id)) == 2

    assert house.get(DEPLOY.id) is house.get(OLD) is None
    assert (house.messages(DEPLOY.id), house.bridges()) == ((), ())
    assert search(house, Query(text="validators")) == []
    assert house.log(limit=9, memory=DEPLOY.id) == []
    log = [(e.change == kept, e.purged) for e in house.log(limit=9)]
    assert log == [(True, False), (False, True), (False, True)]
    check_refused(house, lambda: house.undo(revision, act()))


# Upkeep


def test_reindexing_changes_nothing(house: Store):
    house.put_vectors("small", [(seq, vector(1, 0)) for seq, _ in house.vectorless("small", 100)])
    before, steps = state(house), list[tuple[int, int]]()

    assert house.reindex(lambda done, total: steps.append((done, total))) == house.counts().passages
    assert (steps[-1], state(house), house.vectorless("small", 100)) == ((3, 3), before, [])
    steps.clear()
    assert house.verify(lambda done, total: steps.append((done, total))) == []
    assert steps[-1][0] == steps[-1][1]
    assert steps == sorted(steps)


def test_a_backup_is_whole(local: LocalStore, tmp_path: Path):
    do(local, *HOUSE)
    local.put_vectors("small", [(seq, vector(1, 0)) for seq, _ in local.vectorless("small", 100)])
    local.backup(tmp_path / "copies" / "one")
    with closing(SqliteStore(tmp_path / "copies" / "one", Tuning())) as copy:
        assert (state(copy), copy.log(limit=9)) == (state(local), local.log(limit=9))
        assert copy.counts().vectors == local.counts().vectors


def test_many_that_change_alike_are_one_change_and_each_is_as_it_was_or_nothing_is_written(
    store: Store,
):
    threads = [thread(f"t{n}") for n in range(4)]
    do(store, *map(Create, threads))
    ids, old, new = tuple(t.id for t in threads), {"status": "active"}, {"status": "archived"}
    do(store, Update(ids[0], old, new))
    change = do(store, UpdateAll(ids, old, new))
    assert {one.status for one, _ in store.each()} == {Status.ARCHIVED}
    assert store.journalled(change) == [
        {"do": "update", "id": id, "before": old, "after": new} for id in ids[1:]
    ]
    assert [one["id"] for one in store.journalled(change, memory=ids[2])] == [ids[2]]
    assert store.verify() == []
    assert not store.apply(Plan((UpdateAll(ids, old, new),)), act())
    store.undo(change, act("undo", undoes=change))
    assert [one.status for one, _ in store.each()] == [Status.ARCHIVED, *[Status.ACTIVE] * 3]
    for wrong in (
        UpdateAll(ids[1:], {"status": "candidate"}, new),
        UpdateAll((ids[1], "thread_gone"), old, new),
    ):
        with pytest.raises(Conflict):
            do(store, wrong)
    assert store.get(ids[1]) == threads[1]
