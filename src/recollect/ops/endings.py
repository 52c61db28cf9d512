"""Taker: what is done once when a session ends, and before an agent forgets.

At the end: an episode of the session, learnings out of its last words (both proposed to nobody unasked), lessons that
were seen again come into force, and the person is told how much was kept. A session that ends a second time, because
it was resumed, has its one episode renewed. Before compaction: learnings out of everything that is still held.

Stands behind the takers whose work it counts.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from recollect.base.moment import Moment
from recollect.base.text import counted, title_from
from recollect.capture import contrast
from recollect.capture import episode as episodes
from recollect.capture.contrast import Relation
from recollect.capture.learn import LAST_ACTS, Learning, Says, learnings
from recollect.capture.promotion import FADES_DAYS
from recollect.model.act import Act, Sitting
from recollect.model.bridge import Bridge, BridgeType
from recollect.model.memory import EPISODE_TAG, LEARNING_TAG, Kind, Lane, Memory, Rule, RuleType, Status, Thread
from recollect.model.plan import Change, Create, Link, Plan, Update
from recollect.model.query import Query
from recollect.model.result import Scope
from recollect.ops import acts, lessons, notices
from recollect.ops.app import App
from recollect.ops.digest import Writes
from recollect.ops.here import scope_here

if TYPE_CHECKING:
    from recollect.store import Store

HEAD_BYTES = 2_000_000
"""Read again of a transcript, to know how its session began."""
WAITING_MOST = 30
"""Learnings that wait in the inbox; while so many do, nobody reads them, and no more are added."""
_OF_A_SESSION = 1_000
_EPISODE, _LEARNING, _ENDS = "episode", "learning", "ends"
_ENDS_KEPT = 100
# A thread's way to its session: the last that a recall shows of its bridges.
_BRIDGE_WEIGHT = 0.1
_GONE = (Status.SUPERSEDED, Status.ARCHIVED)


@dataclass(frozen=True, slots=True)
class Ending:
    """What was found, before anything is written."""

    episode: episodes.Episode | None
    learnings: tuple[Learning, ...]


def take(app: App, sitting: Sitting) -> Writes | None:
    if sitting.agent or app.project is None or not (sitting.ended or sitting.compacting):
        return None
    last = len(sitting.acts) if sitting.compacting else LAST_ACTS
    learnt = learnings(sitting.acts, last=last)
    if not sitting.ended:
        return lambda: _compacting(app, sitting, learnt)
    found = Ending(episodes.episode(_whole(app, sitting), root=str(app.project.root)), learnt)
    return lambda: _ended(app, sitting, found)


def _whole(app: App, sitting: Sitting) -> Sequence[Act]:
    """From its beginning, as far as that can be read and is not too long; then its end."""
    if sitting.past or (sitting.acts and not sitting.new_from) or not os.path.isfile(sitting.transcript):
        return sitting.acts
    head = acts.read_on(
        app, sitting.host, Path(sitting.transcript), acts.Reading(), session=sitting.session, max_bytes=HEAD_BYTES
    )  # fmt: skip
    known = {act.id for act in head}
    session = app.reading(scope_here(app)).sessions.session(sitting.session)
    since = session.started_at if session else Moment(0)  # what stands before it was copied from another session
    return [act for act in (*head, *(act for act in sitting.acts if act.id not in known)) if act.at >= since]


def _ended(app: App, sitting: Sitting, found: Ending) -> None:
    if found.episode is not None:
        _keep_episode(app, sitting.session, found.episode)
    extracted = keep_learnings(app, sitting.session, found.learnings)
    promoted = _promoted(app)
    since = _since(app, sitting.session)
    captured = [memory for memory in _captured(app, sitting.session) if memory.created_at > since]
    for line in () if sitting.past else episodes.told(len(captured), promoted, extracted):
        notices.leave(app, line)
    app.log.line(
        "session-over", session=sitting.session, episode=found.episode is not None, captured=len(captured),
        promoted=promoted, extracted=extracted,
    )  # fmt: skip


def _compacting(app: App, sitting: Sitting, swept: tuple[Learning, ...]) -> None:
    keep_learnings(app, sitting.session, swept)
    kept = len(_captured(app, sitting.session, learnings_too=True))
    if kept:
        notices.leave(app, f"\U0001f4be Recollect: preserved {counted(kept, 'memory', 'memories')}")
    app.log.line("swept", session=sitting.session, memories=kept)


def _captured(app: App, session: str, *, learnings_too: bool = False) -> list[Memory]:
    """Of this session, as it stands in the midst of this transaction; neither its episode nor what was put away."""
    wanted = Query(group=session, limit=_OF_A_SESSION)
    found = [*app.writing(Scope.PROJECT).find(wanted), *app.reading(Scope.USER).find(wanted)]
    without = {EPISODE_TAG} if learnings_too else {EPISODE_TAG, LEARNING_TAG}
    return [memory for memory in found if memory.status not in _GONE and without.isdisjoint(memory.tags)]


def _since(app: App, session: str) -> Moment:
    """When this session ended the last time, if it did: what is older was told of then. From now on it is now."""
    sessions = app.writing(Scope.PROJECT).sessions
    try:
        ends = dict(json.loads(sessions.state(_ENDS) or "{}"))
        last = Moment(int(ends.pop(session, 0)))
    except (ValueError, TypeError):
        ends, last = {}, Moment(0)
    ends = dict([*ends.items(), (session, app.clock.now().micros)][-_ENDS_KEPT:])
    sessions.put_state(_ENDS, json.dumps(ends))
    return last


# The episode


def _episode_of(store: Store, session: str) -> Thread | None:
    found = store.find(Query(kinds=(Kind.THREAD,), group=session, limit=_OF_A_SESSION))
    return next((one for one in found if isinstance(one, Thread) and EPISODE_TAG in one.tags), None)


def _keep_episode(app: App, session: str, told: episodes.Episode) -> None:
    """Asleep from the start: who asks finds it, nobody is shown it unasked. Its session's threads lead to it."""

    def make(store: Store) -> Plan:
        now = app.clock.now()
        old = _episode_of(store, session)
        if old is not None and (old.title, old.body) == (told.title, told.body):
            return Plan.of(_bridges(store, session, old.id, now))
        if old is not None:
            new = replace(old, title=told.title, body=told.body, reinforced_at=now, last_active_at=now)
            return Plan.of([Update.between(old, new), *_bridges(store, session, old.id, now)])
        new = Thread(
            id=app.mint.draw("thread"), title=told.title, body=told.body, tags=(EPISODE_TAG,), origin=_EPISODE,
            status=Status.SUSPENDED, weight=app.age_rules.suspend_below, lane=Lane.AGENT, group=session,
            created_at=now, reinforced_at=now, last_active_at=now,
        )  # fmt: skip
        return Plan.of([Create(new), *_bridges(store, session, new.id, now)])

    app.commit(Scope.PROJECT, _EPISODE, make, lambda _: f"An episode of session {session}.", actor=Lane.AGENT)


def _bridges(store: Store, session: str, episode: str, now: Moment) -> list[Change]:
    known = {bridge.source for bridge in store.bridges(episode)}
    threads = store.find(Query(kinds=(Kind.THREAD,), group=session, limit=_OF_A_SESSION))
    return [
        Link(Bridge(one.id, episode, BridgeType.CHILD_OF, _BRIDGE_WEIGHT, now, origin=_EPISODE))
        for one in threads
        if one.id not in known and one.id != episode and one.status not in _GONE
    ]


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
            old = next((rule for rule in rules if contrast.relation(one.text, rule.body) is Relation.SAME), None)
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


def _promoted(app: App) -> int:
    """Lessons that were seen again come into force."""
    return len(lessons.promote(app).promoted)
