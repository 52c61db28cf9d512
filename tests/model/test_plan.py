"""A plan says what it will do, and to which memories."""

from __future__ import annotations

from hypothesis import given

from recollect.model.codec import decode_memory, encode
from recollect.model.memory import BridgeType, Lane, Memory
from recollect.model.plan import Alias, Create, Link, Move, Plan, Remove, Say, Unalias, Unlink, Unsay, Update
from tests.model import strategies
from tests.values import bridge, messages, renamed, thread


def test_an_update_holds_only_what_differs() -> None:
    memory = thread("old")
    update = Update.between(memory, renamed(memory, "new"))
    assert update == Update(memory.id, {"title": "old"}, {"title": "new"})


@given(strategies.memories)
def test_an_update_to_the_same_is_no_plan(memory: Memory) -> None:
    assert Plan.of([Update.between(memory, memory)]) == Plan.empty()
    assert not Plan.empty()


@given(strategies.memories, strategies.texts)
def test_an_update_holds_enough_to_go_there_and_back(memory: Memory, title: str) -> None:
    new = renamed(memory, title)
    update = Update.between(memory, new)
    assert decode_memory(encode(memory) | dict(update.after)) == new
    assert decode_memory(encode(new) | dict(update.before)) == memory


def test_a_plan_names_every_memory_it_touches_once_and_in_order() -> None:
    a, b, c = thread("a"), thread("b"), thread("c")
    said = messages(a, "one")

    touched = Plan(
        (
            Create(a, said),
            Link(bridge(b, a)),
            Unlink(bridge(b, a)),
            Move((said[0].id,), a.id, c.id),
            Alias("thread_old", c.id),
            Unalias("thread_old", c.id),
            Say(c.id, said),
            Unsay(b.id, said),
            Remove(b),
            Update("thread_other", {}, {}),
        )
    ).touched()

    assert touched == (a.id, b.id, c.id, "thread_old", "thread_other")


def test_one_bridge_of_a_type_joins_two_memories() -> None:
    a, b = thread("a"), thread("b")
    assert bridge(a, b, weight=0.1).key == bridge(a, b, weight=0.9).key
    assert bridge(a, b).key != bridge(b, a).key
    assert bridge(a, b, BridgeType.SIBLING).key != bridge(a, b, BridgeType.EXTENDS).key


def test_a_summary_takes_the_lowest_lane_of_its_parts() -> None:
    assert Lane.lowest(Lane.USER) is Lane.USER
    assert Lane.lowest(Lane.USER, Lane.AGENT, Lane.TOOL) is Lane.AGENT
    assert Lane.lowest(*Lane) is Lane.WEB
