"""Beats are counted by the clock, whoever looks and however often."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.base.moment import Moment
from recollect.lifecycle.heartbeat import BEAT_SECONDS, as_json, begun, from_json, interacted, ticked
from recollect.model.heartbeat import Heartbeat
from tests.values import NOW

MOMENTS = st.integers(min_value=0, max_value=4_000_000_000).map(lambda s: Moment(s * 1_000_000))


def later(beats: float) -> Moment:
    return NOW.plus(seconds=beats * BEAT_SECONDS)


def test_beats_that_nobody_was_there_to_tick_are_caught_up():
    assert ticked(begun(NOW), later(847.9)).beat == 847


@given(st.lists(st.floats(min_value=0, max_value=1_000), max_size=20), st.floats(min_value=1_000, max_value=2_000))
def test_it_does_not_matter_how_often_anyone_looked(looks: list[float], end: float):
    heart = begun(NOW)
    for beats in sorted(looks):
        heart = ticked(heart, later(beats))

    assert ticked(heart, later(end)) == ticked(begun(NOW), later(end))


@given(st.lists(MOMENTS, min_size=1, max_size=20))
def test_whatever_the_clock_does_no_beat_is_taken_away(moments: list[Moment]):
    heart = begun(NOW)
    for at in moments:
        moved = interacted(heart, at) if at.micros % 2 else ticked(heart, at)
        assert moved.beat >= heart.beat
        assert moved.since_last >= 0
        assert moved.last_beat_at <= at
        heart = moved


def test_a_clock_that_was_set_back_goes_on_counting_from_there():
    heart = ticked(begun(NOW), later(10))

    back = ticked(heart, later(-100))

    assert back.beat == 10
    assert ticked(back, later(-98)).beat == 12


def test_daylight_saving_changes_nothing():
    before = Moment.parse("2026-03-29T01:55:00+01:00")
    after = Moment.parse("2026-03-29T03:05:00+02:00")  # ten minutes later

    assert ticked(begun(before), after).beat == 2


def test_speaking_sets_the_count_since_to_nothing():
    heart = interacted(begun(NOW), later(5))

    assert (heart.beat, heart.since_last, heart.last_interaction_at) == (5, 0, later(5))
    assert ticked(heart, later(8)).since_last == 3


@pytest.mark.parametrize(
    ("since", "said"),
    [
        (0, "active conversation"),
        (2, "active conversation"),
        (3, "short pause"),
        (12, "short pause"),
        (13, "session interrupted"),
        (72, "session interrupted"),
        (73, "new day"),
        (288, "new day"),
        (289, "long absence"),
        (10**9, "long absence"),
    ],
)
def test_what_a_pause_means(since: int, said: str):
    assert Heartbeat(since, NOW, NOW, NOW, 0).meaning == said


@given(st.integers(0, 2**53), MOMENTS, MOMENTS, MOMENTS, st.integers(0, 2**53))
def test_it_survives_its_json(beat: int, a: Moment, b: Moment, c: Moment, heard: int):
    heart = Heartbeat(beat, a, b, c, min(heard, beat))
    assert from_json(json.loads(json.dumps(as_json(heart)))) == heart


NO_HEARTBEATS = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["beat", "started_at", "x"]), inner),
)


@given(NO_HEARTBEATS)
def test_what_is_no_heartbeat_is_none(data: object):
    assert from_json(data) is None


@pytest.mark.parametrize("broken", [{"beat": -1}, {"beat": True}, {"beat": 1e300}, {"last_beat_at": "yesterday"},
                                    {"last_interaction_beat": None}, {"started_at": 5}, {"beat": 2**64}])  # fmt: skip
def test_a_heartbeat_with_one_wrong_part_is_none(broken: dict[str, object]):
    assert from_json({**as_json(begun(NOW)), **broken}) is None
