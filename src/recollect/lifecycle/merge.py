"""Two memories become one, and nothing is lost.

The first keeps its id and takes over the other's words, messages, topics, bridges and counts. The other
stays as a superseded row and from then on answers under both ids.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TypeVar

from recollect.base.moment import Moment
from recollect.lifecycle.strength import AgeRules, strength
from recollect.lifecycle.use import OUTCOMES_KEPT
from recollect.model.bridge import Bridge
from recollect.model.codec import Json
from recollect.model.memory import Lane, Memory, Message, Status, Thread
from recollect.model.plan import Alias, Change, Link, Move, Plan, Unlink, Update

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
        ratings=tuple(sorted(keep.ratings + lose.ratings, key=lambda r: r.at)),
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
