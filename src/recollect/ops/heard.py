"""Taker: prompts that no hook could look at when they came (no daemon, no time left) are captured from the transcript.

Which ones were is known by check sums; their words are kept nowhere.
"""

from __future__ import annotations

import json

from recollect.base.errors import RecollectError
from recollect.model.act import Sitting, Speaker
from recollect.ops import acts, capture
from recollect.ops.app import App
from recollect.ops.digest import Writes
from recollect.ops.here import scope_here
from recollect.wire.spool import marked

_NAME = "heard"
_MOST = 500
_MARKED_CHARS = 2_000


def note(app: App, text: str) -> None:
    """This prompt has been looked at."""
    sessions = app.writing(scope_here(app)).sessions  # sees what this transaction noted before
    marks = [*_read(sessions.state(_NAME)), mark(acts.clean(app, text))][-_MOST:]
    sessions.put_state(_NAME, json.dumps(marks))


def take(app: App, sitting: Sitting) -> Writes | None:
    known = set() if sitting.past else set(_marks(app))
    missed = [
        (act, capture.read(app, act.text))
        for act in sitting.new
        if act.speaker is Speaker.PERSON and not act.agent and not sitting.agent and mark(act.text) not in known
    ]
    if not missed:
        return None

    def write() -> None:
        for act, draft in missed:
            if not sitting.past:  # the few marks that are kept are for hooks of today
                note(app, act.text)
            try:
                capture.settled(app, draft, session=sitting.session, at=act.at)
            except RecollectError as problem:
                app.log.line("not-kept", of="capture", session=sitting.session, problem=problem.message)

    return write


def mark(text: str) -> str:
    """A check sum of a prompt, however it is spaced."""
    return marked(" ".join(text.split())[:_MARKED_CHARS])


def _marks(app: App) -> list[str]:
    return _read(app.reading(scope_here(app)).sessions.state(_NAME))


def _read(state: str | None) -> list[str]:
    try:
        kept = json.loads(state or "[]")
    except ValueError:
        return []
    return [mark for mark in kept if isinstance(mark, str)] if isinstance(kept, list) else []
