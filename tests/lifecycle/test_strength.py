"""What time does. How memories fade, what keeps them, and what age does to threads: a law of their weight and the time,
however often and in whatever order it is applied. Beats are counted by the clock, whoever looks and however often; jobs
are due by a count of sessions."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.base.moment import Moment
from recollect.jobs.runner import DueState, Schedule
from recollect.lifecycle.strength import (
    AgeRules,
    add_outcome,
    apply_age,
    count_use,
    fades,
    reinforce,
    status_at,
    strength,
)
from recollect.model.memory import Memory, Status
from recollect.model.session import BEAT_MINUTES, Heartbeat
from tests.model.strategies import memories
from tests.values import AGE, NOW, note, rule, thread

_ORDER = (Status.ACTIVE, Status.SUSPENDED, Status.ARCHIVED)
weights = st.floats(0, 1.5)
threads = st.builds(
    thread, st.just("t"), days_old=st.floats(0, 400), weight=weights, pinned=st.booleans(),
    status=st.sampled_from(Status),
)  # fmt: skip
rules_of_age = st.builds(
    AgeRules,
    half_life_days=st.floats(0.1, 400),
    suspend_below=st.floats(0, 1),
    archive_after_days=st.floats(1, 400),
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
    assert [round(strength_after(memory, days), 2) for days in (0, 3, 6, 11)] == [
        1.0,
        0.5,
        0.25,
        0.08,
    ]
    assert strength(memory, now=NOW.plus(days=10), rules=AgeRules(half_life_days=10)) == 0.5


@pytest.mark.parametrize(
    "memory", [thread("pinned", pinned=True, weight=1.3), rule("rule"), note("note")]
)
def test_what_is_pinned_and_rules_and_notes_do_not_fade(memory: Memory) -> None:
    assert not fades(memory)
    assert strength_after(memory, 5_000) == memory.weight
    assert status_at(memory, now=NOW.plus(days=5_000), rules=AGE) is Status.ACTIVE


@given(weights, st.floats(0, 0.5), st.lists(st.floats(0, 20_000), max_size=12))
def test_reinforcement_never_goes_above_one_plus_the_boost(
    weight: float, boost: float, gaps: list[float]
) -> None:
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
        (thread("t"), 9.96, Status.ACTIVE), (thread("t"), 9.97, Status.SUSPENDED),  # 3 * log2(10) = 9.9658
        (thread("t"), 39.96, Status.SUSPENDED), (thread("t"), 39.97, Status.ARCHIVED),
        (thread("t"), 4_000, Status.ARCHIVED), (thread("t"), -4_000, Status.ACTIVE),
        (thread("asleep", status=Status.SUSPENDED), 0, Status.SUSPENDED),
        (thread("weak", weight=0.05), 0, Status.SUSPENDED), (thread("weak", weight=0.05), 30, Status.ARCHIVED),
        *[(thread("t", status=decided), days, decided) for days in (0, 20, 400)
          for decided in (Status.ARCHIVED, Status.SUPERSEDED, Status.CANDIDATE)],
    ],
)  # fmt: skip
def test_a_thread_sleeps_below_a_tenth_and_is_archived_thirty_days_later(
    memory: Memory, days: float, status: Status
):
    assert apply_age(memory, now=NOW.plus(days=days), rules=AGE).status is status


@given(memories, times, rules_of_age)
def test_age_changes_only_the_status_of_threads_and_never_wakes_one(
    memory: Memory, now: Moment, rules: AgeRules
):
    after = apply_age(memory, now=now, rules=rules)
    assert replace(after, status=memory.status) == memory
    if memory.kind != "thread" or memory.pinned or memory.status not in _ORDER:
        assert after == memory
    else:
        assert _ORDER.index(after.status) >= _ORDER.index(memory.status)


# What use does


def test_what_is_shown_is_counted_and_no_stronger():
    old = thread("Billing", days_old=3)
    assert count_use(old, session=7) == replace(old, frequency=1, last_session=7)
    assert count_use(rule("Tabs", last_session=9), session=7).last_session == 9


def test_a_thread_grows_stronger_by_work_that_went_well_and_by_nothing_else():
    old = thread("Billing", days_old=3)
    well, badly = (add_outcome(old, well=well, now=NOW, rules=AGE) for well in (True, False))
    assert well.weight == pytest.approx(0.6)
    assert (well.reinforced_at, well.outcomes) == (NOW, "+")
    assert well.last_active_at == old.last_active_at, "nobody worked on it"
    assert badly == replace(old, outcomes="-")
    tabs = rule("Tabs", days_old=3)
    assert add_outcome(tabs, well=True, now=NOW, rules=AGE) == replace(tabs, outcomes="+")


# Beats

MOMENTS = st.integers(min_value=0, max_value=4_000_000_000).map(lambda s: Moment(s * 1_000_000))


def later(beats: float) -> Moment:
    return NOW.plus(seconds=60 * beats * BEAT_MINUTES)


@given(
    st.lists(st.floats(min_value=0, max_value=1_000), max_size=20),
    st.floats(min_value=1_000, max_value=2_000),
)
def test_it_does_not_matter_how_often_anyone_looked(looks: list[float], end: float):
    heart = Heartbeat.begin(NOW)
    for beats in sorted(looks):
        heart = heart.tick(later(beats))
    assert heart.tick(later(end)) == Heartbeat.begin(NOW).tick(later(end))


@given(st.lists(MOMENTS, min_size=1, max_size=20))
def test_whatever_the_clock_does_no_beat_is_taken_away(moments: list[Moment]):
    heart = Heartbeat.begin(NOW)
    for at in moments:
        moved = heart.speak(at) if at.micros % 2 else heart.tick(at)
        assert moved.beat >= heart.beat
        assert moved.since_last >= 0
        assert moved.last_beat_at <= at
        heart = moved


def test_speaking_sets_the_count_since_to_nothing():
    heart = Heartbeat.begin(NOW).speak(later(5.9))
    assert (heart.beat, heart.since_last, heart.last_interaction_at) == (5, 0, later(5.9))
    assert heart.tick(later(8)).since_last == 3


@pytest.mark.parametrize(
    ("since", "said"),
    [((0, 2), "active conversation"), ((3, 12), "short pause"), ((13, 72), "session interrupted"),
     ((73, 288), "new day"), ((289, 10**9), "long absence")],
)  # fmt: skip
def test_what_a_pause_means(since: tuple[int, int], said: str):
    assert {Heartbeat(beats, NOW, NOW, NOW, 0).meaning for beats in since} == {said}


# Schedules

schedules = st.integers(1, 300).flatmap(
    lambda cycle: st.builds(Schedule, st.integers(0, cycle - 1), st.just(cycle))
)


def lived(schedule: Schedule, counts: list[int]) -> dict[DueState, list[int]]:
    """What happens over a life of counts, looked at once each."""
    last: int | None = None
    seen: dict[DueState, list[int]] = {"wait": [], "baseline": [], "run": []}
    for session in counts:
        turn = schedule.due_state(session, last)
        seen[turn].append(session)
        if turn != "wait":
            last = session
    return seen


@pytest.mark.parametrize(
    ("schedule", "baseline", "runs"),
    [
        (Schedule(0, 200), 200, [400, 600, 800, 1_000]),
        (Schedule(75, 100), 75, [175, 275, 375, 475, 575, 675, 775, 875, 975]),
        (Schedule(0, 1), 1, list(range(2, 1_001))),
        (Schedule(1, 2), 1, list(range(3, 1_001, 2))),
        (Schedule(999, 1_000), 999, []),
        (Schedule(0, 5_000), None, []),
    ],
)
def test_over_a_thousand_sessions_it_runs_at_its_offset_after_a_baseline(
    schedule: Schedule, baseline: int | None, runs: list[int]
):
    seen = lived(schedule, list(range(1_001)))
    assert seen["baseline"] == ([baseline] if baseline else [])
    assert seen["run"] == runs


def test_a_count_that_jumps_over_its_points_owes_one_run_and_one_that_fell_back_sets_a_new_baseline():
    assert lived(Schedule(0, 200), [199, 201, 390, 1_005, 1_006, 1_199, 1_200])["run"] == [
        1_005,
        1_200,
    ]
    seen = lived(Schedule(0, 200), [200, 400, 30, 31, 199, 200])
    assert (seen["baseline"], seen["run"]) == ([200, 30], [400, 200])


@given(schedules, st.lists(st.integers(0, 3_000), min_size=1, max_size=60).map(sorted))
def test_whatever_sessions_are_seen_each_point_is_answered_once(
    schedule: Schedule, counts: list[int]
):
    seen = lived(schedule, counts)
    answered = seen["baseline"] + seen["run"]
    points = [schedule.last_point(session) for session in answered]
    assert len(set(points)) == len(points)
    assert max(points, default=0) == max(0, max(schedule.last_point(session) for session in counts))
