"""Chores are done when they are due, one at a time, and never in the way of a hook."""

from __future__ import annotations

import os
import threading
import time
from itertools import pairwise
from pathlib import Path

from recollect.base.clock import SystemClock
from recollect.base.errors import StoreBusy
from recollect.base.log import Log
from recollect.base.paths import Home
from recollect.daemon import chores as chores_module
from recollect.daemon.apps import Apps
from recollect.daemon.chores import Chore, Chores, Vectors
from recollect.daemon.model import Model
from recollect.model.result import Scope
from recollect.ops import memories
from tests.daemon.real import PATIENCE_S, soon


def log(tmp_path: Path) -> Log:
    return Log(tmp_path, SystemClock(), max_bytes=1_000_000, redact=lambda text: text)


def running(tmp_path: Path, *listed: Chore, waiting: list[int] | None = None) -> Chores:
    found = Chores(list(listed), lambda: bool(waiting), log(tmp_path))
    found.first_answer_given()
    found.start()
    return found


def test_a_chore_is_done_again_when_it_is_due(tmp_path: Path):
    done: list[float] = []

    def do() -> bool:
        done.append(time.monotonic())
        return False

    chores = running(tmp_path, Chore("often", 0.05, do), Chore("rarely", 1_000, lambda: False))
    assert soon(lambda: len(done) >= 4)
    chores.stop(PATIENCE_S)

    assert all(later - earlier >= 0.05 for earlier, later in pairwise(done))


def test_one_that_fails_is_logged_without_its_text_and_the_others_go_on(tmp_path: Path):
    done = threading.Event()

    def break_down() -> bool:
        raise ZeroDivisionError("a secret prompt")

    def be_refused() -> bool:
        raise StoreBusy("It is held.")

    def do() -> bool:
        done.set()
        return False

    chores = running(tmp_path, Chore("a", 9, break_down), Chore("b", 9, be_refused), Chore("c", 9, do))
    assert done.wait(PATIENCE_S)
    chores.stop(PATIENCE_S)

    logged = (tmp_path / "recollect.log").read_text()
    assert "chore=a problem=ZeroDivisionError" in logged
    assert "It is held" in logged
    assert "secret" not in logged


def test_while_hooks_are_answered_chores_stand_aside(tmp_path: Path):
    waiting = [1]
    done = threading.Event()

    def do() -> bool:
        done.set()
        return False

    chores = running(tmp_path, Chore("one", 9, do, heavy=True), waiting=waiting)
    assert not done.wait(0.2)
    waiting.clear()
    assert done.wait(PATIENCE_S)
    chores.stop(PATIENCE_S)


def test_hooks_without_end_do_not_hold_them_up_for_ever(tmp_path: Path, monkeypatch):
    monkeypatch.setattr(chores_module, "STAND_ASIDE_S", 0.1)
    done = threading.Event()

    def do() -> bool:
        done.set()
        return False

    chores = running(tmp_path, Chore("one", 9, do, heavy=True), waiting=[1])
    assert done.wait(PATIENCE_S)
    chores.stop(PATIENCE_S)


def test_the_first_answer_comes_before_the_model(tmp_path: Path):
    done = threading.Event()

    def do() -> bool:
        done.set()
        return False

    chores = Chores([Chore("model", 9, do)], lambda: False, log(tmp_path))
    chores.start()
    assert not done.wait(0.1)
    chores.first_answer_given()
    assert done.wait(PATIENCE_S)
    chores.stop(PATIENCE_S)


def test_passages_get_the_vectors_they_lack_in_every_open_project(tmp_path: Path):
    home = Home(Path(os.environ["RECOLLECT_HOME"]))
    home.prepare()
    model = Model()
    assert model.load()
    apps = Apps(home, Path.home(), SystemClock(), model)
    vectors = Vectors(apps, model)
    assert not vectors.fill(), "nobody has spoken yet"
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        with apps.app(str(tmp_path / name), "", {}) as app:
            for number in range(5):
                memories.pin(app, f"Thing number {number} of {name}")

    while vectors.fill():
        pass

    assert vectors.given == 10
    for name in ("a", "b"):
        with apps.app(str(tmp_path / name), "", {}) as app:
            assert app.reading(Scope.PROJECT).vectorless(app.embedder.id, 1) == []
    apps.close()
