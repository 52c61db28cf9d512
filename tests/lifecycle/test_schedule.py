"""When something is due, by a count of sessions."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.lifecycle.schedule import Schedule, Turn

schedules = st.integers(1, 300).flatmap(lambda cycle: st.builds(Schedule, st.integers(0, cycle - 1), st.just(cycle)))


def lived(schedule: Schedule, counts: list[int]) -> dict[Turn, list[int]]:
    """What happens over a life of counts, looked at once each."""
    last: int | None = None
    seen: dict[Turn, list[int]] = {turn: [] for turn in Turn}
    for session in counts:
        turn = schedule.turn(session, last)
        seen[turn].append(session)
        if turn is not Turn.WAIT:
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

    assert seen[Turn.BASELINE] == ([baseline] if baseline else [])
    assert seen[Turn.RUN] == runs


def test_the_two_defaults_never_fall_on_one_session():
    forgetting, validation = (lived(one, list(range(1_001)))[Turn.RUN] for one in (Schedule(0, 200), Schedule(75, 100)))

    assert not set(forgetting) & set(validation)


def test_a_count_that_jumps_over_its_points_owes_one_run():
    assert lived(Schedule(0, 200), [199, 201, 390, 1_005, 1_006, 1_199, 1_200])[Turn.RUN] == [1_005, 1_200]


def test_a_count_that_fell_back_only_sets_a_new_baseline():
    seen = lived(Schedule(0, 200), [200, 400, 30, 31, 199, 200])

    assert (seen[Turn.BASELINE], seen[Turn.RUN]) == ([200, 30], [400, 200])


@given(schedules, st.lists(st.integers(0, 3_000), min_size=1, max_size=60).map(sorted))
def test_whatever_sessions_are_seen_each_point_is_answered_once(schedule: Schedule, counts: list[int]):
    seen = lived(schedule, counts)
    answered = seen[Turn.BASELINE] + seen[Turn.RUN]

    points = [schedule.last_point(session) for session in answered]
    assert len(set(points)) == len(points)
    assert max(points, default=0) == max(0, max(schedule.last_point(session) for session in counts))


@given(schedules, st.integers(0, 3_000), st.none() | st.integers(0, 3_000))
def test_what_has_run_waits_for_its_next_point(schedule: Schedule, session: int, last: int | None):
    assert schedule.turn(session, session) is Turn.WAIT
    assert schedule.last_point(session) <= session < schedule.next_point(session)
    if last is None:
        assert schedule.turn(session, last) is not Turn.RUN
