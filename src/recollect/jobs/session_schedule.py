"""Jobs that run every so many sessions: when one is due, and who may run it now.

Each store counts its sessions, so each store has its own turn. One state per job says when it last ran and who is
running it. The one who runs it renews the lease at every step; one that was killed is silent, and after a while the job
is free again. It is tried three times per turn, so that a job that always fails does not run for ever. Nothing here
waits for anything.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from recollect.app import session_ledger
from recollect.app.core import App
from recollect.app.states import JOB_RECORDS, JobRecord
from recollect.base.errors import RecollectError
from recollect.base.ids import fresh_key
from recollect.base.moment import Moment
from recollect.jobs.job_table import EverySessions, Job, Memo
from recollect.lifecycle.timing import Schedule, Turn
from recollect.model.result import Scope

if TYPE_CHECKING:
    from recollect.store import Store

LOOK_S = 600.0  # how often a project is asked whether anything is due
LEASE_S = 900.0  # longer than any step takes: a call of a model ends after 300 s
MAX_TRIES = 3


@dataclass(slots=True)
class Lease:
    """The right to run a job in one store, until it is finished or released."""

    app: App
    job: Job
    scope: Scope
    session: int
    key: str
    since: Moment | None  # when it last ran, or the baseline; None: never
    trial: str = ""  # a change that an earlier run tried out and did not come to keep

    def renew(self) -> bool:
        """False: we were silent for too long, and another has it."""
        return self._put(lambda record: replace(record, renewed_at=_now(self.app)))

    def record_trial(self, change: str) -> bool:
        """Remember a change that is only tried out; empty: it is kept."""
        return self._put(lambda record: replace(record, trial=change))

    def finish(self) -> None:
        """Done: not again before it is next due."""
        self._put(lambda record: JobRecord(last=self.session, at=_now(self.app), trial=record.trial))

    def release(self) -> None:
        """Not done."""
        self._put(lambda record: replace(record, key="", renewed_at=0))

    def _put(self, change: Callable[[JobRecord], JobRecord]) -> bool:
        store = self.app.writer(self.scope)
        with store.transaction():
            record = read_record(store, self.job)
            if record.key != self.key:
                return False
            _write(store, self.job, change(record))
        return True


class _Going:
    steps: Iterator[str] | None = None


def run_due(job: Job, app: App, memo: Memo) -> bool:
    """One piece of what is due in this project's stores. True: there is more."""
    going = memo.get(_Going)
    going.steps = going.steps or _all_due(app, job)
    for line in going.steps:
        if line:
            app.log.line(job.name, said=line)
        return True
    going.steps = None
    return False


def _all_due(app: App, job: Job) -> Iterator[str]:
    app.actor = "daemon"
    for scope in due_scopes(app, job):
        lease = acquire(app, job, scope)
        if lease is None:
            continue
        try:
            yield from run(lease)
        except RecollectError as problem:  # the other store goes on; this one is tried again at the next look
            app.log.line("job-failed", job=job.name, scope=scope, problem=problem.message)


def due_scopes(app: App, job: Job) -> list[Scope]:
    """The stores in which the job should run now. Writes nothing but baselines."""
    found = []
    if app.settings.switch(_when(job).switch):
        for scope, store in app.scopes():
            record = read_record(store, job)
            turn = _schedule(app, job).turn(session_ledger.count_sessions(store), record.last)
            if turn is Turn.BASELINE:
                _set_baseline(app, job, scope)
            elif turn is Turn.RUN and not _is_held(app, record):
                found.append(scope)
    return found


def acquire(app: App, job: Job, scope: Scope, *, by_hand: bool = False) -> Lease | None:
    """None: it is not due (any more), or another is running it. By hand it is always due."""
    store = app.writer(scope)
    with store.transaction():
        record, session = read_record(store, job), session_ledger.count_sessions(store)
        is_due = by_hand or _schedule(app, job).turn(session, record.last) is Turn.RUN
        if not is_due or _is_held(app, record):
            return None
        key = fresh_key()
        _write(store, job, replace(record, key=key, renewed_at=_now(app), tries=record.tries + 1))
    return Lease(app, job, scope, session, key, _last_run(record), record.trial)


def run(lease: Lease) -> Iterator[str]:
    """One piece at a time, with a line for the log after each. A caller that stops asking for more leaves the rest to
    the next run."""
    is_done = False
    try:
        yield from lease.job.function(lease.app, lease)
        is_done = True
    finally:
        if is_done or read_record(lease.app.reader(lease.scope), lease.job).tries >= MAX_TRIES:
            lease.finish()
        else:
            lease.release()


def read_record(store: Store, job: Job) -> JobRecord:
    return JOB_RECORDS.read(store, job.name)


def last_run(store: Store, job: Job) -> Moment | None:
    """When it last ran, or the baseline; None: never."""
    return _last_run(read_record(store, job))


def describe_schedule(app: App, job: Job, scope: Scope) -> str:
    """When it comes next, for a person."""
    when = _when(job)
    if not app.settings.switch(when.switch):
        return f"switched off ({when.switch})"
    store = app.reader(scope)
    session = session_ledger.count_sessions(store)
    schedule = _schedule(app, job)
    following = schedule.next_point(session)
    if read_record(store, job).last is None:
        return f"session {session} of the {scope}; baseline at {following}, first run at {following + schedule.cycle}"
    return f"session {session} of the {scope}; next at {following}"


def _when(job: Job) -> EverySessions:
    if not isinstance(job.when, EverySessions):
        raise TypeError(job.name)
    return job.when


def _schedule(app: App, job: Job) -> Schedule:
    return Schedule(*app.settings.schedule(_when(job).schedule))


def _last_run(record: JobRecord) -> Moment | None:
    return Moment(record.at) if record.last is not None else None


def _is_held(app: App, record: JobRecord) -> bool:
    """A moment in the future counts like one in the past: the clock may have been set back since."""
    return bool(record.key) and abs(_now(app) - record.renewed_at) < LEASE_S * 1_000_000


def _set_baseline(app: App, job: Job, scope: Scope) -> None:
    if app.dry_run:
        return
    store = app.writer(scope)
    with store.transaction():
        record, session = read_record(store, job), session_ledger.count_sessions(store)
        if _schedule(app, job).turn(session, record.last) is Turn.BASELINE and not _is_held(app, record):
            _write(store, job, JobRecord(last=session, at=_now(app), trial=record.trial))
    app.log.line(f"{job.name}-baseline", scope=scope, session=session)


def _write(store: Store, job: Job, record: JobRecord) -> None:
    JOB_RECORDS.write(store, record, job.name)


def _now(app: App) -> int:
    return max(0, app.clock.now().micros)
