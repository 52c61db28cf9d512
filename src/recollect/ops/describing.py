"""A better first line for a memory, on trial: put in place, measured with the engine that answers everyone, and taken
back unless the memory still comes up as early for what it should be found by.

What is on trial is known to the round before it is written, so a run that is killed while it measures leaves something
that the next one takes back. Of a note the store is changed first and its file last, by its condition alone: what it
says is never touched.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from recollect.base.errors import BadInput, Conflict, ModelError, NotFound
from recollect.lifecycle import validation
from recollect.model.memory import Memory, Note, Rule
from recollect.model.plan import Plan, Update
from recollect.model.query import REACHED, Query
from recollect.model.result import Scope
from recollect.ops import asking, notes, recalls, vaults
from recollect.ops.app import MAX_TITLE_CHARS, App
from recollect.ops.rounds import Held
from recollect.vault import tags

OP = "describe"
KEPT = "now"
_RANKS = 50
_FILLED = 32


def may_be(app: App, scope: Scope, memory: Memory) -> bool:
    """Rules, and notes of the user's own whose dialect has a place for it; not what is pinned."""
    if memory.pinned:
        return False
    if isinstance(memory, Note):
        is_own = scope is Scope.USER and vaults.file_of(app, scope, memory) is not None
        return is_own and notes.is_tagged(app, memory.id)
    return isinstance(memory, Rule)


def tried(app: App, held: Held, memory: Memory, line: str) -> str:
    """What came of it, in a few words that begin with KEPT where it was kept."""
    title = app.take("description", line, max_chars=MAX_TITLE_CHARS)
    asked = validation.questions(memory)
    before = _ranks(app, held.scope, memory, asked)
    change = app.mint.draw("change")
    if not held.tries_out(change):
        return "left as it is: another is at it"
    _put(app, held.scope, memory, title, change)
    said = _judged(app, held.scope, memory, title, asked, before)
    if not said.startswith(KEPT):
        take_back(app, held.scope, change)
    held.tries_out("")  # not before it is settled: whatever fails on the way leaves it to the next run
    return said


def _judged(
    app: App, scope: Scope, memory: Memory, title: str, asked: Sequence[str], before: Sequence[int | None]
) -> str:
    after = _ranks(app, scope, memory, asked)
    if validation.fell(before, after):
        return f"the title stays: by another it came up later ({_shown(before)}, then {_shown(after)})"
    if isinstance(memory, Note):
        said = f"{memory.path} has a new condition."
        try:
            notes.rewrite(app, memory.id, lambda text: tags.with_condition(text, title), OP, said)
        except (BadInput, Conflict) as problem:
            return f"the title stays: {problem.message}"
    return f"{KEPT} called {title!r} ({_shown(before)}, then {_shown(after)})"


def take_back(app: App, scope: Scope, change: str) -> None:
    """Where it was ever written, and nobody has changed it since."""
    store = app.writing(scope)
    found = store.log(limit=1, change=change)
    if not found or found[0].undone_by:
        return
    try:
        store.undo(change, app.act("undo", "Took back a title that did not serve.", undoes=change))
    except (Conflict, BadInput, NotFound):
        app.log.line("describe-stays", change=change)


def _put(app: App, scope: Scope, memory: Memory, title: str, change: str) -> None:
    store = app.writing(scope)
    standing = store.exact(memory.id) or memory
    plan = app.redacted(Plan.of([Update.between(standing, replace(standing, title=title))]))
    store.apply(plan, app.act(OP, f"{memory.id} is called {title!r}.", change=change))


def _ranks(app: App, scope: Scope, memory: Memory, asked: Sequence[str]) -> list[int | None]:
    """Of each question; with vectors where there are any."""
    try:
        while asking.fill_vectors(app.writing(scope), app.embedder, _FILLED):
            pass
    except (ModelError, BadInput):
        pass  # words alone, before and after
    return [_rank(app, memory, text) for text in asked]


def _rank(app: App, memory: Memory, text: str) -> int | None:
    found = recalls.answered(app, Query(text=text, statuses=REACHED, limit=_RANKS)).found
    ids = [one.hit.memory.id for one in found]
    return ids.index(memory.id) + 1 if memory.id in ids else None


def _shown(ranks: Sequence[int | None]) -> str:
    return "rank " + "/".join("-" if rank is None else str(rank) for rank in ranks)
