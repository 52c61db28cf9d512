"""How well failures are paired with what mended them: scripted sessions with labelled lessons, beside pairing each
failed command with the next command that works.

The sessions (data/outcomes.jsonl, OUTCOMES.md) were written and labelled before the pairing was tuned, on one half of
them. Each is written down as a transcript, digested, and the lessons are read out of the store.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from bench.report import Report, share
from bench.scripted import Stage, Step
from recollect.base.errors import BadInput
from recollect.model.command import Lesson
from recollect.store import Progress

SHIPPED = Path(__file__).parent / "data" / "outcomes.jsonl"
HALVES = ("tune", "held")
Pair = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Script:
    id: str
    half: str
    steps: tuple[Step, ...]
    wanted: tuple[tuple[str, tuple[str, ...]], ...]
    """What failed, and what may count as its fix."""


@dataclass(frozen=True, slots=True)
class PairScore:
    system: str
    told: int
    right: int
    precision: float
    recall: float


@dataclass(frozen=True, slots=True)
class PairFigures:
    half: str
    sessions: int
    without: int
    """Sessions from which there is nothing to learn."""
    lessons: int
    scores: tuple[PairScore, ...]
    missed: tuple[str, ...]
    wrong: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class PairReport(Report):
    figures: tuple[PairFigures, ...]


def read(path: Path = SHIPPED) -> list[Script]:
    try:
        rows = [json.loads(line) for line in path.read_text("utf-8").splitlines() if line.strip()]
        return [
            Script(
                row["id"], row["half"], tuple(row["acts"]),
                tuple((one["failed"], tuple(one["fix"])) for one in row["lessons"]),
            )
            for row in rows
        ]  # fmt: skip
    except (OSError, ValueError, KeyError, TypeError) as problem:
        raise BadInput(
            f"{path} is no file of scripted sessions: {problem}",
            hint="docs: bench/data/OUTCOMES.md",
        ) from None


def run_pairs(folder: Path, scripts: Sequence[Script], progress: Progress) -> PairReport:
    told: dict[str, list[Pair]] = {}
    for number, script in enumerate(scripts):
        with Stage(folder / f"pairs-{number}") as stage:
            stage.play_steps(script.id, script.steps)
            learnt = [Lesson.read(rule.body) for rule in stage.rules()]
            told[script.id] = [(one.failed, one.fix) for one in learnt if one is not None]
        progress(number + 1, len(scripts))
    halves = [
        [one for one in scripts if one.half == half]
        for half in dict.fromkeys(one.half for one in scripts)
    ]
    return PairReport(tuple(_figures(some, told) for some in halves))


def _figures(scripts: Sequence[Script], told: dict[str, list[Pair]]) -> PairFigures:
    simple = {script.id: list(_next_that_works(script.steps)) for script in scripts}
    missed = [
        f"{s.id}: {failed}"
        for s in scripts
        for failed, fixes in s.wanted
        if not _has(told[s.id], failed, fixes)
    ]
    wrong = [
        f"{s.id}: {failed} -> {fix}"
        for s in scripts
        for failed, fix in told[s.id]
        if not _is_wanted(s, failed, fix)
    ]
    return PairFigures(
        half=scripts[0].half,
        sessions=len(scripts),
        without=sum(not script.wanted for script in scripts),
        lessons=sum(len(script.wanted) for script in scripts),
        scores=(_score("lessons", scripts, told), _score("next that works", scripts, simple)),
        missed=tuple(missed),
        wrong=tuple(wrong),
    )


def _score(system: str, scripts: Sequence[Script], told: dict[str, list[Pair]]) -> PairScore:
    said = sum(len(told[script.id]) for script in scripts)
    right = sum(_is_wanted(script, *pair) for script in scripts for pair in told[script.id])
    found = sum(_has(told[script.id], *wanted) for script in scripts for wanted in script.wanted)
    return PairScore(
        system, said, right, share(right, said), share(found, sum(len(s.wanted) for s in scripts))
    )


def _is_wanted(script: Script, failed: str, fix: str) -> bool:
    return any(failed == wanted and fix in fixes for wanted, fixes in script.wanted)


def _has(told: Sequence[Pair], failed: str, fixes: tuple[str, ...]) -> bool:
    return any(failed == one and fix in fixes for one, fix in told)


def _next_that_works(steps: Sequence[Step]) -> Iterator[Pair]:
    waiting: list[str] = []
    for step in steps:
        if step["do"] != "run":
            continue
        if step["failed"]:
            waiting.append(step["what"])
            continue
        yield from ((failed, step["what"]) for failed in waiting)
        waiting = []
