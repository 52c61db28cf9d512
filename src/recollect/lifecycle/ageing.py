"""What age does to threads: those that faded sleep, those that slept long count as archived.

Only the sleep is written down, so that a stored `archived` always means that somebody put the memory away on purpose.
The status is a function of the weight, the last reinforcement and the time (strength.py). So it does not matter how
often or in which order this runs: a second run changes nothing, a run that was missed is made up for by the next, and
a clock that was set back raises nothing.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from recollect.base.moment import Moment
from recollect.lifecycle.strength import AgeRules, status_at
from recollect.model.memory import Memory, Status
from recollect.model.plan import Plan, Update


def aged(memory: Memory, *, now: Moment, rules: AgeRules) -> Memory:
    """As it stands at this moment, whether or not anyone has written that down yet."""
    status = status_at(memory, now=now, rules=rules)
    return memory if status is memory.status else replace(memory, status=status)


def plan(memories: Iterable[Memory], *, now: Moment, rules: AgeRules) -> Plan:
    return Plan.of(
        Update.between(memory, replace(memory, status=Status.SUSPENDED))
        for memory in memories
        if memory.status is Status.ACTIVE and status_at(memory, now=now, rules=rules) is not Status.ACTIVE
    )
