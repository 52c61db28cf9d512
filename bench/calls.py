"""How often language models are called: by a fresh install, which must call none, and with them switched on.

The same scripted sessions both times, through the real hooks, the digest and every job, with a program that counts how
often it is run. It always answers that there is nothing to keep.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from bench.report import Report
from bench.scripted import Stage, Step
from recollect.app import language_model
from recollect.app.states import Memo
from recollect.base.settings import load
from recollect.jobs.runner import JOBS
from recollect.store import Progress

# Of every sort, some of them such that patterns are unsure.
_SAID = (
    "iOS can only be built on the mac mini (host: forge) with Xcode 16.2",
    "please fix the login page",
    "we always use tabs here",
    "pushing to `next` redeploys staging automatically, good to know for you",
    "what does the build do?",
)
_PROGRAM = """#!{python} -I
import json, os
with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "calls"), "a") as file:
    file.write("x")
usage = dict(input_tokens=600, output_tokens=20)
print(json.dumps(dict(type="result", subtype="success", is_error=False, result="[]", usage=usage)))
"""


@dataclass(frozen=True, slots=True)
class CallFigures:
    models: str
    sessions: int
    calls: int
    """Counted by the program itself."""
    booked: int
    """As `status` tells them."""
    calls_per_day: int


@dataclass(frozen=True, slots=True)
class CallReport(Report):
    figures: tuple[CallFigures, ...]

    @property
    def passed(self) -> bool:
        """Nobody is called unasked, nothing goes unbooked, and the budget holds."""
        return all(
            one.calls == one.booked
            and one.calls <= (0 if one.models == "off" else one.calls_per_day)
            for one in self.figures
        )


def run_calls(folder: Path, *, sessions: int, calls_per_day: int, progress: Progress) -> CallReport:
    on = {"MEMORY_LLM": "on", "MEMORY_LLM_CALLS_PER_DAY": str(calls_per_day)}
    figures = []
    for number, (models, environ) in enumerate((("off", {}), ("on", on))):
        figures.append(_played(folder / models, models, environ, sessions))
        progress(number + 1, 2)
    return CallReport(tuple(figures))


def _played(folder: Path, models: str, environ: Mapping[str, str], sessions: int) -> CallFigures:
    folder.mkdir()
    program = folder / "program"
    program.write_text(_PROGRAM.replace("{python}", sys.executable), encoding="utf-8")
    program.chmod(0o700)
    with Stage(folder) as stage:
        # A fresh install's settings but for the program, so that a call would be seen.
        stage.own.settings = load(None, None, {**environ, "MEMORY_LLM_COMMAND": str(program)})
        for number in range(sessions):
            _session(stage, number)
        told = language_model.summarize_spending(stage.own)
    counted = folder / "calls"
    calls = len(counted.read_text(encoding="ascii")) if counted.exists() else 0
    return CallFigures(
        models, sessions, calls, _count(told["calls"]), _count(told["calls_per_day"])
    )


def _session(stage: Stage, number: int) -> None:
    said, session = _SAID[number % len(_SAID)], f"s{number}"
    stage.told("SessionStart", session, source="startup")
    stage.told("UserPromptSubmit", session, prompt=said)
    stage.play_steps(session, _steps(said, number))
    stage.told("Stop", session)
    stage.told("SessionEnd", session, reason="other")
    for job in JOBS:
        if job.model == "required" and stage.own.settings.switch("MEMORY_LLM"):
            while job.function(stage.own, Memo()):
                pass


def _steps(said: str, number: int) -> list[Step]:
    """Long enough to be asked about at its end."""
    return [
        {"do": "say", "text": said},
        {"do": "run", "what": "npm test", "out": "Exit code 1", "failed": True},
        {"do": "edit", "file": f"src/{number}.ts", "out": "ok", "failed": False},
        {"do": "run", "what": "npm test -- --ci", "out": "ok", "failed": False},
        *(
            {"do": "reply", "text": f"Step {step} of session {number} is done."}
            for step in range(9)
        ),
    ]


def _count(value: object) -> int:
    return value if isinstance(value, int) else 0
