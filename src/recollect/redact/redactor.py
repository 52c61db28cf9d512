"""Text in, the same text without its secrets out.

Works on a buffer in which everything already redacted is one byte that no pattern can take (HOLE), with a list of what
each of these bytes stands for. So cleaning what is clean finds the very same buffer and nothing in it.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cache
from hashlib import blake2b
from operator import attrgetter
from typing import Any, NamedTuple

import re2

from recollect.redact.named import find_assigned, find_in_columns, find_mentioned
from recollect.redact.plausibility import LOOK, entropy, is_stand_in, is_token, is_words
from recollect.redact.secret_table import HOLE, ROWS, Row, Verdicts, compiled, latin1
from recollect.redact.spellings import Spelling, decode_base64, undo_escapes

_ESCAPES = (b"\\n", b"\\r", b"\\t")
_PERCENT = re.compile(rb"%[0-9A-Fa-f]{2}")
_PRIVATE = b"[private]"
_PRIVATE_TAG = r"(?i)<(/?)private(?:\s[^<>]*)?>"
_PLACEHOLDER = r"\[private\]|\[redacted:[a-z][a-z0-9-]{0,30}:[0-9a-f]{4}\]"

# Taking a secret out may lay bare the start of another, so a text with finds is read again. Once more is enough for all
# but text made to need more; the bound keeps the work linear for that too.
_MAX_PASSES = 8
_MIN_CHARS = 6  # `://:a@`
# A secret found by its context is also taken out where it stands without: only one long and mixed enough not to be a
# word, and only so many, for each costs a walk through the text.
_ECHO_MIN_BYTES, _ECHO_MIN_ENTROPY, _MAX_ECHOES = 12, 3.0, 64


@dataclass(frozen=True, slots=True)
class Cleaned:
    text: str
    found: tuple[tuple[str, int], ...]  # how many of each kind were taken out, sorted by kind
    judged: int = field(default=0, compare=False)  # how many values were judged: what a text costs, in work


class _Find(NamedTuple):
    start: int
    end: int
    row: int
    kind: str
    secret: bytes


class Redactor:
    """The key belongs to one home: with it, equal secrets get equal marks; without it, a mark says nothing."""

    def __init__(self, key: bytes) -> None:
        if not 0 < len(key) <= blake2b.MAX_KEY_SIZE:
            raise ValueError(f"the key must have 1 to {blake2b.MAX_KEY_SIZE} bytes, not {len(key)}")
        self._hash = blake2b(key=key, digest_size=2)

    def clean(self, text: str) -> Cleaned:
        if len(text) < _MIN_CHARS:
            return Cleaned(text, ())
        draft = _Draft(text.encode("utf-8", "surrogatepass"))
        if b"[redacted:" in draft.buffer or _PRIVATE in draft.buffer:
            known = [match.span() for match in compiled(_PLACEHOLDER).finditer(draft.buffer)]
            draft.punch((start, end, draft.buffer[start:end]) for start, end in known)
        private = _private_spans(draft.buffer)
        draft.punch((start, end, _PRIVATE) for start, end in private)
        found = Counter({"private": len(private)} if private else {})
        verdicts: Verdicts = {}
        for _ in range(_MAX_PASSES):
            taken = self._take_out(draft, verdicts)
            if not taken:
                break
            found += taken
        return Cleaned(draft.text() if found else text, tuple(sorted(found.items())), len(verdicts))

    def _take_out(self, draft: _Draft, verdicts: Verdicts) -> Counter[str]:
        """One walk through every row of the table whose keywords are there, in each spelling of the text."""
        finds = _find_all(draft.buffer, verdicts)
        taken = Counter(find.kind for find in finds)
        draft.punch((find.start, find.end, self._mark(find.kind, find.secret)) for find in finds)
        mixed = [find for find in finds if len(find.secret) >= _ECHO_MIN_BYTES and not is_words(find.secret[:LOOK])]
        secrets = {find.secret: find.kind for find in mixed if entropy(find.secret) >= _ECHO_MIN_ENTROPY}
        for secret in sorted(secrets, key=len, reverse=True)[:_MAX_ECHOES]:  # one secret may be part of another
            kind = secrets[secret]
            spans = [found.span() for found in re.finditer(re.escape(secret), draft.buffer)]
            taken[kind] += len(spans)
            draft.punch((start, end, self._mark(kind, secret)) for start, end in spans)
        return taken

    def _mark(self, kind: str, secret: bytes) -> bytes:
        digest = self._hash.copy()
        digest.update(secret)
        return f"[redacted:{kind}:{digest.hexdigest()}]".encode()


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
        first, *pieces = self.buffer.split(HOLE)
        rest = (mark + piece for mark, piece in zip(self.marks, pieces, strict=True))
        return b"".join((first, *rest)).decode("utf-8", "surrogatepass")


def _private_spans(text: bytes) -> list[tuple[int, int]]:
    """`<private>…</private>`: what a user asked never to be kept. From each outermost opening tag to its end, or to the
    end of the text. A closing tag that closes nothing stays as it is."""
    if b"private" not in text.lower():
        return []
    spans: list[tuple[int, int]] = []
    depth = start = 0
    for tag in compiled(_PRIVATE_TAG).finditer(text):
        if not tag[1]:
            start = tag.start() if depth == 0 else start
            depth += 1
        elif depth:
            depth -= 1
            if depth == 0:
                spans.append((start, tag.end()))
    return [*spans, (start, len(text))] if depth else spans


def _find_all(text: bytes, verdicts: Verdicts) -> list[_Find]:
    """Where secrets stand, in order, not overlapping. Of those that do, the first row of the table names the secret,
    and all of them go: one may end where an escape or a sign begins that another reads on over."""
    spellings = (undo_escapes(text), Spelling(text, lambda start, end: (start, end)), decode_base64(text))
    finds = [
        _Find(*spelling.origin(start, end), number, ROWS[number].kind, spelling.buffer[start:end])
        for spelling in spellings
        if spelling
        for number in _rows_for(spelling.buffer)
        for start, end in spans_of(ROWS[number], spelling.buffer, verdicts)
    ]
    apart: list[_Find] = []
    for find in sorted(finds, key=attrgetter("start")):
        if not apart or find.start >= apart[-1].end:
            apart.append(find)
            continue
        named = min(apart[-1], find, key=attrgetter("row"))
        apart[-1] = named._replace(start=apart[-1].start, end=max(find.end, apart[-1].end))
    return apart


def spans_of(row: Row, text: bytes, verdicts: Verdicts) -> Iterator[tuple[int, int]]:
    """Patterns count bytes; never leave half a character behind."""
    for start, end in _READERS[row.found_as](row, text, verdicts):
        while start > 0 and text[start] & 0xC0 == 0x80:
            start -= 1
        while end < len(text) and text[end] & 0xC0 == 0x80:
            end += 1
        yield start, end


def _find_shapes(row: Row, text: bytes, verdicts: Verdicts) -> Iterator[tuple[int, int]]:
    for match in compiled(row.regex).finditer(text):
        start, end = match.span(row.group)
        if row.apart and _continues_word(text, start):
            continue
        if row.min_entropy or row.free or row.opaque:
            secret = text[start : min(end, start + LOOK)]
            case = (row.regex, secret)
            if case not in verdicts:
                verdicts[case] = (
                    (not row.min_entropy or entropy(secret) >= row.min_entropy)
                    and not (row.free and is_stand_in(secret))
                    and (not row.opaque or is_token(secret, quoted=True))
                )
            if not verdicts[case]:
                continue
        yield start, end


_READERS = {
    "pattern": _find_shapes, "assignment": find_assigned, "mention": find_mentioned, "column": find_in_columns,
}  # fmt: skip


def _continues_word(text: bytes, start: int) -> bool:
    """A word runs into it: but not the last letter of an escape, JSON's (`\\n`) or a URL's (`%3D`)."""
    before = text[max(0, start - 3) : start]
    return before[-1:].isalnum() and before[-2:] not in _ESCAPES and not _PERCENT.fullmatch(before)


def _rows_for(text: bytes) -> list[int]:
    """The rows worth running: one walk over the text for all the keywords together."""
    keywords, rows_of = _keyword_set()
    return sorted({row for index in keywords.Match(text.lower()) or () for row in rows_of[index]})


@cache
def _keyword_set() -> tuple[Any, list[list[int]]]:
    rows_of: dict[str, list[int]] = {}
    for index, row in enumerate(ROWS):
        for keyword in row.keywords:
            rows_of.setdefault(keyword, []).append(index)
    keywords = re2.Set.SearchSet(latin1())
    for keyword in rows_of:
        keywords.Add(re2.escape(keyword.encode()))
    keywords.Compile()
    return keywords, list(rows_of.values())
