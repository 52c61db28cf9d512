"""What a session teaches, per turn and at its end. A failure and what mended it is a lesson: seen for the first time it
waits in the inbox, or is only counted where it is not worth a question; seen in another session, confirmed or accepted
by the person, it comes into force. Learnings from a session's words wait in the inbox."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from recollect.app import notices
from recollect.app.core import App
from recollect.app.rule_keeping import load_rules, new_rule
from recollect.app.states import SESSION_ENDS
from recollect.base.errors import RecollectError
from recollect.base.text import counted
from recollect.capture import lesson_finder
from recollect.capture.lesson_finder import Fix, find_fixes
from recollect.capture.model_questions import LAST_ACTS, Learning, LearningKind, find_learnings
from recollect.capture.rule_relations import Relation, relation, says_same
from recollect.model.command import Lesson
from recollect.model.memory import LEARNING_TAG, Kind, Lane, RuleType, Status
from recollect.model.plan import Change, Create, Plan, Update
from recollect.model.query import Query
from recollect.model.result import Scope
from recollect.model.session import SessionPart
from recollect.render.inject import plain
from recollect.store import Store

MAX_AT_ONCE = 5
MAX_WAITING = 30  # learnings that wait in the inbox; while so many do, nobody reads them, and no more are added
_KEPT = (Status.ACTIVE, Status.CANDIDATE)
_MAX_LOADED = 1_000
_LEARNING = "learning"


def learn_lessons(app: App, part: SessionPart) -> Callable[[], None] | None:
    if app.project is None or not part.new:
        return None  # "fails here" says nothing where there is no project
    found: list[tuple[Fix, bool]] = []
    for fix in find_fixes(part.acts):
        said_at = lesson_finder.confirmed_at(fix, part.acts)
        is_new = max(fix.at, said_at or 0) >= part.new_from
        words = fix.lesson.sentence()
        # Nothing hidden, no tag, no secret; otherwise it is not told at all.
        is_safe = plain(words, 2 * len(words)) == words and app.redactor.clean(words).text == words
        if is_new and is_safe and not lesson_finder.is_from_stranger(fix.lesson, part.acts[: fix.at + 1]):
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


def _learn(app: App, fix: Fix, session: str, confirmed: bool) -> None:
    learnt, words, now = fix.lesson, fix.lesson.sentence(), app.clock.now()

    def make(store: Store) -> Plan:
        for rule in load_rules(store, *_KEPT, Status.ARCHIVED):
            known = Lesson.read(rule.body)
            if lesson_finder.is_same_lesson(known, learnt) if known else says_same(words, rule.body):
                again = lesson_finder.seen_again(rule, learnt, session, now=now, is_confirmed=confirmed)
                return Plan.of([Update.between(rule, again)])
        waits = fix.is_sure or confirmed
        tags = [f"{Lesson.SESSION_TAG}{session}"]
        tags += [lesson_finder.CONFIRMED_TAG] if confirmed else [] if waits else [lesson_finder.FADED_TAG]
        rule = new_rule(
            app, words, rule_type=RuleType.FAILURE, origin=Lesson.ORIGIN, lane=Lane.TOOL, group=session,
            tags=tuple(tags), status=Status.CANDIDATE if waits else Status.ARCHIVED,
        )  # fmt: skip
        return Plan.of([Create(rule)])

    summary = "A failure and what mended it were seen."
    done = app.commit(Scope.PROJECT, "learn", make, lambda _: summary, actor=Lane.TOOL)
    app.log.line("lesson", session=session, how=learnt.how, confirmed=confirmed, changed=len(done.plan.changes))


def promote_lessons(app: App) -> tuple[str, ...]:
    """Lessons with evidence come into force, those without any for long are put away. Returns those now in force."""
    if app.project is None:
        return ()

    def make(store: Store) -> Plan:
        return lesson_finder.promotion_plan(load_rules(store, *_KEPT), now=app.clock.now())

    done = app.commit(Scope.PROJECT, "promote", make, lambda plan: f"{len(plan.changes)} lessons were looked at again.")
    updates = [change for change in done.plan.changes if isinstance(change, Update)]
    return tuple(change.id for change in updates if dict(change.after).get("status") == Status.ACTIVE)


def finish_session(app: App, part: SessionPart) -> Callable[[], None] | None:
    """Once at a session's end: keeps learnings from its last words, promotes lessons, and tells the person what was
    kept. Before a compaction: keeps learnings from all that is still remembered."""
    if part.agent or app.project is None or not (part.ended or part.compacting):
        return None
    found = find_learnings(part.acts, last=len(part.acts) if part.compacting else LAST_ACTS)

    def write() -> None:
        extracted = keep_learnings(app, part.session, found)
        promoted = promote_lessons(app) if part.ended else ()
        store, query = app.writer(Scope.PROJECT), Query(group=part.session, limit=_MAX_LOADED)
        loaded = [*store.find(query), *app.reader(Scope.USER).find(query)]  # as this transaction sees them
        kept = [one for one in loaded if one.status not in (Status.SUPERSEDED, Status.ARCHIVED)]
        if not part.ended:
            if kept:
                notices.add(app, f"\U0001f4be Recollect: preserved {counted(len(kept), 'memory', 'memories')}")
            app.log.line("swept", session=part.session, memories=len(kept))
            return
        ends = SESSION_ENDS.read(store)
        told_at = ends.pop(part.session, 0)  # at its last end, of what is older
        SESSION_ENDS.write(store, {**ends, part.session: app.clock.now().micros})
        new = [one for one in kept if one.created_at.micros > told_at and LEARNING_TAG not in one.tags]
        if not part.past:
            waiting = sum(memory.status is Status.CANDIDATE for memory in new)
            by_id = {id: store.get(id) for id in promoted} | {one.id: one for one in new}
            active = [one for one in by_id.values() if one is not None and one.status is not Status.CANDIDATE]
            active.sort(key=lambda one: one.kind is not Kind.RULE)  # what came into force, then what was worked on
            notices.add(app, notices.session_line([one.title for one in active], waiting + extracted))
        counts = {"captured": len(new), "promoted": len(promoted), "extracted": extracted}
        app.log.line("session-over", session=part.session, **counts)

    return write


def keep_learnings(app: App, session: str, found: tuple[Learning, ...]) -> int:
    """Into the inbox. One that is known is counted once more, if another session said it; one that nobody said again
    or looked at for a month is put away. Returns how many are new."""
    new = 0

    def make(store: Store) -> Plan:
        nonlocal new
        new = 0
        now = app.clock.now()
        rules = store.find(Query(kinds=(Kind.RULE,), limit=_MAX_LOADED))
        waiting = [one for one in rules if LEARNING_TAG in one.tags and one.status is Status.CANDIDATE]
        old_ones = [one for one in waiting if now.days_since(one.last_active_at) >= lesson_finder.FADES_DAYS]
        changes: list[Change] = [Update.between(one, replace(one, status=Status.ARCHIVED)) for one in old_ones]
        room = MAX_WAITING - len(waiting) + len(old_ones)
        for one in found:
            old = next((rule for rule in rules if relation(one.text, rule.body) is Relation.SAME), None)
            if old is None and new < room:
                rule_type = RuleType.FAILURE if one.kind is LearningKind.CAUSE else RuleType.DEVOPS
                rule = new_rule(
                    app, one.text, rule_type=rule_type, origin=_LEARNING, lane=one.lane, tags=(LEARNING_TAG,),
                    group=session, status=Status.CANDIDATE,
                )  # fmt: skip
                changes.append(Create(rule))
                new += 1
            elif old is not None and old not in old_ones and old.group != session and LEARNING_TAG in old.tags:
                changes.append(Update.between(old, replace(old, seen=old.seen + 1, last_active_at=now)))
        return Plan.of(changes)

    actor = Lane.lowest(*(one.lane for one in found)) if found else ""
    summary = f"Learnings of session {session}"
    app.commit(Scope.PROJECT, _LEARNING, make, lambda plan: f"{summary}: {len(plan.changes)}.", actor=actor)
    return new
