"""What the words say: BM25 over passages, with the rarity of a term pooled over all stores that are searched.

Pooling matters: a term that is rare in one store and common in the other gets one weight, so the scores of both stores
are comparable.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from recollect.base.shipped import load_table
from recollect.model.evidence import Owner, WordEvidence

KEPT = 400  # passages of a store that are looked at further; the rest cannot reach the top
_MAX_TERM_SCORE = 2.2  # before its rarity: BM25's k1 + 1

Ref = tuple[int, int]  # a unit (model/evidence.py): which store, and its number there


PassageTerms = Mapping[int, tuple[tuple[int, float], ...]]
"""By passage of one store: the terms of the question that it has, and what each gives."""

# Terms that say what kind of answer is wanted ("how many days ago"), more than what it is about.
_FRAME_TERMS = frozenset(" ".join(load_table("recollect.recall", "search_words.json")["frame_terms"]).split())
_FRAME_SHARE = 0.5


class WordMatch(NamedTuple):
    best: float  # of its best passage
    whole: float  # each term where it is strongest in the unit
    cover: float  # the share of the question's rarity that it has
    terms: tuple[tuple[int, float], ...]


@dataclass(frozen=True, slots=True)
class TermScores:
    passages: tuple[PassageTerms, ...]  # by store
    rarity: tuple[float, ...]  # by term

    @property
    def most(self) -> float:
        """What a perfect match would score."""
        return _MAX_TERM_SCORE * sum(self.rarity)


def score_terms(evidence: Sequence[WordEvidence], kept: int = KEPT) -> TermScores:
    passages = sum(e.passages for e in evidence)
    counts: dict[str, int] = {}
    for term in (term for e in evidence for term in e.terms):
        counts[term.term] = counts.get(term.term, 0) + term.passages
    numbers = {term: number for number, term in enumerate(counts)}
    framed = _FRAME_TERMS if not counts.keys() <= _FRAME_TERMS else frozenset()
    rarity = tuple(
        math.log(1 + (max(passages, n) - n + 0.5) / (n + 0.5)) * (_FRAME_SHARE if term in framed else 1)
        for term, n in counts.items()
    )
    return TermScores(tuple(_best_passages(e, numbers, rarity, kept) for e in evidence), rarity)


def _best_passages(
    evidence: WordEvidence, numbers: Mapping[str, int], rarity: Sequence[float], kept: int
) -> PassageTerms:
    weighted = [(number := numbers[term.term], rarity[number] * term.unit, term.rows) for term in evidence.terms]
    scores: dict[int, float] = {}
    known = scores.get
    for _, weight, rows in weighted:
        for passage, strength in rows:
            scores[passage] = known(passage, 0.0) + weight * strength
    best = heapq.nlargest(kept, scores, key=scores.__getitem__) if len(scores) > kept else scores
    found: dict[int, list[tuple[int, float]]] = {passage: [] for passage in best}
    for number, weight, rows in weighted:
        for passage, strength in rows:
            if passage in found:
                found[passage].append((number, weight * strength))
    return {passage: tuple(given) for passage, given in found.items()}


def match_units(scores: TermScores, owners: Sequence[Mapping[int, Owner]], voice: float = 0.0) -> dict[Ref, WordMatch]:
    """By unit; `owners` says for each store whose passage it is. `voice`: how much more a passage counts that is all
    in the first person."""
    by_unit: dict[Ref, list[int]] = {}
    for store, passages in enumerate(scores.passages):
        for passage in passages:
            owner = owners[store].get(passage)
            if owner is not None:
                by_unit.setdefault((store, owner.unit), []).append(passage)
    all_rarity = sum(scores.rarity) or 1.0
    voiced = [_by_voice(passages, owners[store], voice) for store, passages in enumerate(scores.passages)]
    return {ref: _match(scores, voiced[ref[0]], own, all_rarity) for ref, own in by_unit.items()}


def cover(
    scores: TermScores, evidence: Sequence[WordEvidence], store: int, passages: Iterable[int]
) -> dict[int, float]:
    """For each of these passages of one store: the share of the question's rarity that it has."""
    numbers = {term: number for number, term in enumerate(dict.fromkeys(t.term for e in evidence for t in e.terms))}
    found = dict.fromkeys(passages, 0.0)
    all_rarity = sum(scores.rarity) or 1.0
    for term in evidence[store].terms:
        share = scores.rarity[numbers[term.term]] / all_rarity
        for passage, _ in term.rows:
            if passage in found:
                found[passage] += share
    return found


def _by_voice(passages: PassageTerms, owners: Mapping[int, Owner], voice: float) -> PassageTerms:
    """A perfect match stays what it is; a passage that is not in the first person counts for less."""
    if not voice:
        return passages
    shares = {passage: (1 + voice * owner.voice / 100) / (1 + voice) for passage, owner in owners.items()}
    return {
        passage: tuple([(term, value * shares[passage]) for term, value in given])
        for passage, given in passages.items()
        if passage in shares
    }


def _match(scores: TermScores, passages: PassageTerms, own: list[int], all_rarity: float) -> WordMatch:
    if len(own) == 1:
        given = passages[own[0]]
        score = sum([value for _, value in given])
        covered = sum([scores.rarity[term] for term, _ in given])
        return WordMatch(score, score, covered / all_rarity, given)
    score = -1.0
    strongest: dict[int, float] = {}
    for passage in own:
        given = passages[passage]
        score = max(score, sum([value for _, value in given]))
        for term, value in given:
            if value > strongest.get(term, 0.0):
                strongest[term] = value
    covered = sum([scores.rarity[term] for term in strongest])
    return WordMatch(score, sum(strongest.values()), covered / all_rarity, tuple(strongest.items()))
