"""`figures`: what happened day by day (local time), how quick hooks were, and what memory holds and costs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from datetime import date, timedelta
from typing import Annotated

from recollect.app.core import App, backups_of
from recollect.app.states import DAYS, HOOK_TIMES, SPENT, DayCounts
from recollect.base.local_time import day_start, local_day
from recollect.base.moment import Moment
from recollect.base.text import estimate_tokens
from recollect.model.report import Day, Figures, StoreSize
from recollect.model.result import Scope
from recollect.ops.memories import clamp
from recollect.ops.table import Arg

_MAX_DAYS = 30


def figures(
    app: App,
    *,
    days: Annotated[int, Arg(f"How many days back, 1 to {_MAX_DAYS}.", metavar="N")] = _MAX_DAYS,
) -> Figures:
    now, most = app.clock.now(), int(clamp("days", days, 1, _MAX_DAYS)[0])
    names = _last_days(now, most)
    kinds, sources, kept = Counter[str](), Counter[str](), Counter[str]()
    for _, store in app.scopes():
        own_kinds, own_sources, minutes = store.tally(day_start(names[0]))
        kinds.update(own_kinds)
        sources.update(own_sources)
        for minute, made in minutes.items():
            kept[local_day(Moment.of_stamp(minute))] += made
    store, spent = app.reader(app.scope), SPENT.read(app.reader(Scope.USER))
    counted, times = DAYS.read(store), HOOK_TIMES.read(store)
    return Figures(
        tuple(_day(name, counted.get(name, DayCounts()), kept[name]) for name in names), dict(kinds), dict(sources),
        {event: _percentiles(own) for event, own in sorted(times.items()) if own},
        {name: spent[name] for name in names if name in spent}, tuple(_size(app, scope) for scope, _ in app.scopes()),
    )  # fmt: skip


def _last_days(now: Moment, most: int) -> list[str]:
    """The names of the last days here, oldest first, whatever summer time does to their length."""
    today = date.fromisoformat(local_day(now))
    return [str(today - timedelta(days=back)) for back in reversed(range(most))]


def _day(name: str, counted: DayCounts, kept: int) -> Day:
    return Day(
        name, counted.prompts, counted.answered, counted.told, estimate_tokens(counted.chars), kept
    )


def _percentiles(times: Iterable[int]) -> dict[str, int]:
    """Of the latest times, in milliseconds."""
    own = sorted(times)
    return {"times": len(own), "p50": own[len(own) // 2], "p95": own[len(own) * 95 // 100]}


def _size(app: App, scope: Scope) -> StoreSize:
    path = app.store_path(scope)
    files = [path, *(path.with_name(path.name + end) for end in ("-wal", "-shm"))] if path else []
    backups = backups_of(path)
    made_at = Moment(backups[0].stat().st_mtime_ns // 1_000) if backups else None
    return StoreSize(scope, sum(file.stat().st_size for file in files if file.exists()), made_at)
