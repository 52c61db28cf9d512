"""`recollect import claude-code`, as a program that is killed."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

from bench.past_sessions import AS_BEFORE, AS_NOW, Sessions
from recollect.app import rule_keeping
from recollect.app.core import App
from recollect.base.moment import Moment
from recollect.model.memory import Kind
from recollect.model.query import Query
from recollect.model.result import Scope

_SESSIONS = 8
_BYTES = 300_000
_COMMAND = [sys.executable, "-m", "recollect", "import", "claude-code", "--json"]
_PATIENCE_S = 300


@pytest.fixture
def project(monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = Path.cwd() / "shop"
    (folder / ".ai").mkdir(parents=True)
    monkeypatch.chdir(folder)
    monkeypatch.setenv("MEMORY_EMBEDDING_MODEL", "/nowhere")  # half of the time, and no part of the claim
    left = Path.home() / ".claude" / "projects" / "shop"
    begun = Moment.parse("2026-01-05T09:00:00Z")
    for number in range(_SESSIONS):
        sessions = Sessions(number, str(folder), AS_NOW if number % 2 else AS_BEFORE)
        sessions.write(left / f"s-{number}.jsonl", begun.plus(days=number), _BYTES)
    return folder


def remembered() -> dict[str, object]:
    """What was said as a rule, when, and how often; and where the user's own stand."""
    app = App.open(Path.cwd())
    try:
        own = app.reader(Scope.PROJECT).find(Query(kinds=(Kind.RULE,), limit=5_000))
        everywhere = app.reader(Scope.USER).find(Query(kinds=(Kind.RULE,), limit=5_000))
        said = {
            one.body: (one.created_at, one.last_active_at, one.seen, one.status)
            for one in own
            if one.origin == rule_keeping.ORIGIN
        }
        return {**said, "everywhere": sorted(one.body for one in everywhere)}
    finally:
        app.close()


def marked() -> int:
    app = App.open(Path.cwd())
    try:
        return len(app.reader(Scope.PROJECT).states("cursor:"))
    finally:
        app.close()


def killed(*, at: int) -> int:
    """When so many transcripts are marked; how many there are then."""
    process = subprocess.Popen(_COMMAND, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    until = time.monotonic() + _PATIENCE_S
    while process.poll() is None and marked() < at and time.monotonic() < until:
        time.sleep(0.005)
    process.kill()
    process.wait(_PATIENCE_S)
    return marked()


def test_killed_at_any_moment_and_run_again_it_remembers_the_same(project: Path, monkeypatch: pytest.MonkeyPatch):
    subprocess.run(_COMMAND, check=True, capture_output=True, timeout=_PATIENCE_S)
    whole = remembered()
    reached = [0, _SESSIONS]
    while reached[1] == _SESSIONS:  # on a machine so busy that it was done before it was seen to have begun
        monkeypatch.setenv("RECOLLECT_HOME", tempfile.mkdtemp(dir=Path.home()))
        reached = [0, killed(at=1)]

    reached += [killed(at=3), killed(at=5)]
    subprocess.run(_COMMAND, check=True, capture_output=True, timeout=_PATIENCE_S)

    assert reached == sorted(reached)
    assert reached[1] > 0
    assert remembered() == whole
    assert len(whole) > _SESSIONS
