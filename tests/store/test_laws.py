"""Any order of pins, rules, links, merges, splits, revisions, deletions, undos: nothing is lost, `verify` stays clean,
and undoing everything in reverse leaves an empty store. The same for compaction, whatever the store holds."""

from dataclasses import replace
from itertools import combinations

from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from recollect.base.errors import Conflict
from recollect.lifecycle import compaction, edits
from recollect.lifecycle.compaction import FIGURES, Strategy
from recollect.lifecycle.edits import split
from recollect.model import plan as plans
from recollect.model.codec import decode_memory, encode
from recollect.model.memory import Bridge, BridgeType, Lane, Memory, Message, Status, Thread
from recollect.model.plan import Alias, Change, Create, Link, Plan, Say, Unlink, Update
from recollect.model.query import Query
from recollect.ops.memories import load_whole
from recollect.store import SqliteStore, Store, Tuning
from recollect.store.postgres_store import PostgresStore
from tests import values
from tests.store.helpers import delete_plan, do, merge_plan, search, state
from tests.store.postgres import new_team
from tests.values import AGE, NOW, act, bridge, messages, thread

WORDS = ("dark mode", "solana validators", "getUserName", "日本語", "billing page", "")
words = st.sampled_from(WORDS)
picks = st.integers(0, 10_000)


class Mirror:
    """A store of plain dictionaries: what the changes of a plan mean, without SQL, an index or a journal."""

    def __init__(self) -> None:
        self.memories: dict[str, Memory] = {}
        self.messages: dict[str, Message] = {}
        self.bridges: dict[tuple[str, str, str], Bridge] = {}
        self.aliases: dict[str, str] = {}

    def apply(self, change: Change) -> None:
        match change:
            case Create(memory, messages):
                assert memory.id not in self.memories
                self.memories[memory.id] = memory
                self.messages |= {m.id: m for m in messages}
            case plans.Remove(memory, messages):
                del self.memories[memory.id]
                self.apply(plans.Unsay(memory.id, messages))
            case Update(id, _, after):
                self.memories[id] = decode_memory(encode(self.memories[id]) | dict(after))
            case plans.UpdateAll(ids, before, after):
                for id in ids:
                    self.apply(Update(id, before, after))
            case plans.Move(ids, _, target):
                self.messages |= {id: replace(self.messages[id], thread_id=target) for id in ids}
            case Say(_, messages):
                assert self.messages.keys().isdisjoint(m.id for m in messages)
                self.messages |= {m.id: m for m in messages}
            case plans.Unsay(_, messages):
                for message in messages:
                    del self.messages[message.id]
            case Link(bridge):
                assert bridge.key not in self.bridges
                self.bridges[bridge.key] = bridge
            case Unlink(bridge):
                del self.bridges[bridge.key]
            case plans.Alias(old, new):
                self.aliases[old] = new
            case plans.Unalias(old, _):
                del self.aliases[old]
            case plans.FileChange():
                pass  # no row of a store

    def check_same(self, store: Store) -> None:
        said: dict[str, list[Message]] = {id: [] for id in self.memories}
        for message in sorted(self.messages.values(), key=lambda m: (m.at, m.id)):
            said[message.thread_id].append(message)
        everything = {memory.id: (memory, list(held)) for memory, held in store.each()}
        assert everything == {id: (memory, said[id]) for id, memory in self.memories.items()}
        assert {b.key: b for b in store.bridges()} == self.bridges
        assert {alias.old: alias.new for alias in store.records(Alias)} == self.aliases
        assert all(store.get(old) == self.memories[new] for old, new in self.aliases.items())


class Life(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.store = self.new_store()
        self.mirror = Mirror()
        self.done: list[str] = []

    def new_store(self) -> Store:
        return SqliteStore(None, Tuning())

    def apply(self, plan: Plan) -> None:
        done = act()
        if self.store.apply(plan, done):
            self.follow(plan, done.change)

    def follow(self, plan: Plan, change: str) -> None:
        for one in plan.changes:
            self.mirror.apply(one)
        self.done.append(change)

    def pick(self, number: int) -> Memory:
        """One of the memories that are not superseded."""
        wanted = [m for m in self.mirror.memories.values() if m.status is not Status.SUPERSEDED]
        return wanted[number % len(wanted)]

    def has_memories(self) -> bool:
        return any(m.status is not Status.SUPERSEDED for m in self.mirror.memories.values())

    @rule(said=st.lists(words, min_size=1, max_size=4), title=words)
    def pin(self, said: list[str], title: str) -> None:
        new = thread(title, body=said[0], topics=tuple(said[:2]), drift=tuple(said))
        self.apply(Plan((Create(new, messages(new, *said)), Create(values.rule(title)))))

    @precondition(has_memories)
    @rule(a=picks, b=picks, type=st.sampled_from(BridgeType), weight=st.sampled_from([0.2, 0.8]))
    def link(self, a: int, b: int, type: BridgeType, weight: float) -> None:
        new = bridge(self.pick(a), self.pick(b), type, weight)
        if new.key not in self.mirror.bridges:
            self.apply(Plan((Link(new),)))

    @precondition(lambda self: self.mirror.bridges)
    @rule(number=picks)
    def unlink(self, number: int) -> None:
        bridges = list(self.mirror.bridges.values())
        self.apply(Plan((Unlink(bridges[number % len(bridges)]),)))

    @precondition(has_memories)
    @rule(a=picks, b=picks)
    def merge(self, a: int, b: int) -> None:
        keep, lose = self.pick(a), self.pick(b)
        if keep.id != lose.id and keep.kind is lose.kind:
            self.apply(merge_plan(self.store, keep, lose))
            assert self.store.get(lose.id) == self.store.get(keep.id, follow=False)

    @precondition(has_memories)
    @rule(number=picks, topics=st.lists(words.filter(bool), max_size=2))
    def split(self, number: int, topics: list[str]) -> None:
        old, new_id = self.pick(number), values.MINT.draw("thread")
        if isinstance(old, Thread):
            plan = split(old, self.store.messages(old.id), tuple(topics), new_id=new_id, now=NOW)
            if isinstance(plan, Plan):
                self.apply(plan)

    @precondition(has_memories)
    @rule(number=picks, said=st.lists(words, min_size=1, max_size=3), body=words)
    def go_on(self, number: int, said: list[str], body: str) -> None:
        old = self.pick(number)
        if isinstance(old, Thread):
            self.apply(
                Plan.of(
                    [
                        Say(old.id, messages(old, *said)),
                        Update.between(old, replace(old, body=body)),
                    ]
                )
            )

    @precondition(has_memories)
    @rule(
        number=picks,
        title=words,
        body=words,
        how=st.sampled_from(["revise", "archive", "restore", "delete"]),
    )
    def edit(self, number: int, title: str, body: str, how: str) -> None:
        memory = self.pick(number)
        if how == "revise":
            self.apply(edits.revise(memory, title=title, body=body, topics=(title,), now=NOW))
        elif how == "archive":
            self.apply(edits.archive(memory))
        elif how == "restore":
            self.apply(edits.restore(memory, now=NOW, rules=AGE))
        else:
            self.apply(delete_plan(self.store, memory))

    @precondition(lambda self: self.done)
    @rule(back=st.just(0) | picks)
    def undo(self, back: int) -> None:
        """Refused where something later depends on it, never the last one; then nothing changes."""
        undo, place = act("undo"), back % len(self.done)
        try:
            taken = self.store.undo(self.done[-1 - place], undo)
        except Conflict:
            assert place
            return
        if taken:
            self.follow(taken, undo.change)

    @precondition(lambda self: self.mirror.memories)
    @rule(number=picks)
    def search_finds_it(self, number: int) -> None:
        memory = list(self.mirror.memories.values())[number % len(self.mirror.memories)]
        if memory.body in WORDS[:-1]:
            assert memory.body in {
                hit.memory.body for hit in search(self.store, Query(text=memory.body, limit=1_000))
            }
        assert self.store.verify() == []

    @invariant()
    def the_store_is_what_the_plans_say(self) -> None:
        self.mirror.check_same(self.store)

    def teardown(self) -> None:
        assert self.store.verify() == []
        for done in reversed(self.done):
            assert self.store.undo(done, act("undo"))
        Mirror().check_same(self.store)
        assert self.store.verify() == []
        self.store.close()


Life.TestCase.settings = settings(max_examples=30, stateful_step_count=25, deadline=None)
TestLife = Life.TestCase


class TeamLife(Life):
    def new_store(self) -> Store:
        return PostgresStore(new_team().url)


TeamLife.TestCase.settings = settings(max_examples=8, stateful_step_count=20, deadline=None)
TestTeamLife = TeamLife.TestCase


# Compaction


@st.composite
def stores(draw: st.DrawFn) -> tuple[Store, list[Thread]]:
    threads = [
        thread(
            f"t{n}", weight=draw(st.floats(0.05, 1.0)), days_old=draw(st.floats(0, 30)), pinned=draw(st.booleans()),
            topics=tuple(draw(st.sets(st.sampled_from("abc"), max_size=2))), lane=draw(st.sampled_from(list(Lane)[:2])),
        )
        for n in range(draw(st.integers(2, 7)))
    ]  # fmt: skip
    said = [
        messages(t, *(f"{t.title} said {n}" for n in range(draw(st.integers(0, 3)))))
        for t in threads
    ]
    pairs = draw(st.sets(st.sampled_from(list(combinations(range(len(threads)), 2))), max_size=6))
    links = [
        bridge(threads[a], threads[b], draw(st.sampled_from(BridgeType))) for a, b in sorted(pairs)
    ]
    store = SqliteStore(None, Tuning())
    do(store, *map(Create, threads, said), *map(Link, links))
    return store, threads


@settings(max_examples=60)
@given(stores(), st.data(), st.sampled_from(Strategy))
def test_a_compaction_loses_no_message_and_undone_never_was(
    given_store: tuple[Store, list[Thread]], data: st.DataObject, strategy: Strategy
):
    store, threads = given_store
    before = state(store)
    pairs = [(a.id, b.id, data.draw(st.floats(0.7, 1.0))) for a, b in combinations(threads, 2)]
    figures, sketches, near = (
        FIGURES[strategy],
        store.sketches(),
        sorted(pairs, key=lambda pair: -pair[2]),
    )
    chosen = compaction.choose(
        compaction.assess(sketches, now=NOW, rules=AGE), near, figures, now=NOW, rules=AGE
    )
    whole = {t.id: load_whole(store, t) for t in threads}
    done = act("compact")

    wrote = store.apply(compaction.plan(chosen, sketches, whole, now=NOW, rules=AGE), done)

    spoken = sorted(m.content for said in before.messages.values() for m in said)
    assert sorted(m.content for _, said in store.each() for m in said) == spoken
    assert all(
        found.status is Status.ACTIVE
        for t in threads
        if t.pinned and (found := store.get(t.id, follow=False))
    )
    assert all(store.get(lose) == store.get(keep) for keep, lose, _ in chosen.merges)
    if wrote:
        store.undo(done.change, act("undo", undoes=done.change))
    assert state(store) == before
