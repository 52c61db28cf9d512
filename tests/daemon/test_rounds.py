"""The daemon goes its rounds by itself: what is due by a count of sessions, a piece at a time, once."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from recollect.base.clock import SystemClock
from recollect.base.paths import Home
from recollect.daemon.apps import Apps
from recollect.daemon.model import Model
from recollect.daemon.rounds import Rounds
from recollect.model.memory import Status
from recollect.model.plan import Create
from recollect.model.result import Scope
from recollect.ops import history, notices, rounds
from recollect.ops.app import App
from tests.daemon.real import FORKS, LINUX, House, soon
from tests.daemon.test_service import Session
from tests.llm.standin import StandIn
from tests.values import act, plan, rule


def opened(tmp_path: Path, *names: str) -> Apps:
    home = Home(Path(os.environ["RECOLLECT_HOME"]))
    home.prepare()
    apps = Apps(home, Path.home(), SystemClock(), Model())
    for name in names:
        (tmp_path / name).mkdir()
        with apps.app(str(tmp_path / name), "", {}) as app:
            old = [rule(f"r{number}", days_old=60) for number in range(5)]
            app.writing(Scope.PROJECT).apply(plan(*map(Create, old)), act(summary="kept"))
    return apps


def counted_to(apps: Apps, folder: Path, number: int) -> None:
    with apps.app(str(folder), "", {}) as app:
        app.writing(Scope.PROJECT).sessions.put_state("sessions", str(number))


def gone(apps: Apps) -> int:
    """How many pieces it took until there was nothing more to do."""
    chore, pieces = Rounds(apps, look_s=0.0), 0
    for _ in range(40):
        if not chore.go_some():
            break
        pieces += 1
        chore._look_s = 600.0
    chore.close()
    return pieces


def standing(app: App) -> list[Status]:
    return sorted(memory.status for memory, _ in app.reading(Scope.PROJECT).each())


def test_each_open_project_has_its_turn_and_the_first_only_sets_a_baseline(tmp_path: Path):
    apps = opened(tmp_path, "a", "b")
    for number in (200, 400):
        for name in ("a", "b"):
            counted_to(apps, tmp_path / name, number)
        assert gone(apps)
        for name in ("a", "b"):
            with apps.app(str(tmp_path / name), "", {}) as app:
                assert rounds.read(app.reading(Scope.PROJECT), rounds.FORGETTING).last == number
                told = [line for line in notices.waiting(app) if "forget --candidates" in line]
                assert (len(told), standing(app)) == (number // 400, [Status.ACTIVE] * 5)
    apps.close()


def test_with_a_model_it_forgets_as_the_daemon_and_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    home = Home(Path(os.environ["RECOLLECT_HOME"]))
    home.prepare()
    model = StandIn(tmp_path / "model", "[]")
    home.conf.write_text(f"MEMORY_LLM=on\nMEMORY_LLM_COMMAND={model.command}\nMEMORY_VALIDATION=off\n")
    apps = opened(tmp_path, "a")
    counted_to(apps, tmp_path / "a", 200)
    gone(apps)
    counted_to(apps, tmp_path / "a", 400)
    with apps.app(str(tmp_path / "a"), "", {}) as app:
        first = next(memory for memory, _ in app.reading(Scope.PROJECT).each())
    model.answers(f'[{{"id": "{first.id}", "verdict": "cold"}}]')

    gone(apps)
    gone(apps)

    with apps.app(str(tmp_path / "a"), "", {}) as app:
        assert standing(app) == [Status.ACTIVE] * 4 + [Status.ARCHIVED]
        assert next((entry.op, entry.actor) for _, entry in history.log(app).entries) == ("forget", "daemon")
    assert len(model.calls) == 1
    apps.close()


def test_nothing_is_looked_at_twice_within_a_while(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    apps = opened(tmp_path, "a")
    chore = Rounds(apps)
    while chore.go_some():
        pass
    monkeypatch.delattr(rounds, "due")

    assert not chore.go_some()
    apps.close()


@FORKS
@pytest.mark.skipif(not LINUX, reason="looks at processes in /proc")
def test_a_real_daemon_runs_what_the_count_of_sessions_owes(house: House, tmp_path: Path):
    session = Session(house, tmp_path / "shop")
    app = session.app()
    store = app.writing(Scope.PROJECT)
    store.apply(plan(Create(rule("old", days_old=60))), act())
    store.sessions.put_state("sessions", "200")
    assert rounds.due(app) == []
    store.sessions.put_state("sessions", "399")
    assert [one.round for one in rounds.due(app)] == [rounds.VALIDATION], "its 275 and 375 lie in between"
    app.close()
    house.start()

    session.hook("UserPromptSubmit", prompt="hello there, the four hundredth")

    app = session.app()
    assert soon(lambda: rounds.read(app.reading(Scope.PROJECT), rounds.VALIDATION).last == 400, within_s=60)
    assert rounds.read(app.reading(Scope.PROJECT), rounds.FORGETTING).last == 400
    assert any("forget --candidates" in line for line in notices.waiting(app))
    assert (house.home.logs / "validation-400.log").is_file()
    app.close()
