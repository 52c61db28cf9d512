"""The learned judge: how far the words of a sentence speak for a rule that is to last, at the rate at which real people
state one.

Log odds, the sum of small shares of the traits that are known (traits.py). The shares were fitted to labelled sentences
(tools/train_capture.py); nothing is learned here.
"""

from __future__ import annotations

import zlib
from base64 import b85decode
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from math import sqrt

LANGUAGES = ("en", "de", "es", "fr", "pt", "ru", "vi")
_MIDDLE = 128
"""A share is kept as one byte, this for none at all."""


@dataclass(frozen=True, slots=True)
class Judge:
    bias: float
    scale: float
    shares: Mapping[str, int]

    def odds(self, traits: Iterable[str]) -> float:
        known = [share for share in map(self.shares.get, traits) if share is not None]
        return self.bias + (self.scale * (sum(known) - _MIDDLE * len(known)) / sqrt(len(known)) if known else 0.0)


@cache
def judge(code: str) -> Judge | None:
    """For the languages that have one. Unpacked when first asked for."""
    if code not in LANGUAGES:
        return None
    from recollect.capture.languages import learned_words as kept

    names = _unpacked(kept.TRAITS).decode().split("\n")
    return Judge(kept.BIAS, kept.SCALE, dict(zip(names, _unpacked(kept.SHARES), strict=True)))


def _unpacked(text: str) -> bytes:
    return zlib.decompress(b85decode(text.replace("\n", "")))
