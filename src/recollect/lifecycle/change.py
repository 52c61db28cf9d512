"""The small changes of one memory: pinned, revised, put away, brought back, deleted."""

from __future__ import annotations

from dataclasses import replace

from recollect.base.moment import Moment
from recollect.base.text import title_from
from recollect.lifecycle.strength import AgeRules, status_at
from recollect.model.bridge import Bridge
from recollect.model.memory import PIN_SOURCE, PINNED_TAG, Lane, Memory, Message, Status, Thread
from recollect.model.plan import Change, Create, Plan, Remove, Unalias, Unlink, Update

MAX_BOOST = 0.5


def pinned_thread(
    content: str, *, id: str, title: str, topics: tuple[str, ...], boost: float, lane: Lane, now: Moment
) -> Thread:
    """Content word for word, above the weight of anything that was not pinned."""
    clamped = max(0.0, min(MAX_BOOST, boost))
    return Thread(
        id=id,
        title=title or title_from(content),
        body=content,
        topics=topics,
        tags=(PINNED_TAG,),
        weight=1.0 + clamped,
        boost=clamped,
        pinned=True,
        origin=PIN_SOURCE,
        lane=lane,
        created_at=now,
        reinforced_at=now,
        last_active_at=now,
    )


def pin(thread: Thread, *, message_id: str) -> Plan:
    """A pin is its own thread, never grouped with others."""
    said = Message(message_id, thread.id, thread.created_at, PIN_SOURCE, thread.body)
    return Plan.of([Create(thread, (said,))])


def revise(memory: Memory, *, title: str, body: str, topics: tuple[str, ...], now: Moment) -> Plan:
    new = replace(memory, title=title, body=body, topics=topics)
    return Plan.of([Update.between(memory, replace(new, last_active_at=now))]) if new != memory else Plan.empty()


def archive(memory: Memory) -> Plan:
    return _to_status(memory, Status.ARCHIVED)


def restore(memory: Memory, *, now: Moment, rules: AgeRules) -> Plan:
    """Back to active and as strong as new, so that age does not send it to sleep again at once."""
    if status_at(memory, now=now, rules=rules) is Status.ACTIVE:
        return Plan.empty()
    weight = max(memory.weight, 1.0 + memory.boost)
    awake = replace(memory, status=Status.ACTIVE, superseded_by=None, weight=weight, reinforced_at=now)
    return Plan.of([Update.between(memory, awake)])


def delete(
    memory: Memory, messages: tuple[Message, ...], bridges: tuple[Bridge, ...], aliases: tuple[str, ...]
) -> Plan:
    changes: list[Change] = [Unlink(bridge) for bridge in bridges]
    changes += [Unalias(old, memory.id) for old in aliases]
    changes.append(Remove(memory, messages))
    return Plan.of(changes)


def _to_status(memory: Memory, status: Status) -> Plan:
    return Plan.of([Update.between(memory, replace(memory, status=status))])
