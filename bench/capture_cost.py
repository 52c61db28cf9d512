"""What it costs to put a turn of a session into a thread as the store grows: CPU time of finding the thread, deciding
and writing, with and without embedding. A turn here is seven events: a prompt, five calls, the answer.

The store holds threads of made-up text, as sessions leave them. Every second turn goes on with one of them (it speaks
in its words, of its file), the others open new ones. Vectors are random, under the real model's name: the cost of
comparing them does not depend on what they mean.
"""

from __future__ import annotations

import random
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from bench.corpus import Corpus
from bench.report import Report, percentile
from bench.threads import Spoken, acts_of, an_app, told
from recollect.app.core import App
from recollect.base.errors import ModelError
from recollect.base.moment import Moment
from recollect.capture.thread_choice import ORIGIN
from recollect.embed.embedder import Embedder, load
from recollect.model.memory import Anchor, Message, Thread
from recollect.model.plan import Create, Plan
from recollect.model.session import SessionPart
from recollect.store import ChangeHeader, Progress

SIZES = (1_000, 10_000, 100_000)
TURNS = 200
EVENTS_A_TURN = 7
AIM_MS = 10.0
_BATCH = 500
_VECTORS = 5_000
_BEGIN = Moment.parse("2026-03-01T09:00:00Z")
_WORDS = 60


@dataclass(frozen=True, slots=True)
class TurnCost:
    memories: int
    p50_cpu_ms: float
    p95_cpu_ms: float
    with_embedding_p50_cpu_ms: float
    with_embedding_p95_cpu_ms: float
    went_on: float
    """Share of the turns that were put to a thread that was there."""


@dataclass(frozen=True, slots=True)
class CostReport(Report):
    sizes: tuple[TurnCost, ...]
    events_a_turn: int = EVENTS_A_TURN
    aim_ms_an_event: float = AIM_MS

    @property
    def passed(self) -> bool:
        """The machine may be busy: what is claimed is that the cost is nearly flat."""
        return all(one.p95_cpu_ms <= 3 * max(self.sizes[0].p95_cpu_ms, 1.0) for one in self.sizes)


def run_capture_cost(
    folder: Path, *, sizes: tuple[int, ...] = SIZES, turns: int = TURNS, progress: Progress
) -> CostReport:
    try:
        embedder: Embedder | None = load()
    except ModelError:
        embedder = None
    figures = []
    plain = an_app(folder / "store", None)
    plain.fills_vectors = False
    made: list[Thread] = []
    try:
        for size in sorted(sizes):
            for some in _grown(plain, size - len(made), len(made)):
                made += some
                progress(len(made), max(sizes))
            costs, went_on = _timed(plain, made, turns, f"plain-{size}")
            dear = [0.0]
            if embedder is not None:
                _give_vectors(plain, embedder.id)
                dear = _with_model(plain, embedder, made, turns, size)
            figures.append(
                TurnCost(
                    memories=size,
                    p50_cpu_ms=round(percentile(costs, 50), 2),
                    p95_cpu_ms=round(percentile(costs, 95), 2),
                    with_embedding_p50_cpu_ms=round(percentile(dear, 50), 2),
                    with_embedding_p95_cpu_ms=round(percentile(dear, 95), 2),
                    went_on=round(went_on, 2),
                )
            )
    finally:
        plain.close()
    return CostReport(tuple(figures))


def _with_model(
    plain: App, embedder: Embedder, made: list[Thread], turns: int, size: int
) -> list[float]:
    app = App(
        home=plain.home,
        project=plain.project,
        settings=plain.settings,
        clock=plain.clock,
        actor="bench",
    )
    app._embedder = embedder
    app.fills_vectors = False
    try:
        return _timed(app, made, turns, f"model-{size}")[0]
    finally:
        app.close()


def _grown(app: App, count: int, standing: int) -> Iterator[list[Thread]]:
    corpus = Corpus(standing + 1)
    store = app.writer(app.scope)
    for start in range(0, count, _BATCH):
        some = [
            _thread(app, corpus, standing + start + n) for n in range(min(_BATCH, count - start))
        ]
        said = [
            Message(
                app.mint.draw("message"), one.id, one.created_at, "agent", corpus.text(_WORDS // 2)
            )
            for one in some
        ]
        plan = Plan(tuple(Create(one, (message,)) for one, message in zip(some, said, strict=True)))
        store.apply(plan, ChangeHeader(app.mint.draw("change"), "bench", "bench", "", _BEGIN))
        yield some


def _thread(app: App, corpus: Corpus, number: int) -> Thread:
    at = _BEGIN.plus(seconds=-number)
    return Thread(
        id=app.mint.draw("thread"), title=corpus.prompt(6), body=corpus.text(_WORDS), topics=corpus.topics(),
        origin=ORIGIN, group=f"old-{number // 5}", anchors=(Anchor(f"src/part{number}.py"),),
        created_at=at, reinforced_at=at, last_active_at=at,
    )  # fmt: skip


def _timed(app: App, made: list[Thread], turns: int, name: str) -> tuple[list[float], float]:
    chance, corpus = random.Random(name), Corpus(len(made) + 7)
    costs: list[float] = []
    went_on = 0
    before = _threads(app)
    for number in range(turns):
        known = chance.choice(made) if number % 2 else None
        turn = _turn(known, corpus, f"{name}-{number}")
        at = _BEGIN.plus(seconds=60 * number)
        acts = tuple(acts_of(turn, f"{name}-{number}", at))
        sitting = SessionPart(host="bench", session=f"{name}-{number // 4}", acts=acts)
        began = time.process_time()
        told(app, sitting)
        costs.append((time.process_time() - began) * 1_000)
    went_on = turns - (_threads(app) - before)
    return costs, went_on / turns if turns else 0.0


def _turn(known: Thread | None, corpus: Corpus, name: str) -> Spoken:
    """A prompt, a file looked at and changed, a test that fails and passes, a conclusion."""
    words = " ".join(known.body.split()[:25]) if known else corpus.prompt(20)
    file = known.anchors[0].path if known else f"src/{name}.py"
    output = corpus.text(80)
    return Spoken(
        "",
        words,
        (
            {"read": file},
            {"edit": file},
            {
                "run": f"pytest tests/test_{name}.py -q",
                "output": f"E   AssertionError: {output}",
                "failed": True,
            },
            {"edit": file},
            {"run": f"pytest tests/test_{name}.py -q", "output": "7 passed", "failed": False},
            {"say": f"{words} {corpus.text(30)}"},
        ),
    )


def _threads(app: App) -> int:
    return sum(
        count
        for kind, _, count in app.writer(app.scope).counts().by_kind_and_status
        if kind == "thread"
    )


def _give_vectors(app: App, model: str) -> None:
    import numpy as np

    chance = np.random.default_rng(1)
    store = app.writer(app.scope)
    while missing := store.vectorless(model, _VECTORS):
        rows = chance.standard_normal((len(missing), 384)).astype(np.float32)
        rows /= np.linalg.norm(rows, axis=1, keepdims=True)
        store.put_vectors(
            model, [(seq, row.tobytes()) for (seq, _), row in zip(missing, rows, strict=True)]
        )
