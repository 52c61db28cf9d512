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
from recollect.lifecycle.edits import Whole, split
from recollect.model.memory import BridgeType, Kind, Message, Rating, Rule, Sketch, Status, Thread
from recollect.model.plan import Alias, Change, Create, Link, Move, Plan, Remove, Say, Unalias, Unlink, Unsay, Update
from recollect.model.query import Query
from recollect.store import SqliteStore, Store, Tuning, rows
from tests.store.helpers import delete_plan, do, merge_plan, search, state, traces, vector
from tests.values import MINT, NOW, act, bridge, messages, note, plan, renamed, rule, thread

NOBODY = "thread_20200101_000000_000000"


class House:
    """A small store with one of everything in it."""

    def __init__(self, store: Store) -> None:
        self.auth: Thread = thread("Auth", body="getUserName and user_name", topics=("auth", "billing"))
        self.said = messages(self.auth, "auth fails at night", "billing page is slow", "日本語 billing")
        self.deploy: Thread = thread("Deploy", body="Solana validators run at night", days_old=2)
        self.deployed = messages(self.deploy, "restart the validators")
        self.tabs: Rule = rule("Tabs", body="We use tabs here", topics=("style",), days_old=5)
        self.link = bridge(self.auth, self.deploy, BridgeType.DEPENDS)
        self.old = "thread_20250101_000000_000001"
        created = (Create(self.auth, self.said), Create(self.deploy, self.deployed), Create(self.tabs))
        do(store, *created, Link(self.link), Alias(self.old, self.deploy.id))


@pytest.fixture
def house(store: Store) -> House:
    return House(store)


def renaming(memory: Thread | Rule, title: str) -> Update:
    return Update.between(memory, renamed(memory, title))


def _split(store: Store, house: House) -> Plan:
    parted = split(house.auth, store.messages(house.auth.id), ("billing",), new_id=MINT.draw("thread"), now=NOW)
    assert isinstance(parted, Plan)
    return parted


def _create(_: Store, house: House) -> Plan:
    new = thread("Dark mode", topics=("ui",))
    return plan(Create(new, messages(new, "dark", "tabs")), Link(bridge(new, house.auth)))


# Every kind of change, alone and as the plans that people make.
PLANS: dict[str, Callable[[Store, House], Plan]] = {
    "create": _create,
    "remove": lambda store, h: delete_plan(store, h.deploy),
    "remove what has no ties": lambda _, h: plan(Remove(h.tabs)),
    "update": lambda _, h: edits.revise(
        h.auth, title="Dark", body="Dark tabs 日本", topics=("solana",), now=NOW.plus(days=1)
    ),
    "move": lambda _, h: plan(Move((h.said[0].id, h.said[2].id), h.auth.id, h.deploy.id)),
    "say": lambda _, h: plan(Say(h.deploy.id, messages(h.deploy, "the validators are up", "日本"))),
    "unsay": lambda _, h: plan(Unsay(h.auth.id, h.said[1:])),
    "link": lambda _, h: plan(Link(bridge(h.tabs, h.auth, BridgeType.SIBLING, 0.25))),
    "unlink": lambda _, h: plan(Unlink(h.link)),
    "alias": lambda _, h: plan(Alias("thread_20240101_000000_000002", h.auth.id)),
    "unalias": lambda _, h: plan(Unalias(h.old, h.deploy.id)),
    "merge": lambda store, h: merge_plan(store, h.auth, h.deploy),
    "split": _split,
    "archive": lambda _, h: edits.archive(h.deploy),
}


# What was true when the plan was made, and no longer is.
STALE: dict[str, Callable[[House], Change]] = {
    "a creation under a taken id": lambda h: Create(renamed(h.auth, "Somebody else's")),
    "an update": lambda h: Update.between(renamed(h.tabs, "Was"), renamed(h.tabs, "Wanted")),
    "an update of a counter": lambda h: Update(h.tabs.id, {"weight": 0.3}, {"weight": 0.5}),
    "an update of nobody": lambda h: Update(NOBODY, {"title": "a"}, {"title": "b"}),
    "a removal of other words": lambda h: Remove(renamed(h.tabs, "Was")),
    "a removal of other messages": lambda h: Remove(h.auth, h.said[:2]),
    "a removal of what others need": lambda h: Remove(h.auth, h.said),
    "a move of messages that are elsewhere": lambda h: Move((h.said[0].id,), h.deploy.id, h.tabs.id),
    "a move of some that are elsewhere": lambda h: Move((h.said[0].id, h.deployed[0].id), h.auth.id, h.tabs.id),
    "a move to nobody": lambda h: Move((h.said[0].id,), h.auth.id, NOBODY),
    "a message that is elsewhere": lambda h: Say(h.deploy.id, (replace(h.said[0], thread_id=h.deploy.id),)),
    "a message of other words": lambda h: Say(h.auth.id, (replace(h.said[0], content="Never said"),)),
    "a message to nobody": lambda h: Say("thread_x", (Message("message_x", "thread_x", NOW, "user", "Hello"),)),
    "a message gone that is elsewhere": lambda h: Unsay(h.deploy.id, h.said[:1]),
    "a message gone that is another": lambda h: Unsay(h.auth.id, (replace(h.said[0], content="Never said"),)),
    "a bridge of another weight": lambda h: Link(replace(h.link, weight=0.9)),
    "a bridge to nobody": lambda h: Link(bridge(h.auth, note("Nobody"))),
    "a bridge gone that is another": lambda h: Unlink(replace(h.link, weight=0.9)),
    "an alias of another": lambda h: Alias(h.old, h.auth.id),
    "an alias to nobody": lambda h: Alias("thread_x", "thread_y"),
    "an alias gone that is another": lambda h: Unalias(h.old, h.auth.id),
}


# Plans, each applied after the other, of which the first cannot be undone because of the later ones.
LATE_UNDOS: dict[str, Callable[[House, Thread], tuple[tuple[Change, ...], ...]]] = {
    "a creation that was reworded": lambda h, new: ((Create(new),), (renaming(new, "Newer"),)),
    "a creation that was linked": lambda h, new: ((Create(new),), (Link(bridge(h.auth, new)),)),
    "a creation that got messages": lambda h, new: ((Create(new),), (Move((h.said[0].id,), h.auth.id, new.id),)),
    "a revision under a later one": lambda h, new: (
        (renaming(h.tabs, "Second"),), (renaming(renamed(h.tabs, "Second"), "Third"),),
    ),
    "a link that was made again differently": lambda h, new: (
        (Link(bridge(h.tabs, h.auth)),), (Unlink(bridge(h.tabs, h.auth)),),
        (Link(bridge(h.tabs, h.auth, weight=0.9)),),
    ),
    "an alias that was given away": lambda h, new: (
        (Alias("thread_x", h.auth.id),), (Unalias("thread_x", h.auth.id),), (Alias("thread_x", h.deploy.id),),
    ),
    "a deletion whose link lost its other end": lambda h, new: (
        edits.delete(Whole(h.deploy, h.deployed, (h.link,), (h.old,))).changes, (Remove(h.auth, h.said),),
    ),
}  # fmt: skip


def check_refused(store: Store, attempt: Callable[[], object]) -> None:
    """A Conflict, and nothing differs."""
    before, log, counts = state(store), store.log(limit=100), store.counts()
    with pytest.raises(Conflict):
        attempt()
    assert (state(store), store.log(limit=100), store.counts()) == (before, log, counts)
    assert store.verify() == []


# Reading


def test_what_was_created_can_be_read_and_an_alias_answers_as_what_it_became(store: Store, house: House):
    assert store.get(house.auth.id) == store.get(house.auth.id, follow=False) == house.auth
    assert store.get(house.old) == house.deploy
    assert (store.get(house.old, follow=False), store.records(Alias, new=house.deploy.id)) == (
        None,
        [Alias(house.old, house.deploy.id)],
    )
    assert store.messages(house.auth.id) == house.said
    assert store.messages(ids=[house.said[0].id, "message_x"]) == house.said[:1]
    strangers = [f"t{n}" for n in range(40_000)]
    assert (
        store.bridges(house.deploy.id) == store.bridges() == store.bridges(*strangers, house.auth.id) == (house.link,)
    )
    assert store.bridges(house.tabs.id) == ()

    assert (store.get(NOBODY), store.messages(NOBODY), store.records(Alias, new=NOBODY)) == (None, (), [])
    assert store.log(limit=5, memory=NOBODY) == []
    assert not store.apply(Plan(), act())


@pytest.mark.parametrize(
    ("query", "titles"),
    [
        (Query(), ["Auth", "Deploy", "Tabs", "Old"]),  # most recently active first
        (Query(limit=1), ["Auth"]),
        (Query(kinds=(Kind.RULE,)), ["Tabs"]),
        (Query(kinds=(Kind.NOTE,)), []),
        (Query(statuses=(Status.ARCHIVED,)), ["Old"]),
        (Query(statuses=(Status.ACTIVE,), kinds=(Kind.THREAD,)), ["Auth", "Deploy"]),
        (Query(topic="AUTH"), ["Auth"]),
        (Query(topic="aut"), []),
        (Query(group="session-1"), ["Old"]),
        (Query(since=NOW.plus(days=-2)), ["Auth", "Deploy"]),
        (Query(until=NOW.plus(days=-2)), ["Deploy", "Tabs", "Old"]),
        (Query(since=NOW.plus(days=-3), until=NOW.plus(days=-1)), ["Deploy"]),
    ],
)
def test_filters_hold_for_finding_and_searching(store: Store, house: House, query: Query, titles: list[str]):
    do(store, Create(thread("Old", body="at night", status=Status.ARCHIVED, group="session-1", days_old=9)))
    assert [m.title for m in store.find(query)] == titles
    found = search(store, replace(query, text="auth deploy tabs old"))
    assert query.limit == 1 or {hit.memory.title for hit in found} == set(titles)


def test_memories_are_found_by_judgement_drift_and_a_text_like_theirs(store: Store, house: House):
    rated, shown = thread("rated", ratings=(Rating(True, NOW),), days_old=1), rule("shown", outcomes="+-")
    drifted = thread("much", drift=("a", "b", "c", "d"))
    do(store, *map(Create, (rated, shown, drifted, thread("little", drift=("a", "b", "c")))))

    assert store.find(Query(judged=True)) == [shown, rated]
    assert store.find(Query(drifts_over=3)) == [drifted]
    for text in (house.auth.id.replace("2026", "2025"), house.auth.id[-6:], house.auth.title[1:-1].upper()):
        assert store.find(Query(like=text))[0] == house.auth


def test_each_gives_everything_in_order_while_others_write(store: Store):
    many = [thread(f"Thread {i}") for i in range(1_003)]
    said = {m.id: messages(m, m.title) for m in many}
    do(store, *(Create(m, said[m.id]) for m in many))
    walk = store.each()
    seen = [next(walk)]
    do(store, Create(note("Later")))
    assert [*seen, *walk][: len(many)] == [(m, said[m.id]) for m in many]


def test_counts_and_sketches_are_of_what_is_there(store: Store, house: House):
    do(store, *edits.archive(house.tabs).changes)
    counts = store.counts()
    assert counts.by_kind_and_status == (("rule", "archived", 1), ("thread", "active", 2))
    assert (counts.messages, counts.bridges, counts.vectors, counts.changes, counts.passages) == (4, 1, 0, 2, 7)
    assert counts.bytes > 0

    made = thread("one", days_old=3, weight=0.5, pinned=True)
    do(store, Create(made))
    [found] = [one for one in store.sketches() if one.id == made.id]
    times = (made.reinforced_at.micros, made.last_active_at.micros)
    assert found == Sketch(found.seq, made.id, made.status, 0.5, True, *times, made.lane)


# Writing


@pytest.mark.parametrize("name", PLANS)
def test_a_plan_is_applied_once_undone_and_done_again(store: Store, house: House, name: str):
    before, done, made = state(store), act(), PLANS[name](store, house)
    undo = act("undo", undoes=done.change)

    assert store.apply(made, done)
    after, log = state(store), store.log(limit=10)
    assert after != before
    assert not store.apply(made, act()), "it is so already"
    dry = store.undo(done.change, act(), dry_run=True)
    assert (state(store), store.log(limit=10)) == (after, log), "neither wrote anything"
    assert store.verify() == []

    assert store.undo(done.change, undo) == dry
    assert state(store) == before
    assert store.verify() == []

    assert store.undo(undo.change, act("undo", undoes=undo.change))
    assert state(store) == after
    assert store.verify() == []


@pytest.mark.parametrize("name", STALE)
def test_a_plan_from_another_state_is_refused_whole(store: Store, house: House, name: str):
    stale = plan(Create(thread("New")), *edits.archive(house.deploy).changes, STALE[name](house))
    check_refused(store, lambda: store.apply(stale, act()))


@pytest.mark.parametrize(
    "wrong", [{"status": "gone"}, {"weight": float("nan")}, {"title": 5}, {"topics": ["a", 1]}], ids=str
)
def test_what_no_memory_can_be_is_refused(store: Store, house: House, wrong: dict[str, Any]):
    before, now = (
        state(store),
        dict[str, Any]({"status": "active", "weight": 1.0, "title": "Tabs", "topics": ["style"]}),
    )
    update = Update(house.tabs.id, {name: now[name] for name in wrong}, wrong)
    with pytest.raises(StoreDamaged, match="would become unreadable"):
        store.apply(plan(Create(thread("New")), update), act())
    assert state(store) == before


def test_many_updates_are_one_sound_change_with_one_undo(store: Store):
    made = [thread(f"thread {n} 日本") for n in range(1_203)]
    do(store, *map(Create, made))
    before, done = state(store), act("compact")
    archive = [Update.between(one, replace(one, status=Status.ARCHIVED)) for one in made[:1_100]]
    fade = [Update.between(one, replace(one, weight=0.5)) for one in made[1_100:]]
    again = Update.between(replace(made[-1], weight=0.5), replace(made[-1], weight=0.2))

    assert store.apply(plan(*archive, *fade, again), done)

    found = [(memory.status, memory.weight) for memory, _ in store.each()]
    assert found == [(Status.ARCHIVED, 1.0)] * 1_100 + [(Status.ACTIVE, 0.5)] * 102 + [(Status.ACTIVE, 0.2)]
    assert store.verify() == []
    assert not store.apply(plan(*archive, *fade[:-1]), act()), "it is so already"
    store.undo(done.change, act("undo", undoes=done.change))
    assert state(store) == before
    assert store.verify() == []


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


@pytest.mark.parametrize("name", LATE_UNDOS)
def test_a_change_that_others_build_on_is_not_undone(store: Store, house: House, name: str):
    first, *later = LATE_UNDOS[name](house, thread("New"))
    change = do(store, *first)
    for one in later:
        do(store, *one)
    check_refused(store, lambda: store.undo(change, act()))


def test_a_merge_is_not_undone_under_a_later_merge(store: Store, house: House):
    merged = do(store, *merge_plan(store, house.auth, house.deploy).changes)
    keep, other = store.get(house.auth.id, follow=False), thread("Third", body="third words")
    assert keep is not None
    do(store, Create(other))
    later = do(store, *merge_plan(store, other, keep).changes)
    assert store.get(house.deploy.id) == store.get(house.old) == store.get(other.id, follow=False)

    check_refused(store, lambda: store.undo(merged, act()))
    store.undo(later, act())
    store.undo(merged, act())
    assert store.get(house.old) == house.deploy


def test_what_was_only_used_since_can_be_undone_and_counters_stay(store: Store, house: House):
    new = thread("New", weight=0.5)
    created = do(store, Create(new))
    change = do(store, Update.between(new, replace(new, title="Newer", weight=0.9)))
    store.use([new.id], lambda memory: replace(memory, weight=1.0, frequency=3))

    store.undo(change, act())
    assert store.get(new.id) == replace(new, weight=1.0, frequency=3)
    store.undo(created, act())
    assert store.get(new.id) is None
    with pytest.raises(NotFound):
        store.undo("change_20200101_000000_000000", act())


def test_messages_of_one_instant_keep_their_order(store: Store):
    owner, other = thread("t"), thread("u")
    said = tuple(Message(MINT.draw("message"), owner.id, NOW, "user", word) for word in ("x", "b", "c", "a"))
    do(store, Create(owner, said))
    away = do(store, Create(other), Move((said[0].id, said[2].id), owner.id, other.id))
    assert [m.content for m in store.messages(other.id)] == ["x", "c"]
    store.undo(away, act())
    assert store.messages(owner.id) == said


def test_the_log_is_newest_first_by_memory_or_change_and_says_what_was_undone(store: Store):
    for i, day in enumerate((5, -5, 0)):  # whatever the clock says
        store.apply(plan(Create(note(f"Note {i}"))), act(f"op {i}", at=NOW.plus(days=day), summary=f"did {i}"))
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
    assert set(entry.memories) == {m.id for m in made}
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


def _long_life(store: Store) -> str:
    """A memory whose every part holds the canary, with a life behind it."""
    secret = thread(CANARY, body=f"{CANARY} " * 400, topics=(CANARY,), tags=(CANARY,), origin=CANARY, group=CANARY)
    said = messages(secret, CANARY, f"say {CANARY}", *(f"{CANARY} {i}" for i in range(30)))
    other = note("Linked")
    store.apply(plan(Create(secret, said), Create(other), Link(bridge(secret, other))), act("pin", summary=CANARY))
    change = do(store, renaming(secret, f"{CANARY} again"))
    own = [seq for seq, text in store.vectorless("small", 500) if CANARY in text]
    store.put_vectors("small", [(seq, CANARY.encode() * 8) for seq in own])
    store.undo(change, act("undo", undoes=change))
    return secret.id


def _deleted(store: Store) -> str:
    secret = note("Quiet", body=f"{CANARY} and more")
    do(store, Create(secret))
    do(store, *delete_plan(store, secret).changes)
    return secret.id


def _revised(store: Store) -> str:
    old = note("Quiet", body=f"{CANARY} and more")
    do(store, Create(old))
    do(store, Update.between(old, replace(old, body="nothing to see")))
    return old.id


@pytest.mark.parametrize("make", [_long_life, _deleted, _revised])
def test_a_purge_leaves_no_byte_in_any_file(store: Store, path: Path, make: Callable[[Store], str]):
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
    assert store.verify() == []
    assert len(store.find(Query(limit=100))) >= 50


def test_a_purge_takes_ties_and_journal_along_and_cannot_be_undone(store: Store, house: House):
    revision = do(store, renaming(house.deploy, "Deployment"))
    kept = do(store, renaming(house.tabs, "Spaces"))
    strangers = tuple(f"thread_20200101_000000_{number:06x}" for number in range(40_000))
    before = state(store)
    assert store.purge(strangers) == store.purge(()) == 0
    assert state(store) == before

    assert store.purge((*strangers, house.deploy.id)) == 2

    assert store.get(house.deploy.id) is store.get(house.old) is None
    assert (store.messages(house.deploy.id), store.bridges()) == ((), ())
    assert search(store, Query(text="validators")) == []
    assert store.log(limit=9, memory=house.deploy.id) == []
    log = [(e.change == kept, e.purged) for e in store.log(limit=9)]
    assert log == [(True, False), (False, True), (False, True)]
    check_refused(store, lambda: store.undo(revision, act()))


# Upkeep


def test_reindexing_changes_nothing_and_a_backup_is_whole(store: Store, house: House, tmp_path: Path):
    store.put_vectors("small", [(seq, vector(1, 0)) for seq, _ in store.vectorless("small", 100)])
    before, steps = state(store), list[tuple[int, int]]()

    assert store.reindex(lambda done, total: steps.append((done, total))) == store.counts().passages
    assert (steps[-1], state(store), store.vectorless("small", 100)) == ((3, 3), before, [])
    steps.clear()
    assert store.verify(lambda done, total: steps.append((done, total))) == []
    assert steps[-1][0] == steps[-1][1]
    assert steps == sorted(steps)

    store.backup(tmp_path / "copies" / "one")
    with closing(SqliteStore(tmp_path / "copies" / "one", Tuning())) as copy:
        assert (state(copy), copy.log(limit=9)) == (before, store.log(limit=9))
        assert copy.counts().vectors == store.counts().vectors
        assert copy.verify() == []
