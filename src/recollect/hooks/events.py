"""EVENTS: what is done about each event, by when, and whether anything is said. What stands here not is ignored."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from recollect.hooks import handlers
from recollect.hooks.visit import Said, Visit
from recollect.model.session import EventName


class Row(NamedTuple):
    handler: Callable[[Visit], Said]
    deadline_ms: int
    """Of the whole hook; it keeps it by itself (wire)."""
    injects: bool


EVENTS: dict[EventName, Row] = {
    EventName.SESSION_STARTED: Row(handlers.started, 500, injects=True),
    EventName.PROMPT: Row(handlers.prompted, 300, injects=True),
    EventName.TOOL_CALLED: Row(handlers.called, 300, injects=True),
    EventName.SUBAGENT_STARTED: Row(handlers.subagent_started, 300, injects=True),
    EventName.TOOLS_RAN: Row(handlers.received, 150, injects=False),
    EventName.TOOL_FAILED: Row(handlers.received, 150, injects=False),
    EventName.TURN_ENDED: Row(handlers.received, 150, injects=False),
    EventName.SUBAGENT_ENDED: Row(handlers.received, 150, injects=False),
    EventName.COMPACTING: Row(handlers.received, 150, injects=False),
    EventName.PERMISSION_DENIED: Row(handlers.received, 150, injects=False),
    EventName.SESSION_ENDED: Row(handlers.ended, 1_000, injects=False),
}
