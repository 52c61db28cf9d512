"""Age: threads that nobody used fall asleep. The daemon writes that down by itself every hour; that a thread slept so
long that it counts as archived is never written (lifecycle/ageing.py).

First the ids of those that are due are looked up (the store leaves out what cannot be), then they are gone through a
few at a time; all of a run is one change in the journal. Whoever reads meanwhile sees the status that age gives
anyway, so nothing depends on how soon this is done.
"""

from __future__ import annotations

from collections import Counter, deque
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from recollect.base.moment import Moment
from recollect.base.text import counted
from recollect.lifecycle import ageing
from recollect.lifecycle.strength import AgeRules
from recollect.model.memory import Kind, Status
from recollect.model.query import REACHED
from recollect.model.report import Counts
from recollect.model.result import Scope, Told
from recollect.ops.app import App
from recollect.ops.here import scope_here

if TYPE_CHECKING:
    from recollect.store import Store

EVERY_S = 3_600.0
AT_ONCE = 30
"""Threads in one transaction: some 10 ms."""
MOST = 50_000
"""In one run; the rest waits for the next."""
# What was active so lately (in half-lives) can hardly have faded away: it is not even looked at.
_YOUNG = 1 / 3
_NAME = "aged"
_NO_LIMIT = 1 << 40


@dataclass(slots=True)
class Run:
    """One look at one store, on its way."""

    scope: Scope
    summary: str
    due: deque[str] = field(default_factory=deque)
    change: str = ""


def age(app: App) -> Told:
    """Now, whatever the hour."""
    runs = begun(app)
    said = " ".join(run.summary for run in runs) or "No thread is due."
    threads = sum(len(run.due) for run in runs)
    while runs and not app.dry_run:
        runs = [run for run in runs if some(app, run)]
    return Told(said, {"threads": threads, "dry_run": app.dry_run})


def is_due(app: App) -> bool:
    """An hour after the last run, or when the clock was set back since."""
    if app.store_path(scope_here(app)) is None:
        return False
    kept = app.reading(scope_here(app)).sessions.state(_NAME) or ""
    last = int(kept) if kept.isascii() and kept.isdigit() else 0
    return not last <= app.clock.now().micros < last + EVERY_S * 1_000_000


def begun(app: App) -> list[Run]:
    """What there is to do in each store; noted, so that the next run is an hour away."""
    runs = []
    for scope, store in app.scopes():
        due = _faded(store, Status.ACTIVE, app.clock.now(), app.age_rules, limit=MOST)
        if due:
            runs.append(Run(scope, f"By age: {counted(len(due), 'thread')} fell asleep.", deque(due)))
    if not app.dry_run and app.store_path(scope_here(app)) is not None:
        app.writing(scope_here(app)).sessions.put_state(_NAME, str(max(0, app.clock.now().micros)))
    return runs


def some(app: App, run: Run) -> bool:
    """The next few. True: there are more."""
    store = app.writing(run.scope)
    few = [run.due.popleft() for _ in range(min(AT_ONCE, len(run.due)))]
    with store.together():  # nobody uses one of them between the look and the write
        found = [memory for memory in map(store.exact, few) if memory is not None]
        plan = ageing.plan(found, now=app.clock.now(), rules=app.age_rules)
        if plan:
            act = app.act("age", run.summary, change=run.change)
            store.apply(plan, act)
            run.change = act.change
    if plan:
        app.log.line("age", change=run.change, scope=run.scope, memories=len(plan.changes), left=len(run.due))
    return bool(run.due)


def as_aged(app: App, store: Store) -> Counts:
    """Each thread counted where age has put it, whether or not that is written down yet."""
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
    """Threads stored with this status that by now have slept so long. By the store's own arithmetic, which may differ
    from ours in the last digit: whoever writes looks again."""
    at = now.plus(days=-days_asleep)
    young = now.plus(days=-rules.half_life_days * _YOUNG)
    half_life, below = rules.half_life_days, rules.suspend_below
    return store.faded(status, at=at, half_life_days=half_life, below=below, idle_since=min(at, young), limit=limit)
