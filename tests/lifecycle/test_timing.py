"""Beats are counted by the clock, whoever looks and however often; jobs are due by a count of sessions."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.base.moment import Moment
from recollect.jobs.runner import DueState, Schedule
from recollect.model.session import BEAT_MINUTES, Heartbeat
from tests.values import NOW

MOMENTS = st.integers(min_value=0, max_value=4_000_000_000).map(lambda s: Moment(s * 1_000_000))


def later(beats: float) -> Moment:
    return NOW.plus(seconds=60 * beats * BEAT_MINUTES)


@given(st.lists(st.floats(min_value=0, max_value=1_000), max_size=20), st.floats(min_value=1_000, max_value=2_000))
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

schedules = st.integers(1, 300).flatmap(lambda cycle: st.builds(Schedule, st.integers(0, cycle - 1), st.just(cycle)))


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
    assert lived(Schedule(0, 200), [199, 201, 390, 1_005, 1_006, 1_199, 1_200])["run"] == [1_005, 1_200]
    seen = lived(Schedule(0, 200), [200, 400, 30, 31, 199, 200])
    assert (seen["baseline"], seen["run"]) == ([200, 30], [400, 200])


@given(schedules, st.lists(st.integers(0, 3_000), min_size=1, max_size=60).map(sorted))
def test_whatever_sessions_are_seen_each_point_is_answered_once(schedule: Schedule, counts: list[int]):
    seen = lived(schedule, counts)
    answered = seen["baseline"] + seen["run"]
    points = [schedule.last_point(session) for session in answered]
    assert len(set(points)) == len(points)
    assert max(points, default=0) == max(0, max(schedule.last_point(session) for session in counts))


@given(schedules, st.integers(0, 3_000), st.none() | st.integers(0, 3_000))
def test_what_has_run_waits_for_its_next_point(schedule: Schedule, session: int, last: int | None):
    assert schedule.due_state(session, session) == "wait"
    assert session - schedule.cycle < schedule.last_point(session) <= session
    if last is None:
        assert schedule.due_state(session, last) != "run"
