"""What the words say: BM25 over passages, with the rarity of a term pooled over all stores that are asked.

Pooling matters: a term that is rare in one store and common in the other has one weight, so scores of both
can stand in one list.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from recollect.model.evidence import Owner, WordEvidence

KEPT = 400  # passages of a store that go on; the rest cannot reach the top
_STRONGEST = 2.2  # what one term gives at most, before its rarity: BM25's k1 + 1

Ref = tuple[int, int]
"""A unit (model/evidence.py): which store, and its number there."""


_Passages = Mapping[int, tuple[tuple[int, float], ...]]

# Terms that say what kind of answer is wanted ("how many days ago"), more than what it is about.
_FRAME = frozenset(
    "mani much dai day week month year ago pass passed sinc since between befor before after first last order "
    "earliest latest recent total number differ different time current tell remind rememb mention suggest recommend "
    "tip advic idea think wonder help look thing ani any some".split()
)
_FRAME_SHARE = 0.5


@dataclass(frozen=True, slots=True)
class Spoken:
    """The terms of the question as they stand in the passages of one store."""

    passages: _Passages
    """By passage: (which term, what it gives)."""


class WordMatch(NamedTuple):
    best: float
    """Of its best passage."""
    whole: float
    """Each term where it stands strongest in the unit."""
    cover: float
    """Which share of the question's rarity it speaks of."""
    terms: tuple[tuple[int, float], ...]


@dataclass(frozen=True, slots=True)
class Wording:
    spoken: tuple[Spoken, ...]
    rarity: tuple[float, ...]

    @property
    def most(self) -> float:
        """What a perfect match would score."""
        return _STRONGEST * sum(self.rarity)


def wording(evidence: Sequence[WordEvidence], kept: int = KEPT) -> Wording:
    passages = sum(e.passages for e in evidence)
    counts: dict[str, int] = {}
    for e in evidence:
        for term in e.terms:
            counts[term.term] = counts.get(term.term, 0) + term.passages
    order = {term: number for number, term in enumerate(counts)}
    framed = not counts.keys() <= _FRAME
    rarity = tuple(
        math.log(1 + (max(passages, n) - n + 0.5) / (n + 0.5)) * (_FRAME_SHARE if framed and term in _FRAME else 1)
        for term, n in counts.items()
    )
    return Wording(tuple(_spoken(e, order, rarity, kept) for e in evidence), rarity)


def _spoken(evidence: WordEvidence, order: Mapping[str, int], rarity: Sequence[float], most: int) -> Spoken:
    scores: dict[int, float] = {}
    known = scores.get
    for term in evidence.terms:
        weight = rarity[order[term.term]] * term.unit
        for passage, strength in term.rows:
            scores[passage] = known(passage, 0.0) + weight * strength
    kept = heapq.nlargest(most, scores, key=scores.__getitem__) if len(scores) > most else scores
    found: dict[int, list[tuple[int, float]]] = {passage: [] for passage in kept}
    for term in evidence.terms:
        number = order[term.term]
        weight = rarity[number] * term.unit
        for passage, strength in term.rows:
            if passage in found:
                found[passage].append((number, weight * strength))
    return Spoken({passage: tuple(given) for passage, given in found.items()})


def matches(words: Wording, owners: Sequence[Mapping[int, Owner]], voice: float = 0.0) -> dict[Ref, WordMatch]:
    """By unit; `owners` says for each store whose passage it is. `voice`: how much more a passage counts that is all
    in the first person."""
    by_unit: dict[Ref, list[int]] = {}
    for store, spoken in enumerate(words.spoken):
        for passage in spoken.passages:
            owner = owners[store].get(passage)
            if owner is not None:
                by_unit.setdefault((store, owner.unit), []).append(passage)
    all_rarity = sum(words.rarity) or 1.0
    spoken_by = [_louder(spoken, owners[store], voice) for store, spoken in enumerate(words.spoken)]
    return {ref: _match(words, spoken_by[ref[0]], own, all_rarity) for ref, own in by_unit.items()}


def cover(words: Wording, evidence: Sequence[WordEvidence], store: int, passages: Iterable[int]) -> dict[int, float]:
    """Of these passages of one store: which share of the question's rarity each speaks of."""
    order = {term: number for number, term in enumerate(dict.fromkeys(t.term for e in evidence for t in e.terms))}
    found = dict.fromkeys(passages, 0.0)
    all_rarity = sum(words.rarity) or 1.0
    for term in evidence[store].terms:
        share = words.rarity[order[term.term]] / all_rarity
        for passage, _ in term.rows:
            if passage in found:
                found[passage] += share
    return found


def _louder(spoken: Spoken, owners: Mapping[int, Owner], voice: float) -> _Passages:
    """A perfect match stays what it is; what nobody says of himself counts for less."""
    if not voice:
        return spoken.passages
    found: dict[int, tuple[tuple[int, float], ...]] = {}
    for passage, given in spoken.passages.items():
        owner = owners.get(passage)
        if owner is not None:
            share = (1 + voice * owner.voice / 100) / (1 + voice)
            found[passage] = tuple([(term, value * share) for term, value in given])
    return found


def _match(words: Wording, spoken: _Passages, own: list[int], all_rarity: float) -> WordMatch:
    if len(own) == 1:
        given = spoken[own[0]]
        score = sum([value for _, value in given])
        covered = sum([words.rarity[term] for term, _ in given])
        return WordMatch(score, score, covered / all_rarity, given)
    score = -1.0
    strongest: dict[int, float] = {}
    for passage in own:
        given = spoken[passage]
        score = max(score, sum([value for _, value in given]))
        for term, value in given:
            if value > strongest.get(term, 0.0):
                strongest[term] = value
    covered = sum([words.rarity[term] for term in strongest])
    return WordMatch(score, sum(strongest.values()), covered / all_rarity, tuple(strongest.items()))
