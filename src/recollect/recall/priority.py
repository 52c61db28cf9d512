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
FREE_HALVINGS = 5.0  # half-lives that cost nothing: by default all memories of a fortnight are ranked alike
AGE_COST = 0.001  # of the match, for each half-life after those; docs/BENCHMARKS.md says how it was chosen
MAX_AGE_COST = 0.03
MUTED_BELOW = 0.4
_MIN_STRENGTH = 1e-300
_PRIOR = 3.0
_RATINGS, _OUTCOMES = 10, 50  # how many of the latest count
_OUTCOME_SHARE = 0.2  # of a rating


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
    """How useful it proved, above 0 and at most 1: a prior of three good ratings, the latest ratings, the later ones
    weighing more, and a fifth of one for each of the latest calls and turns that it was about."""
    weights = [(1.0 + 0.1 * number, rating.useful) for number, rating in enumerate(ratings[-_RATINGS:])]
    recent = outcomes[-_OUTCOMES:]
    good = _PRIOR + sum(weight for weight, useful in weights if useful) + _OUTCOME_SHARE * recent.count("+")
    return good / (_PRIOR + sum(weight for weight, _ in weights) + _OUTCOME_SHARE * len(recent))


def evidence(memory: Memory) -> tuple[tuple[str, float], ...]:
    recent = memory.outcomes[-_OUTCOMES:]
    counts = {
        "ratings": len(memory.ratings[-_RATINGS:]), "went_well": recent.count("+"), "went_badly": recent.count("-")
    }  # fmt: skip
    return tuple((name, float(count)) for name, count in counts.items() if count)


def is_muted(memory: Memory) -> bool:
    """It never helped, and is no longer shown unasked. A question still finds it; `restore` brings it back. Pinned
    memories are never muted."""
    return not memory.pinned and relevance(memory.ratings, memory.outcomes) < MUTED_BELOW


def focus_boost(memory: Memory, focus: Sequence[Focus]) -> float:
    boost = 0.0
    topics, title = {topic.lower() for topic in memory.topics}, memory.title.lower()
    for point in focus:
        topic = point.topic.lower()
        boost += point.weight * (0.3 * (topic in topics) + 0.5 * (point.topic == memory.id) + 0.2 * (topic in title))
    return min(boost, MAX_FOCUS_BOOST)
