"""How many prompts were kept, put into the inbox or dropped, and why: counters, for `status`. No text of anyone's."""

from __future__ import annotations

import json
from collections.abc import Mapping

from recollect.ops.app import App
from recollect.ops.here import scope_here

_NAME = "captured"


def counts(app: App) -> dict[str, int]:
    return _read(app.reading(scope_here(app)).sessions.state(_NAME))


def _read(kept: str | None) -> dict[str, int]:
    try:
        read = json.loads(kept) if kept else {}
    except ValueError:
        return {}
    return {name: number for name, number in read.items() if isinstance(number, int)} if isinstance(read, dict) else {}


def count(app: App, what: str) -> None:
    count_all(app, {what: 1})


def count_all(app: App, more: Mapping[str, int]) -> None:
    if app.dry_run or not more:
        return
    sessions = app.writing(scope_here(app)).sessions
    now = _read(sessions.state(_NAME))  # of the writer: it sees what this transaction counted before
    for what, number in more.items():
        now[what] = now.get(what, 0) + number
    sessions.put_state(_NAME, json.dumps(now, sort_keys=True))
