"""What is done every so many sessions: on time, once, by one at a time, and never for ever."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import pytest

from recollect.app.core import App
from recollect.base.errors import BadInput
from recollect.jobs.job_table import FORGETTING, VALIDATION, Job
from recollect.jobs.runner import Run, run_due
from recollect.model.result import Scope
from recollect.model.session import StateRecord
from tests.ops.conftest import Opens


def counted_to(app: App, number: int, scope: Scope = Scope.PROJECT) -> None:
    app.writer(scope).put(StateRecord("sessions", str(number)))


Ran = list[tuple[str, Scope, int]]


@pytest.fixture
def ran(monkeypatch: pytest.MonkeyPatch) -> Ran:
    """What each run was, in place of what it would have done."""
    seen: Ran = []

    def steps(name: str, _app: App, run: Run) -> Iterator[str]:
        seen.append((name, run.scope, run.session))
        yield "one"

    monkeypatch.setattr("recollect.ops.forget.review_lowest", partial(steps, "forgetting"))
    monkeypatch.setattr("recollect.ops.validate.check_sample", partial(steps, "validation"))
    return seen


def all_due(app: App, *numbers: int, scope: Scope = Scope.PROJECT) -> None:
    """Whatever is due at each of these counts of sessions."""
    for number in numbers:
        counted_to(app, number, scope)
        for job in (FORGETTING, VALIDATION):
            list(run_due(app, job))


def test_each_job_runs_on_its_schedule_and_a_count_that_jumps_owes_one_run(app: App, ran: Ran):
    all_due(app, *range(25, 401, 25), 1_950, 1_951, 30, 31, 74)
    assert [number for name, _, number in ran if name == "forgetting"] == [400, 1_950], "200 is a baseline"
    assert [number for name, _, number in ran if name == "validation"] == [175, 275, 375, 1_950], "75 is a baseline"


@pytest.mark.parametrize("job", [FORGETTING, VALIDATION])
def test_what_is_switched_off_never_runs_and_the_schedule_is_a_setting(
    job: Job, open_app: Opens, ran: Ran, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv(job.switch, "off")
    monkeypatch.setenv("MEMORY_FORGETTING_SCHEDULE", "3/10")
    app = open_app()
    counted_to(app, 5)
    all_due(app, *range(0, 301, 25), scope=Scope.USER)
    name, first = ("validation", [175, 275]) if job is FORGETTING else ("forgetting", [50, 75])
    assert ran[:2] == [(name, Scope.USER, number) for number in first], "each store goes by its own count"
    assert {(one, scope) for one, scope, _ in ran} == {(name, Scope.USER)}


def make_due(app: App) -> None:
    counted_to(app, 200)
    assert list(run_due(app, FORGETTING)) == [], "a baseline"
    counted_to(app, 400)


def test_two_never_run_one_job_at_a_time_and_what_stops_is_free_at_once(app: App, open_app: Opens, ran: Ran):
    make_due(app)
    other = open_app()
    running = run_due(app, FORGETTING)
    assert next(running) == "one"
    assert list(run_due(other, FORGETTING)) == []
    del running

    assert list(run_due(other, FORGETTING)) == ["one"]
    assert list(run_due(app, FORGETTING)) == [], "and not once more for the same session"
    assert len(ran) == 2


def test_what_fails_is_tried_three_times_and_then_not_before_it_is_due_again(app: App, monkeypatch: pytest.MonkeyPatch):
    tries: list[int] = []

    def steps(_app: App, run: Run) -> Iterator[str]:
        tries.append(run.session)
        yield "one"
        raise BadInput("no", hint="no")

    monkeypatch.setattr("recollect.ops.forget.review_lowest", steps)
    make_due(app)
    for number in (400, 401, 402, 403, 404, 600):
        counted_to(app, number)
        list(run_due(app, FORGETTING))

    assert tries == [400, 401, 402, 600]
