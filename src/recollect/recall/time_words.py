"""Time words of a question: `yesterday`, `last Tuesday`, `in March`, `before 2026-03-01`. English. A memory from that
time gains; one from another time loses nothing, because people misremember dates."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import NamedTuple

from recollect.base.moment import Moment

_MAX_DAYS = 36_500  # a question about something older is about something else
_FADING_SHARE = 0.25  # of the span's own length: how fast its edges fade
_MIN_EDGE = timedelta(hours=18)
_MAX_CHARS = 2_000

_DAY = timedelta(days=1)
_UNITS = {
    "minute": 1 / 1440,
    "hour": 1 / 24,
    "day": 1.0,
    "night": 1.0,
    "week": 7.0,
    "month": 30.4,
    "year": 365.25,
}
_BOUNDS = ("since", "before", "until", "after")
_NUMBERS = {
    "a": 1, "an": 1, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8,
    "nine": 9, "ten": 10, "eleven": 11, "twelve": 12, "couple": 2, "few": 3, "several": 4,
}  # fmt: skip
_DAYS = "monday tuesday wednesday thursday friday saturday sunday".split()
_MONTHS = (
    "january february march april may june july august september october november december "
    "jan feb mar apr may jun jul aug sep oct nov dec"
).split()
_UNIT = f"({'|'.join(_UNITS)})"
_NUMBER = rf"(\d{{1,4}}|{'|'.join(_NUMBERS)})"
_MONTH = f"({'|'.join(dict.fromkeys(_MONTHS))})"
_DAY_OF_MONTH = r"(\d{1,2})(?:st|nd|rd|th)?"
# Without one of these no reader finds anything.
_HINT = re.compile(
    rf"\d|\b(?:ago|last|past|previous|this|today|tonight|yesterday|{'|'.join((*_DAYS, *_MONTHS))})\b"
)


class Span(NamedTuple):
    since: datetime
    until: datetime
    edge: timedelta  # how far beyond its ends it fades to nothing

    @classmethod
    def of(cls, since: datetime, until: datetime) -> Span:
        return cls(since, until, max(_MIN_EDGE, (until - since) * _FADING_SHARE))

    def holds(self, at: Moment) -> float:
        """1 inside, fading to 0 beyond the edges."""
        when = at.datetime()
        if self.since <= when < self.until:
            return 1.0
        gap = self.since - when if when < self.since else when - self.until
        return max(0.0, 1.0 - gap / self.edge)


def asked_time(question: str, now: Moment) -> Span | None:
    """The time that a question names; of several the most exact. None: it names none."""
    text, moment = question[:_MAX_CHARS].lower(), now.datetime()
    if not _HINT.search(text):
        return None
    today = moment.replace(hour=0, minute=0, second=0, microsecond=0)
    for pattern, read in _readers():
        found = pattern.search(text)
        if found is None:
            continue
        # `since Monday`, `before March`, `after yesterday`: as sharp as the time that is named, however long the rest.
        before, first = (
            re.findall(r"[a-z]+", text[: found.start()][-12:]),
            found[0].split(maxsplit=1)[0],
        )
        bound = first if first in _BOUNDS else before[-1] if before else ""
        try:
            span = read(found, today, moment)
            if bound in ("before", "until"):
                return span._replace(since=span.since - timedelta(days=_MAX_DAYS), until=span.since)
            since = span.until if bound == "after" else span.since
            return span._replace(since=since, until=moment if bound in _BOUNDS else span.until)
        except (ValueError, OverflowError):
            continue  # the 31st of February
    return None


def _length(number: str | None, unit: str) -> timedelta:
    days = (int(number) if number and number.isdigit() else _NUMBERS[number or "one"]) * _UNITS[
        unit
    ]
    if days > _MAX_DAYS:
        raise ValueError("too long ago")
    return timedelta(days=days)


def _start_of(period: str, day: datetime) -> datetime:
    if period == "week":
        return day - day.weekday() * _DAY
    return day.replace(day=1) if period == "month" else day.replace(month=1, day=1)


def _days(start: datetime, count: int = 1) -> Span:
    return Span.of(start, start + count * _DAY)


def _since(start: datetime, now: datetime) -> Span:
    return Span.of(start, max(now, start + timedelta(hours=1)))


def _ago(found: re.Match[str], _today: datetime, now: datetime) -> Span:
    middle, half = now - _length(found[1], found[2]), timedelta(days=_UNITS[found[2]] / 2)
    return Span.of(middle - half, middle + half)


def _last(found: re.Match[str], today: datetime, now: datetime) -> Span:
    if found[1] == "weekend":
        return _days(today - ((today.weekday() - 5) % 7 or 7) * _DAY, 2)
    if found[1] not in ("week", "month", "year"):
        return Span.of(now - 2 * _DAY, now)
    end = _start_of(found[1], today)
    return Span.of(_start_of(found[1], end - _DAY), end)


def _calendar(year: str | None, month: str, day: str | None, today: datetime) -> Span:
    number = int(month) if month.isdigit() else _MONTHS.index(month) % 12 + 1
    if not day:
        first = datetime(
            int(year) if year else today.year - (number > today.month), number, 1, tzinfo=UTC
        )
        return Span.of(first, (first + 31 * _DAY).replace(day=1))
    start = datetime(int(year) if year else today.year, number, int(day), tzinfo=UTC)
    return _days(start.replace(year=start.year - 1) if not year and start > today else start)


_Reader = Callable[["re.Match[str]", datetime, datetime], Span]
_READERS: tuple[tuple[str, _Reader], ...] = (
    (rf"(?:a )?{_NUMBER}(?: of)? {_UNIT}s? ago", _ago),
    (
        rf"(?:last|past|previous) (?:{_NUMBER}(?: of)? )?{_UNIT}s|past (?:{_NUMBER} )?{_UNIT}s?",
        lambda found, _, now: Span.of(
            now - _length(found[1] or found[3], found[2] or found[4]), now
        ),
    ),
    (r"(?:last|previous) (night|week|month|year|weekend)", _last),
    (r"this (week|month|year)", lambda found, today, now: _since(_start_of(found[1], today), now)),
    (r"this (?:morning|afternoon|evening)", lambda _, today, now: _since(today, now)),
    (r"the day before yesterday", lambda _, today, __: _days(today - 2 * _DAY)),
    (r"(today|tonight)|yesterday", lambda found, today, _: _days(today - (not found[1]) * _DAY)),
    (
        rf"(?:last|on|since|before|until|after|past) ({'|'.join(_DAYS)})",
        lambda found, today, _: _days(
            today - ((today.weekday() - _DAYS.index(found[1])) % 7 or 7) * _DAY
        ),
    ),
    (
        r"(\d{4})-(\d{2})(?:-(\d{2}))?",
        lambda found, today, _: _calendar(found[1], found[2], found[3], today),
    ),
    (
        rf"(?:{_MONTH} {_DAY_OF_MONTH}|{_DAY_OF_MONTH}(?: of)? {_MONTH})(?:,? (\d{{4}}))?",
        lambda found, today, _: _calendar(
            found[5], found[1] or found[4], found[2] or found[3], today
        ),
    ),
    (
        rf"(?:in|last|since|before|until|after|during|mid|early|late) {_MONTH}(?: (\d{{4}}))?",
        lambda found, today, _: _calendar(found[2], found[1], None, today),
    ),
    (rf"{_MONTH} (\d{{4}})", lambda found, today, _: _calendar(found[2], found[1], None, today)),
)


@cache
def _readers() -> tuple[tuple[re.Pattern[str], _Reader], ...]:
    """Compiled when first needed: few questions name a time, and a daemon that starts is waited for."""
    return tuple((re.compile(rf"\b(?:{pattern})\b", re.ASCII), read) for pattern, read in _READERS)
