"""How memories fade, what keeps them, and what age does to threads: a law of their weight and the time, however often
and in whatever order it is applied."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.base.moment import Moment
from recollect.lifecycle import strength as aging
from recollect.lifecycle.strength import AgeRules, apply_age, fades, reinforce, status_at, strength
from recollect.model.codec import content_hash
from recollect.model.memory import Memory, Status
from tests.model.strategies import memories
from tests.values import AGE, NOW, note, rule, thread

_ORDER = (Status.ACTIVE, Status.SUSPENDED, Status.ARCHIVED)
_UNFADING = [thread("pinned", pinned=True, boost=0.3, weight=1.3), rule("rule"), note("note")]
weights = st.floats(0, 1.5)
threads = st.builds(
    thread, st.just("t"), days_old=st.floats(0, 400), weight=weights, pinned=st.booleans(),
    status=st.sampled_from(Status),
)  # fmt: skip
rules_of_age = st.builds(
    AgeRules, half_life_days=st.floats(0.1, 400), suspend_below=st.floats(0, 1), archive_after_days=st.floats(1, 400)
)
times = st.floats(-20_000, 20_000).map(lambda days: NOW.plus(days=days))


def strength_after(memory: Memory, days: float) -> float:
    return strength(memory, now=NOW.plus(days=days), rules=AGE)


@given(weights, times, times, rules_of_age)
def test_strength_never_rises_with_time_and_a_clock_set_back_counts_as_none(
    weight: float, one: Moment, other: Moment, rules: AgeRules
) -> None:
    memory = thread("t", weight=weight)
    before = strength(memory, now=min(one, other), rules=rules)
    assert strength(memory, now=max(one, other), rules=rules) <= before <= weight
    if min(one, other) <= NOW:
        assert before == weight


def test_a_thread_halves_in_three_days_and_is_at_eight_hundredths_after_eleven() -> None:
    memory = thread("t")
    assert [round(strength_after(memory, days), 2) for days in (0, 3, 6, 11)] == [1.0, 0.5, 0.25, 0.08]
    assert strength(memory, now=NOW.plus(days=10), rules=AgeRules(half_life_days=10)) == 0.5


@pytest.mark.parametrize("memory", _UNFADING)
def test_what_is_pinned_and_rules_and_notes_do_not_fade(memory: Memory) -> None:
    later = NOW.plus(days=5_000)
    assert not fades(memory)
    assert strength_after(memory, 5_000) == memory.weight
    assert status_at(memory, now=later, rules=AGE) is Status.ACTIVE


@given(weights, st.floats(0, 0.5), st.lists(st.floats(0, 20_000), max_size=12))
def test_reinforcement_never_goes_above_one_plus_the_boost(weight: float, boost: float, gaps: list[float]) -> None:
    memory: Memory = thread("t", weight=min(weight, 1 + boost), boost=boost)
    now = NOW
    for gap in gaps:
        now = now.plus(days=gap)
        before = strength(memory, now=now, rules=AGE)
        memory = reinforce(memory, now=now, rules=AGE)
        assert before <= strength(memory, now=now, rules=AGE) <= 1 + boost


# What age does


@pytest.mark.parametrize(
    ("memory", "days", "status"),
    [
        (thread("t"), 9.96, Status.ACTIVE),  # 3 * log2(10) = 9.9658
        (thread("t"), 9.97, Status.SUSPENDED),
        (thread("t"), 39.96, Status.SUSPENDED),
        (thread("t"), 39.97, Status.ARCHIVED),
        (thread("t"), 4_000, Status.ARCHIVED),
        (thread("t"), -4_000, Status.ACTIVE),
        (thread("asleep", status=Status.SUSPENDED), 0, Status.SUSPENDED),
        (thread("weak", weight=0.05), 0, Status.SUSPENDED),
        (thread("weak", weight=0.05), 30, Status.ARCHIVED),
        *[(thread("t", status=decided), days, decided) for days in (0, 20, 400)
          for decided in (Status.ARCHIVED, Status.SUPERSEDED, Status.CANDIDATE)],
    ],
)  # fmt: skip
def test_a_thread_sleeps_below_a_tenth_and_is_archived_thirty_days_later(
    memory: Memory, days: float, status: Status
) -> None:
    now = NOW.plus(days=days)
    assert status_at(memory, now=now, rules=AGE) is status
    assert apply_age(memory, now=now, rules=AGE).status is status


@given(memories, times, rules_of_age)
def test_age_changes_only_the_status_of_threads_and_never_wakes_one(memory: Memory, now: Moment, rules: AgeRules):
    after = apply_age(memory, now=now, rules=rules)
    assert replace(after, status=memory.status) == memory
    if memory.kind != "thread" or memory.pinned or memory.status not in _ORDER:
        assert after == memory
    else:
        assert _ORDER.index(after.status) >= _ORDER.index(memory.status)


# What use does


def test_what_was_asked_for_is_counted_and_stronger_and_what_everyone_gets_is_only_counted():
    old = thread("Billing", days_old=3)

    used, seen = aging.count_asked(old, session=7, now=NOW, rules=AGE), aging.count_shown(old, session=7)

    assert (used.frequency, used.last_session, used.reinforced_at, used.last_active_at) == (1, 7, NOW, NOW)
    assert used.weight == pytest.approx(0.6)
    assert content_hash(used) == content_hash(old)
    assert seen == replace(old, frequency=1, last_session=7)
    assert aging.count_shown(rule("Tabs", last_session=9), session=7).last_session == 9
