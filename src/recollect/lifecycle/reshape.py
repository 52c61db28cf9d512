"""Two memories become one, one thread becomes two, and which of them might.

Merging and splitting lose nothing. The first memory of a merge keeps its id and takes over the other's words,
messages, topics, links and counts; the other stays as a superseded row, and both ids lead to the first. A split moves
the messages about some topics to a new thread, linked to the old one as its child; without topics, the thread's own
drift says where.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from recollect.base.moment import Moment
from recollect.base.text import clip, one_line
from recollect.lifecycle.strength import OUTCOMES_KEPT, AgeRules, strength
from recollect.model.codec import Json
from recollect.model.memory import Bridge, BridgeType, Lane, Memory, Message, Status, Thread
from recollect.model.plan import Alias, Change, Create, Link, Move, Plan, Unlink, Update
from recollect.model.query import Drop

T = TypeVar("T")


def merge(
    keep: Memory,
    lose: Memory,
    *,
    messages: tuple[Message, ...],
    bridges: tuple[Bridge, ...],
    aliases: tuple[str, ...],
    now: Moment,
    rules: AgeRules,
) -> Plan:
    """`messages` and `aliases` are the loser's; `bridges` those of both."""
    grown = joined(keep, lose, now=now, rules=rules)
    return merge_into(grown, keep, lose, messages=messages, bridges=bridges, aliases=aliases)


def merge_into(
    grown: Memory,
    keep: Memory,
    lose: Memory,
    *,
    messages: tuple[Message, ...],
    bridges: tuple[Bridge, ...],
    aliases: tuple[str, ...],
) -> Plan:
    """`grown`: the two of them, joined."""
    changes: list[Change] = [Update.between(keep, grown), _superseded(lose, keep.id)]
    if messages:
        changes.append(Move(tuple(m.id for m in messages), lose.id, keep.id))
    changes += _bridges_moved(keep.id, lose.id, bridges)
    changes += [Alias(old, keep.id, was=lose.id) for old in aliases]
    changes.append(Alias(lose.id, keep.id))
    return Plan.of(changes)


def joined(keep: Memory, lose: Memory, *, now: Moment, rules: AgeRules) -> Memory:
    """The first, with all that the other had."""
    stronger = max(keep, lose, key=lambda m: strength(m, now=now, rules=rules))
    boost = max(keep.boost, lose.boost)
    one = replace(
        keep,
        body=_bodies(keep.body, lose.body),
        topics=_union(keep.topics, lose.topics),
        tags=_union(keep.tags, lose.tags),
        weight=min(stronger.weight, 1.0 + boost),
        reinforced_at=stronger.reinforced_at,
        pinned=keep.pinned or lose.pinned,
        boost=boost,
        seen=keep.seen + lose.seen,
        frequency=keep.frequency + lose.frequency,
        activations=keep.activations + lose.activations,
        last_session=max(keep.last_session, lose.last_session),
        ratings=tuple(sorted(keep.ratings + lose.ratings, key=lambda r: r.timestamp)),
        appreciation=max(keep.appreciation, lose.appreciation),
        outcomes=(lose.outcomes + keep.outcomes)[-OUTCOMES_KEPT:],
        lane=Lane.lowest(keep.lane, lose.lane),
        anchors=_union(keep.anchors, lose.anchors),
        created_at=min(keep.created_at, lose.created_at),
        last_active_at=max(keep.last_active_at, lose.last_active_at),
    )
    if isinstance(one, Thread) and isinstance(lose, Thread) and lose.drift:
        return replace(one, drift=one.drift + lose.drift)
    return one


def _superseded(lose: Memory, by: str) -> Update:
    before: dict[str, Json] = {"status": str(lose.status), "superseded_by": lose.superseded_by}
    after: dict[str, Json] = {"status": str(Status.SUPERSEDED), "superseded_by": by}
    differing = [name for name in after if before[name] != after[name]]
    return Update(lose.id, {name: before[name] for name in differing}, {name: after[name] for name in differing})


def _bodies(kept: str, lost: str) -> str:
    if lost.strip() in kept:
        return kept
    return f"{kept}\n\n{lost}" if kept.strip() else lost


def _union(first: tuple[T, ...], second: tuple[T, ...]) -> tuple[T, ...]:
    return tuple(dict.fromkeys(first + second))


def _bridges_moved(keep: str, lose: str, bridges: tuple[Bridge, ...]) -> list[Change]:
    """The loser's bridges now start or end at the keeper. One that would join it to itself, or that it
    has already, is taken away (and comes back with undo)."""
    standing = {b.key for b in bridges if lose not in (b.source, b.target)}
    changes: list[Change] = []
    for bridge in bridges:
        if lose not in (bridge.source, bridge.target):
            continue
        changes.append(Unlink(bridge))
        moved = replace(
            bridge,
            source=keep if bridge.source == lose else bridge.source,
            target=keep if bridge.target == lose else bridge.target,
        )
        if moved.source != moved.target and moved.key not in standing:
            standing.add(moved.key)
            changes.append(Link(moved))
    return changes


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


MERGE_ABOVE = 0.85
DRIFTS_MORE_THAN = 3
_LAST_DRIFTS = 5
_DISTINCT = 3
_FULL_WEIGHT = 10.0
_HIGH_PRESSURE = 0.8

HEALTHY = "Healthy state, no action needed"


@dataclass(frozen=True, slots=True)
class Health:
    active_threads: int
    context_pressure: float
    recommendation: str


def parts(thread: Thread) -> tuple[str, ...]:
    """The topics that a drifting thread could be split by, newest first; nothing where it keeps to its subject."""
    late = thread.drift[-_LAST_DRIFTS:]
    if len(thread.drift) <= DRIFTS_MORE_THAN or len(set(late)) < _DISTINCT:
        return ()
    return tuple(dict.fromkeys(topic for topic in reversed(late) if topic != thread.drift[0]))


def drifted_from(thread: Thread) -> str:
    return f"Thread drifted from '{thread.drift[0]}' to '{thread.drift[-1]}'"


def alike(one: Sequence[str], other: Sequence[str]) -> str:
    """Why two threads might be one."""
    theirs = {topic.lower() for topic in other}
    shared = [topic for topic in one if topic.lower() in theirs]
    return f"Both about {', '.join(shared[:3])}" if shared else "They say nearly the same"


def health(strengths: Sequence[float], merges: int, splits: int) -> Health:
    pressure = min(1.0, sum(strengths) / _FULL_WEIGHT)
    if merges and pressure >= _HIGH_PRESSURE:
        advice = "Consider merging similar threads to reduce pressure"
    elif pressure >= _HIGH_PRESSURE:
        advice = "Consider ai_compact to reduce pressure"
    elif merges:
        advice = "Some threads say nearly the same and could be merged"
    elif splits:
        advice = "Some threads drifted and could be split"
    else:
        advice = HEALTHY
    return Health(len(strengths), round(pressure, 2), advice)
