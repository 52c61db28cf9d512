"""What is done every so many sessions: on time, once, by one at a time, and never for ever."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import pytest

from recollect.app.core import App
from recollect.base.errors import BadInput
from recollect.jobs.job_table import FORGETTING, VALIDATION, EverySessions, Job
from recollect.jobs.session_schedule import Run, run_due
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
    """Whatever is due now, or at each of these counts of sessions."""
    for number in numbers or (None,):
        if number is not None:
            counted_to(app, number, scope)
        for job in (FORGETTING, VALIDATION):
            list(run_due(app, job))


def test_over_a_thousand_sessions_each_job_runs_on_its_schedule(app: App, open_app: Opens, ran: Ran):
    for number in range(1, 1_001):
        if number % 25 in (0, 1) and number % 7:  # nobody looks at every session
            all_due(app, number)
        if number % 300 == 0:
            app.close()  # a restart
            app = open_app()

    forgot, validated = ([number for name, _, number in ran if name == one.name] for one in (FORGETTING, VALIDATION))
    # 200 and 75 are baselines. 175 is 25 times 7: that session nobody looked, the next one did. So with 875.
    assert forgot == [400, 600, 800, 1_000]
    assert validated == [176, 275, 375, 475, 575, 675, 775, 876, 975]


def test_a_count_that_jumps_owes_one_run_and_one_that_falls_back_none(app: App, ran: Ran):
    all_due(app, 200, 1_950, 1_951, 30, 31, 74)
    assert ran == [("forgetting", Scope.PROJECT, 1_950), ("validation", Scope.PROJECT, 1_950)]


@pytest.mark.parametrize("job", [FORGETTING, VALIDATION])
def test_what_is_switched_off_never_runs_and_the_schedule_is_a_setting(
    job: Job, open_app: Opens, ran: Ran, monkeypatch: pytest.MonkeyPatch
):
    assert isinstance(job.when, EverySessions)
    monkeypatch.setenv(job.when.switch, "off")
    monkeypatch.setenv("MEMORY_FORGETTING_SCHEDULE", "3/10")
    app = open_app()
    counted_to(app, 5)
    all_due(app, *range(0, 1_001, 25), scope=Scope.USER)

    assert job.name not in {one[0] for one in ran}
    assert ran
    assert not [one for one in ran if one[1] is Scope.PROJECT], "each store goes by its own count"
    if job is VALIDATION:
        assert [one[2] for one in ran[:3]] == [50, 75, 100], "the schedule is a setting"


def make_due(app: App) -> None:
    for number in (200, 400):
        counted_to(app, number)
        if number == 200:
            assert list(run_due(app, FORGETTING)) == []


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
