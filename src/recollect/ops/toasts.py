"""Desktop notices of what memory does, where the user switched them on. Never fails, and nobody waits for one.

How a system is asked to show a line is desktop.py's matter, which is loaded with the first.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from recollect.ops import sessions
from recollect.ops.here import scope_here
from recollect.render.harmless import plain

if TYPE_CHECKING:
    from recollect.model.memory import Memory
    from recollect.model.session import Event
    from recollect.ops.app import App

SETTING = "MEMORY_TOASTS"
MAX_CHARS = 200


def toast(app: App, text: str) -> None:
    """Show a line, cleaned and cut to its length."""
    line = plain(text, MAX_CHARS) if app.settings.switch(SETTING) else ""
    if line:
        from recollect.ops import desktop  # a first answer does not wait for what it needs

        desktop.SCREEN.show(line, app.log)


def session(app: App, event: Event) -> None:
    """Which session of ours this is; one that nobody spoke in yet is the next to be counted."""
    if app.settings.switch(SETTING):
        number = sessions.here(app, event).number or sessions.number(app.reading(scope_here(app))) + 1
        toast(app, f"Session {number}")


def recalled(app: App, memories: Iterable[Memory]) -> None:
    for memory in memories:
        toast(app, f"Recalled: {memory.title}")
