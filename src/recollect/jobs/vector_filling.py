"""Gives passages the vectors they lack, a few at a time. Once none lacks one, vectors of earlier models are removed."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from itertools import islice, takewhile
from typing import TYPE_CHECKING, NamedTuple

from recollect.app.core import App
from recollect.app.question_vector import drop_old_vectors
from recollect.base.errors import ModelError, ModelLoading
from recollect.jobs.job_table import Memo
from recollect.model.result import Scope

if TYPE_CHECKING:
    from recollect.embed.embedder import Embedder

_LOOKED_UP = 64  # passages at a time: each look goes through all that have a vector


class _Passage(NamedTuple):
    scope: Scope
    model: str
    number: int
    text: str


@dataclass(slots=True)
class _State:
    waiting: deque[_Passage] = field(default_factory=deque)
    problem: str = ""  # why the model could not be used last time: logged once, not at every try


def fill(app: App, memo: Memo) -> bool:
    state = memo.get(_State)
    try:
        given = _fill_some(app, app.embedder, state.waiting)
    except ModelError as problem:
        state.waiting.clear()
        if problem.message != state.problem and not isinstance(problem, ModelLoading):
            app.log.line("no-vectors", problem=problem.message)
        state.problem = problem.message
        return False
    except BaseException:
        state.waiting.clear()
        raise
    state.problem = ""
    return given > 0


def _fill_some(app: App, embedder: Embedder, waiting: deque[_Passage]) -> int:
    if not waiting:
        waiting.extend(
            _Passage(scope, embedder.id, number, text)
            for scope, _ in app.scopes()
            for number, text in app.writer(scope).vectorless(embedder.id, _LOOKED_UP)
        )
    if not waiting:
        return sum(drop_old_vectors(app.writer(scope), embedder.id) for scope, _ in app.scopes())
    first = waiting[0]
    few = list(takewhile(lambda one: one[:2] == first[:2], islice(waiting, embedder.at_once)))
    if first.model == embedder.id:  # else the setting changed meanwhile
        vectors = embedder.embed([one.text for one in few])
        made = [(one.number, row.tobytes()) for one, row in zip(few, vectors, strict=True)]
        app.writer(first.scope).put_vectors(embedder.id, made)
    for _ in few:
        waiting.popleft()
    return len(few)
