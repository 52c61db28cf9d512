"""What a thread is about and how it stands, in its own sentences: what was asked for first, then what was found out or
done, the newest weighing most. Nothing is put in other words, so nothing is said that nobody said."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from recollect.base.text import clip
from recollect.capture import terms

MOST_CHARS = 600
_ASKED_CHARS = 200
_SENTENCE_CHARS = 260
_FEW = 4
_LEAST_WORDS = 3


@dataclass(frozen=True, slots=True)
class Said:
    source: str
    content: str


def summary(said: Sequence[Said], topics: Sequence[str]) -> str:
    """At most MOST_CHARS; the order is that in which it was said."""
    asked = next((_first(one.content) for one in said if one.source == "user" and _first(one.content)), "")
    known = {word for topic in topics for word in terms.words(topic)}
    ranked = sorted(
        (-_worth(line, words, known, (at + 1) / len(said)), at, number, line)
        for at, one in enumerate(said)
        if one.source == "agent"
        for number, (line, words) in enumerate(_lines(one.content))
    )
    kept: list[tuple[int, str]] = []
    room = MOST_CHARS - len(asked)
    shape = terms.shape(asked)
    for _, at, _, line in ranked:
        if len(kept) == _FEW:
            break
        if len(line) + 1 <= room and not (asked and terms.alike(terms.shape(line), shape) > 0.6):
            kept.append((at, line))
            room -= len(line) + 1
    lines = [asked, *(line for at, line in sorted(kept, key=lambda pair: pair[0]))]
    return "\n".join(line for line in lines if line) or clip(" ".join(one.content for one in said[:2]), MOST_CHARS)


def _first(text: str) -> str:
    found = next((line for line in terms.sentences(text) if len(terms.content(line)) >= 2), "")
    return clip(found, _ASKED_CHARS)


def _lines(text: str) -> Iterator[tuple[str, list[str]]]:
    """Sentences that say something, with the words that do."""
    for sentence in terms.sentences(text):
        if len(terms.content(sentence)) >= _LEAST_WORDS:
            line = clip(sentence, _SENTENCE_CHARS)
            yield line, terms.content(line)


def _worth(line: str, said: list[str], known: set[str], newness: float) -> float:
    """How much of the thread's subject it names, names of programs counting more, and how new it is."""
    on_subject = sum(word in known for word in said)
    return on_subject + len(terms.names(line)) + 3 * newness - (2 if line.endswith("?") else 0)
