"""What the words say: BM25 over passages, with the rarity of a term pooled over all stores that are asked.

Pooling matters: a term that is rare in one store and common in the other has one weight, so scores of both
can stand in one list.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from recollect.model.evidence import WordEvidence

KEPT = 200  # passages of a store that go on; the rest cannot reach the top
_STRONGEST = 2.2  # what one term gives at most, before its rarity: BM25's k1 + 1

Ref = tuple[int, int]
"""A memory: which store, and its row there."""


@dataclass(frozen=True, slots=True)
class Spoken:
    """The terms of the question as they stand in the passages of one store."""

    passages: Mapping[int, tuple[tuple[int, float], ...]]
    """By passage: (which term, what it gives)."""


@dataclass(frozen=True, slots=True)
class WordMatch:
    best: float
    """Of its best passage."""
    whole: float
    """Each term where it stands strongest in the memory."""
    cover: float
    """Which share of the question's rarity it speaks of."""
    passage: int
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
    rarity = tuple(math.log(1 + (max(passages, n) - n + 0.5) / (n + 0.5)) for n in counts.values())
    return Wording(tuple(_spoken(e, order, rarity, kept) for e in evidence), rarity)


def _spoken(evidence: WordEvidence, order: Mapping[str, int], rarity: Sequence[float], most: int) -> Spoken:
    scores: dict[int, float] = {}
    for term in evidence.terms:
        weight = rarity[order[term.term]] * term.unit
        for passage, strength in term.rows:
            scores[passage] = scores.get(passage, 0.0) + weight * strength
    kept = set(heapq.nlargest(most, scores, key=scores.__getitem__))
    found: dict[int, list[tuple[int, float]]] = {passage: [] for passage in kept}
    for term in evidence.terms:
        number = order[term.term]
        weight = rarity[number] * term.unit
        for passage, strength in term.rows:
            if passage in kept:
                found[passage].append((number, weight * strength))
    return Spoken({passage: tuple(given) for passage, given in found.items()})


def matches(words: Wording, owners: Sequence[Mapping[int, int]]) -> dict[Ref, WordMatch]:
    """By memory; `owners` says for each store whose passage it is."""
    by_memory: dict[Ref, list[int]] = {}
    for store, spoken in enumerate(words.spoken):
        for passage in spoken.passages:
            memory = owners[store].get(passage)
            if memory is not None:
                by_memory.setdefault((store, memory), []).append(passage)
    return {ref: _match(words, words.spoken[ref[0]], own) for ref, own in by_memory.items()}


def _match(words: Wording, spoken: Spoken, own: list[int]) -> WordMatch:
    best, score = own[0], -1.0
    strongest: dict[int, float] = {}
    for passage in own:
        given = spoken.passages[passage]
        here = sum(value for _, value in given)
        if here > score:
            best, score = passage, here
        for term, value in given:
            if value > strongest.get(term, 0.0):
                strongest[term] = value
    covered = sum(words.rarity[term] for term in strongest)
    return WordMatch(
        best=score,
        whole=sum(strongest.values()),
        cover=covered / (sum(words.rarity) or 1.0),
        passage=best,
        terms=tuple(strongest.items()),
    )
