"""What it costs to read past sessions, made up or from a folder of real ones: reading and filtering alone, a whole
import, and the vectors that follow it.

Each figure is made in a process of its own, so that its memory is its own.
"""

from __future__ import annotations

import shutil
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.child import Child, say
from bench.past_sessions import AS_BEFORE, AS_NOW, Sessions, Shape
from bench.report import Report, digits
from bench.stages import peak_mb
from recollect.app.core import App
from recollect.app.states import ReadTranscript
from recollect.base import project as projects
from recollect.base.clock import SystemClock
from recollect.base.errors import BadInput
from recollect.base.moment import Moment
from recollect.base.paths import Home
from recollect.base.settings import load
from recollect.embed.embedder import Embedder
from recollect.jobs import transcript_reader, transcripts
from recollect.ops import past_sessions, upkeep
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
    whole_cpu_s_per_mb: float
    """Everything, until it is remembered and found by words."""
    apart_mb_s: float
    """The same of one core, without what embedding took: turns are grouped by meaning, too."""
    vectors_cpu_s_per_mb: float
    """Afterwards, in the background: what it takes to find it by meaning, too."""
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


def run_history(
    folder: Path, *, mb: int, seed: int, progress: Progress, real: Path | None = None
) -> HistoryReport:
    """Of the transcripts in `real`, where that is given; else of both shapes that clients write."""
    if real is not None:
        _copy(real, folder / "left")
        return HistoryReport((_measure(folder, real.name, progress, 0, 1),))
    shapes = (AS_NOW, AS_BEFORE)
    found = []
    for number, shape in enumerate(shapes):
        place = folder / shape.name.replace(" ", "-")
        _write(place, shape, mb * 1_000_000, seed)
        found.append(_measure(place, shape.name, progress, number, len(shapes)))
    return HistoryReport(tuple(found))


def _measure(place: Path, name: str, progress: Progress, before: int, total: int) -> HistoryFigures:
    (place / "shop" / ".ai").mkdir(parents=True, exist_ok=True)
    stages: list[dict[str, float]] = []
    for stage in (_read, _import, _import, _vectors):
        progress(4 * before + len(stages), 4 * total)
        stages.append(_stage(stage, place))
    read, whole, again, vectors = stages
    size = sum(path.stat().st_size for path in (place / "left").iterdir()) / 1e6
    return HistoryFigures(
        name, round(size, 1), int(read["acts"]), digits(size / read["cpu_s"]), read["peak_mb"],
        digits(whole["cpu_s"] / size), digits(size / (whole["cpu_s"] - whole["embed_s"])),
        digits(vectors["cpu_s"] / size), round(whole["wall_s"], 2), whole["peak_mb"],
        round(again["wall_s"], 2),
    )  # fmt: skip


def _write(place: Path, shape: Shape, size: int, seed: int) -> None:
    sessions = Sessions(seed, str(place / "shop"), shape)
    written = number = 0
    while written < size:
        path = place / "left" / f"session-{number}.jsonl"
        written += sessions.write(
            path, _BEGUN.plus(days=number), min(_SESSION_BYTES, size - written)
        )
        number += 1


def _copy(real: Path, place: Path) -> None:
    """With their times: a transcript that is still written to is not over."""
    place.mkdir(parents=True)
    for path in sorted(real.glob("*.jsonl")):
        shutil.copy2(path, place)
    if not any(place.iterdir()):
        raise BadInput(f"There is no transcript in {real}.", hint="Name a folder of .jsonl files.")


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
        reading, size = transcript_reader.Reading(), path.stat().st_size
        store, one = app.reader(app.scope), ReadTranscript(path=str(path))
        while reading.cursor.offset < size:
            piece = transcript_reader.read_piece(app, store, one, reading, transcripts.MOST_BYTES)
            reading.acts.extend(piece.new.values())
            many += len(piece.new)
    _say(began, cpu, acts=many)


def _import(folder: str) -> None:
    app, embed, spent_s = _app(Path(folder)), Embedder.embed, [0.0]

    def timed(*given: Any) -> Any:
        began = time.process_time()
        found = embed(*given)
        spent_s[0] += time.process_time() - began
        return found

    setattr(Embedder, "embed", timed)  # noqa: B010
    began, cpu = time.perf_counter(), time.process_time()
    past_sessions.import_past(app, str(Path(folder) / "left"))
    app.close()
    _say(began, cpu, embed_s=spent_s[0])


def _vectors(folder: str) -> None:
    app = _app(Path(folder))
    began, cpu = time.perf_counter(), time.process_time()
    upkeep.reindex(app)
    app.close()
    _say(began, cpu)


def _app(folder: Path) -> App:
    return App(
        home=Home(folder / "home"), project=projects.find(folder / "shop", folder), settings=load(None, None, {}),
        clock=SystemClock(), actor="bench",
    )  # fmt: skip


def _say(began: float, cpu: float, **more: float) -> None:
    spent = {
        "wall_s": time.perf_counter() - began,
        "cpu_s": time.process_time() - cpu,
        "peak_mb": peak_mb(),
    }
    say({**spent, **more})
