"""Turns that are over and wait to be looked back at, and which ones were: each once, whatever comes between."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from recollect.ops.app import App
from recollect.ops.here import scope_here

if TYPE_CHECKING:
    from recollect.store import Store

_STATE = "reviews"
_MOST_DUE, _MOST_DONE = 20, 200


@dataclass(frozen=True, slots=True)
class Due:
    """A turn that is over."""

    host: str
    session: str
    transcript: str
    upto: str
    """Its last act."""

    @property
    def key(self) -> str:
        return f"{self.session}:{self.upto}"


@dataclass(frozen=True, slots=True)
class _State:
    due: tuple[Due, ...] = ()
    done: tuple[str, ...] = ()


def any_due(app: App) -> bool:
    return bool(_read(app.reading(scope_here(app))).due)


def put(app: App, due: Due) -> None:
    """One a session: the last messages of a later turn hold those of the one before."""
    store = app.writing(scope_here(app))
    state = _read(store)
    if due.key not in state.done:
        others = tuple(one for one in state.due if one.session != due.session)
        _write(store, replace(state, due=(*others, due)[-_MOST_DUE:]))


def take(app: App) -> Due | None:
    """Taken away before anyone is asked: a daemon that dies over it does not ask again."""
    store = app.writing(scope_here(app))
    with store.together():
        state = _read(store)
        if not state.due:
            return None
        due, *others = state.due
        _write(store, _State(tuple(others), (*state.done, due.key)[-_MOST_DONE:]))
    return None if due.key in state.done else due


def _read(store: Store) -> _State:
    try:
        kept = json.loads(store.sessions.state(_STATE) or "{}")
        return _State(tuple(Due(*map(str, one)) for one in kept["due"]), tuple(map(str, kept["done"])))
    except (ValueError, TypeError, KeyError):
        return _State()


def _write(store: Store, state: _State) -> None:
    due = [[one.host, one.session, one.transcript, one.upto] for one in state.due]
    store.sessions.put_state(_STATE, json.dumps({"due": due, "done": list(state.done)}))
