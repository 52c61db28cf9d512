"""Per turn: learns from failures and what mended them.

A lesson that is seen for the first time waits in the inbox, or is only counted where it is not worth a question. Seen
in another session, confirmed by the person or accepted in the inbox, it comes into force (`promote_lessons`, when a
session ends).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from recollect.app.core import App
from recollect.app.rule_keeping import load_rules, new_rule
from recollect.base.errors import RecollectError
from recollect.capture import lesson_evidence, rule_relations
from recollect.capture.fixes import Fix, find_fixes
from recollect.capture.lesson_evidence import confirmed_at, is_from_stranger
from recollect.jobs.transcripts import Writes
from recollect.model import lesson
from recollect.model.act import SessionPart
from recollect.model.lesson import Lesson
from recollect.model.memory import Lane, Rule, RuleType, Status
from recollect.model.plan import Create, Plan, Update
from recollect.model.result import Scope
from recollect.render.harmless import plain

if TYPE_CHECKING:
    from recollect.store import Store

MAX_AT_ONCE = 5
_KEPT = (Status.ACTIVE, Status.CANDIDATE)


def learn_lessons(app: App, part: SessionPart) -> Writes | None:
    if app.project is None or not part.new:
        return None  # "fails here" says nothing where there is no project
    found: list[tuple[Fix, bool]] = []
    for fix in find_fixes(part.acts):
        said_at = confirmed_at(fix, part.acts)
        is_new = max(fix.at, said_at or 0) >= part.new_from
        words = fix.lesson.sentence()
        # Nothing hidden, no tag, no secret; otherwise it is not told at all.
        is_safe = plain(words, 2 * len(words)) == words and app.redactor.clean(words).text == words
        if is_new and is_safe and not is_from_stranger(fix.lesson, part.acts[: fix.at + 1]):
            found.append((fix, said_at is not None))
    if not found:
        return None

    def write() -> None:
        for fix, confirmed in found[:MAX_AT_ONCE]:
            try:
                _learn(app, fix, part.session, confirmed)
            except RecollectError as problem:
                app.log.line("not-kept", of="lesson", session=part.session, problem=problem.message)

    return write


def promote_lessons(app: App) -> tuple[str, ...]:
    """Lessons with evidence come into force, those without any for long are put away. Returns those now in force."""
    if app.project is None:
        return ()

    def make(store: Store) -> Plan:
        return lesson_evidence.promotion_plan(load_rules(store, *_KEPT), now=app.clock.now())

    done = app.commit(Scope.PROJECT, "promote", make, lambda plan: f"{len(plan.changes)} lessons were looked at again.")
    updates = [change for change in done.plan.changes if isinstance(change, Update)]
    return tuple(change.id for change in updates if dict(change.after).get("status") == Status.ACTIVE)


def _learn(app: App, fix: Fix, session: str, confirmed: bool) -> None:
    learnt, words, now = fix.lesson, fix.lesson.sentence(), app.clock.now()

    def make(store: Store) -> Plan:
        rules = load_rules(store, *_KEPT, Status.ARCHIVED)
        for known in (rule for rule in rules if _says_same(words, learnt, rule)):
            again = lesson_evidence.seen_again(known, learnt, session, now=now, is_confirmed=confirmed)
            return Plan.of([Update.between(known, again)])
        waits = fix.is_sure or confirmed
        tags = [f"{lesson.SESSION_TAG}{session}"]
        tags += [lesson_evidence.CONFIRMED_TAG] if confirmed else [] if waits else [lesson_evidence.FADED_TAG]
        rule = new_rule(
            app, words, rule_type=RuleType.FAILURE, origin=lesson.ORIGIN, lane=Lane.TOOL, group=session,
            tags=tuple(tags), status=Status.CANDIDATE if waits else Status.ARCHIVED,
        )  # fmt: skip
        return Plan.of([Create(rule)])

    summary = "A failure and what mended it were seen."
    done = app.commit(Scope.PROJECT, "learn", make, lambda _: summary, actor=Lane.TOOL)
    app.log.line("lesson", session=session, how=learnt.how, confirmed=confirmed, changed=len(done.plan.changes))


def _says_same(words: str, learnt: Lesson, rule: Rule) -> bool:
    known = lesson.read(rule.body)
    return lesson_evidence.is_same_lesson(known, learnt) if known else rule_relations.says_same(words, rule.body)
