"""Which lessons come into force, and which are put away: evidence from two different sessions, or none for a month.

A person's word (the inbox) needs no evidence. A lesson that says the opposite of one in force takes its place.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from recollect.base.moment import Moment
from recollect.model import lesson
from recollect.model.memory import Rule, Status
from recollect.model.plan import Change, Plan, Update

SESSIONS = 2
FADES_DAYS = 30
"""A failure that nobody met again for so long has gone away by itself."""
FADED_TAG = "faded"


def is_lesson(rule: Rule) -> bool:
    return rule.origin == lesson.ORIGIN


def sessions(rule: Rule) -> tuple[str, ...]:
    """In which it was seen."""
    return tuple(tag.removeprefix(lesson.SESSION_TAG) for tag in rule.tags if tag.startswith(lesson.SESSION_TAG))


def plan(rules: Iterable[Rule], *, now: Moment) -> Plan:
    """`rules`: all that are active or candidates."""
    standing = list(rules)
    changes: list[Change] = []
    for rule in standing:
        if rule.status is not Status.CANDIDATE or not is_lesson(rule):
            continue
        if len(sessions(rule)) >= SESSIONS:
            changes.append(Update.between(rule, replace(rule, status=Status.ACTIVE, reinforced_at=now)))
            changes += _replaced(rule, standing)
        elif rule.last_active_at.plus(days=FADES_DAYS).micros <= now.micros:
            faded = replace(rule, status=Status.ARCHIVED, tags=(*rule.tags, FADED_TAG))
            changes.append(Update.between(rule, faded))
    return Plan.of(changes)


def seen_again(rule: Rule, session: str, *, now: Moment) -> Rule:
    """The same where this session is known; what had faded waits again."""
    if session in sessions(rule):
        return rule
    tags = (*(tag for tag in rule.tags if tag != FADED_TAG), f"{lesson.SESSION_TAG}{session}")
    back = rule.status is Status.ARCHIVED and FADED_TAG in rule.tags
    return replace(
        rule, tags=tags, seen=rule.seen + 1, last_active_at=now, status=Status.CANDIDATE if back else rule.status
    )


def _replaced(new: Rule, standing: list[Rule]) -> Iterator[Change]:
    told = lesson.read(new.body)
    for old in standing:
        known = lesson.read(old.body) if old.status is Status.ACTIVE else None
        if told and known and (told.failed, told.fix) == (known.fix, known.failed):
            yield Update.between(old, replace(old, status=Status.SUPERSEDED, superseded_by=new.id))
