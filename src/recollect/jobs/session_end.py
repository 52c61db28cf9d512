"""Per turn: what is done once when a session ends, and before an agent compacts its context.

At the end: learnings from its last words (into the inbox), lessons that were seen again become active rules, and the
person is told how much was kept. Before compaction: learnings from everything that is still remembered. Runs after the
jobs whose work it counts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from recollect.app import notices
from recollect.app.core import App
from recollect.app.rule_keeping import new_rule
from recollect.app.states import SESSION_ENDS
from recollect.base.moment import Moment
from recollect.base.text import counted
from recollect.capture.learnings import LAST_ACTS, Learning, LearningKind, find_learnings
from recollect.capture.lesson_evidence import FADES_DAYS
from recollect.capture.rule_relations import Relation, relation
from recollect.jobs import outcomes
from recollect.jobs.transcripts import Writes
from recollect.model.memory import LEARNING_TAG, Kind, Lane, Memory, RuleType, Status
from recollect.model.plan import Change, Create, Plan, Update
from recollect.model.query import Query
from recollect.model.result import Scope
from recollect.model.session import SessionPart

if TYPE_CHECKING:
    from recollect.store import Store

MAX_WAITING = 30  # learnings that wait in the inbox; while so many do, nobody reads them, and no more are added
_MAX_LOADED = 1_000
_LEARNING = "learning"


def finish_session(app: App, part: SessionPart) -> Writes | None:
    if part.agent or app.project is None or not (part.ended or part.compacting):
        return None
    found = find_learnings(part.acts, last=len(part.acts) if part.compacting else LAST_ACTS)
    return lambda: (_end if part.ended else _prepare_compaction)(app, part, found)


def _end(app: App, part: SessionPart, found: tuple[Learning, ...]) -> None:
    extracted = keep_learnings(app, part.session, found)
    promoted = outcomes.promote_lessons(app)
    since = _record_end(app, part.session)
    captured = [one for one in _captured(app, part.session) if one.created_at > since and LEARNING_TAG not in one.tags]
    if not part.past:
        waiting = sum(memory.status is Status.CANDIDATE for memory in captured)
        notices.add(app, notices.session_line(_active_titles(app, captured, promoted), waiting + extracted))
    counts = {"captured": len(captured), "promoted": len(promoted), "extracted": extracted}
    app.log.line("session-over", session=part.session, **counts)


def _prepare_compaction(app: App, part: SessionPart, found: tuple[Learning, ...]) -> None:
    keep_learnings(app, part.session, found)
    kept = len(_captured(app, part.session))
    if kept:
        notices.add(app, f"\U0001f4be Recollect: preserved {counted(kept, 'memory', 'memories')}")
    app.log.line("swept", session=part.session, memories=kept)


def _captured(app: App, session: str) -> list[Memory]:
    """This session's memories as this transaction sees them, without archived ones."""
    query = Query(group=session, limit=_MAX_LOADED)
    found = [*app.writer(Scope.PROJECT).find(query), *app.reader(Scope.USER).find(query)]
    return [one for one in found if one.status not in (Status.SUPERSEDED, Status.ARCHIVED)]


def _active_titles(app: App, captured: Sequence[Memory], promoted: Sequence[str]) -> list[str]:
    """Rules that came into force first, lessons among them, then what was worked on."""
    found = {id: app.writer(Scope.PROJECT).get(id) for id in promoted} | {one.id: one for one in captured}
    active = [one for one in found.values() if one is not None and one.status is not Status.CANDIDATE]
    return [one.title for one in sorted(active, key=lambda one: one.kind is not Kind.RULE)]


def _record_end(app: App, session: str) -> Moment:
    """When this session ended the last time, if it did: the person was told then of what is older."""
    store = app.writer(Scope.PROJECT)
    ends = SESSION_ENDS.read(store)
    last = Moment(ends.pop(session, 0))
    SESSION_ENDS.write(store, {**ends, session: app.clock.now().micros})
    return last


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
        old_ones = [one for one in waiting if now.days_since(one.last_active_at) >= FADES_DAYS]
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
