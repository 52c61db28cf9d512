"""Makes the vectors of questions and of passages, and says how many passages have theirs. A question that somebody
waits for is embedded in a thread of its own while its words are looked up; where the vector is not there in time, words
answer alone, and the answer says so."""

from __future__ import annotations

import threading
import time
import weakref
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import urlsplit

from recollect.app.core import App
from recollect.app.states import Memo
from recollect.base.errors import BadInput, ModelError, ModelLoading
from recollect.base.settings import leaves_machine
from recollect.base.structs import Struct, field
from recollect.model.result import Embedding, Scope

if TYPE_CHECKING:
    from recollect.embed.embedder import Embedder
    from recollect.store import Store

VECTORS_NEED_S = 0.06  # to embed a question and compare, on a busy machine
RANKING_NEEDS_S = 0.03  # of that, what follows once the vector is there
# Some fifty words: 20 ms. Of a longer question both ends; its rare words count wherever they stand.
MAX_TOKENS = 64
WITH_VECTORS = "words and vectors"
_HEAD_CHARS, _TAIL_CHARS = 3_000, 1_000
_LOOKED_UP = 64  # passages at a time: each look goes through all that have a vector
_DROPPED_AT_ONCE = 2_000  # some 20 ms: no hook's write waits longer than it can


class QuestionVector(NamedTuple):
    model: str
    vector: bytes


class TimedQuestion:
    """A question that must be answered by `until_s` (monotonic clock). Its vector is computed from now on."""

    def __init__(self, app: App, text: str, until_s: float) -> None:
        self.text = shorten_prompt(text)
        self.until_s = until_s
        self.how = "words alone: too little time was left for vectors"
        self._vector: QuestionVector | None = None
        self._problem: Exception | None = None
        self._thread: threading.Thread | None = None
        if self.left_s < VECTORS_NEED_S:
            return
        try:
            embedder, self.how = app.embedder, WITH_VECTORS
        except (ModelError, BadInput) as problem:  # missing, broken, or a setting that names none
            self.how = _words_alone(problem)
            return
        asked = app.question_for_model(self.text)

        def embed() -> None:
            try:
                self._vector = QuestionVector(
                    embedder.id, _embed_prompt(weakref.ref(embedder), asked)
                )
            except Exception as problem:  # noqa: BLE001 raised again in the thread that asks for the vector
                self._problem = problem

        self._thread = threading.Thread(target=embed, name="question-vector", daemon=True)
        self._thread.start()

    @property
    def left_s(self) -> float:
        return self.until_s - time.monotonic()

    def vector(self) -> QuestionVector | None:
        """None: words answer alone, and `how` says why."""
        if self._thread is None:
            return None
        self._thread.join(max(0.0, self.left_s - RANKING_NEEDS_S))
        if isinstance(self._problem, ModelError):
            self.how = _words_alone(self._problem)
        elif self._problem is not None:
            raise self._problem
        elif self._vector is None:
            self.how = "words alone: the question's vector was not there in time"
        return self._vector


@lru_cache(maxsize=200)
def _embed_prompt(embedder: weakref.ref[Embedder], asked: str) -> bytes:
    """Some prompts are sent again and again. A model that was replaced is not kept for them: it is 90 MB."""
    model = embedder()
    if model is None:
        raise ModelLoading
    return model.embed_one(asked, MAX_TOKENS).tobytes()


def question_vector(app: App, text: str) -> tuple[QuestionVector | None, str]:
    """The vector of a question that nobody waits for, and how it is searched."""
    try:
        embedder = app.embedder
        vector = embedder.embed_one(app.question_for_model(text))
    except (ModelError, BadInput) as problem:
        return None, _words_alone(problem)
    return QuestionVector(embedder.id, vector.tobytes()), WITH_VECTORS


def shorten_prompt(text: str) -> str:
    """A long prompt is often something pasted, with the question before or after it."""
    is_long = len(text) > _HEAD_CHARS + _TAIL_CHARS
    return f"{text[:_HEAD_CHARS]}\n{text[-_TAIL_CHARS:]}" if is_long else text


def _words_alone(problem: ModelError | BadInput) -> str:
    return f"words alone: {problem.message.rstrip('.')}"


def fill_vectors(store: Store, embedder: Embedder, limit: int) -> int:
    """Computes missing vectors of at most `limit` passages; returns how many it computed."""
    return embed_passages(store, embedder, store.vectorless(embedder.id, limit))


def embed_passages(store: Store, embedder: Embedder, passages: Sequence[tuple[int, str]]) -> int:
    if passages:
        vectors = embedder.embed([text for _, text in passages])
        store.put_vectors(
            embedder.id,
            [(seq, row.tobytes()) for (seq, _), row in zip(passages, vectors, strict=True)],
        )
    return len(passages)


def drop_old_vectors(store: Store, model: str) -> int:
    """Once every passage has a vector of this model, removes some of other models; returns how many."""
    return (
        0
        if store.vectorless(model, 1)
        else store.put_vectors(model, [], drop_others=_DROPPED_AT_ONCE)
    )


def read_vector_status(app: App) -> Embedding:
    """Any model but the shipped one is loaded: there is no other way to tell whether it can be used."""
    from recollect.embed import shipped_id  # no prompt waits for it

    setting = app.settings.text("MEMORY_EMBEDDING_MODEL")
    try:
        model = shipped_id() if setting == "shipped" else app.embedder.id
    except (ModelError, BadInput) as problem:
        return Embedding(setting, "", problem=problem.message)
    counts = [store.counts() for _, store in app.scopes()]
    vectors = sum(one.vectors_by_model.get(model, 0) for one in counts)
    others = sum(one.vectors for one in counts) - vectors
    return Embedding(setting, model, sum(one.passages for one in counts), vectors, others)


def vector_destination(app: App) -> str:
    """Where the text of memories is sent to, if that is another machine; else empty."""
    setting = app.settings.text("MEMORY_EMBEDDING_MODEL")
    return (
        f" (the text of every memory is sent to {urlsplit(setting).netloc})"
        if leaves_machine(setting)
        else ""
    )


class FillState(Struct, frozen=False):
    model: str = ""
    scope: Scope = Scope.USER
    waiting: list[tuple[int, str]] = field(
        default_factory=list
    )  # its passages without a vector of this model
    problem: str = ""  # why the model could not be used last time: logged once, not at every try


class IndexState(NamedTuple):
    app: App  # whose connection the steps use
    steps: Iterator[None]


def build_indexes(app: App, memo: Memo) -> bool:
    """Job: builds what makes searches in large stores fast, a step at a time."""
    state: IndexState | None = memo.get(IndexState)
    if state is None or state.app is not app:
        try:
            model = app.embedder.id
        except ModelLoading:
            return False
        except (ModelError, BadInput):
            model = ""  # by words alone
        stores = [app.writer(scope) for scope, _ in app.scopes()]
        lacking = next((store for store in stores if store.lacks_index(model)), None)
        if lacking is None:
            return False
        memo[IndexState] = state = IndexState(app, lacking.build_index(model))
    for _ in state.steps:
        return True
    del memo[IndexState]
    return True


def fill(app: App, memo: Memo) -> bool:
    """Job: gives passages the vectors they lack, a few at a time. Then vectors of earlier models are removed."""
    state: FillState = memo.setdefault(FillState, FillState())
    try:
        embedder = app.embedder
        if not state.waiting or state.model != embedder.id:
            state.model, state.waiting = embedder.id, []
            for state.scope, _ in app.scopes():
                state.waiting = app.writer(state.scope).vectorless(embedder.id, _LOOKED_UP)
                if state.waiting:
                    break
        few, state.waiting = state.waiting[: embedder.at_once], state.waiting[embedder.at_once :]
        given = embed_passages(app.writer(state.scope), embedder, few) if few else 0
        state.problem = ""
        return given > 0 or any(
            drop_old_vectors(app.writer(scope), embedder.id) for scope, _ in app.scopes()
        )
    except ModelError as problem:
        if problem.message != state.problem and not isinstance(problem, ModelLoading):
            app.log.line("no-vectors", problem=problem.message)
        state.problem = problem.message
        return False
