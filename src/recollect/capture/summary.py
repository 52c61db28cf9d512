"""What a thread is about and how it stands: a record of all its records. What was asked for first, what was found and
decided (the newest first), and how it ended. Nothing is put in other words, so nothing is said that nobody said."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from recollect.base.text import clip
from recollect.capture import terms
from recollect.capture.sentence import says_nothing
from recollect.model.record import Record

MOST_CHARS = 800
_ASKED_CHARS, _FOUND_CHARS, _DECIDED_CHARS, _ENDED_CHARS = 160, 260, 140, 180


def summary(records: Sequence[Record]) -> str:
    asked = next((one.asked for one in records if one.asked and not says_nothing(one.asked)), "")
    latest = list(reversed(records))
    return Record(
        asked=_within([asked], _ASKED_CHARS),
        found=_within((one.found for one in latest), _FOUND_CHARS),
        decided=_within((one.decided for one in latest), _DECIDED_CHARS),
        ended=_last(latest),
    ).text()


def _last(latest: Iterable[Record]) -> str:
    return clip(next((one.ended for one in latest if len(terms.content(one.ended)) > 1), ""), _ENDED_CHARS)


def _within(texts: Iterable[str], most: int) -> str:
    """The first sentence of each, as far as there is room."""
    kept: list[str] = []
    room = most
    for text in texts:
        first = next(terms.sentences(text), "")
        if not first or first in kept:
            continue
        if kept and len(first) > room:
            break
        kept.append(clip(first, room))
        room -= len(kept[-1]) + 1
        if room < most // 3:
            break
    return " ".join(kept)
