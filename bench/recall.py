"""How well recall answers, on suites of documents and questions, beside simple systems in the same run.

Every task is loaded into a fresh store (task_store.py), among real distractors if wanted, and asked through the
product's own engine with the product's defaults (ten hits, no limit of characters), threads as old as they are when the
task's questions are asked. Other systems rank the plain documents.

The figures are of the ten best (scores.py): of all questions, of those that weights are chosen on and of the half that
is held back. `ms_cpu` is the median CPU time of an answer; the embedding of the question comes on top, the same for
every system that needs it (engine.py measures it). `floor` tells what the same questions would show to an agent that
did not ask: how often anything, which share of it is gold, and how often the questions of other suites show anything.
"""

from __future__ import annotations

import shutil
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

from bench import scores, suites, task_store
from bench.embeddings import Embeddings
from bench.report import Report, share
from bench.scores import DEPTH, MEASURES, Difference
from bench.suites import Document, Question, Suite, Task
from bench.systems import BASELINES, Baselines, RecallAgent
from bench.systems import SYSTEM as AGENT
from bench.task_store import Places
from recollect.app.core import App
from recollect.app.embedding import MAX_TOKENS, QuestionVector
from recollect.app.memory_search import search_stores
from recollect.base.clock import SystemClock
from recollect.base.paths import Home
from recollect.base.settings import load
from recollect.model.query import REACHED, Hit, Query
from recollect.model.small_talk import names_nothing
from recollect.store import Progress, SqliteStore, Store, Tuning

OURS = "recollect"
COMPARED = ("recall@5", "any@1", "all@5")
HALVES = ("all", "tuned", "held")
_UNRELATED = 200  # questions of other suites that each suite is asked


@dataclass(frozen=True, slots=True)
class Figures:
    """Of one system on one suite."""

    suite: str
    system: str
    questions: int
    measures: dict[str, float]
    ms_cpu: float
    halves: dict[str, dict[str, float]]
    differences: dict[str, dict[str, Difference]]
    """By half and measure, to the baseline that is best there; of our own system alone."""

    def to_json(self) -> dict[str, Any]:
        figures: dict[str, Any] = {
            "suite": self.suite,
            "system": self.system,
            "queries": self.questions,
        }
        figures |= _rounded(self.measures)
        figures["ms_cpu"] = round(self.ms_cpu, 2)
        figures |= {half: _rounded(measures) for half, measures in self.halves.items()}
        for half, differences in self.differences.items():
            figures[f"ahead, {half}"] = {
                name: _rounded(asdict(one)) for name, one in differences.items()
            }
        return figures


@dataclass(slots=True)
class Floor:
    """What would have been shown to an agent that did not ask."""

    suite: str
    questions: int = 0
    answered: int = 0
    shown: int = 0
    gold: int = 0
    unrelated: int = 0
    unrelated_answered: int = 0

    def to_json(self) -> dict[str, Any]:
        return {
            "suite": self.suite, "queries": self.questions, "shown": share(self.answered, self.questions),
            "precision": share(self.gold, self.shown), "unrelated": self.unrelated,
            "unrelated shown": share(self.unrelated_answered, self.unrelated),
        }  # fmt: skip


@dataclass(frozen=True, slots=True)
class RecallReport(Report):
    figures: tuple[Figures, ...]
    floor: tuple[Floor, ...]
    fell_back: int | None = None
    """How often the recall agent gave no answer, and ordinary recall stood; None where it was not asked."""

    def of(self, suite: str, system: str) -> Figures:
        return next(one for one in self.figures if (one.suite, one.system) == (suite, system))

    def to_json(self) -> dict[str, Any]:
        floor = [one.to_json() for one in self.floor]
        return {
            "figures": [one.to_json() for one in self.figures],
            "floor": floor,
            "fell_back": self.fell_back,
        }


@dataclass(frozen=True, slots=True)
class _Answer:
    held: bool
    measures: dict[str, float]
    ms_cpu: float


_Answers = dict[str, list[_Answer]]
"""By system, in the order of the questions."""


def run_recall(
    folder: Path, wanted: Sequence[Suite], *, cache: Path, progress: Progress, agent: RecallAgent | None = None,
    others: Sequence[Suite] = (), among: int = 0, embedder: str = "shipped",
) -> RecallReport:  # fmt: skip
    """`cache`: the folder of the vectors that outlive this run. `among`: so many passages of the `others` stand around
    each task."""
    # Nobody's settings but the defaults.
    settings = load(None, None, {"MEMORY_EMBEDDING_MODEL": embedder})
    app = App(
        home=Home(folder), project=None, settings=settings, clock=SystemClock(), actor="bench"
    )
    embeddings = Embeddings(app.embedder, cache)
    total = sum(suite.documents + suite.questions for suite in wanted)
    done = 0
    figures: list[Figures] = []
    floors: list[Floor] = []
    try:
        for suite in wanted:
            asked = _Asked(
                app, embeddings, folder, suites.draw_distractors(suite, others, among), agent
            )
            answers: _Answers = {
                system: [] for system in (OURS, *((AGENT,) if agent else ()), *BASELINES)
            }
            unrelated = _unrelated(suite, [*(() if among else others), *wanted])
            floors.append(Floor(suite.name))
            for number, task in enumerate(suite.tasks):
                begun = done

                def tell(more: int, begun: int = begun) -> None:
                    progress(begun + more, total)

                for system, answer in asked.ask(
                    task, unrelated[number :: len(suite.tasks)], floors[-1], tell
                ):
                    answers[system].append(answer)
                done += len(task.documents) + len(task.questions)
            asked.close()
            figures += _figures(suite, answers)
    finally:
        embeddings.close()
        app.close()
    return RecallReport(tuple(figures), tuple(floors), agent.fell_back if agent else None)


def _unrelated(suite: Suite, others: Sequence[Suite]) -> list[str]:
    """Questions of other suites, evenly drawn; of the shipped one where no other is at hand."""
    own = {question.text for task in suite.tasks for question in task.questions}

    def questions(suites: Sequence[Suite]) -> list[str]:
        every = (
            question.text for suite in suites for task in suite.tasks for question in task.questions
        )
        return [text for text in dict.fromkeys(every) if text not in own]

    found = questions(others) or questions([suites.read(suites.OWN)])
    return found[:: max(1, len(found) // _UNRELATED)]


class _Asked:
    """The tasks of one suite, each among the same distractors."""

    def __init__(
        self,
        app: App,
        embeddings: Embeddings,
        folder: Path,
        distractors: Sequence[Document],
        agent: RecallAgent | None,
    ) -> None:
        self._app, self._embeddings, self._folder, self._agent = app, embeddings, folder, agent
        self._distractors = len(distractors)
        self._baselines = Baselines(*task_store.embed_documents(embeddings, distractors))
        store = SqliteStore(folder / "around.db", Tuning())
        task_store.load(app, store, distractors)
        task_store.embed_store(store, embeddings)
        store.close()

    def close(self) -> None:
        self._baselines.close()
        _remove(self._folder, "around.")

    def ask(
        self, task: Task, unrelated: Sequence[str], floor: Floor, progress: Callable[[int], None]
    ) -> Iterator[tuple[str, _Answer]]:
        for file in self._folder.glob("around.*"):
            shutil.copyfile(file, self._folder / file.name.replace("around", "task", 1))
        store = SqliteStore(self._folder / "task.db", Tuning())
        try:
            places = task_store.load(self._app, store, task.documents)
            task_store.embed_store(store, self._embeddings)
            self._baselines.put(*task_store.embed_documents(self._embeddings, task.documents))
            progress(len(task.documents))
            self._search(
                store, task, unrelated[0] if unrelated else "warm"
            )  # before the first that counts
            for number, question in enumerate(task.questions, start=1):
                answer = self._search(store, task, question.text)
                ranked = list(dict.fromkeys(_document(task, places, hit) for hit in answer.hits))
                yield OURS, _Answer(question.held, scores.score(ranked, question.gold), answer.ms)
                if self._agent is not None:
                    ours = [hit.memory.id for hit in answer.hits]
                    yield AGENT, _chosen(self._agent, store, task, question, places, ours)
                vector = self._embeddings.of([question.text])[0]
                for system, ranking in self._baselines.rank(question.text, vector).items():
                    own = [place - self._distractors for place in ranking.documents]
                    ranked = [task.documents[place].id if place >= 0 else "" for place in own]
                    yield (
                        system,
                        _Answer(question.held, scores.score(ranked, question.gold), ranking.ms_cpu),
                    )
                shown = [
                    _document(task, places, hit)
                    for hit in self._search(store, task, question.text, True).hits
                ]
                floor.questions += 1
                floor.answered += bool(shown)
                floor.shown += len(shown)
                floor.gold += sum(id in question.gold for id in shown)
                progress(len(task.documents) + number)
            for text in unrelated:
                floor.unrelated += 1
                floor.unrelated_answered += bool(self._search(store, task, text, True).hits)
        finally:
            store.close()
            _remove(self._folder, "task.")

    def _search(self, store: Store, task: Task, text: str, unasked: bool = False) -> _Found:
        """As `recall` does it; `unasked`: as for a prompt."""
        settings = self._app.settings
        query = Query(text=text, statuses=REACHED, limit=DEPTH, turns=DEPTH)
        if unasked:
            limit, floor = (
                settings.count("MEMORY_PROMPT_HITS"),
                settings.figure("MEMORY_RECALL_FLOOR"),
            )
            query = replace(query, limit=limit, turns=limit, once=True, unasked=True, floor=floor)
        if unasked and names_nothing(text):
            return _Found((), 0.0)
        embedded = (
            self._app.embedder.embed_one(text, MAX_TOKENS)
            if unasked
            else self._embeddings.of([text])[0]
        )
        vector = QuestionVector(self._embeddings.model, embedded.tobytes())
        likeness = None if unasked else self._app.embedder.likeness
        now, rules = task.now or self._app.clock.now(), self._app.age_rules
        answer = search_stores(
            [store], query, now=now, rules=rules, vector=vector, deep=not unasked, likeness=likeness
        )
        return _Found(answer.selected.hits, answer.ms)


class _Found(NamedTuple):
    hits: tuple[Hit, ...]
    ms: float


def _document(task: Task, places: Places, hit: Hit) -> str:
    """The id of the document that it is; none for a distractor."""
    place = places.get((hit.memory.id, hit.turn.id if hit.turn else ""))
    return "" if place is None else task.documents[place].id


def _remove(folder: Path, name: str) -> None:
    for file in folder.glob(f"{name}*"):
        file.unlink()


def _chosen(
    agent: RecallAgent,
    store: Store,
    task: Task,
    question: Question,
    places: Places,
    ours: list[str],
) -> _Answer:
    memories = {
        id: memory
        for id, turn in places
        if not turn and (memory := store.get(id, follow=False)) is not None
    }
    began = time.thread_time()
    ranked = [
        task.documents[places[id, ""]].id
        for id in agent.rank(question.text, memories, ours)
        if id in memories
    ]
    return _Answer(
        question.held, scores.score(ranked, question.gold), (time.thread_time() - began) * 1_000
    )


def _figures(suite: Suite, answers: _Answers) -> Iterator[Figures]:
    by_half = {
        half: {
            system: [one for one in given if half == "all" or one.held is (half == "held")]
            for system, given in answers.items()
        }
        for half in HALVES
    }
    by_half = {half: own for half, own in by_half.items() if own[OURS]}

    def means(half: str, system: str, names: Sequence[str]) -> dict[str, float]:
        return {
            name: scores.mean([answer.measures[name] for answer in by_half[half][system]])
            for name in names
        }

    for system, given in answers.items():
        ms_cpu = statistics.median(answer.ms_cpu for answer in given)
        halves = {half: means(half, system, COMPARED) for half in by_half if half != "all"}
        differences = {
            half: {name: _difference(name, own) for name in COMPARED}
            for half, own in by_half.items()
            if system == OURS
        }
        yield Figures(
            suite.name,
            system,
            len(given),
            means("all", system, MEASURES),
            ms_cpu,
            halves,
            differences,
        )


def _difference(measure: str, answers: _Answers) -> Difference:
    by_system = {
        system: [answer.measures[measure] for answer in given] for system, given in answers.items()
    }
    best = max(BASELINES, key=lambda system: scores.mean(by_system[system]))
    return scores.difference(best, by_system[OURS], by_system[best])


def _rounded(figures: dict[str, Any]) -> dict[str, Any]:
    return {
        name: round(value, 4) if isinstance(value, float) else value
        for name, value in figures.items()
    }
