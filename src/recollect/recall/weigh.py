"""Priority: `match x g(strength) x relevance + focus`, in one function.

g is bounded, so that an old perfect match still beats a fresh poor one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from recollect.base.moment import Moment
from recollect.model.memory import Memory, Rating

FOCUS_MOST = 0.5
_PRIOR = 3.0
_RATINGS = 10


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
    useful = relevance(memory.ratings)
    boost = focus_boost(memory, focus)
    return Priority(match * standing(strength) * useful + boost, strength, useful, boost)


def standing(strength: float) -> float:
    """Half for what has faded away, 1 for what is fresh, a little more for a pin."""
    return 0.5 + 0.5 * min(strength, 1.0) + 0.2 * max(0.0, strength - 1.0)


def relevance(ratings: Sequence[Rating]) -> float:
    """From the last ten ratings, the later ones weighing more, against a prior of three good ones."""
    good = total = _PRIOR
    for number, rating in enumerate(ratings[-_RATINGS:]):
        weight = 1.0 + 0.1 * number
        total += weight
        good += weight if rating.useful else 0.0
    return good / total


def focus_boost(memory: Memory, focus: Sequence[Focus]) -> float:
    boost = 0.0
    topics = {topic.lower() for topic in memory.topics}
    for point in focus:
        wanted = point.topic.lower()
        boost += 0.3 * point.weight * (wanted in topics)
        boost += 0.5 * point.weight * (point.topic == memory.id)
        boost += 0.2 * point.weight * (wanted in memory.title.lower())
    return min(boost, FOCUS_MOST)
