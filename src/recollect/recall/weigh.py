"""Priority: `match x g(strength) x relevance + focus`, in one function.

g is bounded and nearly flat: age decides between matches that are about equal, never between a good and a poor one.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from recollect.base.moment import Moment
from recollect.model.memory import Memory, Rating

FOCUS_MOST = 0.5
FREE_HALVINGS = 5.0
"""Half-lives that cost nothing: with the usual one of three days, all memories of a fortnight are ranked alike."""
AGE_COSTS = 0.001
"""Of the match, for each half-life after those; docs/BENCHMARKS.md says how it was chosen."""
AGE_COSTS_MOST = 0.03
_FAINTEST = 1e-300
_PRIOR = 3.0
_RATINGS = 10
_OUTCOMES = 50
_FRACTION = 0.2
QUIET_BELOW = 0.4


@dataclass(frozen=True, slots=True)
class Focus:
    topic: str
    weight: float
    set_at: Moment


@dataclass(frozen=True, slots=True)
class Priority:
    score: float
    strength: float
    relevance: float
    focus: float


def priority(memory: Memory, match: float, strength: float, focus: Sequence[Focus]) -> Priority:
    useful = relevance(memory.ratings, memory.outcomes)
    boost = focus_boost(memory, focus)
    return Priority(match * standing(strength) * useful + boost, strength, useful, boost)


def standing(strength: float) -> float:
    """1 for what was used within the last few half-lives, slowly a little less for what is older, a little more for a
    pin."""
    halvings = -math.log2(max(_FAINTEST, min(strength, 1.0)))
    lost = min(AGE_COSTS_MOST, AGE_COSTS * max(0.0, halvings - FREE_HALVINGS))
    return 1.0 - lost + 0.2 * max(0.0, strength - 1.0)


def relevance(ratings: Sequence[Rating], outcomes: str = "") -> float:
    """How useful it proved, above 0 and at most 1: a prior of three good ratings, the last ten that were given, the
    later ones weighing more, and a fifth of one for each of the last fifty calls and turns that it bore on."""
    good = total = _PRIOR
    for number, rating in enumerate(ratings[-_RATINGS:]):
        weight = 1.0 + 0.1 * number
        total += weight
        good += weight if rating.useful else 0.0
    recent = outcomes[-_OUTCOMES:]
    good += _FRACTION * recent.count("+")
    return good / (total + _FRACTION * len(recent))


def evidence(memory: Memory) -> tuple[tuple[str, float], ...]:
    """What the relevance was made of, where there is anything."""
    parts = (
        ("ratings", float(len(memory.ratings[-_RATINGS:]))),
        ("went_well", float(memory.outcomes[-_OUTCOMES:].count("+"))),
        ("went_badly", float(memory.outcomes[-_OUTCOMES:].count("-"))),
    )
    return tuple((name, count) for name, count in parts if count)


def is_quiet(memory: Memory) -> bool:
    """It never helped, and is no longer put in front of anyone unasked. Who asks for it finds it; `revive` brings it
    back. What somebody pinned stays."""
    return not memory.pinned and relevance(memory.ratings, memory.outcomes) < QUIET_BELOW


def focus_boost(memory: Memory, focus: Sequence[Focus]) -> float:
    boost = 0.0
    topics = {topic.lower() for topic in memory.topics}
    for point in focus:
        wanted = point.topic.lower()
        boost += 0.3 * point.weight * (wanted in topics)
        boost += 0.5 * point.weight * (point.topic == memory.id)
        boost += 0.2 * point.weight * (wanted in memory.title.lower())
    return min(boost, FOCUS_MOST)
