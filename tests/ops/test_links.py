import math

import pytest

from recollect.app.core import App
from recollect.base.errors import BadInput, NotFound, UnknownId
from recollect.model.memory import BridgeType
from recollect.ops import history, memories
from tests.ops.ask import pinned


def bridges(app: App, id: str) -> list[tuple[str, str, BridgeType, float]]:
    return [(b.source, b.target, b.type, b.weight) for b, _ in memories.show(app, id).bridges]


def test_two_memories_can_be_joined_by_every_type_again_with_another_weight_and_undone(app: App):
    a, b = pinned(app, "a"), pinned(app, "b")
    for type in BridgeType:
        memories.link(app, a, b, type=type)
        memories.link(app, a, b, type=type, weight=0.7)
        assert memories.link(app, a, b, type=type, weight=0.7).change is None
    assert sorted(bridges(app, a)) == sorted(bridges(app, b)) == sorted((a, b, type, 0.7) for type in BridgeType)

    history.undo(app)
    assert (a, b, list(BridgeType)[-1], 0.5) in bridges(app, a)
    history.undo(app)
    assert len(bridges(app, a)) == len(BridgeType) - 1


def test_unlink_takes_all_bridges_of_two_whichever_way_they_lead_or_one_type(app: App):
    a, b, c = pinned(app, "a"), pinned(app, "b"), pinned(app, "c")
    memories.link(app, a, b)
    memories.link(app, b, a, type=BridgeType.DEPENDS)
    memories.link(app, a, c)
    memories.link(app, a, c, type=BridgeType.DEPENDS)

    memories.unlink(app, a, b)
    memories.unlink(app, a, c, type=BridgeType.EXTENDS)

    assert bridges(app, a) == [(a, c, BridgeType.DEPENDS, 0.5)]
    with pytest.raises(NotFound, match="No link"):
        memories.unlink(app, a, c, type=BridgeType.EXTENDS)


def test_what_cannot_be_joined(app: App):
    a, b, everywhere = pinned(app, "a"), pinned(app, "b"), pinned(app, "c", user=True)
    nobody = next(id for digit in "0123" if (id := f"{b[:-1]}{digit}") not in (a, b, everywhere))

    for weight in (-0.01, 1.01, math.nan, math.inf):
        with pytest.raises(BadInput, match="between 0 and 1"):
            memories.link(app, a, b, weight=weight)
    with pytest.raises(BadInput, match="different stores"):
        memories.link(app, a, everywhere)
    with pytest.raises(UnknownId) as problem:
        memories.link(app, a, nobody)
    assert b in problem.value.near
    memories.merge(app, a, b)
    for same in (a, b):
        with pytest.raises(BadInput, match="same memory"):
            memories.link(app, a, same)
