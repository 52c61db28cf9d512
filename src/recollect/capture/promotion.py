"""Which lessons come into force, and which are put away: evidence from two different sessions or a person's word, or
none of it for a month.

Two sessions never run the same line. Two lessons are the same where the same command fails in the same way and is
mended by the same thing, whatever paths, branches and messages it was given; what differed is then left out of the
words. A lesson that says the opposite of one in force takes its place.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace

from recollect.base.moment import Moment
from recollect.base.text import title_from
from recollect.capture.command_errors import shape_of, without_name
from recollect.model import lesson
from recollect.model.command import SPEECH, Command, command_of
from recollect.model.lesson import How, Lesson, rule_list
from recollect.model.memory import Rule, Status
from recollect.model.plan import Change, Plan, Update

MIN_SESSIONS = 2
FADES_DAYS = 30  # a failure that nobody met for so long has gone away by itself
FADED_TAG = "faded"
CONFIRMED_TAG = "confirmed"  # a person named the fix, or said that it is how things are done here
_ONCE = re.compile(
    r"[0-9a-f]{7,40}|\d{4}-\d\d-\d\d\S*|\d{6,}|[0-9a-f]{8}-[0-9a-f-]{27}|/tmp/\S*|\.{3}|-[qvs]+|--(?:quiet|verbose|silent)"
)
_PUBLIC_NAMES = frozenset("origin upstream main master".split())


def is_lesson(rule: Rule) -> bool:
    return rule.origin == lesson.ORIGIN


def seen_in_sessions(rule: Rule) -> tuple[str, ...]:
    """The sessions it was seen in."""
    return tuple(tag.removeprefix(lesson.SESSION_TAG) for tag in rule.tags if tag.startswith(lesson.SESSION_TAG))


def promotion_plan(rules: Iterable[Rule], *, now: Moment) -> Plan:
    """`rules`: all that are active or candidates."""
    standing = list(rules)
    changes: list[Change] = []
    for rule in standing:
        if rule.status is not Status.CANDIDATE or not is_lesson(rule):
            continue
        if len(seen_in_sessions(rule)) >= MIN_SESSIONS or CONFIRMED_TAG in rule.tags:
            changes.append(Update.between(rule, replace(rule, status=Status.ACTIVE, reinforced_at=now)))
            changes += _superseded(rule, standing)
        elif rule.last_active_at.plus(days=FADES_DAYS).micros <= now.micros:
            faded = replace(rule, status=Status.ARCHIVED, tags=(*rule.tags, FADED_TAG))
            changes.append(Update.between(rule, faded))
    return Plan.of(changes)


def is_same_lesson(one: Lesson, two: Lesson) -> bool:
    """Errors differ from run to run, lines from session to session; what failed how, and what mended it, do not."""
    return one.how is two.how and (
        (one.failed, one.fix) == (two.failed, two.fix) or _lesson_key(one) == _lesson_key(two)
    )


def seen_again(rule: Rule, again: Lesson, session: str, *, now: Moment, is_confirmed: bool = False) -> Rule:
    """The rule after the lesson was seen again; unchanged where this session was counted before. A lesson that had
    faded, or was only counted, waits again."""
    is_new = session not in seen_in_sessions(rule)
    told = lesson.read(rule.body)
    words = _merged(told, again).sentence() if told and (is_new or told.how is How.RULE) else rule.body
    if not is_new and words == rule.body and (not is_confirmed or CONFIRMED_TAG in rule.tags):
        return rule
    added = [f"{lesson.SESSION_TAG}{session}"] if is_new else []
    added += [CONFIRMED_TAG] if is_confirmed else []
    back = (is_new or is_confirmed) and rule.status is Status.ARCHIVED and FADED_TAG in rule.tags
    return replace(
        rule, body=words, title=title_from(words), last_active_at=now, seen=rule.seen + is_new,
        tags=tuple(dict.fromkeys((*(tag for tag in rule.tags if not back or tag != FADED_TAG), *added))),
        status=Status.CANDIDATE if back else rule.status,
    )  # fmt: skip


def _lesson_key(one: Lesson) -> tuple[object, ...] | None:
    failed = command_of(one.failed)
    if failed is None or one.how is How.READ_AGAIN:
        return one.failed, one.fix
    what = (failed.family, failed.program, failed.verb)
    if one.how is How.RULE:
        return what
    fix = command_of(one.fix)
    if one.how is How.CHANGED or fix is None:
        return *what, shape_of(one.error), one.fix
    # An error of no known kind says little: then the commands must be alike too.
    known: tuple[object, ...] = (shape_of(one.error),) if one.error else (_lasting_words(failed),)
    if one.how is How.AFTER:
        return *what, known, fix.family, fix.verb, _lasting_words(fix)
    return *what, known, fix.program, fix.verb, _lasting_words(fix) - _lasting_words(failed)


def _lasting_words(command: Command) -> frozenset[str]:
    words = {word.rstrip("/").rpartition("/")[2] if word.startswith(("/", "~", "./")) else word
             for part in (*command.dress, *command.words) for word in part.split()}  # fmt: skip
    if command.family == "git":
        words = {word for word in words if word.startswith("-") or word in _PUBLIC_NAMES}
    return frozenset(word for word in words if word and not _ONCE.fullmatch(word))


def _merged(old: Lesson, new: Lesson) -> Lesson:
    """What both lessons say; for a linter, the rules of both."""
    if old.how is How.RULE:
        return replace(old, fix=rule_list((*old.fix.split(", "), *new.fix.split(", "))))
    if old.how in (How.READ_AGAIN, How.CHANGED):
        return old
    error = old.error if old.error == new.error else without_name(shape_of(old.error))
    return replace(old, failed=_shared_words(old.failed, new.failed), fix=_shared_words(old.fix, new.fix), error=error)


def _shared_words(one: str, two: str) -> str:
    """Word by word, with dots for what differs; the shorter text where the numbers of words differ."""
    ours, theirs = one.split(), two.split()
    if len(ours) != len(theirs):
        return min(one, two, key=len)
    return " ".join(mine if mine == yours else SPEECH for mine, yours in zip(ours, theirs, strict=True))


def _superseded(new: Rule, standing: list[Rule]) -> Iterator[Change]:
    told = lesson.read(new.body)
    for old in standing:
        known = lesson.read(old.body) if old.status is Status.ACTIVE else None
        if told and known and (told.failed, told.fix) == (known.fix, known.failed):
            yield Update.between(old, replace(old, status=Status.SUPERSEDED, superseded_by=new.id))
