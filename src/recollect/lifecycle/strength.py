"""How strong a memory is now, what age makes of it, and what being used does to it.

Strength and the status that age gives are computed when read, never multiplied on a timer, so a clock that was set back
raises nothing. Only threads fade with time, and pinned ones do not."""

from __future__ import annotations

import math
from typing import TypeVar

from recollect.base.moment import Moment
from recollect.base.structs import Struct, replace
from recollect.model.memory import Kind, Memory, Sketch, Status

M = TypeVar("M", bound=Memory)
OUTCOMES_KEPT = 50  # a fifth of a rating each: together they weigh as much as ten


class AgeRules(Struct):
    """The four figures of ageing; the settings MEMORY_HALF_LIFE_DAYS and its neighbours."""

    half_life_days: float = 3.0
    suspend_below: float = 0.1
    archive_after_days: float = 30.0
    reinforcement: float = 0.1


def fades(memory: Memory | Sketch) -> bool:
    return memory.kind is Kind.THREAD and not memory.pinned


def strength(memory: Memory | Sketch, *, now: Moment, rules: AgeRules) -> float:
    if not fades(memory):
        return memory.weight
    return decayed_weight(memory.weight, now.days_since(memory.reinforced_at), rules)


def decayed_weight(weight: float, age_days: float, rules: AgeRules) -> float:
    return float(weight * 0.5 ** (age_days / rules.half_life_days))


def strengthen(memory: M, *, now: Moment, rules: AgeRules) -> M:
    """After it proved useful: a little stronger than it is now, never above 1 plus its pin's boost."""
    raised = min(1.0 + memory.boost, strength(memory, now=now, rules=rules) + rules.reinforcement)
    return replace(memory, weight=raised, reinforced_at=now)


def reinforce(memory: M, *, now: Moment, rules: AgeRules) -> M:
    """Stronger, and active now: a recall woke it, or its work went on."""
    return replace(strengthen(memory, now=now, rules=rules), last_active_at=now)


def status_at(memory: Memory | Sketch, *, now: Moment, rules: AgeRules) -> Status:
    """The status that age alone would give: active, then suspended, then archived. What a person or a plan decided
    (archived, superseded, candidate) stays."""
    if memory.status not in (Status.ACTIVE, Status.SUSPENDED) or not fades(memory):
        return memory.status
    return status_by_age(memory, now.days_since(memory.reinforced_at), rules)


def status_by_age(memory: Memory | Sketch, age_days: float, rules: AgeRules) -> Status:
    """Of an active or suspended thread that fades."""
    if decayed_weight(memory.weight, age_days, rules) >= rules.suspend_below:
        return memory.status
    days_asleep = age_days
    if memory.weight >= rules.suspend_below:
        # At least one half-life after a use that left it awake: what a recall woke from next to nothing stays awake.
        days_asleep -= rules.half_life_days * max(
            1.0, math.log2(memory.weight / rules.suspend_below)
        )
    if days_asleep < 0:
        return memory.status
    return Status.ARCHIVED if days_asleep >= rules.archive_after_days else Status.SUSPENDED


def apply_age(memory: Memory, *, now: Moment, rules: AgeRules) -> Memory:
    status = status_at(memory, now=now, rules=rules)
    return memory if status is memory.status else replace(memory, status=status)


def count_use(memory: M, *, session: int) -> M:
    """Counted, and no stronger: what is shown unasked would otherwise be shown for ever."""
    return replace(
        memory, frequency=memory.frequency + 1, last_session=max(session, memory.last_session)
    )


def add_outcome(memory: Memory, *, well: bool, now: Moment, rules: AgeRules) -> Memory:
    """It bore on the call or turn that followed, which went well or badly. A thread that helped grows stronger."""
    marked = replace(memory, outcomes=(memory.outcomes + ("+" if well else "-"))[-OUTCOMES_KEPT:])
    if not well or not fades(memory) or now <= memory.reinforced_at:
        return marked
    return strengthen(marked, now=now, rules=rules)
