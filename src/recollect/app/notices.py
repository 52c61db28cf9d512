"""Lines for a person: what was kept, what an agent was told, what the last session left. `MEMORY_NOTICES=off` silences
them all.

A line stands in the answer to the event it belongs to. Where no event shows one, it waits here for the next prompt or
the next session's start.
"""

from __future__ import annotations

from collections.abc import Sequence

from recollect import agents
from recollect.agents import Ability
from recollect.app.core import App
from recollect.app.states import NOTICES
from recollect.render.harmless import plain

SETTING = "MEMORY_NOTICES"
_MAX_NAMED = 3
_RULE_CHARS = 60
_TITLE_CHARS = 50


def rules_line(rules: Sequence[str]) -> str:
    """These rules came into force. Each is a change of its own and is undone by itself."""
    if not rules:
        return ""
    named = _join_names([f'"{plain(rule, _RULE_CHARS).rstrip(".")}"' for rule in rules])
    return f"Recollect: noted {named} \u00b7 undo{'' if len(rules) == 1 else ' the last'}: recollect undo"


def session_line(kept: Sequence[str], waiting: int) -> str:
    """What a session left: the titles of what it kept, and how much waits in the inbox."""
    parts = [f"kept last time: {_join_names([plain(title, _TITLE_CHARS) for title in kept])}"] if kept else []
    if waiting:
        parts.append(f"{waiting} {'waits' if waiting == 1 else 'wait'} in the inbox: recollect inbox")
    return "Recollect: " + " \u00b7 ".join(parts) if parts else ""


def _join_names(names: Sequence[str]) -> str:
    more = f" (+{len(names) - _MAX_NAMED})" if len(names) > _MAX_NAMED else ""
    return "; ".join(names[:_MAX_NAMED]) + more


def are_shown(app: App, host: str) -> bool:
    """Whether this host shows a person the notices in our answers."""
    return app.settings.switch(SETTING) and Ability.NOTICES in agents.agent(host).ABILITIES


def add(app: App, line: str) -> None:
    """A line for the next prompt or the next session's start."""
    if not line or not app.settings.switch(SETTING):
        return
    store = app.writer(app.scope)  # not the reader: this transaction may have added another
    NOTICES.write(store, [*NOTICES.read(store), line])


def waiting(app: App) -> list[str]:
    return NOTICES.read(app.reader(app.scope))


def clear(app: App, shown: Sequence[str]) -> None:
    """Remove those that were shown; others may have been added meanwhile."""
    store = app.writer(app.scope)
    NOTICES.write(store, [line for line in NOTICES.read(store) if line not in shown])
