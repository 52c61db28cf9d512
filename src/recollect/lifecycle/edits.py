"""Small changes of one memory: pin, revise, archive, restore, delete, and what a language model proposed."""

from __future__ import annotations

from dataclasses import dataclass, replace

from recollect.base.moment import Moment
from recollect.base.text import one_line, title_from
from recollect.lifecycle.reshape import Whole
from recollect.lifecycle.strength import AgeRules, status_at
from recollect.model import memory as kinds
from recollect.model.memory import Bridge, BridgeType, Lane, Memory, Message, Rule, RuleType, Status, Thread
from recollect.model.plan import Change, Create, Link, Plan, Remove, Unalias, Unlink, Update

MAX_BOOST = 0.5
TAG = "review"
RULE_CHARS = 2_000


Topics = tuple[str, ...]


def pin(
    content: str, *, id: str, message_id: str, title: str, topics: Topics, boost: float, lane: Lane, now: Moment
) -> Plan:
    """The content word for word, as a thread of its own that weighs more than anything that was not pinned."""
    boost = max(0.0, min(MAX_BOOST, boost))
    thread = Thread(
        id=id, title=title or title_from(content), body=content, topics=topics, tags=(kinds.PINNED_TAG,),
        weight=1.0 + boost, boost=boost, pinned=True, origin=kinds.PIN_SOURCE, lane=lane, created_at=now,
        reinforced_at=now, last_active_at=now,
    )  # fmt: skip
    return Plan.of([Create(thread, (Message(message_id, id, now, kinds.PIN_SOURCE, content),))])


def revise(memory: Memory, *, title: str, body: str, topics: Topics, now: Moment) -> Plan:
    new = replace(memory, title=title, body=body, topics=topics)
    return Plan.of([Update.between(memory, replace(new, last_active_at=now))]) if new != memory else Plan.empty()


def archive(memory: Memory) -> Plan:
    return Plan.of([Update.between(memory, replace(memory, status=Status.ARCHIVED))])


def restore(memory: Memory, *, now: Moment, rules: AgeRules) -> Plan:
    """Back to active and as strong as new, so that age does not send it to sleep again at once."""
    if status_at(memory, now=now, rules=rules) is Status.ACTIVE:
        return Plan.empty()
    weight = max(memory.weight, 1.0 + memory.boost)
    awake = replace(memory, status=Status.ACTIVE, superseded_by=None, weight=weight, reinforced_at=now)
    return Plan.of([Update.between(memory, awake)])


def revive(memory: Memory) -> Plan:
    """As if nobody had ever judged it."""
    return Plan.of([Update.between(memory, replace(memory, ratings=(), outcomes=""))])


def delete(*wholes: Whole) -> Plan:
    links = dict.fromkeys(bridge for whole in wholes for bridge in whole.bridges)
    changes: list[Change] = [Unlink(bridge) for bridge in links]
    for memory, messages, _, aliases in wholes:
        changes += [*(Unalias(old, memory.id) for old in aliases), Remove(memory, messages)]
    return Plan.of(changes)


@dataclass(frozen=True, slots=True)
class Words:
    body: str
    lane: Lane
    session: str


def rewritten(old: Memory, words: Words, *, id: str, now: Moment) -> list[Change]:
    """`id` is for the candidate, where one is made."""
    words = replace(words, lane=Lane.lowest(old.lane, words.lane))
    if isinstance(old, Thread):
        return [Update.between(old, replace(old, body=words.body, lane=words.lane))]
    if not isinstance(old, Rule) or len(words.body) > RULE_CHARS:
        return []
    if old.status is Status.CANDIDATE:
        body = one_line(words.body)
        return [Update.between(old, replace(old, body=body, title=title_from(body), lane=words.lane))]
    new = replace(candidate(words, old.rule_type, id=id, now=now), topics=old.topics)
    return [Create(new), Link(Bridge(new.id, old.id, BridgeType.REPLACES, 1.0, now, origin=TAG))]


def candidate(words: Words, rule_type: RuleType, *, id: str, now: Moment) -> Rule:
    body = one_line(words.body)
    return Rule(
        id=id, title=title_from(body), body=body, rule_type=rule_type, tags=(TAG,), origin=TAG, lane=words.lane,
        group=words.session, status=Status.CANDIDATE, created_at=now, reinforced_at=now, last_active_at=now,
    )  # fmt: skip
