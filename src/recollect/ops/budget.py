"""What language models may cost, and did: calls and tokens, by the day (UTC), in the user's store.

Before a call its room is taken, in one transaction that begins by writing, so that two processes never spend the same
room twice; after it the estimate is put right. A process that dies in between has paid the estimate.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field

from recollect.base.errors import RecollectError
from recollect.base.moment import Moment
from recollect.model.ask import Job
from recollect.model.codec import Json
from recollect.model.result import Scope
from recollect.ops.app import App

_NAME = "llm-spent"
_DAYS = 8
_TRIES = 5


@dataclass(frozen=True, slots=True)
class Spent:
    """On one day."""

    calls: int = 0
    tokens: int = 0
    jobs: dict[str, list[int]] = field(default_factory=dict)
    """Calls and tokens of each job."""

    def more(self, job: Job, calls: int, tokens: int) -> Spent:
        before = self.jobs.get(job, [0, 0])
        jobs = {**self.jobs, job.value: [before[0] + calls, max(0, before[1] + tokens)]}
        return Spent(self.calls + calls, max(0, self.tokens + tokens), jobs)


@dataclass(frozen=True, slots=True)
class Room:
    """Taken for one call."""

    day: str
    job: Job
    tokens: int


def take(app: App, job: Job, tokens: int) -> Room | None:
    """Room for one call of so many tokens; None where the day's budget has none left."""
    day = _day(app.clock.now())
    store = app.writing(Scope.USER)
    with store.together():
        days = _read(store.sessions.state(_NAME))
        spent = days.get(day, Spent())
        if spent.calls + 1 > _calls(app) or spent.tokens + tokens > _tokens(app):
            return None
        store.sessions.put_state(_NAME, _written({**days, day: spent.more(job, 1, tokens)}, day))
    return Room(day, job, tokens)


def settle(app: App, room: Room, tokens: int | None) -> None:
    """What it really took; where nobody said, or the store is busy for long, the estimate stands."""
    if tokens is None:
        return
    for left in reversed(range(_TRIES)):
        try:
            _put_right(app, room, tokens - room.tokens)
            return
        except RecollectError:
            if not left:
                app.log.line("llm-not-settled", job=room.job, tokens=tokens, booked=room.tokens)


def _put_right(app: App, room: Room, tokens: int) -> None:
    store = app.writing(Scope.USER)
    with store.together():
        days = _read(store.sessions.state(_NAME))
        spent = days.get(room.day, Spent()).more(room.job, 0, tokens)
        store.sessions.put_state(_NAME, _written({**days, room.day: spent}, room.day))


def told(app: App) -> dict[str, Json]:
    """For `status`: whether anyone may be asked, what was spent today, and what may be."""
    known = app.store_path(Scope.USER) is not None
    days = _read(app.reading(Scope.USER).sessions.state(_NAME)) if known else {}
    spent = days.get(_day(app.clock.now()), Spent())
    return {
        "on": app.settings.switch("MEMORY_LLM"),
        "by": app.settings.text("MEMORY_LLM_BY"),
        "calls": spent.calls,
        "calls_per_day": _calls(app),
        "tokens": spent.tokens,
        "tokens_per_day": _tokens(app),
        "jobs": {job: {"calls": calls, "tokens": tokens} for job, (calls, tokens) in sorted(spent.jobs.items())},
    }


def _calls(app: App) -> int:
    return app.settings.count("MEMORY_LLM_CALLS_PER_DAY")


def _tokens(app: App) -> int:
    return app.settings.count("MEMORY_LLM_TOKENS_PER_DAY")


def _day(now: Moment) -> str:
    return now.iso()[:10]


def _read(state: str | None) -> dict[str, Spent]:
    try:
        return {
            str(day): Spent(int(calls), int(tokens), {str(job): [int(n) for n in pair] for job, pair in jobs.items()})
            for day, (calls, tokens, jobs) in json.loads(state or "{}").items()
        }
    except (ValueError, TypeError, AttributeError):
        return {}


def _written(days: dict[str, Spent], today: str) -> str:
    """Some days are kept, so that a clock that is set back and forth buys nothing."""
    others = sorted(day for day in days if day != today)[-(_DAYS - 1) :]
    return json.dumps({day: [days[day].calls, days[day].tokens, days[day].jobs] for day in (*others, today)})
