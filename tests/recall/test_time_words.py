"""The time that a question names. The day of the table is a Wednesday."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from recollect.base.moment import Moment
from recollect.recall import time_words
from recollect.recall.time_words import Span, asked_time

NOW = Moment.parse("2026-03-18T10:00:00Z")

# Inside is a moment of the time that is meant; outside are some that are not, each too far to be a near miss.
TABLE = {
    "what did we do today": ("2026-03-18T09:00", ["2026-03-16"]),
    "what broke yesterday?": ("2026-03-17T12:00", ["2026-03-15", "2026-03-19"]),
    "what broke the day before yesterday": ("2026-03-16T12:00", ["2026-03-14", "2026-03-18T09:00"]),
    "the mail of this morning": ("2026-03-18T08:00", ["2026-03-16"]),
    "the deploy last night": ("2026-03-17T23:00", ["2026-03-15"]),
    "ten minutes ago": ("2026-03-18T09:49:30", ["2026-03-17"]),
    "3 days ago": ("2026-03-15T10:00", ["2026-03-12", "2026-03-18"]),
    "a week ago": ("2026-03-11T10:00", ["2026-02-28", "2026-03-18"]),
    "two weeks ago": ("2026-03-04T10:00", ["2026-02-20", "2026-03-13"]),
    "a couple of weeks ago": ("2026-03-04T10:00", ["2026-02-20", "2026-03-13"]),
    "a few months ago": ("2025-12-17", ["2025-10-01", "2026-02-20"]),
    "what did we decide last week": ("2026-03-11", ["2026-03-01", "2026-03-18T09:00"]),
    "the previous week": ("2026-03-11", ["2026-03-01", "2026-03-18T09:00"]),
    "last weekend": ("2026-03-15", ["2026-03-12", "2026-03-18"]),
    "last month": ("2026-02-14", ["2026-01-10", "2026-03-18"]),
    "last year": ("2025-07-01", ["2024-06-01"]),
    "this week": ("2026-03-17", ["2026-03-11"]),
    "this month": ("2026-03-02", ["2026-02-14"]),
    "this year": ("2026-01-05", ["2025-06-01"]),
    "the last three days": ("2026-03-16", ["2026-03-12"]),
    "over the last couple of weeks": ("2026-03-06", ["2026-02-20"]),
    "in the past week": ("2026-03-12", ["2026-03-05"]),
    "past 2 months": ("2026-02-01", ["2025-12-01"]),
    "last Tuesday": ("2026-03-17T12:00", ["2026-03-10", "2026-03-19"]),
    "what was said on Monday": ("2026-03-16T12:00", ["2026-03-14", "2026-03-18T09:00"]),
    "since Monday": ("2026-03-17", ["2026-03-14"]),
    "before Friday": ("2026-03-01", ["2026-03-17"]),
    "in February": ("2026-02-14", ["2026-01-10", "2026-03-18"]),
    "in April": ("2025-04-14", ["2026-03-18", "2025-06-01"]),
    "in February 2025": ("2025-02-14", ["2026-02-14"]),
    "the March 2024 release": ("2024-03-14", ["2025-03-14"]),
    "on March 3rd": ("2026-03-03T12:00", ["2026-03-01", "2026-03-06"]),
    "in March, on the 3rd of March": ("2026-03-03T12:00", ["2026-03-01", "2026-03-06"]),
    "since March 10": ("2026-03-12", ["2026-03-05"]),
    "on April 1": ("2025-04-01T12:00", ["2026-03-18"]),
    "May 5, 2025": ("2025-05-05T12:00", ["2025-05-08", "2026-03-18"]),
    "the incident of 2026-03-01": ("2026-03-01T12:00", ["2026-02-27", "2026-03-04"]),
    "the bill of 2026-02": ("2026-02-14", ["2026-01-10", "2026-03-18"]),
    "before 2026-03-01": ("2025-12-01", ["2026-03-04", "2026-03-18"]),
    "until last month": ("2025-12-01", ["2026-02-14", "2026-03-18"]),
    "since last month": ("2026-02-02", ["2026-01-10"]),
    "after 2026-03-01": ("2026-03-10", ["2026-02-27"]),
}


def at(text: str) -> Moment:
    return Moment.parse(text)


@pytest.mark.parametrize("question", TABLE)
def test_a_named_time_holds_what_is_of_it_and_nothing_far_from_it(question: str):
    inside, outside = TABLE[question]
    span = asked_time(question, NOW)
    assert span is not None
    assert span.holds(at(inside)) == 1
    assert [span.holds(at(other)) for other in outside] == [0] * len(outside)


@pytest.mark.parametrize(
    "question",
    [
        "", "a", "why is the cache slow", "the last release", "I may do it", "version 2.0", "yesterdays",
        "the lastweek", "31 February", "2026-13-01", "5000 years ago", "9999 months ago", "9999-12-31", "0000-01-01",
        "before 0001-02-03", "in December 9999", "昨日は何をしましたか",
    ],
)  # fmt: skip
def test_a_question_that_names_no_time_or_an_impossible_one_asks_for_none(question: str):
    assert asked_time(question, NOW) is None


def test_the_edges_fade_because_people_misremember_by_a_day_or_so():
    span = asked_time("LAST WEEK", NOW)
    assert span is not None
    assert span == asked_time("last week", NOW) != asked_time("this week", NOW)
    fading = [span.holds(at(f"2026-03-{day}")) for day in (12, 16, 17, 18)]
    assert fading == sorted(fading, reverse=True)
    assert 0 < span.holds(at("2026-03-17")) < 1


# Laws

words = st.sampled_from(
    "a an the two 3 0 31 9999 0001 few couple of day days night week weeks month year years ago last past previous "
    "this in on since before until after mid monday sunday january may december dec today yesterday tonight weekend "
    "2026-02-30 9999-12-31 0001-01-01 2024 1st 29 february ,".split()
)
phrases = st.lists(words, max_size=8).map(" ".join)
moments = st.datetimes(timezones=st.just(UTC)).map(Moment.of)


@given(st.text() | phrases, moments, moments)
@example("29 february", NOW, NOW)
@example("a day ago", Moment.of(datetime(1, 1, 1, tzinfo=UTC)), NOW)
@example("after today", Moment.of(datetime.max.replace(tzinfo=UTC)), NOW)
def test_any_question_at_any_time_is_read_and_holds_from_zero_to_one(question: str, now: Moment, when: Moment):
    span = asked_time(question, now)
    assert span is None or 0 <= span.holds(when) <= 1
    first, end = sorted((now, when))
    assert first == end or Span.of(first.datetime(), end.datetime()).holds(first) == 1


WORDS = (
    "a two 3 few of day days week last past previous ago this morning today yesterday the before since on in "
    "tuesday march may 12 2026 2026-03 1st cart deploy mid"
).split()


@given(st.lists(st.sampled_from(WORDS), min_size=1, max_size=6).map(" ".join))
def test_a_question_that_is_not_looked_at_closely_names_no_time(question: str):
    is_found = any(pattern.search(question) for pattern, _ in time_words._readers())
    assert time_words._HINT.search(question) or not is_found


@pytest.mark.parametrize("piece", ["last ", "a couple of ", "march ", "1", "x", "before last ", " ", "2026-03-"])
def test_of_a_megabyte_only_the_beginning_is_read(piece: str):
    text = piece * (1_000_000 // len(piece))
    assert asked_time(f"{text} yesterday", NOW) == asked_time(text[: time_words._MAX_CHARS], NOW)
