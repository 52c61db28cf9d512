"""How a thread hangs together with others, where the evidence says so: files they share, and words that name another
one as what this depends on or takes the place of. Never by likeness alone."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice

from recollect.capture import terms
from recollect.capture.threads import Continue, Open, Subject, shared_files
from recollect.model.bridge import BridgeType
from recollect.model.memory import Thread

MOST = 3
_SHARED = 0.5
"""Of the files it touches: so much is no accident."""
_NEXT_CHARS = 60
"""What such words speak of stands right behind them."""
_DEPENDS = re.compile(
    r"\b(?:depends? (?:up)?on|dependent on|blocked (?:by|on)|waits? (?:for|on)|requires|relies on|builds? on|needs|"
    r"as soon as|once)\b",
    re.IGNORECASE,
)
_REPLACES = re.compile(
    r"\b(?:replac(?:e|es|ed|ing)|supersed(?:e|es|ed|ing)|instead of|in place of|get rid of|"
    r"(?:migrat|mov|switch)(?:e|es|ed|ing)? (?:away )?from)\b",
    re.IGNORECASE,
)
_CONTRADICTS = re.compile(
    r"\b(?:contrary to|contradicts?|against what we (?:said|decided) (?:about|on|for)|"
    r"(?:we|i) (?:were|was) wrong (?:about|on))\b",
    re.IGNORECASE,
)
_MOST_NAMED = 5
_NAMED = ((_CONTRADICTS, BridgeType.CONTRADICTS), (_REPLACES, BridgeType.REPLACES), (_DEPENDS, BridgeType.DEPENDS))


@dataclass(frozen=True, slots=True)
class Tie:
    target: Thread
    type: BridgeType
    weight: float


def ties(about: Subject, others: Iterable[Thread], decision: Continue | Open, *, session: str) -> list[Tie]:
    """From the turn's thread to others, at most one each, the surest first."""
    found = {tie.target.id: tie for tie in _all(about, list(others), decision, session)}
    return sorted(found.values(), key=lambda tie: -tie.weight)[:MOST]


def _all(about: Subject, others: list[Thread], decision: Continue | Open, session: str) -> Iterator[Tie]:
    """The weakest kind of evidence first: a later one of the same thread stands."""
    for other in others:
        share = shared_files(about, other) if about.edited else 0.0
        if share >= _SHARED:
            yield Tie(other, BridgeType.SIBLING if other.group == session else BridgeType.EXTENDS, round(share, 2))
    if isinstance(decision, Open) and decision.parent is not None:
        yield Tie(decision.parent, BridgeType.CHILD_OF if decision.is_fork else BridgeType.EXTENDS, 1.0)
    for pattern, type in _NAMED[::-1]:
        for named in islice(pattern.finditer(about.prompt), _MOST_NAMED):
            behind = about.prompt[named.end() : named.end() + _NEXT_CHARS]
            target = _named(next(terms.sentences(behind), ""), others)
            if target is not None:
                yield Tie(target, type, 0.8)


def _named(words: str, others: list[Thread]) -> Thread | None:
    """The one thread that these words name: two words of its title or topics, or one whole topic of several."""
    said = set(terms.content(words)) | {name.casefold() for name in terms.names(words)}
    hits = [other for other in others if len(said & _subject(other)) >= 2]
    return hits[0] if len(hits) == 1 else None


def _subject(thread: Thread) -> set[str]:
    text = " ".join((thread.title, *thread.topics))
    return set(terms.content(text)) | {name.casefold() for name in terms.names(text)}
