"""Text in, the same text without its secrets out.

Works on a buffer in which everything already redacted is one byte that no pattern can take (HOLE),
with what it stands for beside it in order. So a placeholder is never redacted again, and cleaning what
is clean finds the very same buffer and nothing in it.

Does not know what secrets look like (patterns.py, assign.py) and keeps none of them.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cache
from hashlib import blake2b
from typing import Any

import re2

from recollect.redact.assign import ASSIGNMENTS, Assignment, assigned
from recollect.redact.judge import LOOK, entropy, is_stand_in, is_token, is_words
from recollect.redact.pattern import HOLE, Pattern, compiled, latin1
from recollect.redact.patterns import PATTERNS
from recollect.redact.private import private_spans

_ESCAPES = (b"\\n", b"\\r", b"\\t")
_PERCENT = re.compile(rb"%[0-9A-Fa-f]{2}")
_PRIVATE = b"[private]"
_PLACEHOLDER = r"\[private\]|\[redacted:[a-z][a-z0-9-]{0,30}:[0-9a-f]{4}\]"
_ROWS: tuple[Pattern | Assignment, ...] = (*PATTERNS, *ASSIGNMENTS)

# What is taken out may lay bare the start of another secret, so a text with finds is read again. One
# more time is enough for all but text made to need more; the bound keeps the work linear for that too.
_MAX_PASSES = 8
# A secret found by its context is also taken out where it stands without: only one long and mixed
# enough not to be a word, and only so many, for each costs a walk through the text.
_ECHO_MIN_BYTES = 12
_ECHO_MIN_ENTROPY = 3.0
_MAX_ECHOES = 64


@dataclass(frozen=True, slots=True)
class Cleaned:
    text: str
    # How many of each kind were taken out, sorted by kind.
    found: tuple[tuple[str, int], ...]


class Redactor:
    """The key belongs to one home: with it equal secrets get equal marks, without it a mark says nothing."""

    def __init__(self, key: bytes) -> None:
        if not 0 < len(key) <= blake2b.MAX_KEY_SIZE:
            raise ValueError(f"the key must have 1 to {blake2b.MAX_KEY_SIZE} bytes, not {len(key)}")
        self._key = key

    def clean(self, text: str) -> Cleaned:
        draft = _Draft(text.encode("utf-8", "surrogatepass"))
        placeholders = [match.span() for match in compiled(_PLACEHOLDER).finditer(draft.buffer)]
        draft.punch((start, end, draft.buffer[start:end]) for start, end in placeholders)
        private = private_spans(draft.buffer)
        draft.punch((start, end, _PRIVATE) for start, end in private)

        found = Counter({"private": len(private)} if private else {})
        for _ in range(_MAX_PASSES):
            taken = self._take_out(draft)
            if not taken:
                break
            found += taken
        return Cleaned(draft.text() if found else text, tuple(sorted(found.items())))

    def _take_out(self, draft: _Draft) -> Counter[str]:
        """One walk through every row of the table whose keywords are there."""
        taken: Counter[str] = Counter()
        echoes: dict[bytes, str] = {}
        for row in _rows_for(draft.buffer):
            spans = list(_spans(row, draft.buffer))
            secrets = [draft.buffer[start:end] for start, end in spans]
            taken[row.kind] += len(spans)
            echoes.update((secret, row.kind) for secret in secrets if _may_echo(secret))
            draft.punch(
                (start, end, self._mark(row.kind, secret)) for (start, end), secret in zip(spans, secrets, strict=True)
            )
        # Longest first: one secret may be part of another.
        for secret, kind in sorted(echoes.items(), key=lambda echo: -len(echo[0]))[:_MAX_ECHOES]:
            spans = list(_occurrences(secret, draft.buffer))
            taken[kind] += len(spans)
            draft.punch((start, end, self._mark(kind, secret)) for start, end in spans)
        return +taken

    def _mark(self, kind: str, secret: bytes) -> bytes:
        digest = blake2b(secret, key=self._key, digest_size=2).hexdigest()
        return f"[redacted:{kind}:{digest}]".encode()


@dataclass(slots=True)
class _Draft:
    """The text on its way: `marks` says, in order, what each hole in `buffer` stands for."""

    buffer: bytes
    marks: list[bytes] = field(default_factory=list)

    def punch(self, spans: Iterable[tuple[int, int, bytes]]) -> None:
        """Put a hole with its mark in place of each span: in order, not overlapping. Holes inside go."""
        pieces: list[bytes] = []
        marks: list[bytes] = []
        at = passed = 0
        for start, end, mark in spans:
            pieces.append(self.buffer[at:start])
            kept = pieces[-1].count(HOLE)
            marks += [*self.marks[passed : passed + kept], mark]
            passed += kept + self.buffer.count(HOLE, start, end)
            at = end
        if pieces:
            self.buffer = HOLE.join([*pieces, self.buffer[at:]])
            self.marks = marks + self.marks[passed:]

    def text(self) -> str:
        pieces = self.buffer.split(HOLE)
        whole = [pieces[0]]
        for mark, piece in zip(self.marks, pieces[1:], strict=True):
            whole += (mark, piece)
        return b"".join(whole).decode("utf-8", "surrogatepass")


def _spans(row: Pattern | Assignment, text: bytes) -> Iterator[tuple[int, int]]:
    found = assigned(row, text) if isinstance(row, Assignment) else _matched(row, text)
    return (_aligned(text, start, end) for start, end in found)


def _matched(pattern: Pattern, text: bytes) -> Iterator[tuple[int, int]]:
    for match in compiled(pattern.regex).finditer(text):
        start, end = match.span(pattern.group)
        secret = text[start : min(end, start + LOOK)]
        if pattern.min_entropy and entropy(secret) < pattern.min_entropy:
            continue
        if pattern.apart and _goes_on(text, start):
            continue
        if pattern.free and is_stand_in(secret):
            continue
        if pattern.opaque and not is_token(secret, quoted=True):
            continue
        yield start, end


def _goes_on(text: bytes, start: int) -> bool:
    """A word runs into it: but not the last letter of an escape, JSON's (`\\n`) or a URL's (`%3D`)."""
    before = text[max(0, start - 3) : start]
    return before[-1:].isalnum() and before[-2:] not in _ESCAPES and not _PERCENT.fullmatch(before)


def _aligned(text: bytes, start: int, end: int) -> tuple[int, int]:
    """Patterns count bytes; never leave half a character behind."""
    while start > 0 and text[start] & 0xC0 == 0x80:
        start -= 1
    while end < len(text) and text[end] & 0xC0 == 0x80:
        end += 1
    return start, end


def _may_echo(secret: bytes) -> bool:
    return (
        len(secret) >= _ECHO_MIN_BYTES and not is_words(secret[:LOOK]) and entropy(secret[:LOOK]) >= _ECHO_MIN_ENTROPY
    )


def _occurrences(secret: bytes, text: bytes) -> Iterator[tuple[int, int]]:
    start = text.find(secret)
    while start >= 0:
        yield start, start + len(secret)
        start = text.find(secret, start + len(secret))


def _rows_for(text: bytes) -> list[Pattern | Assignment]:
    """The rows worth running: one walk over the text for all the keywords together."""
    keywords, rows_of = _keyword_set()
    wanted: set[int] = set()
    for index in keywords.Match(text.lower()) or ():
        wanted.update(rows_of[index])
    return [_ROWS[index] for index in sorted(wanted)]


@cache
def _keyword_set() -> tuple[Any, tuple[tuple[int, ...], ...]]:
    rows_of: dict[str, list[int]] = {}
    for index, row in enumerate(_ROWS):
        for keyword in row.keywords:
            rows_of.setdefault(keyword, []).append(index)
    keywords = re2.Set.SearchSet(latin1())
    for keyword in rows_of:
        keywords.Add(re2.escape(keyword.encode()))
    keywords.Compile()
    return keywords, tuple(tuple(rows) for rows in rows_of.values())
