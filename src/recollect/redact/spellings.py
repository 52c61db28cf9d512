r"""The same text in other spellings: escapes undone, base64 decoded. One level alone.

A secret may stand in a text as `ghp_\u0041…`, `https:\/\/me:…@host`, `password%3D…` or as the base64 of any of
these. Each spelling is a buffer for the table to run on, and says which bytes of the text a find in it came from.
"""

from __future__ import annotations

import re
from binascii import Error, a2b_base64
from bisect import bisect_right
from collections.abc import Callable
from itertools import accumulate
from typing import NamedTuple

from recollect.redact.secret_table import HOLE, spans_only

# What can hide a secret: an escape of a byte that is text itself. `\n` and `\"` are left to the patterns, because
# every JSON is full of them.
# `re` looks for a pattern that begins with one certain byte many times faster than for a choice of two.
_BACKSLASHED = re.compile(rb"\\(?:\\{0,3}u00([2-7][0-9A-Fa-f]|0[9AaDd])|\\{0,3}x([2-7][0-9A-Fa-f])|\\{0,3}/)")
_PERCENT = re.compile(rb"%([2-7][0-9A-Fa-f]|0[9AaDd])")
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


class Spelling(NamedTuple):
    buffer: bytes
    origin: Callable[[int, int], tuple[int, int]]  # where a range of the buffer stands in the text


def undo_escapes(text: bytes) -> Spelling | None:
    """None if there is no escape, which is nearly always so."""
    escapes = sorted([*_BACKSLASHED.finditer(text), *_PERCENT.finditer(text)], key=re.Match.start)
    if not escapes:
        return None
    pieces: list[bytes] = []
    places, ends = [0], [0]  # where a piece without escapes begins, in the buffer and in the text
    for escape in escapes:
        digits = escape[escape.lastindex].decode() if escape.lastindex else "2f"
        pieces += text[ends[-1] : escape.start()], bytes.fromhex(digits)
        places.append(places[-1] + escape.start() - ends[-1] + 1)
        ends.append(escape.end())
    pieces.append(text[ends[-1] :])

    def place(at: int) -> int:
        piece = bisect_right(places, at) - 1
        return at - places[piece] + ends[piece]

    return Spelling(b"".join(pieces), lambda start, end: (place(start), place(end)))


def decode_base64(text: bytes) -> Spelling | None:
    """What each run of base64 says, divided by a byte that no secret can hold. A find leads back to its whole run: half
    of it could be read by anyone."""
    runs = [_trim_run(text, *match.span()) for match in spans_only(_BASE64).finditer(text)]
    if not runs:
        return None
    pieces = [_decode(text[start:end].translate(None, b"\r\n")).replace(HOLE, b" ") for start, end in runs]
    starts = [0, *accumulate(len(piece) + 1 for piece in pieces)]
    return Spelling(HOLE.join(pieces), lambda start, _end: runs[bisect_right(starts, start) - 1])


def _trim_run(text: bytes, start: int, end: int) -> tuple[int, int]:
    """Leaves out the line after it, if that is not part of the run."""
    last = text.rfind(b"\n", start, end)
    is_odd = len(text[start:end].translate(None, b"\r\n")) % 4
    return (start, last) if last >= 0 and end - last <= _LAST_LINE and is_odd else (start, end)


def _decode(run: bytes) -> bytes:
    run = run.rstrip(b"=").translate(_STANDARD)
    run = run[:-1] if len(run) % 4 == 1 else run
    try:
        return a2b_base64(run + b"=" * (-len(run) % 4))
    except Error:
        return b""
