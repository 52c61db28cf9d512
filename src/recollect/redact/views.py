r"""The same text spelt otherwise, with the way back: escapes undone, base64 decoded.

A secret may stand in a text as `ghp_\u0041…`, `https:\/\/me:…@host`, `password%3D…` or as the base64 of any of
these. Each view is a buffer for the table to run on, and says which bytes of the text a find in it came from.

One level alone: what is escaped inside base64, or encoded twice, is not seen. Finds nothing itself (redactor.py).
"""

from __future__ import annotations

import re
from binascii import Error, a2b_base64
from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass
from itertools import accumulate

from recollect.redact.pattern import HOLE, spans_only

# What can hide a secret: an escape of a byte that is text itself. `\n` and `\"` are the patterns' own matter, for
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
class Whole:
    """The text as it stands."""

    buffer: bytes

    def back(self, start: int, end: int) -> tuple[int, int]:
        return start, end


@dataclass(frozen=True, slots=True)
class Unescaped:
    """`places`: where in the view the distance to the text changes; `shifts`: what it is from there on."""

    buffer: bytes
    places: list[int]
    shifts: list[int]

    def back(self, start: int, end: int) -> tuple[int, int]:
        return start + self._shift(start), end + self._shift(end)

    def _shift(self, at: int) -> int:
        return self.shifts[bisect_right(self.places, at) - 1]


@dataclass(frozen=True, slots=True)
class Unpacked:
    """`starts`: where in the view each run of base64 begins; `runs`: where it stands in the text."""

    buffer: bytes
    starts: list[int]
    runs: list[tuple[int, int]]

    def back(self, start: int, end: int) -> tuple[int, int]:
        """The run goes whole: half of it can be read by anyone."""
        return self.runs[bisect_right(self.starts, start) - 1]


View = Whole | Unescaped | Unpacked


def unescaped(text: bytes) -> Unescaped | None:
    """The lines that have escapes, and some around them. None where there is no escape, which is nearly always."""
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

    def moved() -> None:
        places.append(size)
        shifts.append(at - size)

    for escape in escapes:
        start, end = escape.span()
        if start > line_end + _MARGIN or not pieces:
            put(text[at:line_end])
            put(HOLE)
            at = text.rfind(b"\n", 0, max(0, start - _MARGIN)) + 1
            at = max(at, line_end)
            moved()
        if end > line_end - _MARGIN and line_end < len(text):
            line_end = text.find(b"\n", end + _MARGIN)
            line_end = len(text) if line_end < 0 else line_end
        put(text[at:start])
        put(_spelt(escape))
        at = end
        moved()
    put(text[at:line_end])
    return Unescaped(b"".join(pieces), places, shifts)


def _spelt(escape: re.Match[bytes]) -> bytes:
    digits = escape[1] or (escape[2] if escape.re is _BACKSLASHED else None)
    return bytes.fromhex(digits.decode()) if digits else b"/"


def unpacked(text: bytes) -> Unpacked | None:
    """What each run of base64 says, divided by what no secret can hold."""
    pieces: list[bytes] = []
    runs = [_run(text, *match.span()) for match in spans_only(_BASE64).finditer(text)]
    for start, end in runs:
        pieces.append(_decoded(text[start:end].translate(None, b"\r\n")).replace(HOLE, b" "))
    starts = [0, *accumulate(len(piece) + 1 for piece in pieces)]
    return Unpacked(HOLE.join(pieces), starts, runs) if runs else None


def _run(text: bytes, start: int, end: int) -> tuple[int, int]:
    """Without the line after it, where that is not its last one."""
    last = text.rfind(b"\n", start, end)
    if last >= 0 and end - last <= _LAST_LINE and len(text[start:end].translate(None, b"\r\n")) % 4:
        return start, last
    return start, end


def _decoded(run: bytes) -> bytes:
    run = run.rstrip(b"=").translate(_STANDARD)
    run = run[:-1] if len(run) % 4 == 1 else run
    try:
        return a2b_base64(run + b"=" * (-len(run) % 4))
    except Error:
        return b""
