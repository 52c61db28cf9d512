"""How good a ranking is, and how sure one can be that another is worse.

Every measure looks at the first ten alone, for every system: nothing is gained by a longer list. Pure.
"""

from __future__ import annotations

import math
from collections.abc import Sequence, Set
from dataclasses import dataclass

import numpy as np

DEPTH = 10
MEASURES = (
    "any@1",
    "any@5",
    "any@10",
    "all@5",
    "all@10",
    "recall@5",
    "recall@10",
    "ndcg@10",
    "mrr",
)
RESAMPLES = 1_000
_SEED = 1
_BATCH = 50


@dataclass(frozen=True, slots=True)
class Difference:
    """Ours less theirs, with the middle 95 % of what other samples of the questions would have given."""

    baseline: str
    mean: float
    low: float
    high: float


def score(ranked: Sequence[str], gold: Set[str]) -> dict[str, float]:
    """Every measure of one answer. `gold` is not empty."""
    ranked = ranked[:DEPTH]
    places = [place for place, id in enumerate(ranked) if id in gold]

    def found(depth: int) -> int:
        return sum(place < depth for place in places)

    ideal = sum(_gain(place) for place in range(min(len(gold), DEPTH)))
    return {
        **{f"any@{depth}": float(found(depth) > 0) for depth in (1, 5, 10)},
        **{f"all@{depth}": float(found(depth) == len(gold)) for depth in (5, 10)},
        **{f"recall@{depth}": found(depth) / len(gold) for depth in (5, 10)},
        "ndcg@10": sum(_gain(place) for place in places) / ideal,
        "mrr": 1 / (places[0] + 1) if places else 0.0,
    }


def _gain(place: int) -> float:
    return 1 / math.log2(place + 2)


def mean(values: Sequence[float]) -> float:
    return sum(values) / len(values) if values else 0.0


def difference(baseline: str, ours: Sequence[float], theirs: Sequence[float]) -> Difference:
    """By question, so that a hard one is hard for both. The same figures, the same interval."""
    apart = np.array(ours) - np.array(theirs)
    chance = np.random.default_rng(_SEED)
    means: list[float] = []
    for _ in range(0, RESAMPLES, _BATCH):
        drawn = chance.integers(len(apart), size=(_BATCH, len(apart)))
        means += apart[drawn].mean(axis=1).tolist()
    low, high = np.percentile(means, (2.5, 97.5))
    return Difference(baseline, float(apart.mean()), float(low), float(high))
