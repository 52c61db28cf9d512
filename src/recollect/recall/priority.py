"""Priority: `match x g(strength) x relevance + focus`, in one function.

g is bounded and nearly flat: age decides between matches that are about equal, never between a good and a poor one.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from recollect.base.moment import Moment
from recollect.model.memory import Memory, Rating

MAX_FOCUS_BOOST = 0.5
FREE_HALVINGS = 5.0
"""Half-lives that cost nothing: with the usual one of three days, all memories of a fortnight are ranked alike."""
AGE_COST = 0.001  # of the match, for each half-life after those; docs/BENCHMARKS.md says how it was chosen
MAX_AGE_COST = 0.03
QUIET_BELOW = 0.4
_MIN_STRENGTH = 1e-300
_PRIOR = 3.0
_RATINGS = 10
_OUTCOMES = 50
_OUTCOME_SHARE = 0.2


@dataclass(frozen=True, slots=True)
class Focus:
    topic: str
    weight: float
    set_at: Moment


class Priority(NamedTuple):
    score: float
    relevance: float
    focus: float


def priority(memory: Memory, match: float, strength: float, focus: Sequence[Focus]) -> Priority:
    useful, boost = relevance(memory.ratings, memory.outcomes), focus_boost(memory, focus)
    return Priority(match * strength_factor(strength) * useful + boost, useful, boost)


def strength_factor(strength: float) -> float:
    """1 for a memory used within the last few half-lives, slowly a little less for older ones, more for a pin."""
    halvings = -math.log2(max(_MIN_STRENGTH, min(strength, 1.0)))
    lost = min(MAX_AGE_COST, AGE_COST * max(0.0, halvings - FREE_HALVINGS))
    return 1.0 - lost + 0.2 * max(0.0, strength - 1.0)


def relevance(ratings: Sequence[Rating], outcomes: str = "") -> float:
    """How useful it proved, above 0 and at most 1: a prior of three good ratings, the last ten that were given, the
    later ones weighing more, and a fifth of one for each of the last fifty calls and turns that it was about."""
    good = total = _PRIOR
    for number, rating in enumerate(ratings[-_RATINGS:]):
        weight = 1.0 + 0.1 * number
        total += weight
        good += weight if rating.useful else 0.0
    recent = outcomes[-_OUTCOMES:]
    good += _OUTCOME_SHARE * recent.count("+")
    return good / (total + _OUTCOME_SHARE * len(recent))


def evidence(memory: Memory) -> tuple[tuple[str, float], ...]:
    """What the relevance was made of, where there is anything."""
    recent = memory.outcomes[-_OUTCOMES:]
    parts = (
        ("ratings", float(len(memory.ratings[-_RATINGS:]))),
        ("went_well", float(recent.count("+"))),
        ("went_badly", float(recent.count("-"))),
    )
    return tuple((name, count) for name, count in parts if count)


def is_quiet(memory: Memory) -> bool:
    """It never helped, and is no longer shown unasked. A question still finds it; `restore` brings it back. Pinned
    memories never go quiet."""
    return not memory.pinned and relevance(memory.ratings, memory.outcomes) < QUIET_BELOW


def focus_boost(memory: Memory, focus: Sequence[Focus]) -> float:
    boost = 0.0
    topics = {topic.lower() for topic in memory.topics}
    for point in focus:
        wanted = point.topic.lower()
        boost += 0.3 * point.weight * (wanted in topics)
        boost += 0.5 * point.weight * (point.topic == memory.id)
        boost += 0.2 * point.weight * (wanted in memory.title.lower())
    return min(boost, MAX_FOCUS_BOOST)
