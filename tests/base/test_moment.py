"""A moment is a point in UTC, to the microsecond, and survives being written down."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.base.moment import Moment

AWARE = st.datetimes(
    min_value=datetime(1900, 1, 1),  # noqa: DTZ001 - the zone is drawn apart
    max_value=datetime(2200, 1, 1),  # noqa: DTZ001
    timezones=st.timedeltas(timedelta(hours=-23), timedelta(hours=23)).map(timezone),
)
MOMENTS = AWARE.map(Moment.of)
NOON = Moment.of(datetime(2026, 2, 1, 12, 0, tzinfo=UTC))


@given(MOMENTS)
def test_what_is_printed_parses_back_to_the_same_moment(moment: Moment):
    assert Moment.parse(moment.iso()) == moment
    assert Moment.of(moment.datetime()) == moment


@given(MOMENTS, MOMENTS)
def test_moments_their_text_and_their_stamps_sort_alike(one: Moment, other: Moment):
    assert (one < other) == (one.iso() < other.iso())
    assert not (one < other) or one.stamp() <= other.stamp()


@given(AWARE)
def test_the_zone_a_time_was_told_in_does_not_matter(when: datetime):
    assert Moment.of(when) == Moment.of(when.astimezone(UTC))


def test_a_naive_time_is_taken_as_utc():
    assert Moment.parse("2026-02-01T12:00:00") == NOON


@given(MOMENTS, MOMENTS)
def test_an_age_is_never_negative(one: Moment, other: Moment):
    assert one.days_since(other) >= 0
    assert one.days_since(one) == 0


@given(MOMENTS, st.integers(0, 3_650))
def test_days_added_are_days_counted(moment: Moment, days: int):
    assert moment.plus(days=days).days_since(moment) == days


def test_the_forms_are_those_of_the_specification():
    assert NOON.iso() == "2026-02-01T12:00:00.000000Z"
    assert NOON.stamp() == "20260201_120000"


@pytest.mark.parametrize("text", ["", "yesterday", "2026-13-01", "1e9", "2026-02-30T00:00:00Z", "\x00"])
def test_what_is_no_time_is_refused(text: str):
    with pytest.raises(ValueError, match=r".*"):
        Moment.parse(text)
