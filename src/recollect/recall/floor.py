"""Whether a memory is relevant enough to a prompt to be shown to someone who did not ask: a probability, made of
features that mean the same in every store. Few memories are relevant to a rename, next to none to a question
about a language. The learned weights and the patterns are in floor.json; the threshold is applied in selection.py.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from recollect.base.shipped import load_table
from recollect.model.query import Background, WordEvidence
from recollect.model.small_talk import WORDS as SMALL_TALK
from recollect.recall.matching import count_terms

_TABLE = load_table("recollect.recall", "floor.json")
_WEIGHTS: Mapping[str, Mapping[str, float]] = _TABLE["weights"]
_PATTERNS = {kind: "|".join(alternatives) for kind, alternatives in _TABLE["patterns"].items()}
_NAME = re.compile(_PATTERNS["name"])
_TIDYING, _PROJECT = (re.compile(rf"\b(?:{_PATTERNS[kind]})\b", re.IGNORECASE) for kind in ("tidying", "project"))
_GENERAL = re.compile(rf"\b(?:{_PATTERNS['general']})", re.IGNORECASE)
# Small talk and the words of every piece of work, as the index has them.
_COMMON = SMALL_TALK.union(*(line.split() for line in _TABLE["common_words"]))

NEEDED = 5.0  # information that a prompt must have before it can be covered: one rare word is not enough
_MOSTLY_FOREIGN = 0.5  # from here on the shipped model's vectors add nothing to what the words say
# How near unrelated texts are by the shipped model, of which so many are added to a store's own. Letters other than
# plain Latin ones mean little to it: all texts in them are near to each other.
_USUAL_MEAN, _USUAL_DEVIATION, _USUAL_COUNT = 0.05, 0.09, 10
_FOREIGN_MEAN, _FOREIGN_MORE = 0.25, 0.17
_MIN_DEVIATION = 0.01
_MAX_STANDING_OUT = 8.0
# How rare a word is assumed to be before anything is known of it, as if this many passages had been seen.
_SEEN, _COMMON_SHARE, _OTHER_SHARE = 50, 0.10, 0.005
_MAX_NAMES, _MAX_WORDS, _MAX_CHARS = 2, 60, 4_000


@dataclass(frozen=True, slots=True)
class Prompt:
    """The features of a prompt itself, computed once."""

    length: float
    names: frozenset[str]
    foreign: float  # the share of its letters that are not plain Latin ones
    is_tidying: bool = False  # renaming, sorting, removing what is unused
    is_general: bool = False  # a question about a language or a tool, not about this project

    @classmethod
    def of(cls, text: str) -> Prompt:
        text = text[:_MAX_CHARS]
        letters = [char for char in text if char.isalpha()]
        return cls(
            length=math.log(1 + min(len(text.split()), _MAX_WORDS)),
            names=frozenset(found.group().strip("`").casefold() for found in _NAME.finditer(text)),
            foreign=sum(not char.isascii() for char in letters) / max(1, len(letters)),
            is_tidying=bool(_TIDYING.search(text)),
            is_general=_GENERAL.search(text) is not None and not _PROJECT.search(text),
        )


class Relevance(NamedTuple):
    probability: float
    components: tuple[tuple[str, float], ...]


def judge_relevance(
    prompt: Prompt, text: str, *, near: float | None, cover: float, background: Background, passages: int, kept: bool
) -> Relevance:
    """`near`: the cosine of the best passage, None without vectors. `cover`: of the passage that covers most.
    `passages`: how many there are in the stores. `kept`: it is a rule or a note."""
    lowered = text.casefold() if prompt.names else ""
    values = {
        "cover": cover,
        "names": float(min(_MAX_NAMES, sum(name in lowered for name in prompt.names))),
        "length": prompt.length,
        # The more passages there are, the more are near by chance: 1 in an empty store, nearly 0 among hundreds.
        "fresh": _USUAL_COUNT / (_USUAL_COUNT + passages),
        "tidying": prompt.is_tidying,
        "general": prompt.is_general,
        "kept": kept,
    }
    told: tuple[tuple[str, float], ...] = (("covered", cover), ("names", values["names"]))
    weights = _WEIGHTS["words_alone"]
    if near is not None and prompt.foreign <= _MOSTLY_FOREIGN:
        weights = _WEIGHTS["with_vectors"]
        mean, deviation = _usual_nearness(prompt, near, background)
        lift, stands_out = (near - mean) / (1 - mean), min(_MAX_STANDING_OUT, (near - mean) / deviation)
        values |= {"lift": lift, "stands_out": stands_out}
        told = (("lift", lift), ("stands_out", stands_out), *told)
    odds = weights["bias"] + sum(weights[name] * value for name, value in values.items())
    return Relevance(1 / (1 + math.exp(-odds)), told)


def _usual_nearness(prompt: Prompt, near: float, background: Background) -> tuple[float, float]:
    """Mean and deviation of the other passages: this one is taken out, the typical ones are added."""
    usual = _FOREIGN_MEAN + _FOREIGN_MORE * prompt.foreign if prompt.foreign else _USUAL_MEAN
    others = max(0, background.passages - 1)
    total = background.total - near if others else 0.0
    squares = background.squares - near * near if others else 0.0
    mean = min(0.95, (total + _USUAL_COUNT * usual) / (others + _USUAL_COUNT))
    usual_squares = _USUAL_DEVIATION * _USUAL_DEVIATION + usual * usual
    variance = (squares + _USUAL_COUNT * usual_squares) / (others + _USUAL_COUNT) - mean * mean
    return mean, math.sqrt(max(variance, _MIN_DEVIATION * _MIN_DEVIATION))


def information(evidence: Sequence[WordEvidence]) -> dict[str, float]:
    """What each word tells: little where every passage has it. A new store knows too little about that, so words that
    are common everywhere are assumed to be common here."""
    passages = sum(one.passages for one in evidence)
    return {
        term: math.log(max(1.0, (passages + _SEEN + 1) / (count + _SEEN * share + 0.5)))
        for term, count in count_terms(evidence).items()
        for share in [_COMMON_SHARE if term in _COMMON else _OTHER_SHARE]
    }
