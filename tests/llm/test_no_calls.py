"""A fresh install calls nobody, whatever happens in its sessions; switched on, the same ones keep within the day."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from recollect.base.settings import load
from recollect.bench.scripted import Stage, Step
from recollect.ops import budget, health, jobs
from tests.llm.standin import StandIn

SESSIONS = 50
UNSURE = "iOS can only be built on the mac mini (host: forge) with Xcode 16.2"


def steps(number: int) -> list[Step]:
    """Prompts of every sort, some of them unsure, and enough of it to be worth a look at the end."""
    said = (
        UNSURE,
        "please fix the login page",
        "we always use tabs here",
        "pushing to `next` redeploys staging, good to know",
    )
    return [
        {"do": "say", "text": f"{said[number % len(said)]}"},
        {"do": "run", "what": "npm test", "out": "Exit code 1", "failed": True},
        {"do": "edit", "file": f"src/{number}.ts", "out": "ok", "failed": False},
        {"do": "run", "what": "npm test -- --ci", "out": "ok", "failed": False},
        *({"do": "reply", "text": f"Step {n} of session {number} is done."} for n in range(9)),
    ]


def play(stage: Stage, sessions: int = SESSIONS) -> None:
    for number in range(sessions):
        session = f"s{number}"
        stage.told("SessionStart", session, source="startup")
        stage.told("UserPromptSubmit", session, prompt=str(steps(number)[0]["text"]))
        stage.play(session, steps(number))
        stage.told("Stop", session)
        stage.told("SessionEnd", session, reason="other")
        while jobs.work_some(stage.own):
            pass


@pytest.fixture
def model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> StandIn:
    """Found by the name that is set, before any other."""
    made = StandIn(tmp_path / "bin", json.dumps({"rule": False}))
    made.path.rename(tmp_path / "bin" / "claude")
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}{os.pathsep}{os.environ['PATH']}")
    return made


def test_a_fresh_install_calls_nobody_over_fifty_sessions(tmp_path: Path, model: StandIn):
    with Stage(tmp_path / "stage") as stage:
        play(stage)

        assert model.calls == []
        assert health.status(stage.own).llm["calls"] == 0


def test_switched_on_the_same_sessions_keep_within_the_budget(tmp_path: Path, model: StandIn):
    """That it calls at all shows that the test above can fail."""
    with Stage(tmp_path / "stage") as stage:
        stage.own.settings = load(None, None, {"MEMORY_LLM": "on", "MEMORY_LLM_CALLS_PER_DAY": "3"})
        play(stage, 8)

        assert len(model.calls) == 3
        assert budget.told(stage.own)["calls"] == 3
