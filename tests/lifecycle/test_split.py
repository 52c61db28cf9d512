"""One thread becomes two, and both stay whole."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.lifecycle.split import split
from recollect.model.bridge import BridgeType
from recollect.model.memory import Message, Thread
from recollect.model.plan import Create, Link, Move, Plan, Update
from recollect.model.query import Drop
from tests.naughty import NAUGHTY
from tests.values import NOW, messages, thread


def parted(owner: Thread, said: tuple[Message, ...], *topics: str) -> Plan | Drop:
    return split(owner, said, topics, new_id="thread_new", now=NOW)


def moved(plan: Plan | Drop) -> tuple[str, ...]:
    assert isinstance(plan, Plan)
    return next(c.message_ids for c in plan.changes if isinstance(c, Move))


def test_messages_about_the_topic_go_to_a_child_and_the_rest_stay() -> None:
    owner = thread("login", topics=("auth", "Billing"), tags=("x",))
    said = messages(owner, "auth fails", "billing page is slow", "BILLING again", "rebilling")

    plan = parted(owner, said, "billing")

    assert isinstance(plan, Plan)
    create, move, update, link = plan.changes
    assert isinstance(create, Create)
    assert create.memory.topics == ("billing",)
    assert create.memory.title == "billing (from login)"
    assert "billing page is slow" in create.memory.body
    assert move == Move((said[1].id, said[2].id), owner.id, "thread_new")
    assert isinstance(update, Update)
    assert update.after == {"topics": ["auth"]}
    assert isinstance(link, Link)
    assert (link.bridge.source, link.bridge.target, link.bridge.type) == ("thread_new", owner.id, BridgeType.CHILD_OF)


def test_without_topics_the_last_turn_is_where_it_is_cut() -> None:
    owner = thread("t", drift=("auth", "billing", "deploy", "auth"))
    said = messages(owner, "auth", "billing", "deploy")
    assert moved(parted(owner, said)) == (said[2].id,)


def test_a_turn_that_no_message_speaks_of_is_passed_over() -> None:
    owner = thread("t", drift=("auth", "billing", "ghost"))
    said = messages(owner, "auth", "billing")
    assert moved(parted(owner, said)) == (said[1].id,)


@pytest.mark.parametrize(
    ("contents", "topics", "reason"),
    [
        ((), ("a",), "fewer than two messages"),
        (("a",), ("a",), "fewer than two messages"),
        (("a", "b"), (), "never moved to another topic"),
        (("a", "b"), ("c",), "none of its messages speaks of c"),
        (("a", "a b"), ("a",), "all of its messages speak of a"),
        (("a", "b"), ("", " "), "none of its messages"),
    ],
)
def test_what_cannot_be_split_says_why(contents: tuple[str, ...], topics: tuple[str, ...], reason: str) -> None:
    owner = thread("t")

    dropped = parted(owner, messages(owner, *contents), *topics)

    assert isinstance(dropped, Drop)
    assert dropped.id == owner.id
    assert reason in dropped.reason


@given(
    st.lists(st.text("ab. ", max_size=6), max_size=5),
    st.lists(st.sampled_from(["a", "b", "a.", "(", "\\"]), max_size=2),
    st.lists(st.sampled_from("ab"), max_size=4),
)
def test_every_message_ends_in_exactly_one_of_the_two(contents: list[str], topics: list[str], drift: list[str]) -> None:
    owner = thread("t", drift=tuple(drift), topics=tuple(drift))
    said = messages(owner, *contents)

    plan = parted(owner, said, *topics)

    if isinstance(plan, Plan):
        assert 0 < len(moved(plan)) < len(said)
        assert set(moved(plan)) < {m.id for m in said}


@pytest.mark.parametrize("topic", NAUGHTY[::7])
def test_any_topic_may_be_asked_for(topic: str) -> None:
    owner = thread("t")
    said = messages(owner, f"about {topic} only", "something else")
    assert isinstance(parted(owner, said, topic), Plan | Drop)
