"""Passages, the pieces of a memory that are indexed, embedded and shown; and the turn record, which is cut part by
part. Each passage is a range of the body or of one message, so no text is stored twice; it has one role, and labels are
not indexed. A turn record is what a turn of a session leaves behind, the text of one message (source `TURN`), without
empty parts:

    Asked: why do the nightly tests fail?
    Found: The clock in the container is an hour behind.
    Decided: "keep everything in UTC"
    Changed: docker/entrypoint.sh, tests/clock.py
    Ran: make nightly (failed); make nightly
    Ended: Nightly tests pass again.
    Said: ...

`Asked` and `Decided` are the person's words, the rest is the agent's. `Said` may have many lines; long answers are
found there."""

from __future__ import annotations

import re
from collections.abc import Iterator
from enum import StrEnum
from typing import NamedTuple

from recollect.base.structs import Struct
from recollect.base.text import one_line
from recollect.model.memory import Memory, Message

TURN = "turn"  # the source of a message that is a record
MAX_CHARS = 250  # about 45 words: one statement
_BREAKS = tuple(re.compile(p) for p in (r"\n\s*\n", r"\n", r"[.!?\u3002\uff01\uff1f]\s*", r"\s+"))
_OWN = re.compile(r"\b(?:i|my|me|mine|myself|we|our|us)\b", re.IGNORECASE)  # `I'm` is an `I`
_ASKS_OF_SELF = re.compile(
    r"\b(?:my|mine|myself)\b|\b(?:did|have|had|was|am) i\b|\bi (?:was|had|did|[a-z]+ed)\b"
    r"|\bdo i (?:have|own|use|like|prefer|usually|currently|still)\b",
    re.IGNORECASE,
)


class Role(StrEnum):
    ASKED = "asked"
    FOUND = "found"
    DECIDED = "decided"
    CHANGED = "changed"
    RAN = "ran"
    ENDED = "ended"
    SAID = "said"


_ORDER = list(Role)
_LABEL = re.compile(rf"^({'|'.join(role.capitalize() for role in Role)}): ?", re.MULTILINE)


class Record(Struct, kw_only=True):
    asked: str = ""
    found: str = ""
    decided: str = ""
    changed: str = ""
    ran: str = ""
    ended: str = ""
    said: str = ""

    def text(self) -> str:
        parts = {role: one_line(getattr(self, role)) for role in Role} | {
            Role.SAID: self.said.strip()
        }
        return "\n".join(f"{role.capitalize()}: {words}" for role, words in parts.items() if words)


class Part(NamedTuple):  # where the words of one role are in a record's text, without the label
    role: Role
    start: int
    end: int


class Span(NamedTuple):
    message_id: str  # empty: of the body
    start: int
    length: int
    voice: int = 0  # how much of it is in the first person, in percent

    def of(self, text: str) -> str:
        return text[self.start : self.start + self.length]


def parts(text: str) -> Iterator[Part]:
    """Nothing for a text that is not a record. A label out of order is part of what was said."""
    found: list[tuple[Role, re.Match[str]]] = []
    for label in _LABEL.finditer(text):
        role = Role(label[1].lower())
        if not found or _ORDER.index(role) > _ORDER.index(found[-1][0]):
            found.append((role, label))
    if not found or found[0][1].start() != 0:
        return
    ends = [label.start() for _, label in found[1:]]
    for (role, label), end in zip(found, [*ends, len(text)], strict=True):
        yield Part(role, label.end(), max(label.end(), len(text[:end].rstrip())))


def read_record(text: str) -> Record | None:
    found = {part.role.value: text[part.start : part.end] for part in parts(text)}
    return Record(**found) if found else None


def spans(memory: Memory, messages: tuple[Message, ...]) -> tuple[Span, ...]:
    """Never empty: a memory without text is still found by its title. A message that repeats the body is left out."""
    return (tuple(text_spans("", memory.body)) or (Span("", 0, 0),)) + message_spans(
        memory, messages
    )


def message_spans(memory: Memory, messages: tuple[Message, ...]) -> tuple[Span, ...]:
    added = (message for message in messages if message.content not in memory.body)
    return tuple(span for message in added for span in text_spans(message.id, message.content))


def text_spans(message_id: str, text: str) -> Iterator[Span]:
    for start, limit in [(part.start, part.end) for part in parts(text)] or [(0, len(text))]:
        while limit - start > MAX_CHARS:
            middle, end = start + MAX_CHARS // 2, start + MAX_CHARS
            ends = (
                [found.end() for found in pattern.finditer(text, middle, end)]
                for pattern in _BREAKS
            )
            end = next((found[-1] for found in ends if found), end)
            yield Span(message_id, start, end - start, voice(text[start:end]))
            start = end
        if text[start:limit].strip():
            yield Span(message_id, start, limit - start, voice(text[start:limit]))


def embeddable(title: str, text: str) -> str:
    """A passage as it is given to the embedder: under its title, unless it begins with it anyway."""
    return text if not title or title.rstrip("\u2026") in text else f"{title}\n{text}"


def voice(text: str) -> int:
    """How much of a text is in the first person, in percent: one such word in six is as personal as speech gets. What a
    person says (`I moved the cache`) is shorter than what they are told, and answers questions about themselves (`what
    did I move?`). English only."""
    return min(100, 100 * 6 * len(_OWN.findall(text)) // max(8, len(text.split())))


def asks_of_self(question: str) -> bool:
    return _ASKS_OF_SELF.search(question[:4_000]) is not None
