"""What is done every so many sessions: on time, once, by one at a time, and never for ever."""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from recollect.app import language_model, session_ledger
from recollect.app.core import App
from recollect.base.clock import FixedClock
from recollect.base.errors import BadInput
from recollect.jobs import session_schedule
from recollect.jobs.job_table import FORGETTING, VALIDATION, EverySessions, Job
from recollect.jobs.session_schedule import LEASE_S, Lease
from recollect.model.ask import Ask
from recollect.model.plan import Create
from recollect.model.result import Scope
from recollect.ops import forget
from tests.llm.standin import StandIn
from tests.ops.conftest import Opens
from tests.values import NOW, act, plan, rule


def counted_to(app: App, number: int, scope: Scope = Scope.PROJECT) -> None:
    app.writer(scope).put_state("sessions", str(number))


def moved(app: App, seconds: float) -> None:
    app.clock = FixedClock(app.clock.now().plus(seconds=seconds))


Ran = list[tuple[str, Scope, int]]


@pytest.fixture
def ran(monkeypatch: pytest.MonkeyPatch) -> Ran:
    """What each run was, in place of what it would have done."""
    seen: Ran = []

    def steps(_app: App, lease: Lease) -> Iterator[str]:
        seen.append((lease.job.name, lease.scope, lease.session))
        yield "one"

    monkeypatch.setattr("recollect.ops.forget.review_lowest", steps)
    monkeypatch.setattr("recollect.ops.validate.check_sample", steps, raising=False)
    return seen


def run_due(app: App, job: Job) -> list[str]:
    """One look at a job, to its end."""
    return list(session_schedule._all_due(app, job))


def all_due(app: App, *numbers: int, scope: Scope = Scope.PROJECT) -> None:
    """Whatever is due now, or at each of these counts of sessions."""
    for number in numbers or (None,):
        if number is not None:
            counted_to(app, number, scope)
        for job in (FORGETTING, VALIDATION):
            run_due(app, job)


def test_over_a_thousand_sessions_each_job_runs_on_its_schedule(app: App, open_app: Opens, ran: Ran):
    for number in range(1, 1_001):
        session_ledger.record_message(app, f"s{number}", "h", NOW)
        if number % 7:  # nobody looks at every session
            all_due(app)
        if number % 300 == 0:
            app.close()  # a restart
            app = open_app()
    all_due(app)

    project = [(name, number) for name, scope, number in ran if scope is Scope.PROJECT]
    forgot, validated = ([number for name, number in project if name == one.name] for one in (FORGETTING, VALIDATION))
    # 200 and 75 are baselines. 175 is 25 times 7: that session nobody looked, the next one did. So with 875.
    assert forgot == [400, 600, 800, 1_000]
    assert validated == [176, 275, 375, 475, 575, 675, 775, 876, 975]


def test_a_count_that_jumps_owes_one_run_and_one_that_falls_back_none(app: App, ran: Ran):
    all_due(app, 200, 1_950, 1_951, 30, 31, 74)
    assert ran == [("forgetting", Scope.PROJECT, 1_950), ("validation", Scope.PROJECT, 1_950)]


def test_the_users_store_goes_by_its_own_count(app: App, ran: Ran):
    counted_to(app, 5)
    all_due(app, 200, 400, scope=Scope.USER)
    assert ("forgetting", Scope.USER, 400) in ran
    assert not [one for one in ran if one[1] is Scope.PROJECT]


@pytest.mark.parametrize("job", [FORGETTING, VALIDATION])
def test_what_is_switched_off_never_runs(job: Job, open_app: Opens, ran: Ran, monkeypatch: pytest.MonkeyPatch):
    assert isinstance(job.when, EverySessions)
    monkeypatch.setenv(job.when.switch, "off")
    app = open_app()
    all_due(app, *range(0, 1_001, 25))

    assert job.name not in {one[0] for one in ran}
    assert ran


def test_the_schedule_is_the_settings(open_app: Opens, ran: Ran, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("MEMORY_FORGETTING_SCHEDULE", "3/10")
    monkeypatch.setenv("MEMORY_VALIDATION", "off")
    app = open_app()
    all_due(app, *range(40))
    assert [one[2] for one in ran] == [13, 23, 33]


def make_due(app: App) -> None:
    counted_to(app, 200)
    assert session_schedule.due_scopes(app, FORGETTING) == []
    counted_to(app, 400)
    assert session_schedule.due_scopes(app, FORGETTING) == [Scope.PROJECT]


def acquire(app: App) -> Lease | None:
    return session_schedule.acquire(app, FORGETTING, Scope.PROJECT)


def test_two_never_have_one_job_at_a_time(app: App, open_app: Opens, ran: Ran):
    make_due(app)
    other = open_app()

    going = session_schedule._all_due(app, FORGETTING)
    assert next(going) == "one"
    assert acquire(other) is None
    assert run_due(other, FORGETTING) == []
    list(going)

    assert run_due(other, FORGETTING) == [], "and not once more for the same session"
    assert len(ran) == 1


def test_whoever_was_killed_holds_a_job_for_a_while_only(app: App, open_app: Opens):
    make_due(app)
    dead = acquire(app)
    assert dead is not None
    other = open_app()

    moved(other, LEASE_S - 1)
    assert acquire(other) is None
    moved(other, 2)
    heir = acquire(other)

    assert heir is not None
    assert not dead.renew(), "should it come back to life, it has nothing any more"


def test_a_clock_that_was_set_back_makes_no_lock_for_ever(app: App, open_app: Opens):
    make_due(app)
    moved(app, 400 * 86_400)
    assert acquire(app) is not None
    assert acquire(open_app()) is not None


def test_whoever_says_so_in_time_keeps_it(app: App, open_app: Opens):
    make_due(app)
    lease = acquire(app)
    assert lease is not None
    other = open_app()
    for _ in range(5):
        moved(app, LEASE_S - 1)
        moved(other, LEASE_S - 1)
        assert lease.renew()
        assert acquire(other) is None


def test_what_fails_is_tried_three_times_and_then_not_before_it_is_due_again(app: App, monkeypatch: pytest.MonkeyPatch):
    tries: list[int] = []

    def steps(_app: App, lease: Lease) -> Iterator[str]:
        tries.append(lease.session)
        yield "one"
        raise BadInput("no", hint="no")

    monkeypatch.setattr("recollect.ops.forget.review_lowest", steps)
    make_due(app)
    for number in (400, 401, 402, 403, 404, 600):
        counted_to(app, number)
        run_due(app, FORGETTING)

    assert tries == [400, 401, 402, 600]


def test_what_is_broken_in_its_state_begins_anew(app: App):
    for text in ("", "nonsense", "[]", '{"last": 3, "other": 1}', "null"):
        app.writer(Scope.PROJECT).put_state("job:forgetting", text)
        counted_to(app, 400)
        assert session_schedule.due_scopes(app, FORGETTING) == []
        assert session_schedule.read_record(app.reader(Scope.PROJECT), FORGETTING).last == 400


# Processes


def _all_at_once(home: str, folder: str, start: float, done: str) -> None:
    os.environ["RECOLLECT_HOME"] = home
    app = App.open(Path(folder))
    time.sleep(max(0.0, start - time.time()))
    lease = acquire(app)
    if lease is not None:
        Path(done, str(os.getpid())).touch()
        list(session_schedule.run(lease))
    app.close()


def test_of_many_processes_one_runs_a_job(app: App, tmp_path: Path):
    make_due(app)
    app.close()
    done = tmp_path / "done"
    done.mkdir()
    start = time.time() + 1.5
    given = (os.environ["RECOLLECT_HOME"], str(Path.cwd()), start, str(done))
    context = multiprocessing.get_context("spawn")
    processes = [context.Process(target=_all_at_once, args=given) for _ in range(4)]
    for one in processes:
        one.start()
    for one in processes:
        one.join(60)

    assert [one.exitcode for one in processes] == [0] * 4
    assert len(list(done.iterdir())) == 1


def _review(home: str, folder: str) -> None:
    os.environ["RECOLLECT_HOME"] = home
    app = App.open(Path(folder))
    lease = acquire(app)
    assert lease is not None
    list(session_schedule.run(lease))


@pytest.mark.skipif(sys.platform == "win32", reason="there is no such signal")
def test_killed_in_the_midst_nothing_is_half_moved_and_another_takes_over(
    open_app: Opens, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    model = tmp_path / "slow"
    model.write_text(f"#!/bin/sh\ntouch {tmp_path}/asked\nsleep 600\n")
    model.chmod(0o700)
    monkeypatch.setenv("MEMORY_LLM", "on")
    monkeypatch.setenv("MEMORY_LLM_COMMAND", str(model))
    app = open_app()
    one = rule("a", days_old=300)
    app.writer(Scope.PROJECT).apply(plan(Create(one)), act())
    make_due(app)
    process = multiprocessing.get_context("spawn").Process(
        target=_review, args=(os.environ["RECOLLECT_HOME"], str(Path.cwd()))
    )
    process.start()
    until = time.monotonic() + 60
    while not (tmp_path / "asked").exists() and time.monotonic() < until:
        time.sleep(0.05)
    assert process.pid is not None
    os.kill(process.pid, signal.SIGKILL)
    process.join(30)

    app.clock = FixedClock(type(NOW)(int(time.time() * 1_000_000)))
    assert app.reader(Scope.PROJECT).exact(one.id) == one
    assert acquire(app) is None, "it might still be alive"
    moved(app, LEASE_S + 60)
    good = StandIn(tmp_path / "model", f'[{{"id": "{one.id}", "verdict": "cold"}}]')
    monkeypatch.setenv("MEMORY_LLM_COMMAND", good.command)
    again = open_app()
    again.clock = app.clock
    assert any("Forgot" in line for line in run_due(again, FORGETTING))


def test_a_review_asks_for_no_more_than_it_may(app: App, monkeypatch: pytest.MonkeyPatch):
    asked: list[Ask] = []
    monkeypatch.setattr(language_model, "answer_text", lambda _app, ask: asked.append(ask))
    app.writer(Scope.PROJECT).apply(plan(Create(rule("a", days_old=9))), act())
    forget.forget(app, run=True)

    (one,) = asked
    row = language_model.USES[one.use]
    assert (row.turns <= 30, row.seconds <= 300, one.reads) == (True, True, "")
