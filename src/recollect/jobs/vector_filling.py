"""Gives passages the vectors they lack, a few at a time. Once none lacks one, vectors of earlier models are removed."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from itertools import groupby

from recollect.app.core import App
from recollect.app.question_vector import drop_old_vectors
from recollect.base.errors import ModelError, ModelLoading
from recollect.jobs.job_table import Memo
from recollect.model.result import Scope

_LOOKED_UP = 64  # passages at a time: each look goes through all that have a vector


@dataclass(slots=True)
class _State:
    model: str = ""
    waiting: deque[tuple[Scope, int, str]] = field(default_factory=deque)  # passages without a vector of this model
    problem: str = ""  # why the model could not be used last time: logged once, not at every try


def fill(app: App, memo: Memo) -> bool:
    state = memo.of(_State)
    try:
        given = _fill_some(app, state)
    except ModelError as problem:
        if problem.message != state.problem and not isinstance(problem, ModelLoading):
            app.log.line("no-vectors", problem=problem.message)
        state.problem = problem.message
        return False
    state.problem = ""
    return given > 0


def _fill_some(app: App, state: _State) -> int:
    embedder = app.embedder
    if not state.waiting or state.model != embedder.id:
        state.model = embedder.id
        state.waiting = deque(
            (scope, number, text)
            for scope, _ in app.scopes()
            for number, text in app.writer(scope).vectorless(embedder.id, _LOOKED_UP)
        )
    if not state.waiting:
        return sum(drop_old_vectors(app.writer(scope), embedder.id) for scope, _ in app.scopes())
    few = [state.waiting.popleft() for _ in range(min(embedder.at_once, len(state.waiting)))]
    for scope, passages in groupby(few, key=lambda one: one[0]):
        numbered = [(number, text) for _, number, text in passages]
        vectors = embedder.embed([text for _, text in numbered])
        made = [(number, row.tobytes()) for (number, _), row in zip(numbered, vectors, strict=True)]
        app.writer(scope).put_vectors(embedder.id, made)
    return len(few)
