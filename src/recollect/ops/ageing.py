"""Age: threads that nobody used fall asleep and are put away. The daemon does so by itself every hour.

First the ids of those that are due are looked up (the store leaves out what cannot be), then they are gone through a
few at a time; all of a run is one change in the journal. Whoever reads meanwhile sees the status that age gives
anyway (lifecycle/ageing.py), so nothing depends on how soon this is done.
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

Move = tuple[Status, Status]


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
        due = _due(store, app.clock.now(), app.age_rules)
        if due:
            runs.append(Run(scope, _summary(due), deque(id for ids in due.values() for id in ids)))
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
    for (source, target), ids in _due(store, app.clock.now(), app.age_rules).items():
        by[Kind.THREAD, source] -= len(ids)
        by[Kind.THREAD, target] += len(ids)
    listed = tuple((str(kind), str(status), count) for (kind, status), count in sorted(by.items()) if count)
    return replace(counts, by_kind_and_status=listed)


def _due(store: Store, now: Moment, rules: AgeRules) -> dict[Move, list[str]]:
    """By the store's own arithmetic, which may differ from ours in the last digit: whoever writes looks again."""
    young = now.plus(days=-rules.half_life_days * _YOUNG)
    long_ago = now.plus(days=-rules.archive_after_days)

    def faded(status: Status, at: Moment) -> list[str]:
        half_life, below = rules.half_life_days, rules.suspend_below
        return store.faded(status, at=at, half_life_days=half_life, below=below, idle_since=min(at, young), limit=MOST)

    away = faded(Status.ACTIVE, long_ago)
    gone = set(away)
    asleep = [id for id in faded(Status.ACTIVE, now) if id not in gone]
    found = {
        (Status.SUSPENDED, Status.ARCHIVED): faded(Status.SUSPENDED, long_ago),
        (Status.ACTIVE, Status.ARCHIVED): away,
        (Status.ACTIVE, Status.SUSPENDED): asleep,
    }
    return {move: ids for move, ids in found.items() if ids}


def _summary(due: dict[Move, list[str]]) -> str:
    asleep = sum(len(ids) for (_, target), ids in due.items() if target is Status.SUSPENDED)
    away = sum(len(ids) for (_, target), ids in due.items() if target is Status.ARCHIVED)
    parts = [f"{counted(asleep, 'thread')} fell asleep"] if asleep else []
    parts += [f"{counted(away, 'thread')} put away"] if away else []
    return f"By age: {', '.join(parts)}."
