"""Jobs that run every so many sessions: when one is due, and one run of it.

Each store counts its sessions, so each store has its own turn. A lock beside the store, which the system releases when
its process ends, keeps two from running one job at a time. A job is tried three times per turn, so that one that always
fails does not run for ever. Nothing here waits for anything.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from recollect.app.core import App
from recollect.app.states import JOB_RECORDS, SESSIONS, JobRecord
from recollect.base.errors import RecollectError
from recollect.base.moment import Moment
from recollect.jobs.job_table import EverySessions, Job
from recollect.lifecycle.timing import DueState, Schedule
from recollect.model.result import Scope
from recollect.wire import lockfile

if TYPE_CHECKING:
    from recollect.store import Store

MAX_TRIES = 3


class Run(NamedTuple):
    """One run of a job, in one store."""

    scope: Scope
    session: int
    since: Moment | None  # when it last ran, or the baseline; None: never


def run_due(app: App, job: Job) -> Iterator[str]:
    """All that is due in this project's stores."""
    app.actor = "daemon"
    for scope, store in list(app.scopes()):
        if app.settings.switch(_when(job).switch) and _due_state(app, job, store) is not DueState.WAIT:
            try:
                for line in _run(app, job, scope):
                    app.log.line(job.name, said=line)
                    yield line
            except RecollectError as problem:  # the other store goes on; this one is tried again at the next look
                app.log.line("job-failed", job=job.name, scope=scope, problem=problem.message)


def run_by_hand(app: App, job: Job) -> list[str]:
    """Runs the job in every store, whatever the schedule says. Returns its lines."""
    scopes = [scope for scope, _ in app.scopes()]
    return [line for scope in scopes for line in _run(app, job, scope, by_hand=True)]


def _run(app: App, job: Job, scope: Scope, *, by_hand: bool = False) -> Iterator[str]:
    """A line for the log after each piece. A caller that stops asking for more leaves the rest to the next run."""
    store = app.writer(scope)
    lock = lockfile.acquire(f"{store.path}.{job.name}.lock")
    if lock is None:
        if by_hand:
            yield f"{job.name.capitalize()} of the {scope}'s memory is already running."
        return
    try:
        record, session = read_record(store, job), SESSIONS.read(store)
        done = JobRecord(last=session, at=max(0, app.clock.now().micros))
        turn = DueState.RUN if by_hand else _due_state(app, job, store)
        if turn is DueState.BASELINE:
            JOB_RECORDS.write(store, done, job.name)
            app.log.line(f"{job.name}-baseline", scope=scope, session=session)
        if turn is not DueState.RUN:
            return
        tried = replace(record, tries=record.tries + 1)
        JOB_RECORDS.write(store, done if tried.tries >= MAX_TRIES else tried, job.name)
        yield from job.function(app, Run(scope, session, record.ran_at))
        JOB_RECORDS.write(app.writer(scope), done, job.name)
    finally:
        lockfile.release(lock)


def read_record(store: Store, job: Job) -> JobRecord:
    return JOB_RECORDS.read(store, job.name)


def describe_schedule(app: App, job: Job, scope: Scope) -> str:
    """When it comes next, for a person."""
    when = _when(job)
    if not app.settings.switch(when.switch):
        return f"switched off ({when.switch})"
    store, schedule = app.reader(scope), _schedule(app, job)
    session = SESSIONS.read(store)
    following = schedule.next_point(session)
    if read_record(store, job).last is None:
        return f"session {session} of the {scope}; baseline at {following}, first run at {following + schedule.cycle}"
    return f"session {session} of the {scope}; next at {following}"


def _due_state(app: App, job: Job, store: Store) -> DueState:
    return _schedule(app, job).due_state(SESSIONS.read(store), read_record(store, job).last)


def _when(job: Job) -> EverySessions:
    if not isinstance(job.when, EverySessions):
        raise TypeError(job.name)
    return job.when


def _schedule(app: App, job: Job) -> Schedule:
    return Schedule(*app.settings.schedule(_when(job).schedule))
