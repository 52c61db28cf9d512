"""Words and vectors together: one score a unit, every part of it named.

Each kind of evidence counts twice: against the best of this question (who leads?) and against what a perfect
match would be (is the lead worth anything?). So words rule where the question's rare words are found, and
meaning rules where they are not, without a rule that tells questions apart.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from recollect.model.evidence import Nearness, Place
from recollect.recall.lexical import Ref, WordMatch
from recollect.recall.when import Span


@dataclass(frozen=True, slots=True)
class Weights:
    """Chosen by measurement; docs/BENCHMARKS.md says how, and what else was tried."""

    best: float = 0.10
    best_of_all: float = 0.25
    whole: float = 0.10
    whole_of_all: float = 0.15
    near: float = 0.10
    near_of_all: float = 0.30
    middle: float = 0.10
    middle_of_all: float = 0.25
    neighbours: float = 0.07
    group: float = 0.15
    group_of_all: float = 0.15
    thread: float = 0.20
    """How much of that a turn has from its thread: a long thread speaks of everything, a short one has no company."""
    long_turn: float = 0.15
    """In a conversation the short turn is what was said, the long one the reply to it."""
    voice: float = 0.60
    """How much more a passage counts that is all in the first person, where a question is about its asker."""
    time: float = 0.20
    """For a memory of the time that a question names."""

    @property
    def words(self) -> float:
        return self.best + self.best_of_all + self.whole + self.whole_of_all

    @property
    def own(self) -> float:
        """What a perfect match has without any company."""
        return self.words + self.near + self.near_of_all + self.middle + self.middle_of_all


WEIGHTS = Weights()
_LEAST = 1e-9  # a lead over nothing is no lead
TURN_BYTES = 500  # up to here a turn of a conversation is short


class Match(NamedTuple):
    score: float
    """0 to 1, as far as the memory itself goes; company, a time that fits and words about oneself may lift it above."""
    words: float
    cover: float
    near: float
    neighbours: float = 0.0
    group: float = 0.0
    length: float = 0.0
    time: float = 0.0


UNMATCHED = Match(0.0, 0.0, 0.0, 0.0)
"""Of a memory that is looked at for another reason than the question."""


def fuse(
    words: Mapping[Ref, WordMatch], near: Mapping[Ref, Nearness], most: float, weights: Weights = WEIGHTS
) -> dict[Ref, Match]:
    scale = _Scale.of(words, near, most or 1.0, weights)
    return {ref: scale.match(words.get(ref), near.get(ref)) for ref in {*words, *near}}


@dataclass(frozen=True, slots=True)
class _Scale:
    """What a point of each kind of evidence is worth for this question: the weights, over the best of all and over
    a perfect match, worked out once."""

    best: float
    whole: float
    near: float
    middle: float
    meant_as_said: float

    @classmethod
    def of(cls, words: Mapping[Ref, WordMatch], near: Mapping[Ref, Nearness], most: float, w: Weights) -> _Scale:
        lead_best, lead_whole = _lead(m.best for m in words.values()), _lead(m.whole for m in words.values())
        lead_near, lead_middle = _lead(n.voiced for n in near.values()), _lead(n.middle for n in near.values())
        meant = w.near + w.near_of_all * lead_near + w.middle + w.middle_of_all * lead_middle
        return cls(
            best=(w.best / lead_best + w.best_of_all / most) / w.own,
            whole=(w.whole / lead_whole + w.whole_of_all / most) / w.own,
            near=(w.near / lead_near + w.near_of_all) / w.own,
            middle=(w.middle / lead_middle + w.middle_of_all) / w.own,
            meant_as_said=meant / w.words,
        )

    def match(self, word: WordMatch | None, near: Nearness | None) -> Match:
        said = self.best * word.best + self.whole * word.whole if word is not None else 0.0
        cover = word.cover if word is not None else 0.0
        if near is None:
            # No vector yet: its meaning is taken to be as near as its words are, not to be nothing.
            return Match(said + said * self.meant_as_said, said, cover, 0.0)
        score = said + self.near * max(0.0, near.voiced) + self.middle * max(0.0, near.middle)
        return Match(score, said, cover, max(0.0, near.best))


def passage_score(cover: float, near: float, weights: Weights = WEIGHTS) -> float:
    """How well a single passage answers: which share of the question it speaks of, and how near it is."""
    words, meaning = weights.best_of_all + weights.whole_of_all, weights.near_of_all
    return (words * cover + meaning * max(0.0, near)) / (words + meaning)


def _lead(values: Iterable[float]) -> float:
    return max(_LEAST, *values, _LEAST)


def in_company(
    matches: Mapping[Ref, Match],
    words: Mapping[Ref, WordMatch],
    places: Mapping[Ref, Place],
    most: float,
    asked: Span | None = None,
    weights: Weights = WEIGHTS,
) -> dict[Ref, Match]:
    """A unit gains by what stands beside it in its conversation, by how much of the question its whole conversation
    speaks of, and by being of the time that was asked for."""
    groups = _groups(words, places)
    lead = max(groups.values(), default=0.0) or 1.0
    lifted = dict(matches)
    for ref, place in places.items():
        match = matches.get(ref)
        if match is None:
            continue
        if asked is not None and place.times:
            time = weights.time * max(asked.holds(at) for at in place.times) / weights.own
            match = match._replace(score=match.score + time, time=time)
            lifted[ref] = match
        if not place.group:
            continue
        beside = [matches.get((ref[0], seq)) for seq in (*place.before[:1], *place.after[:1])]
        neighbours = weights.neighbours * sum(m.score for m in beside if m is not None)
        spoken = groups.get((ref[0], place.group), 0.0)
        group = (weights.group * spoken / lead + weights.group_of_all * spoken / (most or 1.0)) / weights.own
        group *= weights.thread if ref[1] < 0 else 1.0
        talk = (ref[0], place.group) in groups
        length = -weights.long_turn * math.log(max(place.size, TURN_BYTES) / TURN_BYTES) / weights.own if talk else 0.0
        score = max(0.0, match.score + neighbours + group + length)
        lifted[ref] = match._replace(score=score, neighbours=neighbours, group=group, length=length)
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
