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

from recollect.base.clock import FixedClock
from recollect.base.errors import BadInput
from recollect.model.ask import Ask
from recollect.model.plan import Create
from recollect.model.result import Scope
from recollect.ops import asks, forgetting, rounds, sessions
from recollect.ops.app import App
from recollect.ops.rounds import FORGETTING, ROUNDS, SILENT_S, VALIDATION, Due, Held
from tests.llm.standin import StandIn
from tests.ops.conftest import Opens
from tests.values import NOW, act, plan, rule


def counted_to(app: App, number: int, scope: Scope = Scope.PROJECT) -> None:
    app.writing(scope).sessions.put_state("sessions", str(number))


def moved(app: App, seconds: float) -> None:
    app.clock = FixedClock(app.clock.now().plus(seconds=seconds))


Ran = list[tuple[str, Scope, int]]


@pytest.fixture
def ran(monkeypatch: pytest.MonkeyPatch) -> Ran:
    """What each run was, in place of what it would have done."""
    seen: Ran = []

    def steps(_app: App, held: Held) -> Iterator[str]:
        seen.append((held.round.name, held.scope, held.session))
        yield "one"

    monkeypatch.setattr("recollect.ops.forgetting.review", steps)
    monkeypatch.setattr("recollect.ops.validation.review", steps, raising=False)
    return seen


def all_due(app: App) -> None:
    for one in rounds.due(app):
        list(rounds.run(app, one))


def test_over_a_thousand_sessions_each_round_runs_on_its_schedule(app: App, open_app: Opens, ran: Ran):
    for number in range(1, 1_001):
        sessions.spoke(app, f"s{number}", "h", NOW)
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
    for number in (200, 1_950, 1_951, 30, 31, 74):
        counted_to(app, number)
        all_due(app)

    assert ran == [("forgetting", Scope.PROJECT, 1_950), ("validation", Scope.PROJECT, 1_950)]


def test_the_users_store_goes_by_its_own_count(app: App, ran: Ran):
    counted_to(app, 5)
    for number in (200, 400):
        counted_to(app, number, Scope.USER)
        all_due(app)

    assert ("forgetting", Scope.USER, 400) in ran
    assert not [one for one in ran if one[1] is Scope.PROJECT]


@pytest.mark.parametrize("round", ROUNDS)
def test_what_is_switched_off_never_runs(
    round: rounds.Round, open_app: Opens, ran: Ran, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv(round.switch, "off")
    app = open_app()
    for number in range(0, 1_001, 25):
        counted_to(app, number)
        all_due(app)

    assert round.name not in {one[0] for one in ran}
    assert ran


def test_the_schedule_is_the_settings(open_app: Opens, ran: Ran, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("MEMORY_FORGETTING_SCHEDULE", "3/10")
    monkeypatch.setenv("MEMORY_VALIDATION", "off")
    app = open_app()
    for number in range(40):
        counted_to(app, number)
        all_due(app)

    assert [one[2] for one in ran] == [13, 23, 33]


def due_now(app: App) -> Due:
    counted_to(app, 200)
    rounds.due(app)
    counted_to(app, 400)
    return next(one for one in rounds.due(app) if one.round is FORGETTING)


def test_two_never_have_one_round_at_a_time(app: App, open_app: Opens, ran: Ran):
    due = due_now(app)
    other = open_app()

    going = rounds.run(app, due)
    assert next(going) == "one"
    assert [one for one in rounds.due(other) if one.round is FORGETTING] == []
    assert list(rounds.run(other, due)) == []
    list(going)

    assert list(rounds.run(other, due)) == [], "and not once more for the same session"
    assert len(ran) == 1


def test_whoever_was_killed_holds_a_round_for_a_while_only(app: App, open_app: Opens):
    due = due_now(app)
    dead = rounds.take(app, *due)
    assert dead is not None
    other = open_app()

    moved(other, SILENT_S - 1)
    assert rounds.take(other, *due) is None
    moved(other, 2)
    heir = rounds.take(other, *due)

    assert heir is not None
    assert not dead.still_ours(), "should it come back to life, it has nothing any more"


def test_a_clock_that_was_set_back_makes_no_lock_for_ever(app: App, open_app: Opens):
    due = due_now(app)
    moved(app, 400 * 86_400)
    assert rounds.take(app, *due) is not None

    assert rounds.take(open_app(), *due) is not None


def test_whoever_says_so_in_time_keeps_it(app: App, open_app: Opens):
    due = due_now(app)
    held = rounds.take(app, *due)
    assert held is not None
    other = open_app()
    for _ in range(5):
        moved(app, SILENT_S - 1)
        moved(other, SILENT_S - 1)
        assert held.still_ours()
        assert rounds.take(other, *due) is None


def test_what_fails_is_tried_three_times_and_then_not_before_it_is_due_again(app: App, monkeypatch: pytest.MonkeyPatch):
    tries: list[int] = []

    def steps(_app: App, held: Held) -> Iterator[str]:
        tries.append(held.session)
        yield "one"
        raise BadInput("no", hint="no")

    monkeypatch.setattr("recollect.ops.forgetting.review", steps)
    due_now(app)
    for number in (400, 401, 402, 403, 404, 600):
        counted_to(app, number)
        for one in rounds.due(app):
            if one.round is FORGETTING:
                with pytest.raises(BadInput):
                    list(rounds.run(app, one))

    assert tries == [400, 401, 402, 600]


def test_what_is_broken_in_its_state_begins_anew(app: App):
    for text in ("", "nonsense", "[]", '{"last": 3, "other": 1}', "null"):
        app.writing(Scope.PROJECT).sessions.put_state("round:forgetting", text)
        counted_to(app, 400)

        assert [one for one in rounds.due(app) if one.round is FORGETTING] == []
        assert rounds.read(app.reading(Scope.PROJECT), FORGETTING).last == 400


# Processes


def _all_at_once(home: str, folder: str, start: float, done: str) -> None:
    os.environ["RECOLLECT_HOME"] = home
    app = App.here(Path(folder))
    time.sleep(max(0.0, start - time.time()))
    held = rounds.take(app, FORGETTING, Scope.PROJECT)
    if held is not None:
        Path(done, str(os.getpid())).touch()
        list(rounds.finish(held))
    app.close()


def test_of_many_processes_one_runs_a_round(app: App, tmp_path: Path):
    due_now(app)
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
    app = App.here(Path(folder))
    held = rounds.take(app, FORGETTING, Scope.PROJECT)
    assert held is not None
    list(rounds.finish(held))


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
    app.writing(Scope.PROJECT).apply(plan(Create(one)), act())
    due = due_now(app)
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
    assert app.reading(Scope.PROJECT).exact(one.id) == one
    assert rounds.take(app, *due) is None, "it might still be alive"
    moved(app, SILENT_S + 60)
    good = StandIn(tmp_path / "model", f'[{{"id": "{one.id}", "verdict": "cold"}}]')
    monkeypatch.setenv("MEMORY_LLM_COMMAND", good.command)
    again = open_app()
    again.clock = app.clock
    assert any("Forgot" in line for line in rounds.run(again, due))


def test_a_review_asks_for_no_more_than_it_may(app: App, monkeypatch: pytest.MonkeyPatch):
    asked: list[Ask] = []
    monkeypatch.setattr(asks, "ask", lambda _app, ask: asked.append(ask))
    app.writing(Scope.PROJECT).apply(plan(Create(rule("a", days_old=9))), act())
    forgetting.forget(app, run=True)

    (one,) = asked
    assert (one.turns <= 30, one.seconds <= 300, one.reads) == (True, True, "")
