"""What every engine must do. A suite for one engine inherits `StoreContract` and gives a `store` fixture.

Tests see the store through its protocol alone.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from recollect.base.errors import Conflict, IdTaken, NotFound
from recollect.lifecycle import edits
from recollect.lifecycle.reshape import Whole, split
from recollect.model.memory import BridgeType, Kind, Message, Rating, Rule, Status, Thread
from recollect.model.plan import Alias, Change, Create, Link, Move, Plan, Remove, Say, Unalias, Unlink, Unsay, Update
from recollect.model.query import Query
from recollect.recall.priority import strength_factor
from recollect.store import Store
from tests.store.asking import delete_plan, merge_plan, search, vector
from tests.store.state import state
from tests.values import MINT, NOW, act, bridge, messages, note, plan, renamed, rule, thread


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
        store.apply(plan(*created, Link(self.link), Alias(self.old, self.deploy.id)), act("build"))


def _split(store: Store, house: House) -> Plan:
    parted = split(house.auth, store.messages(house.auth.id), ("billing",), new_id=MINT.draw("thread"), now=NOW)
    assert isinstance(parted, Plan)
    return parted


def _create(_: Store, house: House) -> Plan:
    new = thread("Dark mode", topics=("ui",))
    return plan(Create(new, messages(new, "dark", "tabs")), Link(bridge(new, house.auth)))


def _revise(_: Store, house: House) -> Plan:
    return edits.revise(house.auth, title="Dark", body="Dark tabs 日本", topics=("solana",), now=NOW.plus(days=1))


# Every kind of change, alone and as the plans that people make.
PLANS: dict[str, Callable[[Store, House], Plan]] = {
    "create": _create,
    "remove": lambda store, house: delete_plan(store, house.deploy),
    "remove what has no ties": lambda _, house: plan(Remove(house.tabs)),
    "update": _revise,
    "move": lambda _, house: plan(Move((house.said[0].id, house.said[2].id), house.auth.id, house.deploy.id)),
    "say": lambda _, house: plan(Say(house.deploy.id, messages(house.deploy, "the validators are up", "日本"))),
    "unsay": lambda _, house: plan(Unsay(house.auth.id, house.said[1:])),
    "link": lambda _, house: plan(Link(bridge(house.tabs, house.auth, BridgeType.SIBLING, 0.25))),
    "unlink": lambda _, house: plan(Unlink(house.link)),
    "alias": lambda _, house: plan(Alias("thread_20240101_000000_000002", house.auth.id)),
    "unalias": lambda _, house: plan(Unalias(house.old, house.deploy.id)),
    "merge": lambda store, house: merge_plan(store, house.auth, house.deploy),
    "split": _split,
    "archive": lambda _, house: edits.archive(house.deploy),
}


# What was true when the plan was made, and no longer is.
STALE: dict[str, Callable[[House], Change]] = {
    "an update": lambda h: Update.between(renamed(h.tabs, "Was"), renamed(h.tabs, "Wanted")),
    "an update of nobody": lambda h: Update("rule_20200101_000000_000000", {"title": "a"}, {"title": "b"}),
    "a removal of other words": lambda h: Remove(renamed(h.tabs, "Was")),
    "a removal of other messages": lambda h: Remove(h.auth, h.said[:2]),
    "a removal of what others need": lambda h: Remove(h.auth, h.said),
    "a move of messages that are elsewhere": lambda h: Move((h.said[0].id,), h.deploy.id, h.tabs.id),
    "a move of some that are elsewhere": lambda h: Move((h.said[0].id, h.deployed[0].id), h.auth.id, h.tabs.id),
    "a move to nobody": lambda h: Move((h.said[0].id,), h.auth.id, "thread_20200101_000000_000000"),
    "a message that stands elsewhere": lambda h: Say(h.deploy.id, (replace(h.said[0], thread_id=h.deploy.id),)),
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


# Changes, each applied after the other, of which the first cannot be taken back because of the later ones.
LATE_UNDOS: dict[str, Callable[[House, Thread], tuple[Change | tuple[Change, ...], ...]]] = {
    "a creation that was reworded": lambda h, new: (Create(new), Update.between(new, renamed(new, "Newer"))),
    "a creation that was linked": lambda h, new: (Create(new), Link(bridge(h.auth, new))),
    "a creation that was given messages": lambda h, new: (Create(new), Move((h.said[0].id,), h.auth.id, new.id)),
    "a revision under a later one": lambda h, new: (
        Update.between(h.tabs, renamed(h.tabs, "Second")),
        Update.between(renamed(h.tabs, "Second"), renamed(h.tabs, "Third")),
    ),
    "a link that was made again differently": lambda h, new: (
        Link(bridge(h.tabs, h.auth)), Unlink(bridge(h.tabs, h.auth)), Link(bridge(h.tabs, h.auth, weight=0.9)),
    ),
    "an alias that was given away": lambda h, new: (
        Alias("thread_x", h.auth.id), Unalias("thread_x", h.auth.id), Alias("thread_x", h.deploy.id),
    ),
    "a deletion whose link lost its other end": lambda h, new: (
        edits.delete(Whole(h.deploy, h.deployed, (h.link,), (h.old,))).changes, Remove(h.auth, h.said),
    ),
}  # fmt: skip


def do(store: Store, *changes: Change) -> str:
    done = act()
    assert store.apply(plan(*changes), done), "nothing was written"
    return done.change


def check_refused(store: Store, attempt: Callable[[], object]) -> None:
    """A Conflict, and not a byte of difference."""
    before, log, counts = state(store), store.log(limit=100), store.counts()
    with pytest.raises(Conflict):
        attempt()
    assert (state(store), store.log(limit=100), store.counts()) == (before, log, counts)
    assert store.verify() == []


class StoreContract:
    @pytest.fixture
    def house(self, store: Store) -> House:
        return House(store)

    # Reading

    def test_what_was_created_is_there(self, store: Store, house: House) -> None:
        assert store.get(house.auth.id) == store.exact(house.auth.id) == house.auth
        assert store.messages(house.auth.id) == house.said
        assert store.bridges(house.deploy.id) == (house.link,)
        assert store.bridges() == (house.link,)
        assert store.bridges(house.tabs.id) == ()
        assert store.get(house.tabs.id) == house.tabs

    def test_what_was_never_there_is_none_and_an_alias_answers_as_what_it_became(
        self, store: Store, house: House
    ) -> None:
        assert store.get("thread_20200101_000000_000000") is None
        assert store.exact(house.old) is None
        assert (store.messages("nothing"), store.aliases("nothing")) == ((), ())
        assert store.log(limit=5, memory="nothing") == []
        assert not store.apply(Plan.empty(), act())
        assert store.get(house.old) == house.deploy
        assert store.aliases(house.deploy.id) == (house.old,)

    def test_those_that_were_judged_are_known(self, store: Store) -> None:
        rated, shown = thread("rated", ratings=(Rating(True, NOW),), days_old=1), rule("shown", outcomes="+-")
        do(store, *map(Create, (rated, shown, thread("neither"))))
        assert store.find(Query(judged=True)) == [shown, rated]
        assert store.find(Query(judged=True, limit=1)) == [shown]

    def test_find_gives_the_most_recently_active_first(self, store: Store, house: House) -> None:
        assert store.find(Query()) == [house.auth, house.deploy, house.tabs]
        assert store.find(Query(limit=1)) == [house.auth]

    @pytest.mark.parametrize(
        ("query", "titles"),
        [
            (Query(kinds=(Kind.RULE,)), {"Tabs"}),
            (Query(kinds=(Kind.RULE, Kind.THREAD)), {"Auth", "Deploy", "Tabs", "Old"}),
            (Query(kinds=(Kind.NOTE,)), set()),
            (Query(statuses=(Status.ARCHIVED,)), {"Old"}),
            (Query(statuses=(Status.ACTIVE,), kinds=(Kind.THREAD,)), {"Auth", "Deploy"}),
            (Query(topic="AUTH"), {"Auth"}),
            (Query(topic="aut"), set()),
            (Query(group="session-1"), {"Old"}),
            (Query(since=NOW.plus(days=-2)), {"Auth", "Deploy"}),
            (Query(until=NOW.plus(days=-2)), {"Deploy", "Tabs", "Old"}),
            (Query(since=NOW.plus(days=-3), until=NOW.plus(days=-1)), {"Deploy"}),
        ],
    )
    def test_filters_hold_for_finding_and_searching(
        self, store: Store, house: House, query: Query, titles: set[str]
    ) -> None:
        old = thread("Old", body="at night", status=Status.ARCHIVED, group="session-1", days_old=9)
        do(store, Create(old))
        shared = replace(query, text="auth deploy tabs old")
        assert {m.title for m in store.find(query)} == titles
        assert {hit.memory.title for hit in search(store, shared)} == titles

    @pytest.mark.parametrize(
        ("asked", "title"),
        [
            ("validator", "Deploy"), ("running", "Deploy"), ("username", "Auth"), ("get user name", "Auth"),
            ("日本", "Auth"), ("語", "Auth"), ("style", "Tabs"), ("tabs", "Tabs"), ("nothing of this", ""), ("", ""),
        ],
    )  # fmt: skip
    def test_words_find_titles_bodies_topics_and_messages(
        self, store: Store, house: House, asked: str, title: str
    ) -> None:
        assert [hit.memory.title for hit in search(store, Query(text=asked))] == ([title] if title else [])

    def test_a_hit_explains_itself(self, store: Store, house: House) -> None:
        [hit] = search(store, Query(text="slow"))
        assert hit.passage == "billing page is slow"
        parts = dict(hit.components)
        assert hit.score == pytest.approx(parts["match"] * strength_factor(parts["strength"]) * parts["relevance"])

    def test_every_passage_belongs_to_one_unit_and_says_where_it_stands(self, store: Store, house: House) -> None:
        passages = [seq for seq, _ in store.vectorless("m", 100)]
        owners = store.owners(passages)
        units = list(dict.fromkeys(owner.unit for owner in owners.values()))

        pieces = store.pieces(units)
        texts = {unit: memory.body if turn is None else turn.content for unit, memory, turn in store.read_units(units)}

        assert sorted(piece.passage for piece in pieces) == passages
        assert all(owners[piece.passage].unit == piece.unit for piece in pieces)
        assert set(texts.values()) == {
            *(m.body for m in (house.auth, house.deploy, house.tabs)),
            *(m.content for m in (*house.said, *house.deployed)),
        }
        for unit, text in texts.items():
            assert "".join(text[p.start : p.start + p.length] for p in pieces if p.unit == unit) == text

    def test_units_are_read_in_the_order_asked_for_each_with_its_memory(self, store: Store, house: House) -> None:
        owners = store.owners([seq for seq, _ in store.vectorless("m", 100)])
        units = sorted({owner.unit for owner in owners.values()}, reverse=True)

        found = store.read_units([*units, 99, -99])

        assert [unit for unit, _, _ in found] == units
        assert all(turn is None or turn.thread_id == memory.id for _, memory, turn in found)
        assert {turn.id for _, _, turn in found if turn} == {m.id for m in (*house.said, *house.deployed)}

    def test_the_turns_of_a_thread_are_neighbours(self, store: Store, house: House) -> None:
        owners = store.owners([seq for seq, _ in store.vectorless("m", 100)])
        turns = {turn.id: unit for unit, _, turn in store.read_units([o.unit for o in owners.values()]) if turn}
        first, second, third = (turns[m.id] for m in house.said)

        places = store.places([first, second, third], beside=9)

        assert [places[unit].before for unit in (first, second, third)] == [(), (first,), (second,)]
        assert [places[unit].after for unit in (first, second, third)] == [(second,), (third,), ()]
        assert {place.group for place in places.values()} == {house.auth.id}

    def test_a_question_finds_the_turn_that_answers(self, store: Store, house: House) -> None:
        hits = search(store, Query(text="billing page", turns=5))
        assert [hit.turn.content for hit in hits[:2] if hit.turn] == ["billing page is slow", "日本語 billing"]
        assert hits[0].shown == ("billing page is slow",)

    def test_each_memory_is_one_hit_and_the_limit_holds(self, store: Store) -> None:
        many = [thread(f"Thread {i}", body=f"{i} " + "tabs " * 500) for i in range(5)]
        do(store, *(Create(m, messages(m, "tabs and spaces", "more tabs")) for m in many))
        hits = search(store, Query(text="tabs", limit=3))
        assert len(hits) == len({hit.memory.id for hit in hits}) == 3

    def test_a_filter_finds_what_stands_behind_many_better_matches(self, store: Store) -> None:
        crowd = [thread(f"Tabs {i}", body="tabs tabs tabs") for i in range(300)]
        rare = rule("Indent", body="We settled on tabs after a long talk about many other things")
        do(store, *map(Create, crowd), Create(rare))
        assert [hit.memory for hit in search(store, Query(text="tabs", kinds=(Kind.RULE,)))] == [rare]

    def test_one_long_memory_does_not_hide_the_others(self, store: Store) -> None:
        long = thread("Long", body="\n\n".join(["tabs " + "x" * 1_100] * 300))
        short = thread("Short", body="a few words that mention tabs once, among " + "many others " * 40)
        do(store, Create(long), Create(short))
        assert {hit.memory.title for hit in search(store, Query(text="tabs"))} == {"Long", "Short"}

    def test_near_offers_what_contains_the_text_or_looks_alike_first(self, store: Store, house: House) -> None:
        for text in (house.auth.id.replace("2026", "2025"), house.auth.id[-6:], house.auth.title[1:-1].upper()):
            assert store.near(text)[0] == (house.auth.id, house.auth.title)

    def test_each_gives_everything_with_its_messages(self, store: Store) -> None:
        many = [thread(f"Thread {i}") for i in range(1_003)]
        said = {m.id: messages(m, m.title) for m in many}
        do(store, *(Create(m, said[m.id]) for m in many))
        assert list(store.each()) == [(m, said[m.id]) for m in many]

    def test_each_goes_on_while_others_write(self, store: Store, house: House) -> None:
        walk = store.each()
        seen = [next(walk)[0].id]
        do(store, Create(note("Later")))
        seen += [memory.id for memory, _ in walk]
        assert {house.auth.id, house.deploy.id, house.tabs.id} <= set(seen)

    def test_counts_are_the_sums(self, store: Store, house: House) -> None:
        do(store, *edits.archive(house.tabs).changes)
        counts = store.counts()
        assert counts.by_kind_and_status == (("rule", "archived", 1), ("thread", "active", 2))
        assert (counts.messages, counts.bridges, counts.vectors, counts.changes) == (4, 1, 0, 2)
        assert counts.passages == 7
        assert counts.bytes > 0

    # Writing

    @pytest.mark.parametrize("name", PLANS)
    def test_a_plan_is_applied_once_undone_and_done_again(self, store: Store, house: House, name: str) -> None:
        before, done, plan = state(store), act(), PLANS[name](store, house)
        undo = act("undo", undoes=done.change)

        assert store.apply(plan, done)
        after, log = state(store), store.log(limit=10)
        assert after != before
        assert not store.apply(plan, act()), "it is so already"
        dry = store.undo(done.change, act(), dry_run=True)
        assert (state(store), store.log(limit=10)) == (after, log), "neither wrote anything"
        assert store.verify() == []

        assert store.undo(done.change, undo) == dry
        assert state(store) == before
        assert store.verify() == []

        assert store.undo(undo.change, act("undo", undoes=undo.change))
        assert state(store) == after
        assert store.verify() == []

    def test_all_of_a_plan_or_nothing(self, store: Store, house: House) -> None:
        stale = Update(house.tabs.id, {"title": "Spaces"}, {"title": "Both"})
        made = plan(
            Create(thread("New")), Unlink(house.link), Move((house.said[0].id,), house.auth.id, house.deploy.id), stale
        )
        check_refused(store, lambda: store.apply(made, act()))

    def test_a_large_plan_is_one_change(self, store: Store) -> None:
        done = do(store, *(Create(note(f"Note {i}")) for i in range(150)))
        assert len(store.log(limit=10)) == 1
        store.undo(done, act())
        assert store.find(Query()) == []

    # When the state has moved on

    def test_an_id_that_another_memory_has_is_taken(self, store: Store, house: House) -> None:
        twin = renamed(house.auth, "Somebody else's")
        before = state(store)
        with pytest.raises(IdTaken) as taken:
            store.apply(plan(Create(note("New")), Create(twin)), act())
        assert taken.value.id == house.auth.id
        assert state(store) == before

    @pytest.mark.parametrize("name", STALE)
    def test_a_plan_from_another_state_is_refused(self, store: Store, house: House, name: str) -> None:
        made = plan(STALE[name](house))
        check_refused(store, lambda: store.apply(made, act()))

    @pytest.mark.parametrize("name", LATE_UNDOS)
    def test_a_change_that_others_build_on_is_not_taken_back(self, store: Store, house: House, name: str) -> None:
        first, *later = LATE_UNDOS[name](house, thread("New"))
        change = do(store, *(first if isinstance(first, tuple) else (first,)))
        for one in later:
            do(store, one)  # type: ignore[arg-type]
        check_refused(store, lambda: store.undo(change, act()))

    def test_a_deletion_that_was_purged_is_not_taken_back(self, store: Store, house: House) -> None:
        deleted = do(store, *delete_plan(store, house.deploy).changes)
        store.purge((house.deploy.id,))
        check_refused(store, lambda: store.undo(deleted, act()))

    def test_a_created_memory_that_was_only_used_can_be_taken_back(self, store: Store) -> None:
        new = thread("New")
        created = do(store, Create(new))
        do(store, Update.between(new, replace(new, frequency=3, weight=0.7, last_session=9)))
        store.undo(created, act())
        assert store.get(new.id) is None

    def test_a_merge_cannot_be_taken_back_under_a_later_merge(self, store: Store, house: House) -> None:
        merged = act()
        store.apply(merge_plan(store, house.auth, house.deploy), merged)
        keep = store.exact(house.auth.id)
        assert keep is not None
        other = thread("Third", body="third words")
        do(store, Create(other))
        later = act()
        store.apply(merge_plan(store, other, keep), later)
        assert store.get(house.deploy.id) == store.get(house.old) == store.exact(other.id)

        check_refused(store, lambda: store.undo(merged.change, act()))
        store.undo(later.change, act())
        store.undo(merged.change, act())
        assert store.get(house.old) == house.deploy

    def test_a_change_that_never_was_cannot_be_undone(self, store: Store) -> None:
        with pytest.raises(NotFound):
            store.undo("change_20200101_000000_000000", act())

    # Merge and split

    def test_a_merge_keeps_every_message_and_every_way_to_it(self, store: Store, house: House) -> None:
        store.apply(merge_plan(store, house.auth, house.deploy), act())

        keep = store.exact(house.auth.id)
        assert {m.content for m in store.messages(house.auth.id)} == {m.content for m in house.said + house.deployed}
        assert store.messages(house.deploy.id) == ()
        assert store.get(house.deploy.id) == store.get(house.old) == keep
        assert [h.memory for h in search(store, Query(text="restart", statuses=(Status.ACTIVE,)))] == [keep]
        assert store.bridges() == ()

    def test_messages_keep_their_order_through_split_deletion_and_both_undone(self, store: Store) -> None:
        owner = thread("t")
        said = messages(owner, "billing one", "two", "three")
        created = do(store, Create(owner, said))
        parted = act()
        made = split(owner, said, ("billing",), new_id=MINT.draw("thread"), now=NOW)
        assert isinstance(made, Plan)
        store.apply(made, parted)
        [child] = [c.memory for c in made.changes if isinstance(c, Create)]
        assert {m.id for m in store.messages(owner.id) + store.messages(child.id)} == {m.id for m in said}
        assert [b.target for b in store.bridges(child.id)] == [owner.id]
        deleted = act()
        store.apply(delete_plan(store, child), deleted)

        store.undo(deleted.change, act())
        store.undo(parted.change, act())

        assert store.messages(owner.id) == said
        store.undo(created, act())
        assert store.find(Query()) == []

    def test_messages_said_in_one_instant_keep_their_order_too(self, store: Store) -> None:
        owner = thread("t")
        said = tuple(Message(MINT.draw("message"), owner.id, NOW, "user", word) for word in ("x", "b", "c", "a"))
        do(store, Create(owner, said))
        other = thread("u")
        away = do(store, Create(other), Move((said[0].id, said[2].id), owner.id, other.id))
        assert store.messages(other.id) == (replace(said[0], thread_id=other.id), replace(said[2], thread_id=other.id))
        store.undo(away, act())
        assert store.messages(owner.id) == said

    # The journal

    def test_the_log_is_newest_first_whatever_the_clock_said(self, store: Store) -> None:
        for i, day in enumerate((5, -5, 0)):
            store.apply(plan(Create(note(f"Note {i}"))), act(f"op {i}", at=NOW.plus(days=day), summary=f"did {i}"))
        assert [(e.op, e.summary) for e in store.log(limit=10)] == [(f"op {i}", f"did {i}") for i in (2, 1, 0)]
        assert [e.op for e in store.log(limit=1)] == ["op 2"]
        assert store.log(limit=1)[0].at == NOW

    def test_pieces_of_one_work_are_one_entry_and_undone_as_one(self, store: Store) -> None:
        work, made = act("import"), [note(f"Note {i}") for i in range(6)]
        for i in (0, 2, 4):
            store.apply(plan(Create(made[i]), Create(made[i + 1])), work)

        [entry] = store.log(limit=10)
        assert set(entry.memories) == {m.id for m in made}
        assert store.counts().changes == 1

        store.undo(work.change, act("undo", undoes=work.change))
        assert store.find(Query()) == []

    def test_the_log_of_one_memory_or_one_change(self, store: Store, house: House) -> None:
        renaming = do(store, Update.between(house.tabs, renamed(house.tabs, "Spaces")))
        newest, _ = store.log(limit=9, memory=house.tabs.id)
        assert newest.change == renaming
        assert len(store.log(limit=9, memory=house.auth.id)) == 1
        assert [e.memories for e in store.log(limit=9, change=renaming)] == [(house.tabs.id,)]

    def test_the_log_says_what_was_undone_by_what(self, store: Store) -> None:
        new = note("New")
        chain = [do(store, Create(new))]
        for _ in range(4):  # undo, redo, undo, redo
            undo = act("undo", undoes=chain[-1])
            store.undo(chain[-1], undo)
            chain.append(undo.change)
            by = {e.change: e.undone_by for e in store.log(limit=10)}
            last = len(chain) - 1
            # What was undone last stands undone; from there back they take turns.
            assert by == {c: chain[i + 1] if (last - i) % 2 else None for i, c in enumerate(chain)}
            assert (store.get(new.id) is None) == (by[chain[0]] is not None)

    # Purge

    def test_a_purge_takes_the_memory_its_ties_and_what_the_journal_knew(self, store: Store, house: House) -> None:
        revision = do(store, Update.between(house.deploy, renamed(house.deploy, "Deployment")))
        kept = do(store, Update.between(house.tabs, renamed(house.tabs, "Spaces")))

        assert store.purge((house.deploy.id,)) == 2

        assert store.get(house.deploy.id) is store.get(house.old) is None
        assert store.messages(house.deploy.id) == ()
        assert store.bridges() == ()
        assert search(store, Query(text="validators")) == []
        assert store.log(limit=9, memory=house.deploy.id) == []
        log = [(e.change == kept, e.purged) for e in store.log(limit=9)]
        assert log == [(True, False), (False, True), (False, True)]
        check_refused(store, lambda: store.undo(revision, act()))

    def test_a_purge_takes_any_number_of_memories_and_of_nothing_nothing(self, store: Store, house: House) -> None:
        before = state(store)
        strangers = tuple(f"thread_20200101_000000_{number:06x}" for number in range(40_000))
        assert store.purge(strangers) == store.purge(()) == 0
        assert state(store) == before

        assert store.purge((*strangers, house.tabs.id)) == 1
        assert store.get(house.tabs.id) is None

    # Vectors

    def test_every_passage_wants_a_vector_until_it_has_one(self, store: Store, house: House) -> None:
        wanting = store.vectorless("small", 100)
        assert len(wanting) == store.counts().passages
        assert any("Solana validators" in text for _, text in wanting)
        assert len(store.vectorless("small", 2)) == 2

        store.put_vectors("small", [(seq, vector(1, 0)) for seq, _ in wanting[:3]])

        assert store.vectorless("small", 100) == wanting[3:]
        assert store.vectorless("large", 100) == wanting
        store.put_vectors("small", [(wanting[0][0], vector(0, 1)), (999_999, vector(1, 1))])  # again, and of nothing
        assert store.counts().vectors == 3
        assert store.verify() == []

    def test_vectors_of_other_models_go_some_at_a_time_and_those_in_use_stay(self, store: Store, house: House) -> None:
        wanting = store.vectorless("small", 100)
        for model, numbers in (("old", (1, 0)), ("older", (1, 0, 0)), ("small", (0, 1))):
            store.put_vectors(model, [(seq, vector(*numbers)) for seq, _ in wanting])
        count = len(wanting)
        assert store.vector_counts() == {"old": count, "older": count, "small": count}

        assert store.drop_vectors("small", 3) == 3
        assert sum(store.vector_counts().values()) == 3 * count - 3
        while store.drop_vectors("small", 100):
            pass

        assert store.vector_counts() == {"small": count}
        assert store.nearest("old", vector(1, 0), 5, ()).near == {}
        assert store.nearest("small", vector(0, 1), 5, ()).near
        assert store.verify() == []

    def test_a_thread_that_goes_on_keeps_the_vectors_of_what_was_said(self, store: Store, house: House) -> None:
        store.put_vectors("small", [(seq, vector(1, 0)) for seq, _ in store.vectorless("small", 100)])
        later = Message(MINT.draw("message"), house.auth.id, NOW.plus(days=1), "user", "auth works again")
        summed_up = Update.between(house.auth, replace(house.auth, body="It fails at night.", topics=("night",)))

        done = do(store, Say(house.auth.id, (later,)), summed_up)

        wanting = [text for _, text in store.vectorless("small", 100)]
        assert len(wanting) == 2
        assert "auth works again" in wanting[1] + wanting[0]
        assert [hit.memory.id for hit in search(store, Query(text="works again"))] == [house.auth.id]
        assert store.threads_of([later.id, house.said[0].id, "message_x"]) == {
            later.id: house.auth.id, house.said[0].id: house.auth.id,
        }  # fmt: skip
        assert store.verify() == []

        store.undo(done, act("undo"))

        assert search(store, Query(text="works again")) == []
        assert len(store.vectorless("small", 100)) == 1  # of the body
        assert store.verify() == []

    def test_words_are_looked_up_no_further_than_asked_for(self, store: Store, house: House) -> None:
        both = store.words("billing night")
        one = store.words("billing night", most=2)
        assert {term.term for term in both.terms} == {"bill", "night"}
        assert sum(len(term.rows) for term in one.terms) <= 2

    def test_closeness_is_nearness_of_those_alone(self, store: Store, house: House) -> None:
        wanting = store.vectorless("small", 100)
        store.put_vectors("small", [(seq, vector(1, number)) for number, (seq, _) in enumerate(wanting)])
        ids = [house.auth.id, house.tabs.id, "thread_x"]

        close = store.closeness("small", vector(0, 1), ids)

        near = store.nearness("small", vector(0, 1), ids)[0]
        assert close[house.tabs.id] == pytest.approx(near[house.tabs.id])
        assert close[house.auth.id] > near[house.auth.id], "its messages count, too"
        assert close.keys() == near.keys() == {house.auth.id, house.tabs.id}
        assert store.closeness("other", vector(0, 1), ids) == {}
        assert store.closeness("small", vector(0, 1) * 2, ids) == {}
        unkept = [(id, vector(0, 1)) for id in ids[:2]]
        close = store.closeness("other", vector(0, 1), ids, unkept)
        assert close == pytest.approx(dict.fromkeys(ids[:2], 1.0), abs=0.01)

    def test_vectors_go_with_their_text_and_stay_with_it(self, store: Store, house: House) -> None:
        store.put_vectors("small", [(seq, vector(1, 0)) for seq, _ in store.vectorless("small", 100)])
        all_vectors = store.counts().vectors

        do(store, *edits.archive(house.tabs).changes)
        assert store.counts().vectors == all_vectors, "other words make other vectors; another status does not"

        archived = store.exact(house.tabs.id)
        assert archived is not None
        do(store, Update.between(archived, renamed(archived, "Spaces")))
        assert store.counts().vectors == all_vectors - 1
        assert len(store.vectorless("small", 100)) == 1

        store.purge((house.auth.id, house.deploy.id))
        assert store.counts().vectors == 0
        assert store.verify() == []

    # Upkeep

    def test_reindexing_a_sound_store_changes_nothing(self, store: Store, house: House) -> None:
        store.put_vectors("small", [(seq, vector(1, 0)) for seq, _ in store.vectorless("small", 100)])
        before, steps = state(store), list[tuple[int, int]]()

        assert store.reindex(lambda done, total: steps.append((done, total))) == store.counts().passages

        assert state(store) == before
        assert steps[-1] == (3, 3)
        assert store.vectorless("small", 100) == []
        steps.clear()
        assert store.verify(lambda done, total: steps.append((done, total))) == []
        assert steps[-1][0] == steps[-1][1]
        assert steps == sorted(steps)

    def test_a_backup_is_whole(self, store: Store, house: House, tmp_path: Path) -> None:
        store.put_vectors("small", [(seq, vector(1, 0)) for seq, _ in store.vectorless("small", 100)])
        target = tmp_path / "copies" / "one"

        store.backup(target)

        copy = self.reopened(target)
        assert state(copy) == state(store)
        assert copy.log(limit=9) == store.log(limit=9)
        assert copy.counts().vectors == store.counts().vectors
        assert copy.verify() == []
        copy.close()

    def reopened(self, target: Path) -> Store:
        """A store of the same engine over a backup."""
        raise NotImplementedError
