"""What a prompt looks like to the learned judge: short runs of its words and of its skeleton, and what patterns found.

The skeleton keeps the small words ("we", "never", "in this") and puts a class in place of every other: what a rule
is about changes from project to project, how a rule is said does not. Names, paths and numbers are one class each.
Reads the masked text alone: quotes and pasted parts are marks, never words.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from recollect.capture.draft import Draft, Piece
from recollect.capture.languages.en_words import CLASSES, SMALL
from recollect.capture.mask import BLOT, QUOTE

MOST_TOKENS = 120
"""Of one sentence."""
_END_PIECES = 25
"""Of a longer prompt the first and the last so many sentences are read."""
_HEAD_CHARS = 2_000
_WORD_RUN = 3
_BONE_RUN = 5
_STEM_CHARS = 5
_STEPS = (1.0, 2.0, 2.5, 3.0, 4.0, 6.0, 8.0)
_MANY = 4
_TOKEN = re.compile(
    r"(?P<paste>\x01+)|(?P<quote>\x02+)"
    r"|(?P<url>https?://\S+|[\w-]+(?:\.[\w-]+)*\.(?:example|com|org|net|io|dev|internal|corp|local|lan)\b)"
    r"|(?P<path>[\w.@~*<>{}-]*/[\w.@*<>{}/$-]*|\*?\.?[\w-]+\.[a-z]{1,5}\b(?!\.))"
    r"|(?P<num>v?\d[\w.:%]*)"
    r"|(?P<word>[^\W\d_]+(?:'[^\W\d_]+)*)(?![\w(])"
    r"|(?P<name>[\w@#]+(?:[-.:]\w+)*\(?\)?)"
    r"|(?P<mark>[?!:;,.()\u2014-])"
)


@dataclass(frozen=True, slots=True)
class Traits:
    prompt: frozenset[str]
    pieces: tuple[frozenset[str], ...]
    """As long as the pieces; empty for those that were not read."""


def of(draft: Draft) -> Traits:
    """Of a draft whose pieces the patterns have judged."""
    pieces = draft.pieces
    common = {f"#sentences {min(len(pieces), _MANY)}"}
    common |= {f"!whole: {draft.whole}"} if draft.whole else set()
    common |= {"#pasted"} if BLOT in draft.seen else set()
    common |= {"#quoted"} if QUOTE in draft.seen else set()
    skipped = range(_END_PIECES, len(pieces) - _END_PIECES)
    own = [set() if number in skipped else _own(piece.seen) for number, piece in enumerate(pieces)]
    found = [_patterns(piece) for piece in pieces]
    told = []
    for number in range(len(pieces)):
        before = {f"<{trait}" for trait in own[number - 1] if " " not in trait} if number else {"<none"}
        after = {f">{trait}" for trait in own[number + 1] if " " not in trait} if number + 1 < len(own) else {">none"}
        told.append(frozenset(own[number] | found[number] | common | before | after))
    return Traits(frozenset(common.union(_flags(draft), *own, *found)), tuple(told))


def _flags(draft: Draft) -> set[str]:
    """What the patterns say of its kind and of how far it reaches."""
    language, head = draft.language, draft.seen[:_HEAD_CHARS]
    asked = {
        "correction": language.correction, "devops": language.devops, "everywhere": language.everywhere,
        "user": language.user, "project": language.project,
    }  # fmt: skip
    return {f"!{name}" for name, pattern in asked.items() if pattern.search(head)}


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


def _patterns(piece: Piece) -> set[str]:
    found = {f"!{signal}" for signal in piece.signals}
    if piece.veto:
        return found | {f"!not: {piece.veto}"}
    return found | {f"!{step}" for step in _STEPS if piece.score >= step}
