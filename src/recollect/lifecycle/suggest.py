"""What might be done about the threads of a store: advice, never an act."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from recollect.model.memory import Thread

MERGE_ABOVE = 0.85
DRIFTS_MORE_THAN = 3
_LAST_DRIFTS = 5
_DISTINCT = 3
_FULL_WEIGHT = 10.0
_HIGH_PRESSURE = 0.8

HEALTHY = "Healthy state, no action needed"


@dataclass(frozen=True, slots=True)
class Health:
    active_threads: int
    context_pressure: float
    recommendation: str


def parts(thread: Thread) -> tuple[str, ...]:
    """The topics that a drifting thread could be split by, newest first; nothing where it keeps to its subject."""
    late = thread.drift[-_LAST_DRIFTS:]
    if len(thread.drift) <= DRIFTS_MORE_THAN or len(set(late)) < _DISTINCT:
        return ()
    return tuple(dict.fromkeys(topic for topic in reversed(late) if topic != thread.drift[0]))


def drifted_from(thread: Thread) -> str:
    return f"Thread drifted from '{thread.drift[0]}' to '{thread.drift[-1]}'"


def alike(one: Sequence[str], other: Sequence[str]) -> str:
    """Why two threads might be one."""
    theirs = {topic.lower() for topic in other}
    shared = [topic for topic in one if topic.lower() in theirs]
    return f"Both about {', '.join(shared[:3])}" if shared else "They say nearly the same"


def health(strengths: Sequence[float], merges: int, splits: int) -> Health:
    pressure = min(1.0, sum(strengths) / _FULL_WEIGHT)
    if merges and pressure >= _HIGH_PRESSURE:
        advice = "Consider merging similar threads to reduce pressure"
    elif pressure >= _HIGH_PRESSURE:
        advice = "Consider ai_compact to reduce pressure"
    elif merges:
        advice = "Some threads say nearly the same and could be merged"
    elif splits:
        advice = "Some threads drifted and could be split"
    else:
        advice = HEALTHY
    return Health(len(strengths), round(pressure, 2), advice)
