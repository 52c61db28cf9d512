"""How well recall answers, on suites of documents and questions, beside simple systems in the same run.

Every task is loaded into a fresh store as an import would do it: one document, one memory, secrets kept out. It is
asked through the product's own engine with the product's defaults (ten hits, no limit of characters). A document with
a date becomes a thread of that date, which ages as threads do until its task's questions are asked; a document without
one becomes a note.

The figures are of the ten best (scores.py). `ms_cpu` is the median CPU time of an answer; the embedding of the
question comes on top, the same for every system that needs it (engine.py measures it).
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bench import scores
from bench.embeddings import Embeddings
from bench.report import Report
from bench.scores import DEPTH, MEASURES, Difference
from bench.suites import Document, Question, Suite, Task
from bench.systems import BASELINES, Baselines, RecallAgent
from bench.systems import SYSTEM as AGENT
from recollect.app.core import App
from recollect.app.embedding import QuestionVector
from recollect.app.memory_search import search_stores
from recollect.base.clock import SystemClock
from recollect.base.paths import Home
from recollect.base.settings import load
from recollect.base.text import first_line_title
from recollect.model.memory import Memory, Note, Thread
from recollect.model.plan import Create, Plan
from recollect.model.query import REACHED, Query
from recollect.store import ChangeHeader, Progress, SqliteStore, Store, Tuning

OURS = "recollect"
COMPARED = ("recall@5", "any@1")
_A_PLAN = 300
_A_PAGE = 2_000


@dataclass(frozen=True, slots=True)
class Figures:
    """Of one system on one suite."""

    suite: str
    system: str
    questions: int
    measures: dict[str, float]
    ms_cpu: float
    differences: dict[str, Difference]
    """By measure, to the best baseline; of our own system alone."""

    def to_json(self) -> dict[str, Any]:
        figures: dict[str, Any] = {"suite": self.suite, "system": self.system, "queries": self.questions}
        figures |= {name: round(value, 4) for name, value in self.measures.items()}
        figures["ms_cpu"] = round(self.ms_cpu, 2)
        if self.differences:
            figures["differences"] = {name: _rounded(asdict(d)) for name, d in self.differences.items()}
        return figures


@dataclass(frozen=True, slots=True)
class RecallReport(Report):
    figures: tuple[Figures, ...]
    fell_back: int | None = None
    """How often the recall agent gave no answer, and ordinary recall stood; None where it was not asked."""

    def of(self, suite: str, system: str) -> Figures:
        return next(one for one in self.figures if (one.suite, one.system) == (suite, system))

    def to_json(self) -> dict[str, Any]:
        return {"figures": [one.to_json() for one in self.figures], "fell_back": self.fell_back}


@dataclass(frozen=True, slots=True)
class _Answer:
    measures: dict[str, float]
    ms_cpu: float


_Answers = dict[str, list[_Answer]]
"""By system, in the order of the questions."""


def run_recall(
    folder: Path, suites: Sequence[Suite], *, cache: Path, progress: Progress, agent: RecallAgent | None = None
) -> RecallReport:
    """`cache` is the folder of the vectors that outlive this run."""
    # Nobody's settings but the defaults.
    app = App(home=Home(folder), project=None, settings=load(None, None, {}), clock=SystemClock(), actor="bench")
    embeddings = Embeddings(app.embedder, cache)
    total = sum(suite.documents + suite.questions for suite in suites)
    done = 0
    figures: list[Figures] = []
    try:
        for suite in suites:
            answers: _Answers = {system: [] for system in (OURS, *((AGENT,) if agent else ()), *BASELINES)}
            for task in suite.tasks:
                begun = done

                def tell(more: int, begun: int = begun) -> None:
                    progress(begun + more, total)

                for system, answer in _asked(app, embeddings, folder / "task.db", task, tell, agent):
                    answers[system].append(answer)
                done += len(task.documents) + len(task.questions)
            figures += _figures(suite, answers)
    finally:
        embeddings.close()
        app.close()
    return RecallReport(tuple(figures), agent.fell_back if agent else None)


def _asked(
    app: App,
    embeddings: Embeddings,
    path: Path,
    task: Task,
    progress: Callable[[int], None],
    agent: RecallAgent | None,
) -> Iterator[tuple[str, _Answer]]:
    store = SqliteStore(path, Tuning())
    try:
        ids = _load(app, store, task.documents)
        vectors, owners = _embed(store, embeddings, ids, progress)
        baselines = Baselines([document.text for document in task.documents], vectors, owners)
        now = task.now or app.clock.now()
        asked = embeddings.of([question.text for question in task.questions])
        store.nearest(embeddings.model, asked[0].tobytes(), 1, ())  # the engine is warm before the first question
        for number, (question, vector) in enumerate(zip(task.questions, asked, strict=True), start=1):
            answer = search_stores(
                [store],
                Query(text=question.text, statuses=REACHED, limit=DEPTH),
                now=now,
                rules=app.age_rules,
                vector=QuestionVector(embeddings.model, vector.tobytes()),
            )
            ranked = [task.documents[ids[hit.memory.id]].id for hit in answer.selected.hits]
            yield OURS, _Answer(scores.score(ranked, question.gold), answer.ms)
            if agent is not None:
                yield AGENT, _chosen(agent, store, task, question, ids, [hit.memory.id for hit in answer.selected.hits])
            for system, ranking in baselines.rank(question.text, vector).items():
                ranked = [task.documents[place].id for place in ranking.documents]
                yield system, _Answer(scores.score(ranked, question.gold), ranking.ms_cpu)
            progress(len(task.documents) + number)
        baselines.close()
    finally:
        store.close()
        for file in path.parent.glob(f"{path.name}*"):
            file.unlink()


def _chosen(
    agent: RecallAgent, store: Store, task: Task, question: Question, ids: dict[str, int], ours: list[str]
) -> _Answer:
    memories = {id: memory for id in ids if (memory := store.get(id, follow=False)) is not None}
    began = time.thread_time()
    ranked = [task.documents[ids[id]].id for id in agent.rank(question.text, memories, ours)]
    return _Answer(scores.score(ranked, question.gold), (time.thread_time() - began) * 1_000)


def _load(app: App, store: Store, documents: Sequence[Document]) -> dict[str, int]:
    """Which document a memory is, by its id: a suite's own ids need not look like ours."""
    ids: dict[str, int] = {}
    for start in range(0, len(documents), _A_PLAN):
        creates = []
        for place, document in enumerate(documents[start : start + _A_PLAN], start=start):
            memory = _memory(app, document)
            ids[memory.id] = place
            creates.append(Create(memory))
        act = ChangeHeader(app.mint.draw("change"), "import", app.actor, "", app.clock.now())
        store.apply(app.redact_plan(Plan.of(creates)), act)
    return ids


def _memory(app: App, document: Document) -> Memory:
    kind: type[Memory] = Note if document.at is None else Thread
    at = document.at or app.clock.now()
    body = app.redact_text("body", document.text)
    return kind(
        id=app.mint.draw(str(kind.kind)),
        title=first_line_title(body),
        body=body,
        group=document.group,
        origin="import",
        created_at=at,
        reinforced_at=at,
        last_active_at=at,
    )


def _embed(
    store: Store, embeddings: Embeddings, ids: dict[str, int], progress: Callable[[int], None]
) -> tuple[NDArray[np.float32], list[int]]:
    """Gives every passage its vector; returns them with the document of each."""
    found: list[NDArray[np.float32]] = []
    owners: list[int] = []
    while page := store.vectorless(embeddings.model, _A_PAGE):
        seqs = [seq for seq, _ in page]
        whose = store.owners(seqs)
        memories = {
            unit: ids[memory.id] for unit, memory, _ in store.read_units(list({one.unit for one in whose.values()}))
        }
        # Documents that came before, and of this page the share that is done.
        begun = len(set(owners))

        def tell(done: int, begun: int = begun, here: int = len(memories), of: int = len(page)) -> None:
            progress(begun + here * done // of)

        vectors = embeddings.of([text for _, text in page], tell)
        store.put_vectors(embeddings.model, [(seq, row.tobytes()) for seq, row in zip(seqs, vectors, strict=True)])
        found.append(vectors)
        owners += [memories[whose[seq].unit] for seq in seqs]
    return np.concatenate(found), owners


def _figures(suite: Suite, answers: _Answers) -> Iterator[Figures]:
    for system, given in answers.items():
        measures = {name: scores.mean([answer.measures[name] for answer in given]) for name in MEASURES}
        ms_cpu = statistics.median(answer.ms_cpu for answer in given)
        differences = {name: _difference(name, answers) for name in COMPARED} if system == OURS else {}
        yield Figures(suite.name, system, len(given), measures, ms_cpu, differences)


def _difference(measure: str, answers: _Answers) -> Difference:
    by_system = {system: [answer.measures[measure] for answer in given] for system, given in answers.items()}
    best = max(BASELINES, key=lambda system: scores.mean(by_system[system]))
    return scores.difference(best, by_system[OURS], by_system[best])


def _rounded(difference: dict[str, Any]) -> dict[str, Any]:
    return {name: round(value, 4) if isinstance(value, float) else value for name, value in difference.items()}
