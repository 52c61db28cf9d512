"""The learned judge: how far the words of a prompt, and its tone, speak for a rule that is to last.

Log odds, each the sum of small shares of the traits that are known (traits.py), so that `--explain` can name them.
The shares were fitted to labelled prompts (tools/train_capture.py); nothing is learned here.
"""

from __future__ import annotations

import zlib
from base64 import b85decode
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from math import sqrt
from operator import mul

from recollect.capture.draft import Action, Leaning, Reach, Sort
from recollect.capture.traits import Traits

LANGUAGES = ("en",)
QUESTIONS = ("rule", "preference", "correction", "devops", "user")
"""Asked of the words and of the tone alike."""
NOT_A_WORD_OF_IT = -3.0
"""Where the words say so little the tone is not asked for: of 935 such prompts none came near a rule by it."""
_SORTS = (Sort.PREFERENCE, Sort.CORRECTION, Sort.DEVOPS)
COLUMNS = (*QUESTIONS, "piece")
_MIDDLE = 128
"""A share is kept as one byte, this for none at all."""
_NAMED = 4
"""So many traits for and against are named."""


@dataclass(frozen=True, slots=True)
class Column:
    """One question: a share for each trait, or for each number of a tone."""

    bias: float
    scale: float
    shares: bytes


@dataclass(frozen=True, slots=True)
class Bar:
    """From which log odds on a rule waits for the person, and from which it is in force."""

    inbox: float
    store: float

    def action(self, odds: float) -> Action:
        return Action.STORED if odds >= self.store else Action.INBOX if odds >= self.inbox else Action.DROPPED


@dataclass(frozen=True, slots=True)
class Judge:
    rows: Mapping[str, int]
    words: Mapping[str, Column]
    tones: Mapping[str, Column]
    by_words: Bar
    by_tone: Bar
    """Where the tone was heard, too."""

    def leaning(self, traits: Traits, tone: Sequence[float] | None) -> Leaning:
        known = self._known(traits.prompt)
        said = {name: self._said(name, known) for name in QUESTIONS}
        heard = {name: 0.0 if tone is None else self._heard(name, tone) for name in QUESTIONS}
        odds = {name: said[name] + heard[name] for name in QUESTIONS}
        speaks_for, against = self._named(traits.prompt)
        return Leaning(
            odds=odds["rule"],
            words=said["rule"],
            tone=None if tone is None else heard["rule"],
            action=(self.by_words if tone is None else self.by_tone).action(odds["rule"]),
            sort=max(_SORTS, key=lambda sort: odds[sort]),
            reach=Reach.USER if odds["user"] > 0 else Reach.PROJECT,
            pieces=tuple(self._said("piece", self._known(piece)) for piece in traits.pieces),
            speaks_for=speaks_for,
            against=against,
        )

    def _known(self, traits: Iterable[str]) -> list[int]:
        return [self.rows[trait] for trait in traits if trait in self.rows]

    def _said(self, name: str, known: list[int]) -> float:
        column = self.words[name]
        total = sum(map(column.shares.__getitem__, known)) - _MIDDLE * len(known)
        return column.bias + (column.scale * total / sqrt(len(known)) if known else 0.0)

    def _heard(self, name: str, tone: Sequence[float]) -> float:
        column = self.tones[name]
        total: float = sum(map(mul, column.shares, tone)) - _MIDDLE * sum(tone)
        return column.bias + column.scale * total

    def _named(self, traits: Iterable[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """What speaks most for a rule, and what most against it."""
        shares = self.words["rule"].shares
        known = sorted((shares[self.rows[trait]] - _MIDDLE, trait) for trait in traits if trait in self.rows)
        against = tuple(trait for share, trait in known[:_NAMED] if share < 0)
        return tuple(trait for share, trait in known[: -_NAMED - 1 : -1] if share > 0), against


@cache
def judge(code: str) -> Judge | None:
    """For the languages that have one. Unpacked when first asked for."""
    if code not in LANGUAGES:
        return None
    from recollect.capture.languages import en_learned as kept

    names = _unpacked(kept.TRAITS).decode().split("\n")
    return Judge(
        rows={name: row for row, name in enumerate(names)},
        words=_columns(COLUMNS, kept.WORDS, _unpacked(kept.WORD_SHARES)),
        tones=_columns(QUESTIONS, kept.TONES, _unpacked(kept.TONE_SHARES)),
        by_words=Bar(*kept.BY_WORDS),
        by_tone=Bar(*kept.BY_TONE),
    )


def _columns(names: tuple[str, ...], kept: Mapping[str, tuple[float, float]], shares: bytes) -> dict[str, Column]:
    size = len(shares) // len(names)
    return {name: Column(*kept[name], shares[place * size : (place + 1) * size]) for place, name in enumerate(names)}


def _unpacked(text: str) -> bytes:
    return zlib.decompress(b85decode(text.replace("\n", "")))
