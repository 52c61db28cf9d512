"""Any order of pins, rules, links, merges, splits, revisions, deletions and undos: nothing is lost,
`verify` stays clean, and undoing everything in reverse leaves an empty store."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from recollect.base.errors import Conflict
from recollect.lifecycle import edits
from recollect.lifecycle.reshape import split
from recollect.model.codec import decode_memory, encode
from recollect.model.memory import Bridge, BridgeType, Memory, Message, Status, Thread
from recollect.model.plan import (
    Alias,
    Change,
    Create,
    FileChange,
    Link,
    Move,
    Plan,
    Remove,
    Say,
    Unalias,
    Unlink,
    Unsay,
    Update,
)  # fmt: skip
from recollect.model.query import Query
from recollect.store import Store, Tuning
from tests import values
from tests.store.asking import delete_plan, merge_plan, search

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

    def apply(self, plan: Plan) -> None:
        for change in plan.changes:
            self._do(change)

    def _do(self, change: Change) -> None:
        match change:
            case Create(memory, messages):
                assert memory.id not in self.memories
                self.memories[memory.id] = memory
                self.messages |= {m.id: m for m in messages}
            case Remove(memory, messages):
                del self.memories[memory.id]
                for message in messages:
                    del self.messages[message.id]
            case Update(id, _, after):
                self.memories[id] = decode_memory(encode(self.memories[id]) | dict(after))
            case Move(message_ids, _, target):
                for id in message_ids:
                    self.messages[id] = replace(self.messages[id], thread_id=target)
            case FileChange():
                pass  # no row of a store
            case Say(_, messages):
                assert self.messages.keys().isdisjoint(m.id for m in messages)
                self.messages |= {m.id: m for m in messages}
            case Unsay(_, messages):
                for message in messages:
                    del self.messages[message.id]
            case Link(bridge):
                assert bridge.key not in self.bridges
                self.bridges[bridge.key] = bridge
            case Unlink(bridge):
                del self.bridges[bridge.key]
            case Alias(old, new):
                self.aliases[old] = new
            case Unalias(old, _):
                del self.aliases[old]

    def said(self, thread_id: str) -> tuple[Message, ...]:
        own = [m for m in self.messages.values() if m.thread_id == thread_id]
        return tuple(sorted(own, key=lambda m: (m.at, m.id)))

    def check_same(self, store: Store) -> None:
        everything = {memory.id: (memory, said) for memory, said in store.each()}
        assert everything == {id: (memory, self.said(id)) for id, memory in self.memories.items()}
        assert {b.key: b for b in store.bridges()} == self.bridges
        assert {old: new for new in self.memories for old in store.aliases(new)} == self.aliases
        for old, new in self.aliases.items():
            assert store.get(old) == self.memories[new]


class Life(RuleBasedStateMachine):
    @initialize()
    def begin(self) -> None:
        self.store = Store(None, Tuning())
        self.mirror = Mirror()
        self.done: list[str] = []

    def apply(self, plan: Plan) -> None:
        act = values.act()
        if self.store.apply(plan, act):
            self.mirror.apply(plan)
            self.done.append(act.change)

    def pick(self, number: int, *, standing: bool = True) -> Memory:
        """One of the memories, superseded ones only where asked for."""
        wanted = [m for m in self.mirror.memories.values() if not standing or m.status is not Status.SUPERSEDED]
        return wanted[number % len(wanted)]

    def has_memories(self) -> bool:
        return any(m.status is not Status.SUPERSEDED for m in self.mirror.memories.values())

    @rule(said=st.lists(words, min_size=1, max_size=4), title=words)
    def pin(self, said: list[str], title: str) -> None:
        thread = values.thread(title, body=said[0], topics=tuple(said[:2]), drift=tuple(said))
        self.apply(Plan((Create(thread, values.messages(thread, *said)),)))

    @rule(text=words)
    def add_rule(self, text: str) -> None:
        self.apply(Plan((Create(values.rule(text)),)))

    @precondition(has_memories)
    @rule(a=picks, b=picks, type=st.sampled_from(BridgeType), weight=st.sampled_from([0.2, 0.8]))
    def link(self, a: int, b: int, type: BridgeType, weight: float) -> None:
        bridge = values.bridge(self.pick(a), self.pick(b), type, weight)
        if bridge.key not in self.mirror.bridges:
            self.apply(Plan((Link(bridge),)))

    @precondition(lambda self: self.mirror.bridges)
    @rule(number=picks)
    def unlink(self, number: int) -> None:
        bridges = list(self.mirror.bridges.values())
        self.apply(Plan((Unlink(bridges[number % len(bridges)]),)))

    @precondition(has_memories)
    @rule(a=picks, b=picks)
    def merge(self, a: int, b: int) -> None:
        keep, lose = self.pick(a), self.pick(b)
        if keep.id == lose.id or keep.kind is not lose.kind:
            return
        self.apply(merge_plan(self.store, keep, lose))
        assert self.store.get(lose.id) == self.store.exact(keep.id)

    @precondition(has_memories)
    @rule(number=picks, topics=st.lists(words.filter(bool), max_size=2))
    def split(self, number: int, topics: list[str]) -> None:
        thread = self.pick(number)
        if isinstance(thread, Thread):
            new_id = values.MINT.draw("thread")
            plan = split(thread, self.store.messages(thread.id), tuple(topics), new_id=new_id, now=values.NOW)
            if isinstance(plan, Plan):
                self.apply(plan)

    @precondition(has_memories)
    @rule(number=picks, title=words, body=words)
    def revise(self, number: int, title: str, body: str) -> None:
        self.apply(edits.revise(self.pick(number), title=title, body=body, topics=(title,), now=values.NOW))

    @precondition(has_memories)
    @rule(number=picks, said=st.lists(words, min_size=1, max_size=3), body=words)
    def go_on(self, number: int, said: list[str], body: str) -> None:
        thread = self.pick(number)
        if isinstance(thread, Thread):
            new = values.messages(thread, *said)
            self.apply(Plan.of([Say(thread.id, new), Update.between(thread, replace(thread, body=body))]))

    @precondition(has_memories)
    @rule(number=picks)
    def archive(self, number: int) -> None:
        self.apply(edits.archive(self.pick(number)))

    @precondition(has_memories)
    @rule(number=picks)
    def restore(self, number: int) -> None:
        self.apply(edits.restore(self.pick(number), now=values.NOW, rules=values.AGE))

    @precondition(has_memories)
    @rule(number=picks)
    def delete(self, number: int) -> None:
        self.apply(delete_plan(self.store, self.pick(number)))

    @precondition(lambda self: self.done)
    @rule(number=picks)
    def undo_any(self, number: int) -> None:
        """Refused where something later stands on it; then nothing changes."""
        undone, act = self.done[number % len(self.done)], values.act("undo")
        try:
            taken = self.store.undo(undone, act)
        except Conflict:
            return
        self.mirror.apply(taken)
        if taken:
            self.done.append(act.change)

    @precondition(lambda self: self.done)
    @rule()
    def undo_last(self) -> None:
        act = values.act("undo")
        self.mirror.apply(self.store.undo(self.done[-1], act))
        self.done.append(act.change)

    @precondition(lambda self: self.mirror.memories)
    @rule(number=picks)
    def search_finds_it(self, number: int) -> None:
        memory = self.pick(number, standing=False)
        if memory.body in WORDS[:-1]:
            assert memory.body in {hit.memory.body for hit in search(self.store, Query(text=memory.body, limit=1_000))}

    @invariant()
    def the_store_is_what_the_plans_say(self) -> None:
        if hasattr(self, "store"):
            self.mirror.check_same(self.store)

    @rule()
    def verify(self) -> None:
        assert self.store.verify() == []

    def teardown(self) -> None:
        if not hasattr(self, "store"):
            return
        self.verify()
        for done in reversed(self.done):
            assert self.store.undo(done, values.act("undo"))
        Mirror().check_same(self.store)
        assert self.store.verify() == []
        self.store.close()


Life.TestCase.settings = settings(max_examples=30, stateful_step_count=25, deadline=None)
TestLife = Life.TestCase
