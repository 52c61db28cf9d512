"""What it does to a memory that it was shown to someone, asked for, or followed."""

from __future__ import annotations

from dataclasses import replace

from recollect.base.moment import Moment
from recollect.lifecycle.strength import AgeRules, reinforced
from recollect.model.memory import Memory

OUTCOMES_KEPT = 50
"""A fifth of a rating each: together they weigh as much as ten."""


def shown(memory: Memory, *, session: int) -> Memory:
    """Put in front of an agent unasked: counted. That makes nothing stronger, or what is shown once would be shown for
    ever."""
    return replace(memory, frequency=memory.frequency + 1, last_session=max(session, memory.last_session))


def asked_for(memory: Memory, *, session: int, now: Moment, rules: AgeRules) -> Memory:
    """Shown because somebody asked: counted, and a little stronger."""
    return shown(reinforced(memory, now=now, rules=rules), session=session)


def followed(memory: Memory, *, well: bool) -> Memory:
    """It bore on the call or turn that followed, which went well or badly."""
    return replace(memory, outcomes=(memory.outcomes + ("+" if well else "-"))[-OUTCOMES_KEPT:])


def revived(memory: Memory) -> Memory:
    """As if nobody had ever judged it."""
    return replace(memory, ratings=(), outcomes="")
