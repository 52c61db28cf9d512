"""Who is talking to us, and what they said. Hosts' own shapes are turned into these at the door."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from recollect.base.moment import Moment


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    id: str
    host: str
    started_at: Moment
    number: int = 0
    """Counts sessions that were used, not opened: 0 until the first message."""
    epoch: int = 0
    """Rises when the agent loses what it was shown (compaction, clear)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    name: str
    session_id: str
    host: str
    at: Moment
    cwd: str = ""
    agent_id: str = ""
    payload: Mapping[str, object]
