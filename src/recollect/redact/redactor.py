r"""Text in, the same text without its secrets out. Works on a buffer in which everything already redacted is one byte
that no pattern can take (HOLE), so cleaning what is clean finds nothing. A secret may stand there as `ghp_\u0041…`,
`password%3D…`, in base64, or with colours and marks of no width within it: each spelling is a buffer of its own, and
says which bytes of the text a find came from."""

from __future__ import annotations

import re
from binascii import Error, a2b_base64
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from hashlib import blake2b
from itertools import accumulate
from operator import attrgetter
from typing import Any, NamedTuple

import re2

from recollect.base.structs import Struct, field
from recollect.redact import secret_table as table
from recollect.redact.named import find_assigned, find_in_columns, find_mentioned
from recollect.redact.secret_table import (
    HOLE,
    LOOK,
    ROWS,
    Known,
    Row,
    Verdicts,
    compiled,
    entropy,
    spans_only,
)

_ESCAPES = (b"\\n", b"\\r", b"\\t")
_URL_ESCAPE = re.compile(rb"%[0-9A-Fa-f]{2}")
_PRIVATE = b"[private]"
# On `re`, which makes a match five times as fast as RE2 does: a text may be full of them. Nothing is read twice.
_PRIVATE_TAG = re.compile(rb"<(/?)private(?:[\t\n\f\r ][^<>]*+)?+>", re.IGNORECASE)
_PLACEHOLDER = r"\[private\]|\[redacted:[a-z][a-z0-9-]{0,30}:[0-9a-f]{4}\]"

# Taking a secret out may lay bare the start of another, so a text with finds is read again. Once more is enough for all
# but text made to need more; the bound keeps the work linear for that too.
_MAX_PASSES = 8
# On its way into the store a text is looked through at several gates; one this long takes too long for that.
_LONG_CHARS = 20_000
_BLANKS = " \t\r\n"  # around a text they hide no secret, and give none away
# A secret found by its context is also taken out where it stands without: only one long and mixed enough not to be a
# word, and only so many, for each costs a walk through the text.
_ECHO_MIN_BYTES, _ECHO_MIN_ENTROPY, _MAX_ECHOES = 12, 3.0, 64


_MARK = re.compile(_PLACEHOLDER)


def is_all_hidden(text: str) -> bool:
    """Whether marks are all that is left of a text: everything in it was private or a secret."""
    rest, marks = _MARK.subn(" ", text)
    return marks > 0 and not any(map(str.isalnum, rest))


class Cleaned(Struct):
    text: str
    found: tuple[tuple[str, int], ...]  # how many of each kind were taken out, sorted by kind
    judged: int = field(
        default=0, compare=False
    )  # how many values were judged: what a text costs, in work


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
        self._last_clean = ""  # the last long text in which nothing was found, or is any more, without blanks around it

    def clean(self, text: str) -> Cleaned:
        if len(text) < 6:  # `://:a@`
            return Cleaned(text, ())
        if len(text) > _LONG_CHARS and text.strip(_BLANKS) == self._last_clean:
            return Cleaned(text, ())
        draft = _Draft(text.encode("utf-8", "surrogatepass"))
        if b"[redacted:" in draft.buffer or _PRIVATE in draft.buffer:
            known = [match.span() for match in compiled(_PLACEHOLDER).finditer(draft.buffer)]
            draft.punch((start, end, draft.buffer[start:end]) for start, end in known)
        private = _private_spans(draft.buffer)
        draft.punch((start, end, _PRIVATE) for start, end in private)
        found = Counter({"private": len(private)} if private else {})
        verdicts: Verdicts = {}
        is_clean = False
        for _ in range(_MAX_PASSES):
            taken = self._take_out(draft, verdicts)
            if not taken:
                is_clean = True
                break
            found += taken
        cleaned = draft.text() if found else text
        if is_clean and len(cleaned) > _LONG_CHARS:
            self._last_clean = cleaned.strip(_BLANKS)
        return Cleaned(cleaned, tuple(sorted(found.items())), len(verdicts))

    @staticmethod
    def without_private(text: str) -> str:
        """To be called before a text is cut: a tag that lies in what was cut away says nothing any more."""
        utf8 = text.encode("utf-8", "surrogatepass")
        pieces: list[bytes] = []
        done = 0
        for start, end in _private_spans(utf8):
            pieces += [utf8[done:start], _PRIVATE]
            done = end
        if not pieces:
            return text
        return b"".join([*pieces, utf8[done:]]).decode("utf-8", "surrogatepass")

    def _take_out(self, draft: _Draft, verdicts: Verdicts) -> Counter[str]:
        """One walk through every row of the table whose keywords are there, in each spelling of the text."""
        finds = _find_all(draft.buffer, verdicts)
        taken = Counter(find.kind for find in finds)
        draft.punch((find.start, find.end, self._mark(find.kind, find.secret)) for find in finds)
        long = [find for find in finds if len(find.secret) >= _ECHO_MIN_BYTES]
        mixed = [find for find in long if not table.is_words(find.secret[:LOOK])]
        secrets = {
            find.secret: find.kind for find in mixed if entropy(find.secret) >= _ECHO_MIN_ENTROPY
        }
        for secret in sorted(secrets, key=len, reverse=True)[
            :_MAX_ECHOES
        ]:  # one secret may be part of another
            kind = secrets[secret]
            spans = [found.span() for found in re.finditer(re.escape(secret), draft.buffer)]
            taken[kind] += len(spans)
            draft.punch((start, end, self._mark(kind, secret)) for start, end in spans)
        return taken

    def _mark(self, kind: str, secret: bytes) -> bytes:
        digest = self._hash.copy()
        digest.update(secret)
        return f"[redacted:{kind}:{digest.hexdigest()}]".encode()


class _Draft(
    Struct, frozen=False
):  # a text being redacted: `marks` says, in order, what each hole stands for
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
    for tag in _PRIVATE_TAG.finditer(text):
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
    spellings = (
        undo_escapes(text),
        Spelling(text, lambda start, end: (start, end)),
        decode_base64(text),
        without_hidden(text),
    )
    keywords, rows_of = _keyword_set()
    finds: list[_Find] = []
    for buffer, origin in filter(None, spellings):
        rows = sorted(
            {row for index in keywords.Match(buffer.lower()) or () for row in rows_of[index]}
        )
        known: Known = {}
        for number in rows:
            spans = list(spans_of(ROWS[number], buffer, verdicts, known))
            known.update(spans)
            kind = ROWS[number].kind
            finds += [_Find(*origin(a, z), number, kind, buffer[a:z]) for a, z in spans]
    apart: list[_Find] = []
    for find in sorted(finds, key=attrgetter("start")):
        if not apart or find.start >= apart[-1].end:
            apart.append(find)
            continue
        named = min(apart[-1], find, key=attrgetter("row"))
        apart[-1] = named._replace(start=apart[-1].start, end=max(find.end, apart[-1].end))
    return apart


def spans_of(row: Row, text: bytes, verdicts: Verdicts, known: Known) -> Iterator[tuple[int, int]]:
    """Patterns count bytes; never leave half a character behind. `known`: what the rows before this one have found."""
    for start, end in _READERS[row.found_as](row, text, verdicts, known):
        while start > 0 and text[start] & 0xC0 == 0x80:
            start -= 1
        while end < len(text) and text[end] & 0xC0 == 0x80:
            end += 1
        yield start, end


def _find_shapes(
    row: Row, text: bytes, verdicts: Verdicts, _known: Known
) -> Iterator[tuple[int, int]]:
    for match in compiled(row.regex).finditer(text):
        start, end = match.span(row.group)
        if row.apart:  # no word runs into it: but the last letter of an escape may, JSON's (`\n`) or a URL's (`%3D`)
            before = text[max(0, start - 3) : start]
            if (
                before[-1:].isalnum()
                and before[-2:] not in _ESCAPES
                and not _URL_ESCAPE.fullmatch(before)
            ):
                continue
        if row.min_entropy or row.free or row.opaque:
            secret = text[start : min(end, start + LOOK)]
            case = (row.regex, secret)
            if case not in verdicts:
                verdicts[case] = (
                    (not row.min_entropy or entropy(secret) >= row.min_entropy)
                    and not (row.free and table.is_stand_in(secret))
                    and (not row.opaque or table.is_token(secret, quoted=True))
                )
            if not verdicts[case]:
                continue
        yield start, end


_READERS = {
    "pattern": _find_shapes, "assignment": find_assigned, "mention": find_mentioned, "column": find_in_columns,
}  # fmt: skip


@cache
def _keyword_set() -> tuple[Any, list[list[int]]]:
    """For one walk over a text that finds all the keywords together; and the rows to run for each of them."""
    rows_of: dict[str, list[int]] = {}
    for index, row in enumerate(ROWS):
        for keyword in row.keywords:
            rows_of.setdefault(keyword, []).append(index)
    keywords = re2.Set.SearchSet(table.latin1())
    for keyword in rows_of:
        keywords.Add(re2.escape(keyword.encode()))
    keywords.Compile()
    return keywords, list(rows_of.values())


# What can hide a secret: an escape of a byte that is text itself. `\n` and `\"` are left to the patterns, because
# every JSON is full of them.
# `re` looks for a pattern that begins with one certain byte many times faster than for a choice of two.
_BACKSLASHED = re.compile(
    rb"\\(?:\\{0,3}u00([2-7][0-9A-Fa-f]|0[9AaDd])|\\{0,3}x([2-7][0-9A-Fa-f])|\\{0,3}/)"
)
_PERCENT = re.compile(rb"%([2-7][0-9A-Fa-f]|0[9AaDd])")
_EITHER = re.compile(_BACKSLASHED.pattern + b"|" + _PERCENT.pattern)
# What a reader does not see, but what divides a secret: colours (`grep --color` puts one into what it found), also
# written as an escape, and marks that have no width.
_HIDDEN = re.compile(
    rb"(?:\x1b|\\{1,4}(?:u001[Bb]|x1[Bb]|033|e))\[[0-9;:?]{0,30}[A-Za-z]"
    rb"|\xe2\x80[\x8b-\x8f]|\xe2\x81\xa0|\xef\xbb\xbf|\xc2\xad"
)
# By the byte that each begins with or has before it: a look for one byte is ten times as fast.
_HIDING = {
    b"\x1b": (b"\x1b[",),
    b"\\": (b"1b[", b"1B[", b"033[", b"\\e["),
    b"\xe2": (
        b"\xe2\x80\x8b",
        b"\xe2\x80\x8c",
        b"\xe2\x80\x8d",
        b"\xe2\x80\x8e",
        b"\xe2\x80\x8f",
        b"\xe2\x81\xa0",
    ),
    b"\xef": (b"\xef\xbb\xbf",),
    b"\xc2": (b"\xc2\xad",),
}
# What two hexadecimal digits stand for, of those that the patterns above let through.
_BYTES = {
    spelling.encode(): bytes((value,))
    for value in (9, 10, 13, *range(0x20, 0x80))
    for digits in (f"{value:02x}", f"{value:02X}")
    for spelling in (digits, digits[0].upper() + digits[1:])
}
_ALPHABET = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
_STANDARD = bytes.maketrans(b"-_", b"+/")


def _digits(fits: Callable[[int], bool]) -> str:
    return (
        "[" + "".join(re.escape(chr(_ALPHABET[digit])) for digit in range(64) if fits(digit)) + "]"
    )


# Four digits that spell three bytes of ASCII: the top bit of each byte is 0, and the first is no control. One in ten
# of any other four looks like it, so four times that leaves nearly nothing of ordinary text, and shows in which
# step the digits are to be read.
_THREE_BYTES = (
    _digits(lambda digit: 8 <= digit < 32 or digit in (2, 3))
    + _digits(lambda digit: not digit & 0b001000)
    + _digits(lambda digit: not digit & 0b000010)
    + "[A-Za-z0-9+/_-]"
)
_LINE = r"[A-Za-z0-9+/_-]{20,}"
_BASE64 = rf"(?:{_THREE_BYTES}){{4}}[A-Za-z0-9+/_-]{{4,}}(?:\r?\n{_LINE})*(?:\r?\n[A-Za-z0-9+/_-]{{1,19}})?={{0,2}}"
_LAST_LINE = 20


Origin = Callable[[int, int], tuple[int, int]]  # where a range of the buffer stands in the text


class Spelling(NamedTuple):
    buffer: bytes
    origin: Origin


def undo_escapes(text: bytes) -> Spelling | None:
    """None if there is no escape, which is nearly always so. Where a find came from is worked out once there is one."""
    is_backslashed = _BACKSLASHED.search(text) is not None
    if not is_backslashed and _PERCENT.search(text) is None:
        return None
    buffer = _EITHER.sub(_unescaped, text) if is_backslashed else _without_percents(text)
    origins: list[Origin] = []

    def origin(start: int, end: int) -> tuple[int, int]:
        if not origins:
            origins.append(_origin_of_replaced(_EITHER, text, 1))
        return origins[0](start, end)

    return Spelling(buffer, origin)


def without_hidden(text: bytes) -> Spelling | None:
    """None if nothing hides in it, which is nearly always so."""
    if not any(mark in text for lead, marks in _HIDING.items() if lead in text for mark in marks):
        return None
    buffer = _HIDDEN.sub(b"", text)
    origins: list[Origin] = []

    def origin(start: int, end: int) -> tuple[int, int]:
        if not origins:
            origins.append(_origin_of_replaced(_HIDDEN, text, 0))
        # What is hidden right behind a secret is no part of it.
        return origins[0](start, start)[0], origins[0](end - 1, end - 1)[0] + 1

    return Spelling(buffer, origin)


def _unescaped(escape: re.Match[bytes]) -> bytes:
    return _BYTES[escape[escape.lastindex]] if escape.lastindex else b"/"


def _without_percents(text: bytes) -> bytes:
    """Much faster than one call per escape."""
    first, *pieces = text.split(b"%")
    rest = [
        _BYTES[piece[:2]] + piece[2:] if piece[:2] in _BYTES else b"%" + piece for piece in pieces
    ]
    return first + b"".join(rest)


def _origin_of_replaced(pattern: re.Pattern[bytes], text: bytes, length: int) -> Origin:
    """For a buffer in which every match of the pattern has so many bytes."""
    places, ends = [0], [0]  # where a piece without matches begins, in the buffer and in the text
    for match in pattern.finditer(text):
        places.append(places[-1] + match.start() - ends[-1] + length)
        ends.append(match.end())

    def place(at: int) -> int:
        piece = bisect_right(places, at) - 1
        return at - places[piece] + ends[piece]

    return lambda start, end: (place(start), place(end))


def decode_base64(text: bytes) -> Spelling | None:
    """What each run of base64 says, divided by a byte that no secret can hold. A find leads back to its whole run: half
    of it could be read by anyone."""
    runs: list[tuple[int, int]] = []
    pieces: list[bytes] = []
    for match in spans_only(_BASE64).finditer(text):
        start, end = match.span()
        last = text.rfind(b"\n", start, end)
        is_odd = len(text[start:end].translate(None, b"\r\n")) % 4
        if (
            last >= 0 and end - last <= _LAST_LINE and is_odd
        ):  # the line after it is not part of the run
            end = last
        run = text[start:end].translate(_STANDARD, b"\r\n").rstrip(b"=")
        run = run[:-1] if len(run) % 4 == 1 else run
        try:
            said = a2b_base64(run + b"=" * (-len(run) % 4))
        except Error:
            said = b""
        runs.append((start, end))
        pieces.append(said.replace(HOLE, b" "))
    if not runs:
        return None
    starts = [0, *accumulate(len(piece) + 1 for piece in pieces)]
    return Spelling(HOLE.join(pieces), lambda start, _end: runs[bisect_right(starts, start) - 1])
