"""The daemon puts unused threads to sleep by itself, a few at a time, once an hour."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from recollect.base.clock import SystemClock
from recollect.base.paths import Home
from recollect.daemon.ageing import LOOK_S, Ageing
from recollect.daemon.apps import Apps
from recollect.daemon.model import Model
from recollect.model.memory import Status
from recollect.model.plan import Create
from recollect.model.result import Scope
from recollect.ops import ageing, history, memories
from tests.values import act, plan, thread


def opened(tmp_path: Path, *names: str) -> Apps:
    home = Home(Path(os.environ["RECOLLECT_HOME"]))
    home.prepare()
    apps = Apps(home, Path.home(), SystemClock(), Model())
    for name in names:
        (tmp_path / name).mkdir()
        with apps.app(str(tmp_path / name), "", {}) as app:
            old = [thread(f"t{number}", days_old=60) for number in range(7)]
            app.writing(Scope.PROJECT).apply(plan(*map(Create, old)), act(summary="kept"))
    return apps


def test_every_open_project_is_aged_in_small_pieces_and_one_change(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(ageing, "AT_ONCE", 2)
    apps = opened(tmp_path, "a", "b")
    chore = Ageing(apps)

    pieces = 0
    while chore.age_some():
        pieces += 1

    assert pieces >= 8
    for name in ("a", "b"):
        with apps.app(str(tmp_path / name), "", {}) as app:
            assert {app.find(card.memory.id)[1].status for card in memories.threads(app).cards} == {Status.SUSPENDED}
            entries = [entry for _, entry in history.log(app).entries if entry.op == "age"]
            assert [(entry.actor, len(entry.memories)) for entry in entries] == [("daemon", 7)]
    apps.close()


def test_it_is_done_again_only_when_it_is_due(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    apps = opened(tmp_path, "a")
    chore = Ageing(apps)
    while chore.age_some():
        pass
    assert not chore.age_some()

    monkeypatch.setattr("recollect.daemon.ageing.LOOK_S", -1.0)
    monkeypatch.delattr(ageing, "begun")
    assert chore.age_some(), "another look, which finds that an hour has not passed"

    assert LOOK_S < ageing.EVERY_S
    apps.close()
