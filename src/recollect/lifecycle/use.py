"""What it does to a memory that it was shown to someone."""

from __future__ import annotations

from dataclasses import replace

from recollect.base.moment import Moment
from recollect.lifecycle.strength import AgeRules, reinforced
from recollect.model.memory import Memory


def listed(memory: Memory, *, session: int) -> Memory:
    """Seen in a list that everyone gets: counted. That makes nothing stronger, or what stands at the top of the
    list would stand there for ever."""
    return replace(memory, frequency=memory.frequency + 1, last_session=max(session, memory.last_session))


def surfaced(memory: Memory, *, session: int, now: Moment, rules: AgeRules) -> Memory:
    """Shown because it was asked for: counted, and a little stronger."""
    return listed(reinforced(memory, now=now, rules=rules), session=session)
