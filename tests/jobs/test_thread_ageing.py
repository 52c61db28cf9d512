"""Threads that nobody uses fall asleep: one change a run, which can be undone."""

from __future__ import annotations

from pathlib import Path

import pytest

from recollect.app.core import App
from recollect.base.clock import FixedClock
from recollect.jobs import thread_ageing as ageing
from recollect.jobs.job_table import Memo
from recollect.lifecycle.strength import status_at
from recollect.model.memory import Memory, Status
from recollect.model.plan import Create
from recollect.model.result import Scope
from recollect.ops import health, history, memories
from tests.jobs.work import open_apps, run_job
from tests.values import NOW, act, note, plan, rule, thread


def keep(app: App, *kept: Memory, scope: Scope = Scope.PROJECT) -> None:
    app.writer(scope).apply(plan(*(Create(one) for one in kept)), act(summary="kept"))


def status(app: App, memory: Memory) -> Status:
    found = app.find(memory.id)[1]
    return found.status


def wait(app: App, days: float) -> None:
    app.clock = FixedClock(app.clock.now().plus(days=days))


def test_each_thread_gets_the_status_that_reading_shows(app: App):
    aged = [thread(f"t{days}", days_old=days, weight=weight) for days in (0, 2, 5, 9, 11, 39, 41, 90)
            for weight in (0.05, 0.2, 1.0)]  # fmt: skip
    kept = [thread("pinned", days_old=900, pinned=True), rule("r", days_old=900), note("n", days_old=900)]
    keep(app, *aged, *kept)
    expected = {one.id: status_at(one, now=NOW, rules=app.age_rules) for one in aged}
    asleep = {id: found if found is Status.ACTIVE else Status.SUSPENDED for id, found in expected.items()}
    shown = {card.memory.id: card.memory.status for card in memories.threads(app, limit=100).cards}

    ageing.age(app)

    written = {one.id: status(app, one) for one in aged}
    young = {one.id for one in aged if one.last_active_at > NOW.plus(days=-1)}
    assert {id: found for id, found in written.items() if id not in young} == {
        id: found for id, found in asleep.items() if id not in young
    }
    assert {card.memory.id: card.memory.status for card in memories.threads(app, limit=100).cards} == shown
    assert shown.items() >= expected.items()
    assert all(status(app, one) is Status.ACTIVE for one in kept)
    assert set(expected.values()) == {Status.ACTIVE, Status.SUSPENDED, Status.ARCHIVED}


def test_a_run_is_one_change_and_undoing_it_leaves_everything_as_it_was(app: App, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(ageing, "AT_ONCE", 3)
    old = [thread(f"t{number}", days_old=20 + number * 3) for number in range(11)]
    keep(app, *old)
    app.actor = "daemon"

    told = ageing.age(app)

    [(_, entry), _] = history.log(app).entries
    assert (entry.op, entry.actor, len(entry.memories)) == ("age", "daemon", 11)
    assert told.summary == entry.summary == "By age: 11 threads fell asleep."
    history.undo(app, entry.change)
    assert [app.find(one.id)[1] for one in old] == old


def test_a_second_run_writes_nothing(app: App):
    keep(app, thread("t", days_old=20))
    ageing.age(app)
    before = len(history.log(app).entries)
    assert ageing.age(app).summary == "No thread is due."
    assert len(history.log(app).entries) == before


def test_a_thread_that_is_used_meanwhile_stays_awake(app: App):
    old = thread("t", days_old=20)
    keep(app, old)
    memo = Memo()
    memo.get(ageing._State).runs = ageing._begin(app)
    memories.archive(app, (old.id,))
    memories.restore(app, (old.id,))

    assert not ageing.work(app, memo)
    assert status(app, old) is Status.ACTIVE


def test_the_job_runs_once_an_hour_and_when_the_clock_was_set_back(app: App, monkeypatch: pytest.MonkeyPatch):
    began: list[float] = []
    days, real = 0.0, ageing._begin

    def begin(app: App) -> list[ageing._Run]:
        began.append(days)
        return real(app)

    monkeypatch.setattr(ageing, "_begin", begin)
    ageing.work(app, Memo())
    assert began == [], "there is nothing to look at"
    keep(app, thread("t"))
    for days in (0.0, 0.9 / 24, 0.2 / 24, 0.0, -10.0, 0.0):
        wait(app, days)
        ageing.work(app, Memo())

    assert began == [0.0, 0.2 / 24, -10.0]


def test_every_open_project_is_aged_in_small_pieces_and_one_change(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(ageing, "AT_ONCE", 2)
    apps = open_apps()
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        with apps.app(str(tmp_path / name), "", {}) as app:
            keep(app, *(thread(f"t{number}", days_old=60) for number in range(7)))

    assert run_job("ageing", apps) >= 8

    for name in ("a", "b"):
        with apps.app(str(tmp_path / name), "", {}) as app:
            assert {app.find(card.memory.id)[1].status for card in memories.threads(app).cards} == {Status.SUSPENDED}
            entries = [entry for _, entry in history.log(app).entries if entry.op == "age"]
            assert [(entry.actor, len(entry.memories)) for entry in entries] == [("daemon", 7)]
    apps.close()


def test_the_user_s_own_threads_age_too(app: App):
    old = thread("t", days_old=20)
    keep(app, old, scope=Scope.USER)
    ageing.age(app)
    assert memories.show(app, old.id).card.memory.status is status(app, old) is Status.SUSPENDED


def test_lists_and_counts_show_what_age_has_done_before_it_is_written(app: App):
    old, awake = thread("old", days_old=20), thread("awake")
    keep(app, old, awake, *(thread(f"gone {n}", days_old=90) for n in range(30)))

    def listed(wanted: Status) -> list[str]:
        return [card.memory.id for card in memories.threads(app, status=wanted, limit=2).cards]

    def seen() -> tuple[list[str], list[str], int, dict[tuple[str, str], int]]:
        counts = {row[:2]: row[2] for row in health.status(app).stores[0][2].by_kind_and_status}
        return listed(Status.ACTIVE), listed(Status.SUSPENDED), len(listed(Status.ARCHIVED)), counts

    before = seen()
    ageing.age(app)

    assert before == seen()
    assert before[:3] == ([awake.id], [old.id], 2)
    assert before[3] == {("thread", "active"): 1, ("thread", "suspended"): 1, ("thread", "archived"): 30}


def test_a_thread_that_sleeps_by_age_alone_can_be_restored(app: App):
    old = thread("old", days_old=20)
    keep(app, old)

    done = memories.restore(app, (old.id,))

    assert done.plan
    assert memories.show(app, old.id).card.memory.status is Status.ACTIVE
    ageing.age(app)
    assert status(app, old) is Status.ACTIVE


def test_the_figures_of_age_are_settings(app: App):
    old = thread("old", days_old=41)
    keep(app, old)
    assert memories.show(app, old.id).card.memory.status is Status.ARCHIVED
    changed = {"MEMORY_ARCHIVE_AFTER_DAYS": "60"}
    app.settings = app.settings._replace(
        values=tuple(one._replace(value=changed.get(one.name, one.value)) for one in app.settings.values)
    )

    ageing.age(app)

    assert memories.show(app, old.id).card.memory.status is status(app, old) is Status.SUSPENDED


def test_counts_are_whole_however_few_a_run_takes(app: App, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(ageing, "MAX_THREADS", 3)
    keep(app, *(thread(f"gone {n}", days_old=90) for n in range(9)))
    assert ageing.age(app).facts["threads"] == 3
    counts = {row[:2]: row[2] for row in health.status(app).stores[0][2].by_kind_and_status}
    assert counts == {("thread", "archived"): 9}
