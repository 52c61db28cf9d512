"""Any order of pins, rules, links, merges, splits, revisions, deletions and undos: nothing is lost,
`verify` stays clean, and undoing everything in reverse leaves an empty store."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from recollect.base.errors import Conflict
from recollect.lifecycle import change
from recollect.lifecycle.merge import merge
from recollect.lifecycle.split import split
from recollect.model.bridge import BridgeType
from recollect.model.memory import Memory, Status, Thread
from recollect.model.plan import Create, Link, Plan, Say, Unlink, Update
from recollect.model.query import Query
from recollect.store import SqliteStore, Tuning
from tests import values
from tests.store.asking import search
from tests.store.mirror import Mirror

WORDS = ("dark mode", "solana validators", "getUserName", "日本語", "billing page", "")
words = st.sampled_from(WORDS)
picks = st.integers(0, 10_000)


class Life(RuleBasedStateMachine):
    @initialize()
    def begin(self) -> None:
        self.store = SqliteStore(None, Tuning())
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
        self.apply(
            merge(
                keep,
                lose,
                messages=self.store.messages(lose.id),
                bridges=self.store.bridges(keep.id, lose.id),
                aliases=self.store.aliases(lose.id),
                now=values.NOW,
                rules=values.AGE,
            )
        )
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
        self.apply(change.revise(self.pick(number), title=title, body=body, topics=(title,), now=values.NOW))

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
        self.apply(change.archive(self.pick(number)))

    @precondition(has_memories)
    @rule(number=picks)
    def restore(self, number: int) -> None:
        self.apply(change.restore(self.pick(number), now=values.NOW, rules=values.AGE))

    @precondition(has_memories)
    @rule(number=picks)
    def delete(self, number: int) -> None:
        memory = self.pick(number)
        held = (self.store.messages(memory.id), self.store.bridges(memory.id), self.store.aliases(memory.id))
        self.apply(change.delete(memory, *held))

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
