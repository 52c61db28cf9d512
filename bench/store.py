"""The figures of a store as it grows, beside bare FTS5 in the same run.

Every figure is taken in a fresh process (stages.py), so that one does not warm or fatten another. Times are
CPU time where it can be had; a shared machine makes wall time mean little. The bare index is asked with the
whole question: what grows there and not here is what the rarest-terms look-up is for.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench import stages
from bench.child import Child
from bench.report import Report
from recollect.store import Progress

SIZES = (1_000, 10_000, 100_000)
QUESTIONS = 200
_OPENINGS = 3


@dataclass(frozen=True, slots=True)
class Opening:
    """A fresh process to its first answer."""

    import_cpu_ms: float
    open_cpu_ms: float
    first_query_cpu_ms: float
    open_and_query_wall_ms: float


@dataclass(frozen=True, slots=True)
class Asked:
    p50_cpu_ms: float
    p95_cpu_ms: float
    hits: float
    """On average, of at most twenty."""
    peak_mb: float


@dataclass(frozen=True, slots=True)
class Grown:
    batched_per_s: float
    """Many memories a plan, over the stretch that led to this size."""
    batched_cpu_ms: float
    """Of one memory."""
    single_per_s: float
    """One memory a plan, each synced before the next: what a pin costs."""
    single_cpu_ms: float
    database_bytes: int
    peak_mb: float


@dataclass(frozen=True, slots=True)
class SizeFigures:
    memories: int
    grown: Grown
    opening: Opening
    asked: Asked
    bare_database_bytes: int
    bare: Asked


@dataclass(frozen=True, slots=True)
class StoreReport(Report):
    words: int
    sizes: tuple[SizeFigures, ...]
    p95_ratio: float
    """The largest size over the smallest: flat is 1."""
    bare_p95_ratio: float


def run_store(
    folder: Path, *, sizes: tuple[int, ...] = SIZES, progress: Progress, questions: int = QUESTIONS
) -> StoreReport:
    folder.mkdir(parents=True, exist_ok=True)
    ours, bare = folder / "store.db", folder / "bare.db"
    figures: list[SizeFigures] = []
    standing = 0
    for size in sizes:
        grown = _grow(ours, standing, size, lambda done: progress(done, sizes[-1]))
        bare_bytes = int(_one(stages.grow_bare, str(bare), standing, size))
        figures.append(
            SizeFigures(
                size,
                grown,
                _opening(ours),
                Asked(**_one(stages.ask, str(ours), questions)),
                bare_bytes,
                Asked(**_one(stages.ask_bare, str(bare), questions)),
            )
        )
        standing = size
    return StoreReport(
        stages.WORDS,
        tuple(figures),
        p95_ratio=round(figures[-1].asked.p95_cpu_ms / figures[0].asked.p95_cpu_ms, 2),
        bare_p95_ratio=round(figures[-1].bare.p95_cpu_ms / figures[0].bare.p95_cpu_ms, 2),
    )


def _grow(path: Path, standing: int, size: int, progress: Callable[[int], None]) -> Grown:
    with Child(stages.grow, str(path), standing, size) as child:
        while isinstance(said := child.answer(), int):
            progress(said)
    return Grown(**said)


def _opening(path: Path) -> Opening:
    runs = [_one(stages.open_and_ask, str(path), number) for number in range(_OPENINGS)]
    return Opening(
        **{name: round(statistics.median(run[name] for run in runs), 1) for name in runs[0]}
    )


def _one(function: Callable[..., None], *arguments: Any) -> Any:
    with Child(function, *arguments) as child:
        return child.answer()
