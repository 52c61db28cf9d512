"""The small changes of one memory."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.lifecycle import change
from recollect.lifecycle.strength import strength
from recollect.model.memory import Lane, Status, Thread
from recollect.model.plan import Create, Plan, Remove, Unalias, Unlink, Update
from tests.values import AGE, NOW, bridge, messages, thread


def pinned(content: str, *, title: str = "", boost: float = 0.3) -> Thread:
    return change.pinned_thread(
        content, id="thread_1", title=title, topics=("ui",), boost=boost, lane=Lane.AGENT, now=NOW
    )


def test_a_pin_is_kept_word_for_word_above_everything_else() -> None:
    memory = pinned("  User prefers dark mode  \n")

    assert memory.body == "  User prefers dark mode  \n"
    assert memory.title == "User prefers dark mode"
    assert (memory.weight, memory.boost, memory.pinned) == (1.3, 0.3, True)
    assert (memory.tags, memory.origin, memory.lane) == (("pinned",), "agent_pin", Lane.AGENT)


@given(st.floats())
def test_a_pins_boost_is_between_nothing_and_a_half(boost: float) -> None:
    memory = pinned("x", boost=boost)
    assert 0 <= memory.boost <= 0.5
    assert memory.weight == 1 + memory.boost


def test_a_given_title_is_kept() -> None:
    assert pinned("x", title="Dark").title == "Dark"


def test_a_pin_is_one_thread_with_one_message() -> None:
    memory = pinned("dark mode")

    [create] = change.pin(memory, message_id="message_1").changes

    assert isinstance(create, Create)
    assert create.memory == memory
    assert [(m.thread_id, m.content, m.source) for m in create.messages] == [("thread_1", "dark mode", "agent_pin")]


def test_a_revision_says_when_and_one_that_changes_nothing_is_no_plan() -> None:
    memory = thread("old", days_old=5)
    same = change.revise(memory, title="old", body=memory.body, topics=(), now=NOW)
    [update] = change.revise(memory, title="new", body=memory.body, topics=("a",), now=NOW).changes

    assert same == Plan.empty()
    assert isinstance(update, Update)
    assert update.after == {"title": "new", "topics": ["a"], "last_active_at": NOW.iso()}


def test_what_is_archived_already_needs_no_plan() -> None:
    assert change.archive(thread("t", status=Status.ARCHIVED)) == Plan.empty()
    assert change.restore(thread("t"), now=NOW, rules=AGE) == Plan.empty()


@pytest.mark.parametrize("status", [Status.ARCHIVED, Status.SUSPENDED, Status.SUPERSEDED, Status.CANDIDATE])
def test_what_is_restored_is_active_and_as_strong_as_new(status: Status) -> None:
    old = thread("t", days_old=900, status=status, superseded_by="thread_x", weight=0.2, boost=0.1)

    [update] = change.restore(old, now=NOW, rules=AGE).changes

    assert isinstance(update, Update)
    awake = thread("t", weight=update.after["weight"], boost=0.1)
    assert update.after["status"] == "active"
    assert update.after["superseded_by"] is None
    assert update.after["reinforced_at"] == NOW.iso()
    assert strength(awake, now=NOW, rules=AGE) == pytest.approx(1.1)


def test_a_deletion_takes_bridges_and_aliases_along_and_holds_them_all() -> None:
    gone, other = thread("gone"), thread("other")
    said = messages(gone, "one", "two")
    link = bridge(other, gone)

    plan = change.delete(gone, said, (link,), ("thread_older",))

    assert plan.changes == (Unlink(link), Unalias("thread_older", gone.id), Remove(gone, said))
