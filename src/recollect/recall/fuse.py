"""Words and vectors together: one score a memory, every part of it named.

Each kind of evidence counts twice: against the best of this question (who leads?) and against what a perfect
match would be (is the lead worth anything?). So words rule where the question's rare words are found, and
meaning rules where they are not, without a rule that tells questions apart.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

from recollect.model.evidence import Nearness, Place
from recollect.recall.lexical import Ref, WordMatch


@dataclass(frozen=True, slots=True)
class Weights:
    """Chosen by measurement; docs/BENCHMARKS.md says how, and what else was tried."""

    best: float = 0.05
    best_of_all: float = 0.25
    whole: float = 0.10
    whole_of_all: float = 0.15
    near: float = 0.10
    near_of_all: float = 0.30
    middle: float = 0.15
    middle_of_all: float = 0.30
    neighbours: float = 0.10
    group: float = 0.25
    group_of_all: float = 0.15
    long_turn: float = 0.10
    """In a conversation the short turn is what was said, the long one the reply to it."""

    @property
    def words(self) -> float:
        return self.best + self.best_of_all + self.whole + self.whole_of_all

    @property
    def own(self) -> float:
        """What a perfect match has without any company."""
        return self.words + self.near + self.near_of_all + self.middle + self.middle_of_all


WEIGHTS = Weights()
TURN_BYTES = 500  # up to here a turn of a conversation is short


@dataclass(frozen=True, slots=True)
class Match:
    score: float
    """0 to 1, as far as the memory itself goes; company may lift it a little above."""
    words: float
    cover: float
    near: float
    passage: int
    neighbours: float = 0.0
    group: float = 0.0
    length: float = 0.0


def fuse(
    words: Mapping[Ref, WordMatch], near: Mapping[Ref, Nearness], most: float, weights: Weights = WEIGHTS
) -> dict[Ref, Match]:
    lead = _Lead(
        best=max((m.best for m in words.values()), default=0.0) or 1.0,
        whole=max((m.whole for m in words.values()), default=0.0) or 1.0,
        near=max((n.best for n in near.values()), default=0.0) or 1.0,
        middle=max((n.middle for n in near.values()), default=0.0) or 1.0,
        most=most or 1.0,
    )
    return {ref: _fused(words.get(ref), near.get(ref), lead, weights) for ref in {*words, *near}}


@dataclass(frozen=True, slots=True)
class _Lead:
    best: float
    whole: float
    near: float
    middle: float
    most: float


def _fused(word: WordMatch | None, near: Nearness | None, lead: _Lead, w: Weights) -> Match:
    said = meant = 0.0
    if word is not None:
        said = w.best * word.best / lead.best + w.best_of_all * word.best / lead.most
        said += w.whole * word.whole / lead.whole + w.whole_of_all * word.whole / lead.most
    if near is None:
        # No vector yet: its meaning is taken to be as near as its words are, not to be nothing.
        meant = said / w.words * (w.near + w.near_of_all * lead.near + w.middle + w.middle_of_all * lead.middle)
    else:
        best, middle = max(0.0, near.best), max(0.0, near.middle)
        meant = w.near * best / lead.near + w.near_of_all * best
        meant += w.middle * middle / lead.middle + w.middle_of_all * middle
    passage = word.passage if word is not None else near.passage if near is not None else 0
    return Match(
        score=(said + meant) / w.own,
        words=said / w.own,
        cover=word.cover if word is not None else 0.0,
        near=max(0.0, near.best) if near is not None else 0.0,
        passage=passage,
    )


def in_company(
    matches: Mapping[Ref, Match],
    words: Mapping[Ref, WordMatch],
    places: Mapping[Ref, Place],
    most: float,
    weights: Weights = WEIGHTS,
) -> dict[Ref, Match]:
    """A memory gains by what stands beside it in its conversation, and by how much of the question its whole
    conversation speaks of. Memories that have no place of their own are left as they are."""
    groups = _groups(words, places)
    lead = max(groups.values(), default=0.0) or 1.0
    lifted = dict(matches)
    for ref, place in places.items():
        match = matches.get(ref)
        if match is None or not place.group:
            continue
        beside = [matches.get((ref[0], seq)) for seq in (*place.before[:1], *place.after[:1])]
        neighbours = weights.neighbours * sum(m.score for m in beside if m is not None)
        spoken = groups.get((ref[0], place.group), 0.0)
        group = (weights.group * spoken / lead + weights.group_of_all * spoken / (most or 1.0)) / weights.own
        talk = (ref[0], place.group) in groups
        length = -weights.long_turn * math.log(max(place.size, TURN_BYTES) / TURN_BYTES) / weights.own if talk else 0.0
        score = max(0.0, match.score + neighbours + group + length)
        lifted[ref] = replace(match, score=score, neighbours=neighbours, group=group, length=length)
    return lifted


def _groups(words: Mapping[Ref, WordMatch], places: Mapping[Ref, Place]) -> dict[tuple[int, str], float]:
    """Each term where it stands strongest in the group. A group of one is no company."""
    strongest: dict[tuple[int, str], dict[int, float]] = {}
    sizes: dict[tuple[int, str], int] = {}
    for ref, place in places.items():
        if not place.group:
            continue
        key = (ref[0], place.group)
        sizes[key] = sizes.get(key, 0) + 1 + len(place.before) + len(place.after)
        if ref in words:
            own = strongest.setdefault(key, {})
            for term, value in words[ref].terms:
                own[term] = max(value, own.get(term, 0.0))
    return {key: sum(own.values()) for key, own in strongest.items() if sizes[key] > 1}
