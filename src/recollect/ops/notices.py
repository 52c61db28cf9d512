"""Lines for a person's eyes that found no event to be shown at: they wait here for the next prompt or the next
session's start."""

from __future__ import annotations

import json
from collections.abc import Sequence

from recollect.base.text import counted
from recollect.ops.app import App
from recollect.ops.here import scope_here

_NAME = "notices"
_MOST = 5


def leave(app: App, line: str) -> None:
    sessions = app.writing(scope_here(app)).sessions  # not `reading`: another may have been left in this transaction
    kept = [*_lines(sessions.state(_NAME)), line][-_MOST:]
    sessions.put_state(_NAME, json.dumps(kept))


def waiting(app: App) -> list[str]:
    return _lines(app.reading(scope_here(app)).sessions.state(_NAME))


def counted_lines(captured: int, promoted: int, extracted: int) -> list[str]:
    """What a session's end left, and nothing where it left nothing."""
    lines = [f"\U0001f4dd Recollect: captured {counted(captured, 'memory', 'memories')}"] if captured else []
    if promoted:
        lines.append(f"\u2b06\ufe0f Recollect: {counted(promoted, 'lesson')} promoted to active rules")
    if extracted:
        lines.append(f"\U0001f50d Recollect: extracted {counted(extracted, 'learning')}")
    return lines


def _lines(text: str | None) -> list[str]:
    try:
        kept = json.loads(text or "[]")
    except ValueError:
        return []
    return [line for line in kept if isinstance(line, str)] if isinstance(kept, list) else []


def clear(app: App, shown: Sequence[str]) -> None:
    """Those that were shown; others may have been left meanwhile."""
    sessions = app.writing(scope_here(app)).sessions
    kept = [line for line in _lines(sessions.state(_NAME)) if line not in shown]
    sessions.put_state(_NAME, json.dumps(kept))
