"""Laws of merging and compaction on a real store, whatever it holds."""

from __future__ import annotations

from itertools import combinations
from typing import NamedTuple

from hypothesis import given, settings
from hypothesis import strategies as st

from recollect.lifecycle import compaction
from recollect.lifecycle.compaction import FIGURES, Strategy
from recollect.model.memory import Bridge, BridgeType, Lane, Message, Status, Thread
from recollect.model.plan import Create, Link
from recollect.ops.memories import load_whole
from recollect.store import Store, Tuning
from tests.store.asking import merge_plan
from tests.store.state import state
from tests.values import AGE, NOW, act, bridge, messages, plan, thread


class World(NamedTuple):
    threads: list[Thread]
    said: dict[str, tuple[Message, ...]]
    bridges: list[Bridge]


@st.composite
def worlds(draw: st.DrawFn) -> World:
    threads = [
        thread(
            f"t{n}", weight=draw(st.floats(0.05, 1.0)), days_old=draw(st.floats(0, 30)), pinned=draw(st.booleans()),
            topics=tuple(draw(st.sets(st.sampled_from("abc"), max_size=2))), lane=draw(st.sampled_from(list(Lane)[:2])),
        )
        for n in range(draw(st.integers(2, 7)))
    ]  # fmt: skip
    said = {t.id: messages(t, *(f"{t.title} said {n}" for n in range(draw(st.integers(0, 3))))) for t in threads}
    pairs = draw(st.sets(st.sampled_from(list(combinations(range(len(threads)), 2))), max_size=6))
    kinds = st.sampled_from(BridgeType)
    return World(threads, said, [bridge(threads[a], threads[b], draw(kinds)) for a, b in sorted(pairs)])


def built(world: World) -> Store:
    store = Store(None, Tuning())
    store.apply(plan(*(Create(t, world.said[t.id]) for t in world.threads), *map(Link, world.bridges)), act())
    return store


def all_messages(store: Store) -> dict[str, str]:
    return {m.id: m.content for _, said in store.each() for m in said}


@settings(max_examples=60)
@given(worlds())
def test_a_merge_undone_never_was(world: World):
    store, (keep, lose, *_) = built(world), world.threads
    before, spoken = state(store), all_messages(store)
    change = act("merge")

    store.apply(merge_plan(store, keep, lose), change)

    assert all_messages(store) == spoken
    found = store.get(lose.id)
    assert found is not None
    assert found.id == keep.id
    store.undo(change.change, act("undo", undoes=change.change))
    assert state(store) == before


@settings(max_examples=60)
@given(worlds(), st.data(), st.sampled_from(Strategy))
def test_a_compaction_loses_no_message_and_undone_never_was(world: World, data: st.DataObject, strategy: Strategy):
    store = built(world)
    before, spoken = state(store), all_messages(store)
    ids = [t.id for t in world.threads]
    near = sorted(((a, b, data.draw(st.floats(0.7, 1.0))) for a, b in combinations(ids, 2)), key=lambda pair: -pair[2])
    figures, sketches = FIGURES[strategy], store.sketches()
    chosen = compaction.choose(compaction.standing(sketches, now=NOW, rules=AGE), near, figures, now=NOW, rules=AGE)
    whole = {t.id: load_whole(store, t) for t in world.threads}
    change = act("compact")

    wrote = store.apply(compaction.plan(chosen, sketches, whole, now=NOW, rules=AGE), change)

    assert all_messages(store) == spoken
    assert all(found.status is Status.ACTIVE for t in world.threads if t.pinned and (found := store.exact(t.id)))
    assert all(store.get(lose) == store.get(keep) for keep, lose, _ in chosen.merges)
    assert store.verify() == []
    if wrote:
        store.undo(change.change, act("undo", undoes=change.change))
    assert state(store) == before
