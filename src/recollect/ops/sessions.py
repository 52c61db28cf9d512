"""Sessions: who is talking, which session of ours it is, what they were shown and what that counts for.

What is written here are counters and marks (store/sessions.py says why they are no plans). Where a store cannot be
written, those who only wanted an answer still get one: that is for the caller to decide.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

from recollect.base.moment import Moment
from recollect.lifecycle import use
from recollect.model.ledger import Pointer, Talker, Way, memory_of
from recollect.model.result import Scope
from recollect.model.session import Event, Session
from recollect.ops.app import App
from recollect.ops.here import scope_here

if TYPE_CHECKING:
    from recollect.store import Sessions, Store

_COUNTER = "sessions"
FORGETS = frozenset({"compact", "clear"})
"""Starts after which the agent no longer has what it was shown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Showing:
    """What is on its way to an agent, and counts once it has arrived."""

    talker: Talker
    marks: Mapping[str, Scope]
    """As the ledger enters them (model/ledger.py), and where each memory is kept."""
    way: Way = Way.TOLD
    call: str = ""
    asked: bool = False
    """Somebody asked for it, which makes a memory stronger. What is shown unasked is only counted: else noise would
    keep itself alive."""


def here(app: App, event: Event) -> Session:
    """As it is known; as new where it is not. Nothing is written."""
    return known(app, event) or Session(id=event.session_id, host=event.host, started_at=event.at)


def known(app: App, event: Event) -> Session | None:
    return app.reading(scope_here(app)).sessions.session(event.session_id, event.agent_id)


def talker(app: App, event: Event) -> Talker:
    return Talker(event.session_id, event.agent_id, here(app, event).epoch)


def shown(app: App, talker: Talker, way: Way = Way.TOLD) -> frozenset[str]:
    return app.reading(scope_here(app)).sessions.shown(talker, way)


def known_to(app: App, talker: Talker) -> frozenset[str]:
    """What it was told, and what it did itself."""
    return shown(app, talker) | shown(app, talker, Way.OWN)


def enter_own_turn(store: Store, session_id: str, mark: str, *, now: Moment) -> None:
    """A turn that was just recorded: its session has it before its eyes until it loses it."""
    session = store.sessions.session(session_id)
    if session is not None:
        store.sessions.show(Talker(session_id, "", session.epoch), Way.OWN, [mark], at=now)


def begin(app: App, event: Event) -> Talker:
    """A session starts, or starts again: after compaction and clear its ledger is a new one."""
    sessions = app.writing(scope_here(app)).sessions
    session = here(app, event)
    if event.source in FORGETS:
        session = replace(session, epoch=session.epoch + 1)
    sessions.put_session(session, event.agent_id, at=event.at)
    return Talker(session.id, event.agent_id, session.epoch)


def spoke(app: App, session_id: str, host: str, at: Moment) -> Session:
    """A person said something: the session counts from its first message on."""
    store = app.writing(scope_here(app))
    with store.together():
        session = store.sessions.session(session_id) or Session(id=session_id, host=host, started_at=at)
        if not session.number:
            session = replace(session, number=_counted(store.sessions))
        store.sessions.put_session(session, at=at)
    _count_for_user(app, session)
    return session


def set_start(store: Store, session_id: str, at: Moment, *, now: Moment) -> None:
    """A session starts where its transcript starts, not when it was first heard of."""
    session = store.sessions.session(session_id)
    if session is not None and at < session.started_at:
        store.sessions.put_session(replace(session, started_at=at), at=now)


def pointer(event: Event, size: int = 0, mark: str = "") -> Pointer:
    """Where to read what happened. `size` of the transcript before the event; `mark` of a prompt whose text is not
    here."""
    return Pointer(
        name=str(event.name),
        host=event.host,
        session=event.session_id,
        at=event.at,
        agent=event.agent_id,
        prompt=event.prompt_id,
        calls=tuple(call.id for call in event.tools),
        source=event.source,
        transcript=event.transcript,
        size=max(0, size),
        cwd=event.cwd,
        mark=mark or event.prompt_mark,
    )


def receive(app: App, pointer: Pointer) -> bool:
    """False: it was received before."""
    return app.writing(scope_here(app)).sessions.receive(pointer)


def arrived(app: App, showing: Showing) -> None:
    """It was printed: it counts as shown, and where somebody asked, as used."""
    at = app.clock.now()
    own = app.writing(scope_here(app))
    session = own.sessions.session(showing.talker.session)
    number = session.number if session else 0
    with own.together():
        own.sessions.show(showing.talker, showing.way, list(showing.marks), at=at, call=showing.call)
        _use(app, showing, scope_here(app), number)
    for scope in Scope:
        if scope is not scope_here(app):
            _use(app, showing, scope, number)


def asked_for(app: App, session: str, marks: Mapping[str, Scope]) -> None:
    """An agent asked and was answered: that counts as use, and as shown where we know its session."""
    found = app.reading(scope_here(app)).sessions.session(session) if session else None
    showing = Showing(talker=Talker(session, "", found.epoch if found else 0), marks=marks, asked=True)
    if found is not None:
        arrived(app, showing)
        return
    for scope in Scope:
        _use(app, showing, scope, 0)


def remembered_shown(app: App, talker: Talker, marks: Sequence[str]) -> None:
    """For a session that goes on from another's transcript: what stands in there was shown."""
    app.writing(scope_here(app)).sessions.show(talker, Way.TOLD, marks, at=app.clock.now())


def _use(app: App, showing: Showing, scope: Scope, number: int) -> None:
    ids = [memory_of(mark) for mark, where in showing.marks.items() if where is scope]
    if not ids or app.store_path(scope) is None:
        return
    sessions = app.writing(scope).sessions
    session = number if scope is scope_here(app) else _count(sessions)
    if showing.asked:
        sessions.use(ids, partial(use.asked_for, session=session, now=app.clock.now(), rules=app.age_rules))
    else:
        sessions.use(ids, partial(use.shown, session=session))


def _count_for_user(app: App, session: Session) -> None:
    """The user's memories are used from every project, so they go by a count of their own, where there are any."""
    if scope_here(app) is Scope.USER or app.store_path(Scope.USER) is None:
        return
    if app.reading(Scope.USER).sessions.session(session.id) is not None:
        return
    store = app.writing(Scope.USER)
    with store.together():
        if store.sessions.session(session.id) is None:
            store.sessions.put_session(replace(session, number=_counted(store.sessions)), at=app.clock.now())


def number(store: Store) -> int:
    """How many sessions a store has counted so far."""
    return _count(store.sessions)


def _counted(sessions: Sessions) -> int:
    count = _count(sessions) + 1
    sessions.put_state(_COUNTER, str(count))
    return count


def _count(sessions: Sessions) -> int:
    kept = sessions.state(_COUNTER) or ""
    return int(kept) if kept.isascii() and kept.isdigit() else 0
