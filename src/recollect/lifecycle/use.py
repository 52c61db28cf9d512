"""What it does to a memory that it was shown to someone."""

from __future__ import annotations

from dataclasses import replace

from recollect.base.moment import Moment
from recollect.lifecycle.strength import AgeRules, reinforced
from recollect.model.memory import Memory

OUTCOMES_KEPT = 50
"""A fifth of a rating each: together they weigh as much as ten."""


def listed(memory: Memory, *, session: int) -> Memory:
    """Seen in a list that everyone gets: counted. That makes nothing stronger, or what stands at the top of the
    list would stand there for ever."""
    return replace(memory, frequency=memory.frequency + 1, last_session=max(session, memory.last_session))


def surfaced(memory: Memory, *, session: int, now: Moment, rules: AgeRules) -> Memory:
    """Shown because it was asked for: counted, and a little stronger."""
    return listed(reinforced(memory, now=now, rules=rules), session=session)


def followed(memory: Memory, *, well: bool) -> Memory:
    """It bore on the call or turn that followed, which went well or badly."""
    return replace(memory, outcomes=(memory.outcomes + ("+" if well else "-"))[-OUTCOMES_KEPT:])


def revived(memory: Memory) -> Memory:
    """As if nobody had ever judged it."""
    return replace(memory, ratings=(), outcomes="")
