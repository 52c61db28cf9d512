"""A real daemon runs what the count of sessions owes, in every open project, once."""

from __future__ import annotations

from pathlib import Path

import pytest

from recollect.app import notices
from recollect.app.core import App
from recollect.app.states import JOB_RECORDS
from recollect.daemon.apps import Apps
from recollect.jobs.runner import FORGETTING, VALIDATION, run_due
from recollect.model.memory import Status
from recollect.model.plan import Create
from recollect.model.result import Scope
from recollect.model.session import StateRecord
from recollect.ops import memories
from tests.daemon.real import FORKS, LINUX, House, soon
from tests.daemon.test_service import Session
from tests.jobs.work import open_apps, open_home, run_job
from tests.llm.standin import StandIn
from tests.values import act, plan, rule


def opened(tmp_path: Path, *names: str) -> Apps:
    apps = open_apps()
    for name in names:
        (tmp_path / name).mkdir()
        with apps.app(str(tmp_path / name), "", {}) as app:
            old = [rule(f"r{number}", days_old=60) for number in range(5)]
            app.writer(Scope.PROJECT).apply(plan(*map(Create, old)), act(summary="kept"))
    return apps


def count_to(apps: Apps, folder: Path, number: int) -> None:
    with apps.app(str(folder), "", {}) as app:
        app.writer(Scope.PROJECT).put(StateRecord("sessions", str(number)))


def statuses(app: App) -> list[Status]:
    return sorted(memory.status for memory, _ in app.reader(Scope.PROJECT).each())


def test_with_a_model_it_forgets_as_the_daemon_and_once(tmp_path: Path):
    model = StandIn(tmp_path / "model", "[]")
    open_home().conf.write_text(f"MEMORY_LLM=on\nMEMORY_LLM_COMMAND={model.command}\n")
    apps = opened(tmp_path, "a")
    count_to(apps, tmp_path / "a", 200)
    run_job("forgetting", apps)
    count_to(apps, tmp_path / "a", 400)
    with apps.app(str(tmp_path / "a"), "", {}) as app:
        first = next(memory for memory, _ in app.reader(Scope.PROJECT).each())
    model.answers(f'[{{"id": "{first.id}", "verdict": "cold"}}]')

    run_job("forgetting", apps)
    run_job("forgetting", apps)

    with apps.app(str(tmp_path / "a"), "", {}) as app:
        assert statuses(app) == [Status.ACTIVE] * 4 + [Status.ARCHIVED]
        assert next((entry.op, entry.actor) for _, entry in memories.log(app).entries) == ("forget", "daemon")
    assert len(model.calls) == 1
    apps.close()


@FORKS
@pytest.mark.skipif(not LINUX, reason="looks at processes in /proc")
def test_a_real_daemon_runs_what_the_count_of_sessions_owes(house: House, tmp_path: Path):
    session = Session(house, tmp_path / "shop")
    app = session.app()
    store = app.writer(Scope.PROJECT)
    store.apply(plan(Create(rule("old", days_old=60))), act())
    store.put(StateRecord("sessions", "200"))
    assert [*run_due(app, FORGETTING), *run_due(app, VALIDATION)] == []
    store.put(StateRecord("sessions", "399"))
    app.close()
    house.start()

    session.hook("UserPromptSubmit", prompt="hello there, the four hundredth")

    app = session.app()
    assert soon(lambda: JOB_RECORDS.read(app.reader(Scope.PROJECT), VALIDATION.name).last == 400, within_s=60)
    assert soon(lambda: JOB_RECORDS.read(app.reader(Scope.PROJECT), FORGETTING.name).last == 400, within_s=60)
    assert any("forget --candidates" in line for line in notices.waiting(app))
    assert (house.home.logs / "validation-400.log").is_file()
    app.close()
