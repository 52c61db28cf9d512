"""What age does to threads, as a plan: those that faded are put to sleep, those that slept long are put away.

The status is a function of the weight, the last reinforcement and the time (strength.py). So it does not matter how
often or in which order this runs: a second run changes nothing, a run that was missed is made up for by the next, and
a clock that was set back raises nothing.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from recollect.base.moment import Moment
from recollect.lifecycle.strength import AgeRules, status_at
from recollect.model.memory import Memory
from recollect.model.plan import Plan, Update


def aged(memory: Memory, *, now: Moment, rules: AgeRules) -> Memory:
    """As it stands at this moment, whether or not anyone has written that down yet."""
    status = status_at(memory, now=now, rules=rules)
    return memory if status is memory.status else replace(memory, status=status)


def plan(memories: Iterable[Memory], *, now: Moment, rules: AgeRules) -> Plan:
    return Plan.of(Update.between(memory, aged(memory, now=now, rules=rules)) for memory in memories)
