"""Cuts a prompt into sentences, and sentences where a rule is tacked on to a task ("fix it, and btw we use zod")."""

from __future__ import annotations

import re
from collections.abc import Iterator

from recollect.capture.draft import Piece
from recollect.capture.mask import BLOT, QUOTE

# A full stop inside a name, a path or a number is followed by no space; "e.g." and "vs." end nothing.
_END = re.compile(
    r"(?<!\be\.g)(?<!\bi\.e)(?<!\betc)(?<!\bvs)(?<!\bnr)(?<![\s(]no)[.!?]+(?:[)\"']|\*\*)*(?=\s|$|[\x01])|[\u3002\uff01\uff1f]+|\n\s*\n|\n(?=\s*(?:[-*\u2022]|\d{1,2}[.)])\s)|\n(?=\S)"
)
_TACKED = re.compile(
    r"[,;.]?\s+(?:-|\u2013|\u2014)\s+(?=\w)"
    r"|[,;(]?\s+(?=(?:and |but |oh |oh and |also )?(?:btw|by the way|fyi|for the record|heads[- ]up|keep in mind"
    r"|just so you know|oh and|one more thing|small thing|please note|and note)\b)"
    r"|\s+(?=\([a-e1-9]\)\s)"
    r"|\s+(?=PS:?\s)"
    r"|,\s+(?=we (?:don't|do not|always|never|only|no longer)\b)",
    re.IGNORECASE,
)
MOST_CHARS = 700  # nobody states a rule in a longer sentence


def pieces(text: str, seen: str) -> tuple[Piece, ...]:
    found = []
    for start, end in _spans(seen):
        said, shown = text[start:end], seen[start:end]
        blank = len(shown) - len(shown.lstrip())
        said, shown = said[blank:].rstrip(), shown[blank:].rstrip()
        own = shown.replace(BLOT, "").strip(" \t\n.,:;!?-*>\"'()")
        if not own or (not own.replace(QUOTE, "").strip()):
            continue
        veto = "too long for a rule" if len(said) > MOST_CHARS else ""
        found.append(Piece(said, shown, veto=veto, start=start + blank))
    return tuple(found)


def _spans(seen: str) -> Iterator[tuple[int, int]]:
    start = 0
    for end in [*(found.end() for found in _END.finditer(seen)), len(seen)]:
        if seen[start:end].strip():
            yield from _clauses(seen, start, end)
        start = end


def _clauses(seen: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    for found in _TACKED.finditer(seen, start, end):
        if found.start() > start:
            yield start, found.start()
            start = found.end()
    yield start, end
