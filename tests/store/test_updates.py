"""Updates that touch no words: many rows at once, each as sound as one that was written alone."""

from __future__ import annotations

from dataclasses import replace

import pytest

from recollect.base.errors import Conflict, StoreDamaged
from recollect.model.memory import Status, Thread
from recollect.model.plan import Create, Link, Update
from recollect.store import Store, rows
from tests.store.state import state
from tests.values import act, bridge, plan, thread


def many(store: Store, count: int) -> list[Thread]:
    made = [thread(f"thread {n} 日本") for n in range(count)]
    store.apply(plan(*map(Create, made)), act())
    return made


def archived(memory: Thread) -> Update:
    return Update.between(memory, replace(memory, status=Status.ARCHIVED))


def faded(memory: Thread, weight: float) -> Update:
    return Update.between(memory, replace(memory, weight=weight))


def test_more_than_are_written_at_once_are_one_sound_change_with_one_undo(store: Store):
    made = many(store, 1_203)
    before = state(store)
    change = act("compact")

    store.apply(plan(*map(archived, made[:1_100]), *(faded(one, 0.5) for one in made[1_100:])), change)

    assert {memory.id: (memory.status, memory.weight) for memory, _ in store.each()} == {
        one.id: (Status.ARCHIVED, 1.0) if n < 1_100 else (Status.ACTIVE, 0.5) for n, one in enumerate(made)
    }
    assert store.verify() == []
    store.undo(change.change, act("undo", undoes=change.change))
    assert state(store) == before
    assert store.verify() == []


def test_a_memory_may_change_twice_in_one_plan(store: Store):
    one, other = many(store, 2)
    before = state(store)
    change = act()

    store.apply(plan(faded(one, 0.5), faded(other, 0.4), faded(replace(one, weight=0.5), 0.2)), change)

    assert [memory.weight for memory, _ in store.each()] == [0.2, 0.4]
    store.undo(change.change, act(undoes=change.change))
    assert state(store) == before


def test_what_is_so_already_is_not_journalled(store: Store):
    one, other = many(store, 2)
    store.apply(plan(archived(one)), act())

    change = act()
    store.apply(plan(archived(one), archived(other)), change)

    assert store.log(limit=1)[0].memories == (other.id,)
    assert not store.apply(plan(archived(one), archived(other)), act())


def test_one_that_has_changed_since_or_is_gone_keeps_all_from_being_written(store: Store):
    one, other, third = many(store, 3)
    store.apply(plan(faded(third, 0.3)), act())
    before = state(store)

    for late in (faded(third, 0.5), archived(thread("never kept"))):
        with pytest.raises(Conflict):
            store.apply(plan(archived(one), archived(other), late), act())
        assert state(store) == before


def test_what_no_memory_can_be_is_refused_and_nothing_is_written(store: Store):
    one, other = many(store, 2)
    before = state(store)

    for wrong in (Update(other.id, {"status": "active"}, {"status": "gone"}),
                  Update(other.id, {"weight": 1.0}, {"weight": float("nan")})):  # fmt: skip
        with pytest.raises(StoreDamaged, match="would become unreadable"):
            store.apply(plan(archived(one), wrong), act())
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


def test_bridges_of_any_number_of_memories_can_be_asked_for(store: Store):
    one, other, third = many(store, 3)
    made = bridge(one, other)
    store.apply(plan(Link(made), Link(bridge(other, third))), act())
    assert store.bridges(*(f"t{n}" for n in range(40_000)), one.id) == (made,)
