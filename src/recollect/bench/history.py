"""What it costs to read past sessions: bytes of transcript a second of CPU, read and filtered alone, and all of it.

Each figure is made in a process of its own, so that its memory is its own.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path

from recollect.agents import DEFAULT_HOST
from recollect.base import project as projects
from recollect.base.clock import SystemClock
from recollect.base.moment import Moment
from recollect.base.paths import Home
from recollect.base.settings import load
from recollect.bench.child import Child, say
from recollect.bench.past_sessions import AS_BEFORE, AS_NOW, Sessions, Shape
from recollect.bench.report import Report, digits
from recollect.bench.stages import peak_mb
from recollect.ops import acts, digest, past
from recollect.ops.app import App
from recollect.store import Progress

LEAST_MB_S = 20.0
_SESSION_BYTES = 5_000_000
_BEGUN = Moment.parse("2026-01-05T09:00:00Z")


@dataclass(frozen=True, slots=True)
class HistoryFigures:
    transcripts: str
    mb: float
    acts: int
    read_mb_s: float
    """Read, filtered, parsed, redacted: of one core."""
    read_peak_mb: float
    whole_mb_s: float
    """Everything, until it is remembered: of one core."""
    whole_seconds: float
    whole_peak_mb: float
    again_seconds: float
    """The same import once more, which finds nothing new."""


@dataclass(frozen=True, slots=True)
class HistoryReport(Report):
    figures: tuple[HistoryFigures, ...]

    @property
    def passed(self) -> bool:
        return all(one.read_mb_s >= LEAST_MB_S for one in self.figures)


def run_history(folder: Path, *, mb: int, seed: int, progress: Progress) -> HistoryReport:
    found, steps = [], 0

    def step() -> None:
        nonlocal steps
        steps += 1
        progress(steps, 8)

    for shape in (AS_NOW, AS_BEFORE):
        place = folder / shape.name.replace(" ", "-")
        size = _write(place, shape, mb * 1_000_000, seed) / 1e6
        step()
        read = _stage(_read, place)
        step()
        whole = _stage(_import, place)
        step()
        again = _stage(_import, place)
        step()
        found.append(
            HistoryFigures(
                shape.name, round(size, 1), int(read["acts"]), digits(size / read["cpu_s"]), read["peak_mb"],
                digits(size / whole["cpu_s"]), round(whole["wall_s"], 2), whole["peak_mb"],
                round(again["wall_s"], 2),
            )
        )  # fmt: skip
    return HistoryReport(tuple(found))


def _write(place: Path, shape: Shape, size: int, seed: int) -> int:
    work = place / "shop"
    (work / ".ai").mkdir(parents=True)
    sessions = Sessions(seed, str(work), shape)
    written = number = 0
    while written < size:
        path = place / "left" / f"session-{number}.jsonl"
        written += sessions.write(path, _BEGUN.plus(days=number), min(_SESSION_BYTES, size - written))
        number += 1
    return written


# In processes of their own


def _stage(function: object, place: Path) -> dict[str, float]:
    with Child(function, str(place)) as child:  # type: ignore[arg-type]
        answer: dict[str, float] = child.answer()
        return answer


def _read(folder: str) -> None:
    app = _app(Path(folder))
    app.redactor.clean("warm: the patterns are compiled when first needed")
    began, cpu, many = time.perf_counter(), time.process_time(), 0
    for path in sorted((Path(folder) / "left").iterdir()):
        reading, size = acts.Reading(), path.stat().st_size
        while reading.cursor.offset < size:
            new = acts.read_on(
                app, DEFAULT_HOST, path, reading, session="", max_bytes=digest.MOST_BYTES
            )  # fmt: skip
            reading.acts.extend(new)
            many += len(new)
    _say(began, cpu, acts=many)


def _import(folder: str) -> None:
    app = _app(Path(folder))
    began, cpu = time.perf_counter(), time.process_time()
    past.import_past(app, str(Path(folder) / "left"))
    app.close()
    _say(began, cpu)


def _app(folder: Path) -> App:
    return App(
        home=Home(folder / "home"), project=projects.find(folder / "shop", folder), settings=load(None, None, {}),
        clock=SystemClock(), actor="bench",
    )  # fmt: skip


def _say(began: float, cpu: float, **more: int) -> None:
    spent = {"wall_s": time.perf_counter() - began, "cpu_s": time.process_time() - cpu, "peak_mb": peak_mb()}
    say({**spent, **more})
