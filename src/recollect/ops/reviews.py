"""review: after a turn a language model looks back and proposes what memory lacks. Taker, job and command.

The taker only notes that a turn is over, and does not where nobody said anything new or the agent wrote memory itself.
The job asks, in the background, once for each turn: the note is taken away before anyone is asked. What comes back is a
plan like any other (proposals.py), told of at the next session's start.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated

from recollect.agents import DEFAULT_HOST, Cursor
from recollect.base.errors import BadInput, RecollectError
from recollect.base.text import counted
from recollect.capture import review as reviewing
from recollect.capture.review import Known
from recollect.model.act import Act, Sitting, Speaker
from recollect.model.memory import Memory, Status
from recollect.model.query import REACHED, Query
from recollect.model.result import Done, Scope, Told
from recollect.ops import acts, asks, digest, notices, proposals, recalls, review_marks
from recollect.ops.app import App
from recollect.ops.digest import Writes
from recollect.ops.haste import shortened
from recollect.ops.here import scope_here
from recollect.ops.proposals import Proposed
from recollect.ops.review_marks import Due
from recollect.ops.table import Arg
from recollect.render.harmless import neutral, plain

_KNOWN = 20
_TITLE_CHARS = 160
_SHOWN = (*REACHED, Status.CANDIDATE)


# When


def take(app: App, sitting: Sitting) -> Writes | None:
    # What was said may have been read before its end was told: then nothing is new, and the turn is over all the same.
    if sitting.past or sitting.agent or not sitting.turned or not sitting.acts or not is_on(app):
        return None
    begun = _began(sitting.acts, sitting.new_from)
    talked = sitting.acts[begun:]
    if not reviewing.has_news(talked):
        return None
    if reviewing.wrote_memory(talked):
        return lambda: app.log.line("not-reviewed", session=sitting.session, why="the agent wrote memory itself")
    due = Due(sitting.host, sitting.session, sitting.transcript, sitting.acts[-1].id)
    return lambda: review_marks.put(app, due)


def is_on(app: App) -> bool:
    return asks.is_on(app) and app.settings.switch("MEMORY_UPDATE")


def _began(seen: Sequence[Act], new_from: int) -> int:
    """Where the turn begins that the first new act belongs to."""
    for number in range(min(new_from, len(seen) - 1), -1, -1):
        if seen[number].speaker is Speaker.PERSON and not seen[number].agent:
            return number
    return 0


def work(app: App) -> bool:
    """Job: one turn that is over. True: there may be another."""
    if not is_on(app) or not review_marks.any_due(app):
        return False
    due = review_marks.take(app)
    if due is None:
        return False
    try:
        proposed = _proposed(app, due)
        dones = proposals.applied(app, proposed) if proposed else []
    except RecollectError as problem:
        app.log.line("not-reviewed", session=due.session, why=problem.message)
        return True
    app.log.line("reviewed", session=due.session, proposed=len(proposed.proposals) if proposed else 0, done=len(dones))
    if dones:
        notices.leave(app, f"\U0001f501 Recollect: looked back: {' '.join(done.summary for done in dones)}")
    return True


def review(
    app: App, *, run: Annotated[bool, Arg("Write what is proposed; else it is only shown.")] = False
) -> Done | Told:
    """The last turn that was read here, whether or not it was looked at before."""
    due = _last(app)
    if due is None:
        return Told("No session was read here yet.", {"proposed": 0, "dry_run": app.dry_run})
    if app.dry_run:
        said = reviewing.messages(_acts(app, due))
        told = f"{counted(len(said), 'message')} of session {due.session} would be looked at; nobody was asked."
        return Told(told, {"messages": len(said), "session": due.session, "dry_run": True})
    if not asks.is_on(app):
        raise BadInput("No language model may be asked.", hint="MEMORY_LLM=on in agent.conf; see docs/LLM.md.")
    proposed = _proposed(app, due)
    if proposed is None:
        raise BadInput("The model gave no answer.", hint="`recollect logs` says why.")
    app.dry_run = not run
    try:
        dones = proposals.applied(app, proposed)
    finally:
        app.dry_run = False
    if not dones:
        return Told("Nothing is new.", {"proposed": 0, "session": due.session})
    return replace(dones[-1], summary=" ".join(done.summary for done in dones))


# What is asked


def _last(app: App) -> Due | None:
    store = app.reading(scope_here(app))
    found = digest.last_read(store)
    if found is None:
        return None
    path, session = found
    known = store.sessions.session(session)
    return Due(known.host if known else DEFAULT_HOST, session, path, "")


def _proposed(app: App, due: Due) -> Proposed | None:
    """None: there was no answer, or nothing to ask about."""
    seen = _acts(app, due)
    said = reviewing.messages(seen)
    if not said:
        return None
    shown = _near(app, said)
    known = [_known(app, *pair) for pair in shown.values()]
    harmless = [replace(act, text=neutral(act.text)) for act in said]
    answer = asks.ask(app, reviewing.ask(harmless, known))
    if answer is None:
        return None
    return Proposed(reviewing.read_answer(answer, known), shown, reviewing.lane(seen), due.session)


def _acts(app: App, due: Due) -> Sequence[Act]:
    """The end of its transcript, up to the turn's last act."""
    try:
        size = os.stat(due.transcript).st_size
    except (OSError, ValueError):
        return ()
    seen = list(acts.looked_back(app, due.host, Path(due.transcript), Cursor(size, ""), digest.BACK_BYTES).acts)
    ends = [number for number, act in enumerate(seen, start=1) if act.id == due.upto]
    return seen[: ends[-1]] if ends else seen


def _near(app: App, said: Sequence[Act]) -> dict[str, tuple[Scope, Memory]]:
    text = shortened("\n".join(act.text for act in reversed(said)))
    if not any(char.isalnum() for char in text):
        return {}
    found = recalls.answered(app, Query(text=text, statuses=_SHOWN, limit=_KNOWN)).found
    return {one.hit.memory.id: (one.scope, one.hit.memory) for one in found}


def _known(app: App, scope: Scope, memory: Memory) -> Known:
    said = memory.body or "\n".join(one.content for one in app.reading(scope).messages(memory.id))
    return Known(memory.id, str(memory.kind), plain(memory.title, _TITLE_CHARS), neutral(said))
