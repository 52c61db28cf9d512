"""Time words of a question: `yesterday`, `two weeks ago`, `last Tuesday`, `in March`, `before 2026-03-01`.

A memory from that time gains; one from another time loses nothing, because people misremember dates. English only.
Days are UTC days. A time given by an event (`before the release`) is not understood.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import cache

from recollect.base.moment import Moment

_MAX_DAYS = 36_500  # a question about something older is about something else
_FADING_SHARE = 0.25  # of the span's own length: how fast its edges fade
_MIN_EDGE = timedelta(hours=18)
_MAX_CHARS = 2_000

_UNITS = {"minute": 1 / 1440, "hour": 1 / 24, "day": 1.0, "night": 1.0, "week": 7.0, "month": 30.4, "year": 365.25}
_NUMBERS = {
    "a": 1, "an": 1, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8,
    "nine": 9, "ten": 10, "eleven": 11, "twelve": 12, "couple": 2, "few": 3, "several": 4,
}  # fmt: skip
_DAYS = "monday tuesday wednesday thursday friday saturday sunday".split()
_MONTHS = (
    "january february march april may june july august september october november december "
    "jan feb mar apr may jun jul aug sep oct nov dec"
).split()

_BOUNDS = ("since", "before", "until", "after")
_UNIT = "(minute|hour|day|night|week|month|year)s?"
_NUMBER = rf"(\d{{1,4}}|{'|'.join(_NUMBERS)})"
_DAY_NAME = f"({'|'.join(_DAYS)})"
_MONTH_NAME = f"({'|'.join(dict.fromkeys(_MONTHS))})"


@dataclass(frozen=True, slots=True)
class Span:
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
    text = question[:_MAX_CHARS].lower()
    if not _may_name_time(text):
        return None
    today = now.datetime().replace(hour=0, minute=0, second=0, microsecond=0)
    for pattern, read in _readers():
        found = pattern.search(text)
        if found is None:
            continue
        try:
            return _bounded(read(found, today, now.datetime()), text[: found.start()], found[0], now.datetime())
        except (ValueError, OverflowError):
            continue  # the 31st of February
    return None


def _bounded(span: Span, before: str, phrase: str, now: datetime) -> Span:
    """`since Monday`, `before March`, `after yesterday`: as sharp as the time that is named, however long the rest."""
    first = phrase.split(maxsplit=1)[0]
    match first if first in _BOUNDS else (re.findall(r"[a-z]+", before[-12:]) or [""])[-1]:
        case "since":
            return replace(span, until=now)
        case "before" | "until":
            return replace(span, since=span.since - timedelta(days=_MAX_DAYS), until=span.since)
        case "after":
            return replace(span, since=span.until, until=now)
        case _:
            return span


def _ago(found: re.Match[str], _today: datetime, now: datetime) -> Span:
    middle, half = now - _length(found[1], found[2]), timedelta(days=_UNITS[found[2]] / 2)
    return Span.of(middle - half, middle + half)


def _past(found: re.Match[str], _today: datetime, now: datetime) -> Span:
    """`the last three days`, `in the past week`."""
    return Span.of(now - _length(found[1] or "one", found[2]), now)


def _last(found: re.Match[str], today: datetime, now: datetime) -> Span:
    match found[1]:
        case "weekend":
            saturday = today - timedelta(days=(today.weekday() - 5) % 7 or 7)
            return Span.of(saturday, saturday + timedelta(days=2))
        case "week":
            monday = today - timedelta(days=today.weekday())
            return Span.of(monday - timedelta(days=7), monday)
        case "month":
            first = today.replace(day=1)
            return Span.of((first - timedelta(days=1)).replace(day=1), first)
        case "year":
            return Span.of(datetime(today.year - 1, 1, 1, tzinfo=UTC), datetime(today.year, 1, 1, tzinfo=UTC))
        case unit:
            return Span.of(now - 2 * timedelta(days=_UNITS[unit]), now)


def _this(found: re.Match[str], today: datetime, now: datetime) -> Span:
    starts = {
        "week": today - timedelta(days=today.weekday()),
        "month": today.replace(day=1),
        "year": datetime(today.year, 1, 1, tzinfo=UTC),
    }
    start = starts.get(found[1], today)
    return Span.of(start, max(now, start + timedelta(hours=1)))


def _day_word(found: re.Match[str], today: datetime, _now: datetime) -> Span:
    back = (found[1] == "yesterday") + found[0].startswith("the day before")
    return _days(today - timedelta(days=back))


def _weekday(found: re.Match[str], today: datetime, _now: datetime) -> Span:
    return _days(today - timedelta(days=(today.weekday() - _DAYS.index(found[1])) % 7 or 7))


def _month(found: re.Match[str], today: datetime, _now: datetime) -> Span:
    number = _month_number(found[1])
    return _whole_month(int(found[2]) if found[2] else today.year - (number > today.month), number)


def _day_of_month(found: re.Match[str], today: datetime, _now: datetime) -> Span:
    name, day = (found[1], found[2]) if found[1] else (found[4], found[3])
    start = datetime(int(found[5]) if found[5] else today.year, _month_number(name), int(day), tzinfo=UTC)
    return _days(start.replace(year=start.year - 1) if not found[5] and start > today else start)


def _iso(found: re.Match[str], _today: datetime, _now: datetime) -> Span:
    year, month = int(found[1]), int(found[2])
    return _days(datetime(year, month, int(found[3]), tzinfo=UTC)) if found[3] else _whole_month(year, month)


def _length(number: str, unit: str) -> timedelta:
    days = (int(number) if number.isdigit() else _NUMBERS[number]) * _UNITS[unit]
    if days > _MAX_DAYS:
        raise ValueError("too long ago")
    return timedelta(days=days)


def _days(start: datetime, count: int = 1) -> Span:
    return Span.of(start, start + timedelta(days=count))


def _month_number(name: str) -> int:
    return _MONTHS.index(name) % 12 + 1


def _whole_month(year: int, month: int) -> Span:
    from calendar import monthrange  # imports `locale`, and few questions need it

    return _days(datetime(year, month, 1, tzinfo=UTC), monthrange(year, month)[1])


_Read = Callable[["re.Match[str]", datetime, datetime], Span]
_READERS: tuple[tuple[str, _Read], ...] = (
    (rf"(?:a )?{_NUMBER}(?: of)? {_UNIT} ago", _ago),
    (rf"(?:last|past|previous) (?:{_NUMBER}(?: of)? )?{_UNIT[:-2]}s", _past),
    (rf"past (?:{_NUMBER} )?{_UNIT}", _past),
    (r"(?:last|previous) (night|week|month|year|weekend)", _last),
    (r"this (week|month|year|morning|afternoon|evening)", _this),
    (r"(?:the day before )?(today|tonight|yesterday)", _day_word),
    (rf"(?:last|on|since|before|until|after|past) {_DAY_NAME}", _weekday),
    (r"(\d{4})-(\d{2})(?:-(\d{2}))?", _iso),
    (
        rf"(?:{_MONTH_NAME} (\d{{1,2}})(?:st|nd|rd|th)?|(\d{{1,2}})(?:st|nd|rd|th)?(?: of)? {_MONTH_NAME})"
        r"(?:,? (\d{4}))?",
        _day_of_month,
    ),
    (rf"(?:in|last|since|before|until|after|during|mid|early|late) {_MONTH_NAME}(?: (\d{{4}}))?", _month),
    (rf"{_MONTH_NAME} (\d{{4}})", _month),
)
# Without one of these, or a digit, no reader finds anything.
_TIME_WORDS = frozenset("ago last past previous this today tonight yesterday".split()) | {*_DAYS, *_MONTHS}


def _may_name_time(text: str) -> bool:
    return any(char.isdigit() for char in text) or not _TIME_WORDS.isdisjoint(re.findall("[a-z]+", text))


@cache
def _readers() -> tuple[tuple[re.Pattern[str], _Read], ...]:
    """Compiled when first needed: few questions name a time, and a daemon that starts is waited for."""
    return tuple((re.compile(rf"\b(?:{pattern})\b", re.ASCII), read) for pattern, read in _READERS)
