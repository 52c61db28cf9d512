"""One thread becomes two, and both stay whole.

The messages that speak of the given topics move to a new thread, which is bridged to the old one as
its child. Without topics, the thread's own drift says where it parted.
"""

from __future__ import annotations

import re
from dataclasses import replace

from recollect.base.moment import Moment
from recollect.base.text import clip, one_line
from recollect.model.bridge import Bridge, BridgeType
from recollect.model.memory import Message, Thread
from recollect.model.plan import Create, Link, Move, Plan, Update
from recollect.model.query import Drop

_SUMMARY_CHARS = 400


def split(
    thread: Thread, messages: tuple[Message, ...], topics: tuple[str, ...], *, new_id: str, now: Moment
) -> Plan | Drop:
    moving = _about(messages, topics) if topics else ()
    if not topics:
        for topic in _where_it_parted(thread):
            moving = _about(messages, (topic,))
            if 0 < len(moving) < len(messages):
                topics = (topic,)
                break
    if len(messages) < 2:
        return Drop(thread.id, "it has fewer than two messages")
    if not topics:
        return Drop(thread.id, "it never moved to another topic")
    if not moving:
        return Drop(thread.id, f"none of its messages speaks of {', '.join(topics)}")
    if len(moving) == len(messages):
        return Drop(thread.id, f"all of its messages speak of {', '.join(topics)}")
    return _plan(thread, moving, topics, new_id=new_id, now=now)


def _plan(thread: Thread, moving: tuple[Message, ...], topics: tuple[str, ...], *, new_id: str, now: Moment) -> Plan:
    low = {t.lower() for t in topics}
    child = replace(
        thread,
        id=new_id,
        title=clip(f"{', '.join(topics)} (from {thread.title})", 80),
        body=clip(" ".join(one_line(m.content) for m in moving), _SUMMARY_CHARS),
        topics=topics,
        drift=(),
        ratings=(),
        outcomes="",
        appreciation=0.0,
        seen=1,
        frequency=0,
        activations=0,
        created_at=now,
        last_active_at=max(m.at for m in moving),
        origin="split",
    )
    parent = replace(thread, topics=tuple(t for t in thread.topics if t.lower() not in low))
    return Plan.of(
        [
            Create(child),
            Move(tuple(m.id for m in moving), thread.id, new_id),
            Update.between(thread, parent),
            Link(Bridge(new_id, thread.id, BridgeType.CHILD_OF, 1.0, now, origin="split")),
        ]
    )


def _where_it_parted(thread: Thread) -> tuple[str, ...]:
    """The newest turn first: a thread is best cut where it last changed its subject."""
    later = [t for t in reversed(thread.drift) if t != thread.drift[0]]
    return tuple(dict.fromkeys([*later, *reversed(thread.topics[1:])]))


def _about(messages: tuple[Message, ...], topics: tuple[str, ...]) -> tuple[Message, ...]:
    words = re.compile("|".join(rf"(?<!\w){re.escape(t)}" for t in topics if t.strip()) or r"(?!)", re.IGNORECASE)
    return tuple(m for m in messages if words.search(m.content))
