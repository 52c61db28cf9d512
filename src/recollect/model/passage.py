"""Cuts a memory into passages: the pieces that are indexed, embedded and shown.

A passage is a range of the body or of one message, so no text is stored twice. Long text is cut at a paragraph, else a
sentence, else a word. A turn record is cut part by part: a passage has one role, and labels are not indexed.
"""

import re
from collections.abc import Iterator
from typing import NamedTuple

from recollect.model.memory import Memory, Message
from recollect.model.record import parts

MAX_CHARS = 250  # about 45 words: one statement
_BREAKS = tuple(re.compile(p) for p in (r"\n\s*\n", r"\n", r"[.!?\u3002\uff01\uff1f]\s*", r"\s+"))


class Span(NamedTuple):
    message_id: str  # empty: of the body
    start: int
    length: int
    voice: int = 0  # how much of it is in the first person, in percent

    def of(self, text: str) -> str:
        return text[self.start : self.start + self.length]


def spans(memory: Memory, messages: tuple[Message, ...]) -> tuple[Span, ...]:
    """Never empty: a memory without text is still found by its title. A message that repeats the body is left out."""
    found = tuple(_spans("", memory.body)) or (Span("", 0, 0),)
    return found + message_spans(memory, messages)


def message_spans(memory: Memory, messages: tuple[Message, ...]) -> tuple[Span, ...]:
    """The passages of these messages alone."""
    added = (message for message in messages if message.content not in memory.body)
    return tuple(span for message in added for span in _spans(message.id, message.content))


def _spans(message_id: str, text: str) -> Iterator[Span]:
    for start, limit in [(part.start, part.end) for part in parts(text)] or [(0, len(text))]:
        while limit - start > MAX_CHARS:
            end = _break_before(text, start, start + MAX_CHARS)
            yield Span(message_id, start, end - start, voice(text[start:end]))
            start = end
        if text[start:limit].strip():
            yield Span(message_id, start, limit - start, voice(text[start:limit]))


def embeddable(title: str, text: str) -> str:
    """A passage as it is given to the embedder: under its title, unless it begins with it anyway."""
    return text if not title or title.rstrip("\u2026") in text else f"{title}\n{text}"


def _break_before(text: str, start: int, limit: int) -> int:
    for pattern in _BREAKS:
        if ends := [found.end() for found in pattern.finditer(text, start + MAX_CHARS // 2, limit)]:
            return ends[-1]
    return limit


_OWN = re.compile(r"\b(?:i|my|me|mine|myself|we|our|us)\b", re.IGNORECASE)  # `I'm` is an `I`
_ASKS_OF_SELF = re.compile(
    r"\b(?:my|mine|myself)\b|\b(?:did|have|had|was|am) i\b|\bi (?:was|had|did|[a-z]+ed)\b"
    r"|\bdo i (?:have|own|use|like|prefer|usually|currently|still)\b",
    re.IGNORECASE,
)
_FULL = 6  # one such word in six is as personal as speech gets
_LEAST_WORDS = 8
_MAX_QUESTION_CHARS = 4_000


def voice(text: str) -> int:
    """How much of a text is in the first person, in percent. What a person says (`I moved the cache`) is
    shorter than what they are told, and answers questions about themselves (`what did I move?`). English only."""
    return min(100, 100 * _FULL * len(_OWN.findall(text)) // max(_LEAST_WORDS, len(text.split())))


def asks_of_self(question: str) -> bool:
    return _ASKS_OF_SELF.search(question[:_MAX_QUESTION_CHARS]) is not None
