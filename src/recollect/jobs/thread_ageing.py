"""Threads that nobody used fall asleep: written down every hour. That a thread slept so long that it counts as archived
is never written (lifecycle/strength.py).

First the ids of those that are due are looked up (the store leaves out what cannot be due), then they are gone through
a few at a time; a run is one change in the journal. Readers see the status that age gives anyway, so nothing depends
on how soon this is done.
"""

from __future__ import annotations

from collections import Counter, deque
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from recollect.app.core import App
from recollect.app.states import AGED
from recollect.base.moment import Moment
from recollect.base.text import counted
from recollect.jobs.job_table import Memo
from recollect.lifecycle import strength
from recollect.lifecycle.strength import AgeRules
from recollect.model.memory import Kind, Status
from recollect.model.query import REACHED
from recollect.model.report import Counts
from recollect.model.result import Scope, Told

if TYPE_CHECKING:
    from recollect.store import Store

EVERY_S = 3_600.0
AT_ONCE = 30  # threads in one transaction: some 10 ms
MAX_THREADS = 50_000  # in one run; the rest waits for the next
# In half-lives: a thread active since then can hardly have faded, and is not even looked at.
_YOUNG = 1 / 3
_NO_LIMIT = 1 << 40


@dataclass(slots=True)
class _Run:
    """One run over one store."""

    scope: Scope
    summary: str
    due: deque[str]
    change: str = ""


@dataclass(slots=True)
class _State:
    runs: list[_Run] = field(default_factory=list)


def age(app: App) -> Told:
    """Now, whatever the hour."""
    runs = _begin(app)
    said = " ".join(run.summary for run in runs) or "No thread is due."
    threads = sum(len(run.due) for run in runs)
    while runs and not app.dry_run:
        runs = [run for run in runs if _suspend_some(app, run)]
    return Told(said, {"threads": threads, "dry_run": app.dry_run})


def work(app: App, memo: Memo) -> bool:
    app.actor = "daemon"
    state = memo.get(_State)
    if not state.runs and _is_due(app):
        state.runs = _begin(app)
    state.runs = [run for run in state.runs if _suspend_some(app, run)]
    return bool(state.runs)


def _is_due(app: App) -> bool:
    """An hour after the last run, or when the clock was set back since. The store knows when that was, so a daemon that
    lives for minutes ages threads too, and one that lives for days does it no oftener."""
    if app.store_path(app.scope) is None:
        return False
    last = AGED.read(app.reader(app.scope))
    return not last <= app.clock.now().micros < last + EVERY_S * 1_000_000


def _begin(app: App) -> list[_Run]:
    """What there is to do in each store. Recorded, so that the next run is an hour away."""
    runs = []
    for scope, store in app.scopes():
        due = _faded(store, Status.ACTIVE, app.clock.now(), app.age_rules, limit=MAX_THREADS)
        if due:
            runs.append(_Run(scope, f"By age: {counted(len(due), 'thread')} fell asleep.", deque(due)))
    if not app.dry_run and app.store_path(app.scope) is not None:
        AGED.write(app.writer(app.scope), max(0, app.clock.now().micros))
    return runs


def _suspend_some(app: App, run: _Run) -> bool:
    """The next few. True: there are more."""
    store = app.writer(run.scope)
    few = [run.due.popleft() for _ in range(min(AT_ONCE, len(run.due)))]
    with store.transaction():  # nobody uses one of them between the look and the write
        found = [memory for memory in map(store.exact, few) if memory is not None]
        plan = strength.plan_sleep(found, now=app.clock.now(), rules=app.age_rules)
        if plan:
            header = app.change_header("age", run.summary, change=run.change)
            store.apply(plan, header)
            run.change = header.change
    if plan:
        app.log.line("age", change=run.change, scope=run.scope, memories=len(plan.changes), left=len(run.due))
    return bool(run.due)


def as_aged(app: App, store: Store) -> Counts:
    """Counts with each thread where age has put it, whether or not that is written yet."""
    counts = store.counts()
    by: Counter[tuple[str, str]] = Counter()
    for kind, status, count in counts.by_kind_and_status:
        by[kind, status] += count
    now, rules = app.clock.now(), app.age_rules
    asleep = len(_faded(store, Status.ACTIVE, now, rules))
    long_ago = {one: len(_faded(store, one, now, rules, days_asleep=rules.archive_after_days)) for one in REACHED}
    by[Kind.THREAD, Status.ACTIVE] -= asleep
    by[Kind.THREAD, Status.SUSPENDED] += asleep - sum(long_ago.values())
    by[Kind.THREAD, Status.ARCHIVED] += sum(long_ago.values())
    listed = tuple((str(kind), str(status), count) for (kind, status), count in sorted(by.items()) if count)
    return replace(counts, by_kind_and_status=listed)


def _faded(
    store: Store, status: Status, now: Moment, rules: AgeRules, *, days_asleep: float = 0.0, limit: int = _NO_LIMIT
) -> list[str]:
    """Threads stored with this status that have slept this long by now. The store's arithmetic may differ from ours in
    the last digit: before anything is written it is checked again."""
    at = now.plus(days=-days_asleep)
    young = now.plus(days=-rules.half_life_days * _YOUNG)
    half_life, below = rules.half_life_days, rules.suspend_below
    return store.faded(status, at=at, half_life_days=half_life, below=below, idle_since=min(at, young), limit=limit)
