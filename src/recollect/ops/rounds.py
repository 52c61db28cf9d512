"""ROUNDS: what is done by itself every so many sessions, and who may do it now.

Each store counts its sessions, so each store has jobs of its own. What is kept of a job is one state: when it last ran,
and who is at it. Whoever is at it says so again at every step; one that was killed is silent, and after a while
the job is anyone's again. It is tried three times, then its turn is over: a job that fails for ever must not run for
ever. Nothing here waits for anything.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, replace
from importlib import import_module
from typing import TYPE_CHECKING, NamedTuple

from recollect.base.ids import fresh_key
from recollect.base.moment import Moment
from recollect.lifecycle.schedule import Schedule, Turn
from recollect.model.result import Scope
from recollect.ops import sessions
from recollect.ops.app import App

if TYPE_CHECKING:
    from recollect.store import Store

SILENT_S = 900.0
"""Longer than any step takes: a call of a model ends after 300 s."""
TRIES = 3
_STATE = "round:"


class Round(NamedTuple):
    name: str
    switch: str
    schedule: str
    target: str
    """A generator of the ops room: does a piece, and yields a line on it, or an empty one."""

    @property
    def steps(self) -> Callable[[App, Held], Iterator[str]]:
        module, name = self.target.split(":")
        found: Callable[[App, Held], Iterator[str]] = getattr(import_module(f"recollect.ops.{module}"), name)
        return found


ROUNDS: tuple[Round, ...] = (
    Round("forgetting", "MEMORY_FORGETTING", "MEMORY_FORGETTING_SCHEDULE", "forgetting:review"),
    Round("validation", "MEMORY_VALIDATION", "MEMORY_VALIDATION_SCHEDULE", "validation:review"),
)
FORGETTING, VALIDATION = ROUNDS


class Due(NamedTuple):
    round: Round
    scope: Scope


@dataclass(frozen=True, slots=True)
class Record:
    """What a store knows of one of its jobs."""

    last: int | None = None
    """The session of the last run, or of the baseline."""
    at: int = 0
    """When that was (microseconds)."""
    key: str = ""
    """Whose it is; empty: nobody's."""
    said: int = 0
    """When whoever has it last said so."""
    tries: int = 0
    trial: str = ""
    """A change that is being tried out: taken back by the next, if nobody comes to keep it."""


@dataclass(slots=True)
class Held:
    """A job that is ours until we let it go."""

    app: App
    round: Round
    scope: Scope
    session: int
    key: str
    since: Moment | None
    """When it last ran, or the baseline; None: never."""
    trial: str = ""
    """A change that another tried out and did not come to keep."""

    def still_ours(self) -> bool:
        """Says so to the others. False: we were silent for too long, and another has it."""
        return self._put(lambda record: replace(record, said=_now(self.app)))

    def tries_out(self, change: str) -> bool:
        """Remember a change that is only tried; empty: it is kept."""
        return self._put(lambda record: replace(record, trial=change))

    def settle(self) -> None:
        """Done: not again before it is next due."""
        self._put(lambda record: Record(last=self.session, at=_now(self.app), trial=record.trial))

    def let_go(self) -> None:
        """Not done."""
        self._put(lambda record: replace(record, key="", said=0))

    def _put(self, change: Callable[[Record], Record]) -> bool:
        store = self.app.writing(self.scope)
        with store.together():
            record = read(store, self.round)
            if record.key != self.key:
                return False
            _write(store, self.round, change(record))
        return True


def due(app: App) -> list[Due]:
    """What should run now, in each store. A look that writes nothing, but for baselines."""
    found = []
    for round in ROUNDS:
        if not app.settings.switch(round.switch):
            continue
        for scope, store in app.scopes():
            record = read(store, round)
            turn = _schedule(app, round).turn(sessions.number(store), record.last)
            if turn is Turn.BASELINE:
                _baseline(app, round, scope)
            elif turn is Turn.RUN and not _is_held(app, record):
                found.append(Due(round, scope))
    return found


def run(app: App, due: Due) -> Iterator[str]:
    """A piece at a time, a line on each. Whoever stops asking for more leaves the rest to the next run."""
    held = take(app, due.round, due.scope)
    if held is not None:
        yield from finish(held)


def finish(held: Held) -> Iterator[str]:
    is_done = False
    try:
        yield from held.round.steps(held.app, held)
        is_done = True
    finally:
        if is_done or read(held.app.reading(held.scope), held.round).tries >= TRIES:
            held.settle()
        else:
            held.let_go()


def take(app: App, round: Round, scope: Scope, *, by_hand: bool = False) -> Held | None:
    """None: it is not due (any more), or another is at it. By hand it is always due."""
    store = app.writing(scope)
    with store.together():
        record, session = read(store, round), sessions.number(store)
        is_due = by_hand or _schedule(app, round).turn(session, record.last) is Turn.RUN
        if not is_due or _is_held(app, record):
            return None
        key = fresh_key()
        _write(store, round, replace(record, key=key, said=_now(app), tries=record.tries + 1))
    since = Moment(record.at) if record.last is not None else None
    return Held(app, round, scope, session, key, since, record.trial)


def read(store: Store, round: Round) -> Record:
    try:
        held = json.loads(store.sessions.state(_STATE + round.name) or "{}")
        return Record(**held)
    except (ValueError, TypeError):
        return Record()


def since(store: Store, round: Round) -> Moment | None:
    """When it last ran, or the baseline; None: never."""
    record = read(store, round)
    return Moment(record.at) if record.last is not None else None


def schedule_line(app: App, round: Round, scope: Scope) -> str:
    """When it comes next, for a person."""
    if not app.settings.switch(round.switch):
        return f"switched off ({round.switch})"
    store = app.reading(scope)
    session = sessions.number(store)
    schedule = _schedule(app, round)
    if read(store, round).last is None:
        first = schedule.next_point(session)
        return f"session {session} of the {scope}; baseline at {first}, first run at {first + schedule.cycle}"
    return f"session {session} of the {scope}; next at {schedule.next_point(session)}"


def _schedule(app: App, round: Round) -> Schedule:
    return Schedule(*app.settings.schedule(round.schedule))


def _is_held(app: App, record: Record) -> bool:
    """A moment in the future is as long ago as one in the past: the clock may have been set back since."""
    return bool(record.key) and abs(_now(app) - record.said) < SILENT_S * 1_000_000


def _baseline(app: App, round: Round, scope: Scope) -> None:
    if app.dry_run:
        return
    store = app.writing(scope)
    with store.together():
        record, session = read(store, round), sessions.number(store)
        if _schedule(app, round).turn(session, record.last) is Turn.BASELINE and not _is_held(app, record):
            _write(store, round, Record(last=session, at=_now(app), trial=record.trial))
    app.log.line(f"{round.name}-baseline", scope=scope, session=session)


def _write(store: Store, round: Round, record: Record) -> None:
    store.sessions.put_state(_STATE + round.name, json.dumps(asdict(record)))


def _now(app: App) -> int:
    return max(0, app.clock.now().micros)
