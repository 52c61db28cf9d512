"""The time that a question names. The day of the table is a Wednesday."""

from datetime import UTC, datetime

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from recollect.base.moment import Moment
from recollect.recall import time_words
from recollect.recall.time_words import Span, asked_time
from tests.cases import cases

NOW = Moment.parse("2026-03-18T10:00:00Z")


def at(text: str) -> Moment:
    return Moment.parse(text)


@pytest.mark.parametrize(("question", "inside", "outside"), cases("time_words", "named", "recall"))
def test_a_named_time_holds_what_is_of_it_and_nothing_far_from_it(question: str, inside: str, outside: list[str]):
    span = asked_time(question, NOW)
    assert span is not None
    assert span.holds(at(inside)) == 1
    assert [span.holds(at(other)) for other in outside] == [0] * len(outside)


@pytest.mark.parametrize("question", cases("time_words", "not_named", "recall"))
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
