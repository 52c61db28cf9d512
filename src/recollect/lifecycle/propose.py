"""What words that a language model proposed may do to a memory, as changes.

It never speaks for a person: what a person put in force stays in force, and the proposal waits beside it. Words that it
touched are in the lane of what they were made from, or in the memory's own where that is lower.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from recollect.base.moment import Moment
from recollect.base.text import one_line, title_from
from recollect.model.bridge import Bridge, BridgeType
from recollect.model.memory import Lane, Memory, Rule, RuleType, Status, Thread
from recollect.model.plan import Change, Create, Link, Update

TAG = "review"
RULE_CHARS = 500
_WEIGHT = 1.0


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
    new = candidate(words, old.rule_type, id=id, now=now)
    return [Create(new), Link(Bridge(new.id, old.id, BridgeType.REPLACES, _WEIGHT, now, origin=TAG))]


def candidate(words: Words, rule_type: RuleType, *, id: str, now: Moment) -> Rule:
    body = one_line(words.body)
    return Rule(
        id=id, title=title_from(body), body=body, rule_type=rule_type, tags=(TAG,), origin=TAG, lane=words.lane,
        group=words.session, status=Status.CANDIDATE, created_at=now, reinforced_at=now, last_active_at=now,
    )  # fmt: skip
