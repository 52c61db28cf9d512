"""Changes of memories, and which threads could be merged or split. Nothing is lost: in a merge the first memory keeps
its id and takes over all that the other had; the other stays as a superseded row, and both ids lead to the first. A
split moves the messages about some topics to a new thread."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple, TypeVar

from recollect.base.moment import Moment
from recollect.base.structs import replace
from recollect.base.text import clip, first_line_title, one_line
from recollect.lifecycle.strength import OUTCOMES_KEPT, AgeRules, status_at, strength
from recollect.model import memory as kinds
from recollect.model.codec import Json
from recollect.model.memory import (
    Bridge,
    BridgeType,
    Lane,
    Memory,
    Message,
    Rule,
    RuleType,
    Status,
    Thread,
)
from recollect.model.plan import (
    Alias,
    Change,
    Create,
    Link,
    Move,
    Plan,
    Remove,
    Unalias,
    Unlink,
    Update,
    UpdateAll,
)
from recollect.model.query import Drop

T = TypeVar("T")
MERGE_ABOVE = 0.85  # similarity
MIN_DRIFTS = 4
_LAST_DRIFTS = 5
_MIN_DISTINCT = 3
_FULL_WEIGHT = 10.0
_HIGH_PRESSURE = 0.8
_SUMMARY_CHARS = 400
MAX_BOOST = 0.5
TAG = "review"
RULE_CHARS = 2_000
Topics = tuple[str, ...]


class Whole(NamedTuple):
    """A memory with everything that belongs to it."""

    memory: Memory
    messages: tuple[Message, ...] = ()
    bridges: tuple[Bridge, ...] = ()
    aliases: tuple[str, ...] = ()


def pin(
    content: str,
    *,
    id: str,
    message_id: str,
    title: str,
    topics: Topics,
    boost: float,
    lane: Lane,
    now: Moment,
) -> Plan:
    """The content word for word, as a thread of its own that weighs more than anything that was not pinned."""
    boost = max(0.0, min(MAX_BOOST, boost))
    thread = Thread(
        id=id, title=title or first_line_title(content), body=content, topics=topics, tags=(kinds.PINNED_TAG,),
        weight=1.0 + boost, boost=boost, pinned=True, origin=kinds.PIN_SOURCE, lane=lane, created_at=now,
        reinforced_at=now, last_active_at=now,
    )  # fmt: skip
    return Plan.of([Create(thread, (Message(message_id, id, now, kinds.PIN_SOURCE, content),))])


def revise(memory: Memory, *, title: str, body: str, topics: Topics, now: Moment) -> Plan:
    new = replace(memory, title=title, body=body, topics=topics)
    return (
        Plan.of([Update.between(memory, replace(new, last_active_at=now))])
        if new != memory
        else Plan()
    )


def archive(*memories: Memory) -> Plan:
    return Plan.of(Update.between(one, replace(one, status=Status.ARCHIVED)) for one in memories)


def restore(*memories: Memory, now: Moment, rules: AgeRules) -> Plan:
    """Back to active and as strong as new, so that age does not send them to sleep again at once."""
    asleep = [one for one in memories if status_at(one, now=now, rules=rules) is not Status.ACTIVE]
    awake = [
        replace(one, status=Status.ACTIVE, superseded_by=None, reinforced_at=now) for one in asleep
    ]
    full = [replace(one, weight=max(one.weight, 1.0 + one.boost)) for one in awake]
    return Plan.of(map(Update.between, asleep, full))


def revive(*memories: Memory) -> Plan:
    """Clears their marks, as if nobody had ever judged them."""
    return Plan.of(Update.between(one, replace(one, ratings=(), outcomes="")) for one in memories)


def delete(*wholes: Whole) -> Plan:
    links = dict.fromkeys(bridge for whole in wholes for bridge in whole.bridges)
    changes: list[Change] = [Unlink(bridge) for bridge in links]
    for memory, messages, _, aliases in wholes:
        changes += [*(Unalias(old, memory.id) for old in aliases), Remove(memory, messages)]
    return Plan.of(changes)


class Words(NamedTuple):
    body: str
    lane: Lane
    session: str


def propose_words(old: Memory, words: Words, *, id: str, now: Moment) -> list[Change]:
    """`id` is for the candidate, where one is made."""
    words = words._replace(lane=Lane.lowest(old.lane, words.lane))
    if isinstance(old, Thread):
        return [Update.between(old, replace(old, body=words.body, lane=words.lane))]
    if not isinstance(old, Rule) or len(words.body) > RULE_CHARS:
        return []
    if old.status is Status.CANDIDATE:
        body = one_line(words.body)
        return [
            Update.between(
                old, replace(old, body=body, title=first_line_title(body), lane=words.lane)
            )
        ]
    new = replace(new_candidate(words, old.rule_type, id=id, now=now), topics=old.topics)
    return [Create(new), Link(Bridge(new.id, old.id, BridgeType.REPLACES, 1.0, now, origin=TAG))]


def new_candidate(words: Words, rule_type: RuleType, *, id: str, now: Moment) -> Rule:
    body = one_line(words.body)
    return Rule(
        id=id, title=first_line_title(body), body=body, rule_type=rule_type, tags=(TAG,), origin=TAG, lane=words.lane,
        group=words.session, status=Status.CANDIDATE, created_at=now, reinforced_at=now, last_active_at=now,
    )  # fmt: skip


def rules_put_in_force(plan: Plan, memory_of: Callable[[str], Memory | None]) -> Iterator[str]:
    """The rules that hold by this plan and did not before, or in other words: a person decides that."""
    for change in plan.changes:
        match change:
            case Create(Rule(status=Status.ACTIVE) as rule):
                yield rule.id
            case Update(id, _, after):
                yield from _held_by({id}, after, memory_of)
            case UpdateAll(ids, _, after):
                yield from _held_by(ids, after, memory_of)
            case _:
                pass


def _held_by(
    ids: Iterable[str], after: Mapping[str, Json], memory_of: Callable[[str], Memory | None]
) -> Iterator[str]:
    if after.keys().isdisjoint(("status", "body")):
        return
    for id in ids:
        rule = memory_of(id)
        if isinstance(rule, Rule) and after.get("status", rule.status) == Status.ACTIVE:
            yield id


def merge(keep: Whole, lose: Whole, *, now: Moment, rules: AgeRules) -> Plan:
    return Plan.of(merge_all([(keep, lose)], now=now, rules=rules)[0])


def merge_all(
    pairs: Iterable[tuple[Whole, Whole]], *, now: Moment, rules: AgeRules
) -> tuple[list[Change], dict[str, Memory]]:
    """The first of each pair takes in the second, which may take in no other. Also returns the grown memories by id."""
    changes: list[Change] = []
    grown: dict[str, Memory] = {}
    target: dict[str, str] = {}
    bridges: dict[tuple[str, str, str], Bridge] = {}
    for keep, (lose, messages, lost_bridges, aliases) in pairs:
        id = keep.memory.id
        before = grown.get(id, keep.memory)
        grown[id] = _join(before, lose, now=now, rules=rules)
        target[lose.id] = id
        bridges |= {bridge.key: bridge for bridge in (*keep.bridges, *lost_bridges)}
        superseded = replace(lose, status=Status.SUPERSEDED, superseded_by=id)
        changes += [Update.between(before, grown[id]), Update.between(lose, superseded)]
        if messages:
            changes.append(Move(tuple(message.id for message in messages), lose.id, id))
        changes += [*(Alias(old, id, was=lose.id) for old in aliases), Alias(lose.id, id)]
    # What was taken in hands its bridges on, except those that would lead to itself or that stand already.
    moving = [one for one in bridges.values() if one.source in target or one.target in target]
    standing = set(bridges) - {one.key for one in moving}
    changes += [Unlink(one) for one in moving]
    for one in moving:
        moved = replace(
            one,
            source=target.get(one.source, one.source),
            target=target.get(one.target, one.target),
        )
        if moved.source != moved.target and moved.key not in standing:
            standing.add(moved.key)
            changes.append(Link(moved))
    return changes, grown


def _join(keep: Memory, lose: Memory, *, now: Moment, rules: AgeRules) -> Memory:
    stronger = max(keep, lose, key=lambda m: strength(m, now=now, rules=rules))
    boost = max(keep.boost, lose.boost)
    body = "\n\n".join(filter(str.strip, (keep.body, lose.body)))
    joined = replace(
        keep,
        body=keep.body if lose.body.strip() in keep.body else body,
        topics=_union(keep.topics, lose.topics), tags=_union(keep.tags, lose.tags),
        anchors=_union(keep.anchors, lose.anchors), lane=Lane.lowest(keep.lane, lose.lane),
        pinned=keep.pinned or lose.pinned, boost=boost, weight=min(stronger.weight, 1.0 + boost),
        reinforced_at=stronger.reinforced_at, created_at=min(keep.created_at, lose.created_at),
        last_active_at=max(keep.last_active_at, lose.last_active_at),
        seen=keep.seen + lose.seen, frequency=keep.frequency + lose.frequency,
        activations=keep.activations + lose.activations, last_session=max(keep.last_session, lose.last_session),
        ratings=tuple(sorted(keep.ratings + lose.ratings, key=lambda r: r.timestamp)),
        appreciation=max(keep.appreciation, lose.appreciation),
        outcomes=(lose.outcomes + keep.outcomes)[-OUTCOMES_KEPT:],
    )  # fmt: skip
    if isinstance(joined, Thread) and isinstance(lose, Thread):
        return replace(joined, drift=joined.drift + lose.drift)
    return joined


def _union(first: tuple[T, ...], second: tuple[T, ...]) -> tuple[T, ...]:
    return tuple(dict.fromkeys(first + second))


def split(
    thread: Thread,
    messages: tuple[Message, ...],
    topics: tuple[str, ...],
    *,
    new_id: str,
    now: Moment,
) -> Plan | Drop:
    if len(messages) < 2:
        return Drop(thread.id, "it has fewer than two messages")
    moving = _about(messages, topics) if topics else ()
    if not topics:
        # The newest turn first: a thread is best cut where it last changed its subject.
        later = [t for t in reversed(thread.drift) if t != thread.drift[0]]
        for topic in dict.fromkeys([*later, *reversed(thread.topics[1:])]):
            moving = _about(messages, (topic,))
            if 0 < len(moving) < len(messages):
                topics = (topic,)
                break
        else:
            return Drop(thread.id, "it never moved to another topic")
    if not moving:
        return Drop(thread.id, f"none of its messages speaks of {', '.join(topics)}")
    if len(moving) == len(messages):
        return Drop(thread.id, f"all of its messages speak of {', '.join(topics)}")
    child = replace(
        thread,
        id=new_id, title=clip(f"{', '.join(topics)} (from {thread.title})", 80), topics=topics, origin="split",
        body=clip(" ".join(one_line(m.content) for m in moving), _SUMMARY_CHARS),
        drift=(), ratings=(), outcomes="", appreciation=0.0, seen=1, frequency=0, activations=0,
        created_at=now, last_active_at=max(m.at for m in moving),
    )  # fmt: skip
    low = {topic.lower() for topic in topics}
    parent = replace(thread, topics=tuple(t for t in thread.topics if t.lower() not in low))
    move = Move(tuple(m.id for m in moving), thread.id, new_id)
    link = Link(Bridge(new_id, thread.id, BridgeType.CHILD_OF, 1.0, now, origin="split"))
    return Plan.of([Create(child), move, Update.between(thread, parent), link])


def _about(messages: tuple[Message, ...], topics: tuple[str, ...]) -> tuple[Message, ...]:
    words = re.compile(
        "|".join(rf"(?<!\w){re.escape(t)}" for t in topics if t.strip()) or r"(?!)", re.IGNORECASE
    )
    return tuple(m for m in messages if words.search(m.content))


def split_topics(thread: Thread) -> tuple[str, ...]:
    """The topics that a drifting thread could be split by, newest first; none where it keeps to its subject."""
    late = thread.drift[-_LAST_DRIFTS:]
    if len(thread.drift) < MIN_DRIFTS or len(set(late)) < _MIN_DISTINCT:
        return ()
    return tuple(dict.fromkeys(topic for topic in reversed(late) if topic != thread.drift[0]))


def merge_reason(one: Sequence[str], other: Sequence[str]) -> str:
    theirs = {topic.lower() for topic in other}
    shared = [topic for topic in one if topic.lower() in theirs]
    return f"Both about {', '.join(shared[:3])}" if shared else "They say nearly the same"


def health(strengths: Sequence[float], merges: int, splits: int) -> dict[str, Json]:
    pressure = min(1.0, sum(strengths) / _FULL_WEIGHT)
    advice = (
        "Some threads could be merged or split"
        if merges or splits
        else "Healthy state, no action needed"
    )
    if pressure >= _HIGH_PRESSURE:
        advice = "Consider ai_compact to reduce pressure"
    return {
        "active_threads": len(strengths),
        "context_pressure": round(pressure, 2),
        "recommendation": advice,
    }
