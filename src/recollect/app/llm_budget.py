"""What language models may cost and did: calls and tokens per day (UTC), in the user's store.

An estimate is booked before a call, in one transaction that begins by writing, so that two processes never spend the
same money twice; after the call it is corrected. A process that dies in between has paid the estimate.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from recollect.app.core import App
from recollect.app.states import SPENT
from recollect.base.errors import RecollectError
from recollect.model.codec import Json
from recollect.model.result import Scope

if TYPE_CHECKING:
    from recollect.store import Store

_DAYS_KEPT = 8  # so that a clock that is set back and forth buys nothing
_TRIES = 5

Days = dict[str, dict[str, tuple[int, int]]]  # by day and by use: calls and tokens


class Booking(NamedTuple):
    day: str
    use: str
    tokens: int


def book(app: App, use: str, tokens: int) -> Booking | None:
    """One call of this many tokens; None where the day's budget has no room for it."""
    day = _today(app)
    store = app.writer(Scope.USER)
    with store.transaction():
        days = SPENT.read(store)
        calls, spent = _totals(days.get(day, {}))
        if calls + 1 > app.settings.count("MEMORY_LLM_CALLS_PER_DAY"):
            return None
        if spent + tokens > app.settings.count("MEMORY_LLM_TOKENS_PER_DAY"):
            return None
        _write(store, days, day, use, calls=1, tokens=tokens)
    return Booking(day, use, tokens)


def settle(app: App, booking: Booking, tokens: int | None) -> None:
    """Correct the booking. The estimate stands if nobody said what the call took, or the store stays busy."""
    if tokens is None:
        return
    for tries_left in reversed(range(_TRIES)):
        try:
            store = app.writer(Scope.USER)
            with store.transaction():
                days = SPENT.read(store)
                more = tokens - booking.tokens
                _write(store, days, booking.day, booking.use, calls=0, tokens=more)
            return
        except RecollectError:
            if not tries_left:
                app.log.line("llm-not-settled", use=booking.use, tokens=tokens, booked=booking.tokens)


def summary(app: App) -> dict[str, Json]:
    """For `status`: whether models may be asked, what was spent today, and the limits."""
    known = app.store_path(Scope.USER) is not None
    days = SPENT.read(app.reader(Scope.USER)) if known else {}
    today = days.get(_today(app), {})
    calls, tokens = _totals(today)
    return {
        "on": app.settings.switch("MEMORY_LLM"),
        "by": app.settings.text("MEMORY_LLM_BY"),
        "calls": calls,
        "calls_per_day": app.settings.count("MEMORY_LLM_CALLS_PER_DAY"),
        "tokens": tokens,
        "tokens_per_day": app.settings.count("MEMORY_LLM_TOKENS_PER_DAY"),
        "jobs": {use: {"calls": pair[0], "tokens": pair[1]} for use, pair in sorted(today.items())},
    }


def _today(app: App) -> str:
    return app.clock.now().iso()[:10]


def _totals(uses: dict[str, tuple[int, int]]) -> tuple[int, int]:
    return sum(pair[0] for pair in uses.values()), sum(pair[1] for pair in uses.values())


def _write(store: Store, days: Days, day: str, use: str, *, calls: int, tokens: int) -> None:
    before = days.get(day, {})
    called, spent = before.get(use, (0, 0))
    after = {**before, use: (called + calls, max(0, spent + tokens))}
    others = sorted(other for other in days if other != day)[-(_DAYS_KEPT - 1) :]
    SPENT.write(store, {**{other: days[other] for other in others}, day: after})
