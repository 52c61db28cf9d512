"""Jobs run when they are due, one at a time, and never in the way of a hook."""

from __future__ import annotations

import time
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import pytest

from recollect.base.clock import SystemClock
from recollect.base.errors import StoreBusy
from recollect.base.log import Log
from recollect.daemon.apps import Apps, Model
from recollect.jobs import job_table
from recollect.jobs import runner as runner_module
from recollect.jobs.job_table import Job
from recollect.jobs.runner import Runner, Task
from recollect.model.result import Scope
from recollect.ops import memories
from tests.daemon.real import PATIENCE_S, soon
from tests.jobs.work import open_apps, open_home, run_job


def start(tmp_path: Path, *jobs: Job, asked: Callable[[], bool] = lambda: False, first: bool = True) -> Runner:
    log = Log(tmp_path, SystemClock(), max_bytes=1_000_000, redact=lambda text: text)
    found = Runner(jobs, open_apps(), asked, log)
    if first:
        found.first_answer_given.set()
    found.start()
    return found


class Done:
    """A job that counts its runs."""

    def __init__(self, problem: Exception | None = None) -> None:
        self.at_s: list[float] = []
        self.problem = problem

    def __call__(self) -> bool:
        self.at_s.append(time.monotonic())
        if self.problem is not None:
            raise self.problem
        return False

    def job(self, every_s: float = 9, *, light: bool = False) -> Job:
        return Job("one", self, every_s, light=light)

    def soon(self, count: int = 1) -> bool:
        return soon(lambda: len(self.at_s) >= count, PATIENCE_S)


def test_a_job_runs_again_when_it_is_due(tmp_path: Path):
    often = Done()
    runner = start(tmp_path, often.job(0.05), Done().job(1_000))
    assert often.soon(4)
    runner.stop(PATIENCE_S)
    assert all(later - earlier >= 0.05 for earlier, later in pairwise(often.at_s))


def test_one_that_fails_is_logged_without_its_text_and_the_others_go_on(tmp_path: Path):
    broken, busy, fine = Done(ZeroDivisionError("a secret prompt")), Done(StoreBusy("It is held.")), Done()
    runner = start(tmp_path, broken.job()._replace(name="a"), busy.job(), fine.job())
    assert fine.soon()
    runner.stop(PATIENCE_S)

    logged = (tmp_path / "recollect.log").read_text()
    assert "job=a problem=ZeroDivisionError" in logged
    assert "It is held" in logged
    assert "secret" not in logged


def test_while_hooks_are_answered_heavy_jobs_stand_aside_for_a_while(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(runner_module, "STAND_ASIDE_S", 0.3)
    heavy, light = Done(), Done()
    began_s = time.monotonic()
    runner = start(tmp_path, light.job(light=True), heavy.job(), asked=lambda: True)
    assert light.soon()
    assert not heavy.at_s
    assert heavy.soon(), "hooks without end do not hold it up for ever"
    runner.stop(PATIENCE_S)
    assert heavy.at_s[0] - began_s >= runner_module.STAND_ASIDE_S


def test_the_first_answer_comes_before_the_first_job(tmp_path: Path):
    done = Done()
    runner = start(tmp_path, done.job(), first=False)
    time.sleep(0.05)
    assert not done.at_s
    runner.first_answer_given.set()
    assert done.soon()
    runner.stop(PATIENCE_S)


# Projects


def speak(apps: Apps, tmp_path: Path, *names: str, text: str = "") -> None:
    for name in names:
        (tmp_path / name).mkdir(exist_ok=True)
        with apps.app(str(tmp_path / name), "", {}) as app:
            memories.pin(app, text or f"Something about {name}")


def test_passages_get_the_vectors_they_lack_in_every_open_project(tmp_path: Path):
    model = Model()
    assert model.load()
    apps = open_apps(model=model)
    speak(apps, tmp_path, *("a", "b") * 3)

    run_job("vectors", apps)

    for name in ("a", "b"):
        with apps.app(str(tmp_path / name), "", {}) as app:
            store = app.reader(Scope.PROJECT)
            assert store.vectorless(app.embedder.id, 1) == []
            assert store.counts().vectors == store.counts().passages > 0
    apps.close()


def test_a_project_is_read_once_it_is_quiet_and_every_project_now_and_then(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    seen: list[str] = []
    apps = open_apps()
    speak(apps, tmp_path, "a", "closed")
    apps.close()
    monkeypatch.setattr(
        "recollect.jobs.transcripts.work", lambda app, _memo: seen.append(app.project and app.project.name)
    )
    row = job_table.job("transcripts")

    def look(task: Task) -> list[str]:
        seen.clear()
        while task.step():
            pass
        return seen

    everywhere = Task(row, apps)
    assert sorted(map(str, look(everywhere))) == ["None", "a", "closed"]
    speak(apps, tmp_path, "a")
    assert look(everywhere) == [], "somebody may still be talking"

    quiet = Task(row._replace(quiet_s=0, every_s=1e9), apps)
    quiet._everywhere_s = time.monotonic()
    assert look(quiet) == ["a"]
    assert look(quiet) == []
    speak(apps, tmp_path, "a")
    assert look(quiet) == ["a"]
    apps.close()


def test_jobs_that_need_a_model_run_where_models_are_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    seen: list[str] = []
    monkeypatch.setattr(
        "recollect.ops.turn_questions.ask_next", lambda app, _memo: seen.append(app.project and app.project.name)
    )
    apps = open_apps()
    speak(apps, tmp_path, "a")
    run_job("questions", apps)
    assert seen == []

    open_home().conf.write_text("MEMORY_LLM=on\n")
    run_job("questions", apps)
    assert seen == ["a", None]
    apps.close()


def test_an_app_that_failed_is_closed_and_the_next_project_has_its_turn(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    seen: list[str] = []

    def work(app, _memo):
        seen.append(app.project and app.project.name)
        raise StoreBusy("It is held.")

    monkeypatch.setattr("recollect.app.session_ledger.tick", work)
    apps = open_apps()
    speak(apps, tmp_path, "a", "b")
    task = Task(job_table.job("heartbeat"), apps)
    for _ in range(3):
        with pytest.raises(StoreBusy):
            task.step()
        assert task._app is None

    assert not task.step()
    assert seen == ["a", "b", None]
    apps.close()


@pytest.mark.parametrize("row", job_table.JOBS, ids=lambda row: row.name)
def test_every_row_names_a_function(row: Job):
    assert callable(row.function)
    assert [one.name for one in job_table.JOBS].count(row.name) == 1
