"""Taker: what was put in front of an agent unasked is judged by how the very next call or turn went.

Each outcome (ops/outcomes.py) names the memories that had just been shown. Those that everyone gets at a session's
start, and what an agent asked for itself, are not judged: nobody chose them for that moment. How a memory fared is a
counter of use, a fraction of a rating (recall/weigh.py).
"""

from __future__ import annotations

import json
from functools import partial
from typing import TYPE_CHECKING

from recollect.lifecycle import use
from recollect.model.act import Sitting
from recollect.model.outcome import Ending, Outcome
from recollect.model.result import Scope
from recollect.model.session import EventName
from recollect.ops.app import App
from recollect.ops.briefs import ALWAYS, BEARING
from recollect.ops.digest import Writes
from recollect.ops.here import scope_here

if TYPE_CHECKING:
    from recollect.store import Store

_NAME = "judged"
_MOST = 1_000
_RECALLS_READ = 10
# Who did not allow a call said nothing of what we had shown.
_WELL = {Ending.SUCCESS: True, Ending.FAILURE: False, Ending.RE_ASK: False, Ending.AGENT_FAILURE: False}


def take(app: App, _sitting: Sitting) -> Writes:
    return lambda: judge(app)


def judge(app: App) -> None:
    """Every outcome that was recorded since the last time, once."""
    store = app.writing(scope_here(app))
    kept = store.sessions.state(_NAME) or ""
    after = int(kept) if kept.isascii() and kept.isdigit() else 0
    found = store.outcomes.recorded(limit=_MOST, after=after)
    if not found:
        return
    counted = 0
    for _, outcome in found:
        well = _WELL.get(outcome.kind)
        for id in outcome.shown if well is not None else ():
            if _was_chosen(store, id, outcome):
                counted += _followed(app, id, well is True)
    store.sessions.put_state(_NAME, str(found[-1][0]))
    if counted:
        app.log.line("judged", outcomes=len(found), memories=counted)


def _was_chosen(store: Store, id: str, outcome: Outcome) -> bool:
    for text in store.recalls(limit=_RECALLS_READ, memory=id):
        recall = json.loads(text)
        if recall.get("session") != outcome.session or all(hit["id"] != id for hit in recall["hits"]):
            continue
        unasked = recall.get("event") in (EventName.PROMPT, EventName.SUBAGENT_STARTED)
        if recall["how"] == BEARING or (unasked and recall["how"] != ALWAYS):
            return True
    return False


def _followed(app: App, id: str, well: bool) -> bool:
    for scope in (scope_here(app), Scope.USER):
        if app.store_path(scope) is None:
            continue
        store = app.writing(scope)
        memory = store.get(id)
        if memory is not None:
            store.sessions.use([memory.id], partial(use.followed, well=well))
            return True
    return False
