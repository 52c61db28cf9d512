"""Whether a memory is relevant to a prompt: a probability, made of features that mean the same in every store.

Ranking says which memory comes first; this says whether any of them is worth showing. It looks at how near the best
passage is, how far that stands out from the other passages of the stores, which share of the prompt's information the
passage covers, which names (files, identifiers, options) both have, how long the prompt is, and what kind of prompt it
is: few memories are relevant to a rename, next to none to a question about a language. Rules and notes were kept on
purpose and are relevant more often than records of past work. The learned weights and the patterns are in floor.json.

A store of a few passages offers little to stand out from, so ten typical unrelated passages are added to it.

Does not rank the answers to a question (fuse.py, priority.py), does not select (selection.py).
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from recollect.base.shipped import load_table
from recollect.model.evidence import Background, WordEvidence
from recollect.model.small_talk import WORDS as SMALL_TALK

_TABLE = load_table("recollect.recall", "floor.json")
_WEIGHTS: Mapping[str, Mapping[str, float]] = _TABLE["weights"]
_PATTERNS = {kind: "|".join(alternatives) for kind, alternatives in _TABLE["patterns"].items()}
_NAME = re.compile(_PATTERNS["name"])
_TIDYING, _PROJECT = (re.compile(rf"\b(?:{_PATTERNS[kind]})\b", re.IGNORECASE) for kind in ("tidying", "project"))
_GENERAL = re.compile(rf"\b(?:{_PATTERNS['general']})", re.IGNORECASE)
# Small talk and the words of every piece of work, as the index has them.
_COMMON = SMALL_TALK.union(*(line.split() for line in _TABLE["common_words"]))

# What the shipped model says of unrelated texts. Scripts other than Latin, and letters with accents, mean little to
# it: all texts in them are near to each other.
_MOSTLY_FOREIGN = 0.5  # from here on its vectors add nothing to what the words say
_USUAL_MEAN, _USUAL_DEVIATION, _USUAL_COUNT = 0.05, 0.09, 10
_FOREIGN_MEAN, _FOREIGN_MORE = 0.25, 0.17
_MIN_DEVIATION = 0.01
_MAX_STANDING_OUT = 8.0
_NEEDED = 5.0  # information that a prompt must have before it can be covered: one rare word is not enough
# How rare a word is assumed to be before anything is known of it, as if this many passages had been seen.
_SEEN, _COMMON_SHARE, _OTHER_SHARE = 50, 0.10, 0.005
_MAX_NAMES = 2
_MAX_WORDS = 60
_MAX_CHARS = 4_000


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


@dataclass(frozen=True, slots=True)
class Features:
    prompt: Prompt
    lift: float | None
    """How near, between what is usual in these stores (0) and the same text (1). None: by words alone."""
    stands_out: float  # how many standard deviations above the other passages
    cover: float
    names: int
    fresh: float
    """1 in an empty store, nearly 0 in one of hundreds of passages: the more there are, the more are near by chance."""
    kept: bool  # a rule or a note

    @property
    def probability(self) -> float:
        weights = _WEIGHTS["words_alone" if self.lift is None else "with_vectors"]
        values = {
            "cover": self.cover, "names": self.names, "length": self.prompt.length, "lift": self.lift or 0.0,
            "stands_out": self.stands_out, "fresh": self.fresh, "tidying": self.prompt.is_tidying,
            "general": self.prompt.is_general, "kept": self.kept,
        }  # fmt: skip
        return 1 / (1 + math.exp(-weights["bias"] - sum(weights[name] * value for name, value in values.items())))

    @property
    def components(self) -> tuple[tuple[str, float], ...]:
        near = () if self.lift is None else (("lift", self.lift), ("stands_out", self.stands_out))
        return (*near, ("covered", self.cover), ("names", float(self.names)))


def features(
    prompt: Prompt, text: str, *, near: float | None, cover: float, background: Background, passages: int, kept: bool
) -> Features:
    """`near`: the cosine of the best passage, None without vectors. `cover`: of the passage that covers most.
    `passages`: how many there are."""
    fresh = _USUAL_COUNT / (_USUAL_COUNT + passages)
    lowered = text.casefold() if prompt.names else ""
    names = min(_MAX_NAMES, sum(name in lowered for name in prompt.names))
    if near is None or prompt.foreign > _MOSTLY_FOREIGN:
        return Features(prompt, None, 0.0, cover, names, fresh, kept)
    mean, deviation = _usual(prompt, near, background)
    stands_out = min(_MAX_STANDING_OUT, (near - mean) / deviation)
    return Features(prompt, (near - mean) / (1 - mean), stands_out, cover, names, fresh, kept)


def _usual(prompt: Prompt, near: float, background: Background) -> tuple[float, float]:
    """Mean and deviation of the other passages: this one is taken out, the typical ones are added."""
    usual = _FOREIGN_MEAN + _FOREIGN_MORE * prompt.foreign if prompt.foreign else _USUAL_MEAN
    others = max(0, background.passages - 1)
    total = background.total - near if others else 0.0
    squares = background.squares - near * near if others else 0.0
    mean = min(0.95, (total + _USUAL_COUNT * usual) / (others + _USUAL_COUNT))
    usual_squares = _USUAL_DEVIATION * _USUAL_DEVIATION + usual * usual
    variance = (squares + _USUAL_COUNT * usual_squares) / (others + _USUAL_COUNT) - mean * mean
    return mean, math.sqrt(max(variance, _MIN_DEVIATION * _MIN_DEVIATION))


def cover(evidence: Sequence[WordEvidence], store: int, passages: Iterable[int]) -> Mapping[int, float]:
    """For each of these passages of one store: the share of the prompt's information that it covers."""
    worth = _information(evidence)
    whole = sum(worth.values()) + _NEEDED
    found = dict.fromkeys(passages, 0.0)
    for term in evidence[store].terms:
        for passage, _ in term.rows:
            if passage in found:
                found[passage] += worth[term.term] / whole
    return found


def _information(evidence: Sequence[WordEvidence]) -> dict[str, float]:
    """What a word tells: little where every passage has it. A new store knows too little about that, so words that are
    common everywhere are assumed to be common here."""
    passages = sum(one.passages for one in evidence)
    counts: dict[str, int] = {}
    for term in (term for one in evidence for term in one.terms):
        counts[term.term] = counts.get(term.term, 0) + term.passages
    shares = {term: _COMMON_SHARE if term in _COMMON else _OTHER_SHARE for term in counts}
    return {
        term: math.log(max(1.0, (passages + _SEEN + 1) / (count + _SEEN * shares[term] + 0.5)))
        for term, count in counts.items()
    }
