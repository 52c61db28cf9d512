r"""The same text in other spellings: escapes undone, base64 decoded.

A secret may stand in a text as `ghp_\u0041…`, `https:\/\/me:…@host`, `password%3D…` or as the base64 of any of
these. Each spelling is a buffer for the table to run on, and says which bytes of the text a find in it came from.

One level alone: what is escaped inside base64, or encoded twice, is not seen. Finds nothing itself (redactor.py).
"""

from __future__ import annotations

import re
from binascii import Error, a2b_base64
from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass
from itertools import accumulate

from recollect.redact.secret_table import HOLE, spans_only

# What can hide a secret: an escape of a byte that is text itself. `\n` and `\"` are left to the patterns, because
# every JSON is full of them.
# `re` looks for a pattern that begins with one certain byte many times faster than for a choice of two.
_BACKSLASHED = re.compile(rb"\\(?:\\{0,3}u00([2-7][0-9A-Fa-f]|0[9AaDd])|\\{0,3}x([2-7][0-9A-Fa-f])|\\{0,3}(/))")
_PERCENT = re.compile(rb"%([2-7][0-9A-Fa-f]|0[9AaDd])")
_MARGIN = 200  # the head of a key stands some lines before the key
_ALPHABET = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
_STANDARD = bytes.maketrans(b"-_", b"+/")


def _digits(fits: Callable[[int], bool]) -> str:
    return "[" + "".join(re.escape(chr(_ALPHABET[digit])) for digit in range(64) if fits(digit)) + "]"


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


@dataclass(frozen=True, slots=True)
class Spelling:
    """The text as it stands."""

    buffer: bytes

    def origin(self, start: int, end: int) -> tuple[int, int]:
        return start, end


@dataclass(frozen=True, slots=True)
class Unescaped(Spelling):
    places: list[int]
    """Where in the buffer the distance to the text changes."""
    shifts: list[int]
    """What the distance is from there on."""

    def origin(self, start: int, end: int) -> tuple[int, int]:
        return start + self._shift(start), end + self._shift(end)

    def _shift(self, at: int) -> int:
        return self.shifts[bisect_right(self.places, at) - 1]


@dataclass(frozen=True, slots=True)
class Decoded(Spelling):
    starts: list[int]
    """Where in the buffer each run of base64 begins."""
    runs: list[tuple[int, int]]
    """Where it stands in the text."""

    def origin(self, start: int, end: int) -> tuple[int, int]:
        """The whole run: half of it could be read by anyone."""
        return self.runs[bisect_right(self.starts, start) - 1]


def undo_escapes(text: bytes) -> Unescaped | None:
    """The lines that have escapes, and some around them. None if there is no escape, which is nearly always so."""
    escapes = [*_BACKSLASHED.finditer(text), *_PERCENT.finditer(text)]
    if not escapes:
        return None
    escapes.sort(key=re.Match.start)
    pieces: list[bytes] = []
    places: list[int] = []
    shifts: list[int] = []
    size = at = line_end = 0

    def put(piece: bytes) -> None:
        nonlocal size
        pieces.append(piece)
        size += len(piece)

    def note_shift() -> None:
        places.append(size)
        shifts.append(at - size)

    for escape in escapes:
        start, end = escape.span()
        if start > line_end + _MARGIN or not pieces:
            put(text[at:line_end])
            put(HOLE)
            at = text.rfind(b"\n", 0, max(0, start - _MARGIN)) + 1
            at = max(at, line_end)
            note_shift()
        if end > line_end - _MARGIN and line_end < len(text):
            line_end = text.find(b"\n", end + _MARGIN)
            line_end = len(text) if line_end < 0 else line_end
        put(text[at:start])
        put(_character(escape))
        at = end
        note_shift()
    put(text[at:line_end])
    return Unescaped(b"".join(pieces), places, shifts)


def _character(escape: re.Match[bytes]) -> bytes:
    digits = escape[1] or (escape[2] if escape.re is _BACKSLASHED else None)
    return bytes.fromhex(digits.decode()) if digits else b"/"


def decode_base64(text: bytes) -> Decoded | None:
    """What each run of base64 says, divided by a byte that no secret can hold."""
    pieces: list[bytes] = []
    runs = [_run(text, *match.span()) for match in spans_only(_BASE64).finditer(text)]
    for start, end in runs:
        pieces.append(_bytes_of(text[start:end].translate(None, b"\r\n")).replace(HOLE, b" "))
    starts = [0, *accumulate(len(piece) + 1 for piece in pieces)]
    return Decoded(HOLE.join(pieces), starts, runs) if runs else None


def _run(text: bytes, start: int, end: int) -> tuple[int, int]:
    """Without the line after it, if that is not part of the run."""
    last = text.rfind(b"\n", start, end)
    if last >= 0 and end - last <= _LAST_LINE and len(text[start:end].translate(None, b"\r\n")) % 4:
        return start, last
    return start, end


def _bytes_of(run: bytes) -> bytes:
    run = run.rstrip(b"=").translate(_STANDARD)
    run = run[:-1] if len(run) % 4 == 1 else run
    try:
        return a2b_base64(run + b"=" * (-len(run) % 4))
    except Error:
        return b""
