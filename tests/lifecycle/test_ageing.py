"""What age does to threads: a law of their weight and the time, however often and in whatever order it is applied."""

from __future__ import annotations

from dataclasses import replace
from itertools import permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.base.moment import Moment
from recollect.lifecycle import ageing
from recollect.lifecycle.strength import AgeRules, strength
from recollect.model.codec import decode_memory, encode_memory
from recollect.model.memory import Memory, Status
from recollect.model.plan import Plan, Update
from tests.model.strategies import memories
from tests.values import AGE, NOW, note, rule, thread

_ORDER = (Status.ACTIVE, Status.SUSPENDED, Status.ARCHIVED)
threads = st.builds(
    thread, st.just("t"), days_old=st.floats(0, 400), weight=st.floats(0, 1.5), pinned=st.booleans(),
    status=st.sampled_from(Status),
)  # fmt: skip
rules_of_age = st.builds(
    AgeRules, half_life_days=st.floats(0.1, 400), suspend_below=st.floats(0, 1), archive_after_days=st.floats(1, 400)
)
times = st.floats(-400, 400).map(lambda days: NOW.plus(days=days))

_KEPT = [thread("t", days_old=999, pinned=True), rule("r", days_old=999), note("n", days_old=999)]


def run(memory: Memory, now: Moment, rules: AgeRules = AGE) -> Memory:
    """The plan, applied as a store would."""
    for change in ageing.plan([memory], now=now, rules=rules).changes:
        assert isinstance(change, Update)
        memory = decode_memory({**encode_memory(memory), **change.after})
    return memory


@given(threads, times, rules_of_age)
def test_nothing_rises_by_age_alone(memory: Memory, now: Moment, rules: AgeRules):
    after = run(memory, now, rules)

    if memory.status not in _ORDER:
        assert after == memory
    else:
        assert _ORDER.index(after.status) >= _ORDER.index(memory.status)
    assert strength(after, now=now, rules=rules) <= max(memory.weight, 0)


@given(threads, times, rules_of_age)
def test_a_second_run_changes_nothing(memory: Memory, now: Moment, rules: AgeRules):
    once = run(memory, now, rules)

    assert ageing.plan([once], now=now, rules=rules) == Plan.empty()


@given(threads, st.lists(times, min_size=1, max_size=4), rules_of_age)
def test_it_does_not_matter_when_and_in_which_order_it_runs(memory: Memory, at: list[Moment], rules: AgeRules):
    only_the_last = run(memory, max(at), rules)

    for order in permutations(at):
        after = memory
        for now in order:
            after = run(after, now, rules)
        assert after == only_the_last


@given(threads, times, times, rules_of_age)
def test_a_clock_that_is_set_back_changes_nothing(memory: Memory, one: Moment, other: Moment, rules: AgeRules):
    after = run(memory, max(one, other), rules)

    assert ageing.plan([after], now=min(one, other), rules=rules) == Plan.empty()


@given(memories, times, rules_of_age)
def test_only_the_status_of_threads_changes(memory: Memory, now: Moment, rules: AgeRules):
    after = run(memory, now, rules)

    assert replace(after, status=memory.status) == memory
    if memory.kind != "thread" or memory.pinned:
        assert after == memory


@pytest.mark.parametrize(
    ("days", "status"),
    [
        (9, Status.ACTIVE),
        (10, Status.SUSPENDED),
        (39, Status.SUSPENDED),
        (40, Status.ARCHIVED),
        (9_000, Status.ARCHIVED),
    ],
)
def test_a_thread_sleeps_after_ten_days_and_is_archived_thirty_days_later_but_only_its_sleep_is_written(
    days: float, status: Status
):
    old = thread("t", days_old=days)

    assert ageing.aged(old, now=NOW, rules=AGE).status is status
    assert ageing.aged(run(old, NOW), now=NOW, rules=AGE).status is status
    assert run(old, NOW).status is (Status.ACTIVE if status is Status.ACTIVE else Status.SUSPENDED)


@pytest.mark.parametrize("kept", _KEPT)
def test_what_is_pinned_and_rules_and_notes_stay(kept: Memory):
    assert ageing.plan([kept], now=NOW, rules=AGE) == Plan.empty()
