"""Gives passages the vectors they lack, a few at a time. Once none lacks one, vectors of earlier models are removed."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

from recollect.app.core import App
from recollect.app.question_vector import drop_old_vectors, embed_passages
from recollect.base.errors import ModelError, ModelLoading
from recollect.jobs.job_table import Memo
from recollect.model.result import Scope

_LOOKED_UP = 64  # passages at a time: each look goes through all that have a vector


@dataclass(slots=True)
class _State:
    model: str = ""
    scope: Scope = Scope.USER
    waiting: deque[tuple[int, str]] = field(default_factory=deque)  # its passages without a vector of this model
    problem: str = ""  # why the model could not be used last time: logged once, not at every try


def fill(app: App, memo: Memo) -> bool:
    state = memo.of(_State)
    try:
        embedder = app.embedder
        if not state.waiting or state.model != embedder.id:
            state.model, state.waiting = embedder.id, deque()
            for state.scope, _ in app.scopes():
                state.waiting = deque(app.writer(state.scope).vectorless(embedder.id, _LOOKED_UP))
                if state.waiting:
                    break
        few = [state.waiting.popleft() for _ in range(min(embedder.at_once, len(state.waiting)))]
        given = embed_passages(app.writer(state.scope), embedder, few) if few else 0
        state.problem = ""
        return given > 0 or any(drop_old_vectors(app.writer(scope), embedder.id) for scope, _ in app.scopes())
    except ModelError as problem:
        if problem.message != state.problem and not isinstance(problem, ModelLoading):
            app.log.line("no-vectors", problem=problem.message)
        state.problem = problem.message
        return False
