"""How many prompts and turns were kept, put into the inbox or dropped, by reason: counters for `status`."""

from __future__ import annotations

from recollect.app.core import App
from recollect.app.states import CAPTURED


def counts(app: App) -> dict[str, int]:
    return CAPTURED.read(app.reader(app.scope))


def count(app: App, reason: str) -> None:
    if app.dry_run:
        return
    store = app.writer(app.scope)
    now = CAPTURED.read(store)
    CAPTURED.write(store, now | {reason: now.get(reason, 0) + 1})
