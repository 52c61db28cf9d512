"""What is done once when a session ends, and before an agent compacts its context.

At the end: learnings from its last words (into the inbox), lessons that were seen again become active rules, and the
person is told how much was kept. What the session did is in the records of its turns (turn_threads.py). Before
compaction: learnings from everything that is still remembered.

Runs after the jobs whose work it counts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from recollect.app import notices
from recollect.app.core import App
from recollect.app.states import SESSION_ENDS
from recollect.base.moment import Moment
from recollect.base.text import counted, title_from
from recollect.capture import rule_relations
from recollect.capture.learnings import LAST_ACTS, Learning, Says, find_learnings
from recollect.capture.promotion import FADES_DAYS
from recollect.capture.rule_relations import Relation
from recollect.jobs import lessons
from recollect.jobs.transcripts import Writes
from recollect.model.act import SessionPart
from recollect.model.memory import LEARNING_TAG, Kind, Lane, Memory, Rule, RuleType, Status
from recollect.model.plan import Change, Create, Plan, Update
from recollect.model.query import Query
from recollect.model.result import Scope

if TYPE_CHECKING:
    from recollect.store import Store

WAITING_MOST = 30  # learnings that wait in the inbox; while so many do, nobody reads them, and no more are added
_OF_A_SESSION = 1_000
_LEARNING = "learning"
_GONE = (Status.SUPERSEDED, Status.ARCHIVED)


def finish_session(app: App, sitting: SessionPart) -> Writes | None:
    if sitting.agent or app.project is None or not (sitting.ended or sitting.compacting):
        return None
    last = len(sitting.acts) if sitting.compacting else LAST_ACTS
    learnt = find_learnings(sitting.acts, last=last)
    if not sitting.ended:
        return lambda: _compacting(app, sitting, learnt)
    return lambda: _ended(app, sitting, learnt)


def _ended(app: App, sitting: SessionPart, learnt: tuple[Learning, ...]) -> None:
    extracted = keep_learnings(app, sitting.session, learnt)
    promoted = lessons.promote_lessons(app)
    since = _last_end(app, sitting.session)
    captured = [memory for memory in _captured(app, sitting.session) if memory.created_at > since]
    if not sitting.past:
        waiting = sum(memory.status is Status.CANDIDATE for memory in captured)
        notices.add(app, notices.session_line(_kept(app, captured, promoted), waiting + extracted))
    app.log.line(
        "session-over", session=sitting.session, captured=len(captured), promoted=len(promoted), extracted=extracted,
    )  # fmt: skip


def _compacting(app: App, sitting: SessionPart, swept: tuple[Learning, ...]) -> None:
    keep_learnings(app, sitting.session, swept)
    kept = len(_captured(app, sitting.session, learnings_too=True))
    if kept:
        notices.add(app, f"\U0001f4be Recollect: preserved {counted(kept, 'memory', 'memories')}")
    app.log.line("swept", session=sitting.session, memories=kept)


def _captured(app: App, session: str, *, learnings_too: bool = False) -> list[Memory]:
    """Of this session, as it stands in the midst of this transaction; nothing that was put away."""
    wanted = Query(group=session, limit=_OF_A_SESSION)
    found = [*app.writer(Scope.PROJECT).find(wanted), *app.reader(Scope.USER).find(wanted)]
    return [one for one in found if one.status not in _GONE and (learnings_too or LEARNING_TAG not in one.tags)]


def _kept(app: App, captured: Sequence[Memory], promoted: Sequence[str]) -> list[str]:
    """Titles: rules that came into force first, lessons among them, then what was worked on."""
    found = {id: app.writer(Scope.PROJECT).get(id) for id in promoted} | {one.id: one for one in captured}
    in_force = [one for one in found.values() if one is not None and one.status is not Status.CANDIDATE]
    return [one.title for one in sorted(in_force, key=lambda one: one.kind is not Kind.RULE)]


def _last_end(app: App, session: str) -> Moment:
    """When this session ended the last time, if it did: what is older was told of then. From now on it is now."""
    store = app.writer(Scope.PROJECT)
    ends = SESSION_ENDS.read(store)
    last = Moment(ends.pop(session, 0))
    SESSION_ENDS.write(store, {**ends, session: app.clock.now().micros})
    return last


# Learnings and lessons


def keep_learnings(app: App, session: str, found: tuple[Learning, ...]) -> int:
    """Into the inbox. One that is known is counted once more, if another session said it; one that nobody said again
    or looked at for a month is put away. Returns how many are new."""
    new = 0

    def make(store: Store) -> Plan:
        nonlocal new
        new = 0
        now = app.clock.now()
        rules = store.find(Query(kinds=(Kind.RULE,), limit=_OF_A_SESSION))
        waiting = [one for one in rules if LEARNING_TAG in one.tags and one.status is Status.CANDIDATE]
        old_ones = [one for one in waiting if now.days_since(one.last_active_at) >= FADES_DAYS]
        changes: list[Change] = [Update.between(one, replace(one, status=Status.ARCHIVED)) for one in old_ones]
        room = WAITING_MOST - len(waiting) + len(old_ones)
        for one in found:
            old = next((rule for rule in rules if rule_relations.relation(one.text, rule.body) is Relation.SAME), None)
            if old in old_ones:
                continue
            if old is None and new < room:
                changes.append(Create(_proposed(app, one, session, now)))
                new += 1
            elif old is not None and old.group != session and LEARNING_TAG in old.tags:
                changes.append(Update.between(old, replace(old, seen=old.seen + 1, last_active_at=now)))
        return Plan.of(changes)

    said_by = Lane.lowest(*(one.lane for one in found)) if found else ""
    app.commit(
        Scope.PROJECT, _LEARNING, make, lambda plan: f"Learnings of session {session}: {len(plan.changes)}.",
        actor=said_by,
    )  # fmt: skip
    return new


def _proposed(app: App, one: Learning, session: str, now: Moment) -> Rule:
    sort = RuleType.FAILURE if one.says is Says.CAUSE else RuleType.DEVOPS
    return Rule(
        id=app.mint.draw("rule"), title=title_from(one.text), body=one.text, rule_type=sort, tags=(LEARNING_TAG,),
        origin=_LEARNING, lane=one.lane, group=session, status=Status.CANDIDATE,
        created_at=now, reinforced_at=now, last_active_at=now,
    )  # fmt: skip
