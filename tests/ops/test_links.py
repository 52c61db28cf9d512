from __future__ import annotations

import math

import pytest

from recollect.app.core import App
from recollect.base.errors import BadInput, NotFound, UnknownId
from recollect.model.memory import BridgeType
from recollect.ops import history, memories
from tests.ops.ask import pinned


def bridges(app: App, id: str) -> list[tuple[str, str, BridgeType, float]]:
    return [(b.source, b.target, b.type, b.weight) for b, _ in memories.show(app, id).bridges]


def unused(id: str, taken: tuple[str, ...]) -> str:
    """An id one digit off, which is no other memory's."""
    return next(f"{id[:-1]}{digit}" for digit in "0123" if f"{id[:-1]}{digit}" not in taken)


@pytest.mark.parametrize("type", BridgeType)
def test_two_memories_can_be_joined_by_every_type(app: App, type: BridgeType):
    a, b = pinned(app, "a"), pinned(app, "b")
    memories.link(app, a, b, type=type, weight=0.7)
    assert bridges(app, a) == bridges(app, b) == [(a, b, type, 0.7)]


def test_linking_again_sets_the_weight(app: App):
    a, b = pinned(app, "a"), pinned(app, "b")
    memories.link(app, a, b)
    memories.link(app, a, b, weight=0.9)
    assert memories.link(app, a, b, weight=0.9).change is None
    assert bridges(app, a) == [(a, b, BridgeType.EXTENDS, 0.9)]


@pytest.mark.parametrize("weight", [-0.01, 1.01, math.nan, math.inf])
def test_a_weight_lies_between_nothing_and_one(app: App, weight: float):
    a, b = pinned(app, "a"), pinned(app, "b")
    with pytest.raises(BadInput, match="between 0 and 1"):
        memories.link(app, a, b, weight=weight)


def test_unlink_takes_all_bridges_of_two_whichever_way_they_lead(app: App):
    a, b, c = pinned(app, "a"), pinned(app, "b"), pinned(app, "c")
    memories.link(app, a, b)
    memories.link(app, b, a, type=BridgeType.DEPENDS)
    memories.link(app, a, c)

    memories.unlink(app, a, b)

    assert bridges(app, a) == [(a, c, BridgeType.EXTENDS, 0.5)]


def test_unlink_can_take_one_type(app: App):
    a, b = pinned(app, "a"), pinned(app, "b")
    memories.link(app, a, b)
    memories.link(app, a, b, type=BridgeType.DEPENDS)

    memories.unlink(app, a, b, type=BridgeType.EXTENDS)

    assert bridges(app, a) == [(a, b, BridgeType.DEPENDS, 0.5)]
    with pytest.raises(NotFound, match="No link"):
        memories.unlink(app, a, b, type=BridgeType.EXTENDS)


def test_what_cannot_be_joined(app: App):
    a, b, everywhere = pinned(app, "a"), pinned(app, "b"), pinned(app, "c", user=True)

    with pytest.raises(BadInput, match="same memory"):
        memories.link(app, a, a)
    with pytest.raises(BadInput, match="kept apart"):
        memories.link(app, a, everywhere)
    with pytest.raises(UnknownId) as problem:
        memories.link(app, a, unused(b, (a, b, everywhere)))
    assert b in problem.value.near


def test_a_merged_memory_cannot_be_linked_to_what_it_became(app: App):
    a, b = pinned(app, "a"), pinned(app, "b")
    memories.merge(app, a, b)
    with pytest.raises(BadInput, match="same memory"):
        memories.link(app, a, b)


def test_linking_can_be_undone(app: App):
    a, b = pinned(app, "a"), pinned(app, "b")
    memories.link(app, a, b)
    memories.link(app, a, b, weight=0.9)

    history.undo(app)
    assert bridges(app, a) == [(a, b, BridgeType.EXTENDS, 0.5)]
    history.undo(app)
    assert bridges(app, a) == []
