"""What a sentence looks like to the learned judge: short runs of its words and its skeleton, and what patterns found.

The skeleton keeps the small words ("we", "never", "in this") and puts a class in place of every other: what a rule
is about changes from project to project, how a rule is said does not. Names, paths and numbers are one class each.
Reads the masked text alone: quotes and pasted parts are marks, never words.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from recollect.capture.draft import Piece
from recollect.capture.languages.en_words import CLASSES, SMALL

MOST_TOKENS = 120
"""Of one sentence."""
_WORD_RUN, _BONE_RUN = 2, 3
_STEM_CHARS = 5
_MANY = 5
_TOKEN = re.compile(
    r"(?P<paste>\x01+)|(?P<quote>\x02+)"
    r"|(?P<url>https?://\S+|[\w-]+(?:\.[\w-]+)*\.(?:example|com|org|net|io|dev|internal|corp|local|lan)\b)"
    r"|(?P<path>[\w.@~*<>{}-]*/[\w.@*<>{}/$-]*|\*?\.?[\w-]+\.[a-z]{1,5}\b(?!\.))"
    r"|(?P<num>v?\d[\w.:%]*)"
    r"|(?P<word>[^\W\d_]+(?:'[^\W\d_]+)*)(?![\w(])"
    r"|(?P<name>[\w@#]+(?:[-.:]\w+)*\(?\)?)"
    r"|(?P<mark>[?!:;,.()\u2014-])"
)


def of(pieces: Sequence[Piece], number: int) -> set[str]:
    """Of one sentence, which patterns have judged, among those around it."""
    piece = pieces[number]
    found = _own(piece.seen)
    found.update(f"!{signal}" for signal in piece.signals)
    if piece.veto:
        found.add(f"!not: {piece.veto}")
    found.add(f"#sentences {min(len(pieces), _MANY)}")
    found.add(f"#words {min(len(piece.seen.split()) // 6, _MANY)}")
    if number and _asks(pieces[number - 1]):
        found.add("#after a question")
    if number + 1 < len(pieces) and _asks(pieces[number + 1]):
        found.add("#before a question")
    return found


def tokens(seen: str) -> list[str]:
    """Lower case; a name with capitals inside, an underscore or a bracket is no word."""
    found = []
    for match in _TOKEN.finditer(seen):
        kind, text = match.lastgroup, match.group()
        if kind == "word":
            found.append("<name>" if text[1:] != text[1:].lower() and not text.isupper() else text.lower())
        else:
            found.append(text if kind == "mark" else f"<{kind}>")
        if len(found) == MOST_TOKENS:
            break
    return found


def _asks(piece: Piece) -> bool:
    return piece.seen.endswith("?")


def _own(seen: str) -> set[str]:
    words = tokens(seen)
    bones = [word if word in SMALL or not word[0].isalpha() else CLASSES.get(word) or _shape(word) for word in words]
    found = set(_runs(words, _WORD_RUN))
    found.update(f"~ {run}" for run in _runs(bones, _BONE_RUN))
    found.update(f"{word[:_STEM_CHARS]}*" for word in words if len(word) > _STEM_CHARS and word[0].isalpha())
    return found


def _runs(words: list[str], most: int) -> Iterator[str]:
    padded = ["^", *words, "$"]
    for size in range(1, most + 1):
        for start in range(len(padded) - size + 1):
            yield " ".join(padded[start : start + size])


def _shape(word: str) -> str:
    return next((f"~{end}" for end in ("ing", "ed", "ly", "s") if word.endswith(end) and len(word) > len(end) + 2), "~")
