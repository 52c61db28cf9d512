"""Lines for a person's eyes: what was kept, what an agent was told, what the last session left. `MEMORY_NOTICES=off`
silences them all.

A line stands in the answer to the event that it belongs to. One that found no such event waits here for the next prompt
or the next session's start.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

from recollect import agents
from recollect.agents import Ability
from recollect.ops.app import App
from recollect.ops.here import scope_here
from recollect.render.harmless import plain

SETTING = "MEMORY_NOTICES"
_NAME = "notices"
_MOST = 5
_MOST_NAMED = 3
_RULE_CHARS = 60
_TITLE_CHARS = 50


# Their words


def rules_line(rules: Sequence[str]) -> str:
    """That these came into force. Each was a change of its own, and is undone by itself."""
    if not rules:
        return ""
    named = _listed([f'"{plain(rule, _RULE_CHARS).rstrip(".")}"' for rule in rules])
    return f"Recollect: noted {named} \u00b7 undo{'' if len(rules) == 1 else ' the last'}: recollect undo"


def session_line(kept: Sequence[str], waiting: int) -> str:
    """What a session left: the titles of what it kept, and how much waits for a person's word."""
    parts = [f"kept last time: {_listed([plain(title, _TITLE_CHARS) for title in kept])}"] if kept else []
    if waiting:
        parts.append(f"{waiting} {'waits' if waiting == 1 else 'wait'} in the inbox: recollect inbox")
    return "Recollect: " + " \u00b7 ".join(parts) if parts else ""


def _listed(names: Sequence[str]) -> str:
    more = f" (+{len(names) - _MOST_NAMED})" if len(names) > _MOST_NAMED else ""
    return "; ".join(names[:_MOST_NAMED]) + more


# Those that wait


def are_shown(app: App, host: str) -> bool:
    """Whether a person sees what an answer to this host says to them."""
    return app.settings.switch(SETTING) and Ability.NOTICES in agents.agent(host).ABILITIES


def leave(app: App, line: str) -> None:
    if not line or not app.settings.switch(SETTING):
        return
    sessions = app.writing(scope_here(app)).sessions  # not `reading`: another may have been left in this transaction
    kept = [*_lines(sessions.state(_NAME)), line][-_MOST:]
    sessions.put_state(_NAME, json.dumps(kept))


def waiting(app: App) -> list[str]:
    return _lines(app.reading(scope_here(app)).sessions.state(_NAME))


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
