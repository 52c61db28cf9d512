"""Words and vectors together: one score per unit, every part of it named.

Each kind of evidence counts twice: against the best of this question (which leads?) and against what a perfect
match would be (is the lead worth anything?). So words decide where the question's rare words are found, and meaning
decides where they are not, without a rule that tells questions apart.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from recollect.model.evidence import Nearness, Place
from recollect.recall.lexical import Ref, WordMatch
from recollect.recall.time_words import Span


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
    """How much of that a turn gets from its thread: a long thread is about everything, a short one has no company."""
    long_turn: float = 0.15  # in a conversation the short turn is what was said, the long one the reply to it
    voice: float = 0.60
    """How much more a passage counts that is all in the first person, where a question is about its asker."""
    time: float = 0.20  # for a memory from the time that a question names

    @property
    def words(self) -> float:
        return self.best + self.best_of_all + self.whole + self.whole_of_all

    @property
    def own(self) -> float:
        """What a perfect match has without any company."""
        return self.words + self.near + self.near_of_all + self.middle + self.middle_of_all


WEIGHTS = Weights()
_MIN_LEAD = 1e-9  # a lead over nothing is no lead
TURN_BYTES = 500  # up to here a turn of a conversation is short


class Match(NamedTuple):
    score: float
    """0 to 1 for the memory itself; company, a time that fits and words in the first person may lift it above 1."""
    words: float
    cover: float
    near: float
    neighbours: float = 0.0
    group: float = 0.0
    length: float = 0.0
    time: float = 0.0


UNMATCHED = Match(0.0, 0.0, 0.0, 0.0)  # for a memory that is a candidate for another reason than the question


def fuse(words: Mapping[Ref, WordMatch], near: Mapping[Ref, Nearness], most: float) -> dict[Ref, Match]:
    """`most`: what a perfect match of the words would score."""
    w, own, most = WEIGHTS, WEIGHTS.own, most or 1.0
    lead_near, lead_middle = _lead(n.voiced for n in near.values()), _lead(n.middle for n in near.values())
    # What a point of each kind of evidence is worth for this question.
    best = (w.best / _lead(m.best for m in words.values()) + w.best_of_all / most) / own
    whole = (w.whole / _lead(m.whole for m in words.values()) + w.whole_of_all / most) / own
    nearest = (w.near / lead_near + w.near_of_all) / own
    middle = (w.middle / lead_middle + w.middle_of_all) / own
    # Without a vector its meaning is assumed to be as near as its words are, not to be nothing.
    by_words_alone = (w.near + w.near_of_all * lead_near + w.middle + w.middle_of_all * lead_middle) / w.words

    def match(word: WordMatch | None, close: Nearness | None) -> Match:
        score = best * word.best + whole * word.whole if word is not None else 0.0
        cover = word.cover if word is not None else 0.0
        if close is None:
            return Match(score + score * by_words_alone, score, cover, 0.0)
        total = score + nearest * max(0.0, close.voiced) + middle * max(0.0, close.middle)
        return Match(total, score, cover, max(0.0, close.best))

    return {ref: match(words.get(ref), near.get(ref)) for ref in {*words, *near}}


def passage_score(cover: float, near: float) -> float:
    """How well a single passage answers: the share of the question that it has, and how near it is."""
    words, meaning = WEIGHTS.best_of_all + WEIGHTS.whole_of_all, WEIGHTS.near_of_all
    return (words * cover + meaning * max(0.0, near)) / (words + meaning)


def _lead(values: Iterable[float]) -> float:
    return max(_MIN_LEAD, *values, _MIN_LEAD)


def in_company(
    matches: Mapping[Ref, Match],
    words: Mapping[Ref, WordMatch],
    places: Mapping[Ref, Place],
    most: float,
    asked: Span | None = None,
) -> dict[Ref, Match]:
    """A unit gains by its neighbours in the conversation, by how much of the question the whole conversation is about,
    and by being from the time that was asked for."""
    weights = WEIGHTS
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
    """Each term where it is strongest in the group. A group of one is no company."""
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
