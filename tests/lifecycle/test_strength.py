"""How memories fade, and what keeps them."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.lifecycle.strength import AgeRules, fades, reinforced, status_at, strength
from recollect.model.memory import Memory, Status, Thread
from tests.values import AGE, NOW, note, rule, thread

days = st.floats(0, 20_000, allow_nan=False)
weights = st.floats(0, 1.5, allow_nan=False)
rules_of_age = st.builds(AgeRules, half_life_days=st.floats(0.01, 1_000), suspend_below=st.floats(0.001, 0.9))


def strength_after(memory: Memory, days: float) -> float:
    return strength(memory, now=NOW.plus(days=days), rules=AGE)


@given(weights, days, days, rules_of_age)
def test_strength_never_rises_with_time(weight: float, sooner: float, later: float, rules: AgeRules) -> None:
    memory = thread("t", weight=weight)
    first, second = sorted((sooner, later))

    before = strength(memory, now=NOW.plus(days=first), rules=rules)

    assert strength(memory, now=NOW.plus(days=second), rules=rules) <= before <= weight


@given(weights, days)
def test_a_clock_set_back_counts_as_no_time(weight: float, days: float) -> None:
    memory = thread("t", weight=weight)
    assert strength_after(memory, -days) == weight


def test_a_thread_halves_in_three_days_and_is_at_eight_hundredths_after_eleven() -> None:
    memory = thread("t")
    assert strength_after(memory, 0) == 1.0
    assert strength_after(memory, 3) == 0.5
    assert strength_after(memory, 6) == 0.25
    assert round(strength_after(memory, 11), 2) == 0.08


def test_the_half_life_is_a_setting() -> None:
    assert strength(thread("t"), now=NOW.plus(days=10), rules=AgeRules(half_life_days=10)) == 0.5


@pytest.mark.parametrize("memory", [thread("pinned", pinned=True, boost=0.3, weight=1.3), rule("rule"), note("note")])
def test_what_is_pinned_and_rules_and_notes_do_not_fade(memory: Memory) -> None:
    assert not fades(memory)
    assert strength_after(memory, 5_000) == memory.weight
    assert status_at(memory, now=NOW.plus(days=5_000), rules=AGE) is Status.ACTIVE


@given(weights, st.floats(0, 0.5), st.lists(days, max_size=12))
def test_reinforcement_never_goes_above_one_plus_the_boost(weight: float, boost: float, gaps: list[float]) -> None:
    memory: Memory = thread("t", weight=min(weight, 1 + boost), boost=boost)
    now = NOW
    for gap in gaps:
        now = now.plus(days=gap)
        before = strength(memory, now=now, rules=AGE)
        memory = reinforced(memory, now=now, rules=AGE)
        assert before <= strength(memory, now=now, rules=AGE) <= 1 + boost


def test_a_pins_boost_survives_every_reinforcement() -> None:
    memory: Memory = thread("t", pinned=True, boost=0.3, weight=1.3)
    for day in range(50):
        memory = reinforced(memory, now=NOW.plus(days=day), rules=AGE)
    assert (memory.weight, memory.boost) == (1.3, 0.3)


def test_use_adds_a_tenth_to_what_is_left() -> None:
    used = reinforced(thread("t"), now=NOW.plus(days=3), rules=AGE)
    assert used.weight == pytest.approx(0.6)
    assert used.reinforced_at == used.last_active_at == NOW.plus(days=3)


@pytest.mark.parametrize(
    ("days", "status"),
    [
        (0, Status.ACTIVE),
        (9.96, Status.ACTIVE),  # 3 * log2(10) = 9.9658
        (9.97, Status.SUSPENDED),
        (39.96, Status.SUSPENDED),
        (39.97, Status.ARCHIVED),
        (4_000, Status.ARCHIVED),
        (-4_000, Status.ACTIVE),
    ],
)
def test_a_thread_sleeps_below_a_tenth_and_is_put_away_thirty_days_later(days: float, status: Status) -> None:
    assert status_at(thread("t"), now=NOW.plus(days=days), rules=AGE) is status


@pytest.mark.parametrize("decided", [Status.ARCHIVED, Status.SUPERSEDED, Status.CANDIDATE])
def test_what_was_decided_is_left_as_it_is(decided: Status) -> None:
    for age_days in (0, 20, 400):
        assert status_at(thread("t", status=decided), now=NOW.plus(days=age_days), rules=AGE) is decided


def test_a_sleeping_thread_is_not_woken_by_age_alone() -> None:
    assert status_at(thread("t", status=Status.SUSPENDED), now=NOW, rules=AGE) is Status.SUSPENDED


def test_a_thread_born_below_the_threshold_sleeps_from_the_start() -> None:
    weak = thread("t", weight=0.05)
    assert status_at(weak, now=NOW, rules=AGE) is Status.SUSPENDED
    assert status_at(weak, now=NOW.plus(days=30), rules=AGE) is Status.ARCHIVED


@given(weights, days, days, rules_of_age)
def test_age_never_brings_a_thread_back(weight: float, sooner: float, later: float, rules: AgeRules) -> None:
    order = [Status.ACTIVE, Status.SUSPENDED, Status.ARCHIVED]
    first, second = sorted((sooner, later))
    memory: Thread = thread("t", weight=weight)

    then = status_at(memory, now=NOW.plus(days=first), rules=rules)
    after = status_at(replace(memory, status=then), now=NOW.plus(days=second), rules=rules)

    assert order.index(after) >= order.index(then)
