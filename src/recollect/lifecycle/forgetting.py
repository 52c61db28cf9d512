"""Forgetting: which rules and notes are hardly used, and what a review of them said. Threads fade by the clock instead.

`score = log2(1 + frequency) * e^(-0.003466 * sessions since the last access) + appreciation`: each use counts less than
the one before, and half as much for every 200 sessions without any. Pinned and young memories are never reviewed.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from enum import StrEnum
from typing import NamedTuple

from recollect.base.moment import Moment
from recollect.base.text import clip
from recollect.model.ask import read_by_id
from recollect.model.memory import Kind, Memory, Status

DECAY = 0.003466  # ln 2 / 200
MAX_CANDIDATES = 3
KEPT_FOR = 1.0  # what a review that keeps a memory adds to its appreciation
MAX_APPRECIATION = 1_000.0
_SHOWN_CHARS = 2_000


class Verdict(StrEnum):
    KEEP = "keep"
    COLD = "cold"


class Candidate(NamedTuple):
    memory: Memory
    score: float
    idle: int  # sessions since it was last used


def score(memory: Memory, session: int) -> float:
    """`session`: the session count of the memory's store."""
    return math.log2(1 + memory.frequency) * math.exp(-DECAY * _idle(memory, session)) + memory.appreciation


def _idle(memory: Memory, session: int) -> int:
    """Never negative, even if the count fell back."""
    return max(0, session - memory.last_session)


def is_eligible(memory: Memory) -> bool:
    return memory.kind in (Kind.RULE, Kind.NOTE) and memory.status is Status.ACTIVE and not memory.pinned


def candidates(memories: Iterable[Memory], *, session: int, born_before: Moment | None = None) -> tuple[Candidate, ...]:
    """The lowest scores, the oldest of equals first. `born_before`: younger memories had no chance yet."""
    found = [
        Candidate(memory, score(memory, session), _idle(memory, session))
        for memory in memories
        if is_eligible(memory) and (born_before is None or memory.created_at < born_before)
    ]
    found.sort(key=lambda one: (one.score, one.memory.created_at, one.memory.id))
    return tuple(found[:MAX_CANDIDATES])


def raise_appreciation(memory: Memory, by: float) -> float:
    return max(0.0, min(MAX_APPRECIATION, memory.appreciation + by))


def format_entries(found: Sequence[Candidate]) -> str:
    """The memories as the model reads them."""
    return "\n\n".join(
        f"id: {memory.id}\nkind: {memory.kind}\nused: {memory.frequency} times, not in the last {idle} sessions\n"
        f"title: {memory.title}\n{clip(memory.body, _SHOWN_CHARS)}"
        for memory, _, idle in found
    )


def read_answer(text: str, found: Sequence[Candidate]) -> dict[str, Verdict]:
    """By id. Whatever is not a clear answer about one of these memories, or contradicts itself, is left out: nothing is
    put away in doubt."""
    verdicts: dict[str, set[str]] = {}
    for id, entry in read_by_id(text, {one.memory.id for one in found}):
        verdicts.setdefault(id, set()).add(str(entry.get("verdict")).strip().lower())
    return {id: Verdict(*said) for id, said in verdicts.items() if said in ({"keep"}, {"cold"})}
