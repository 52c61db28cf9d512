"""Suites of documents and questions, read from JSON lines, gzipped or not.

One task a line: `{"task", "docs": [{"id", "text", "group", "date"?}], "queries": [{"id", "text", "gold", "type"}],
"now"?}`. `group` is the conversation that a document belongs to; within one, documents stand in the order they came.
`now` is the time of the questions; without it they are asked at the date of the last document.
A line that is not so is refused with the file and the line's number: figures of half a suite mean nothing.
"""

from __future__ import annotations

import gzip
import json
import random
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from recollect.base.errors import BadInput, NotFound
from recollect.base.moment import Moment
from recollect.base.text import storable
from recollect.model.passage import text_spans

OWN = Path(__file__).with_name("data") / "own.jsonl"
SAMPLE_SEED = 1
_SHAPE = 'A line is {"task", "docs": [{"id", "text", "group"}], "queries": [{"id", "text", "gold", "type"}]}.'
_GZIP = b"\x1f\x8b"


@dataclass(frozen=True, slots=True)
class Document:
    id: str
    text: str
    group: str
    at: Moment | None


@dataclass(frozen=True, slots=True)
class Question:
    id: str
    text: str
    gold: frozenset[str]
    """The documents that answer it, never empty."""
    type: str
    held: bool = False
    """Every second one of a suite: weights are chosen on the others."""


@dataclass(frozen=True, slots=True)
class Task:
    name: str
    documents: tuple[Document, ...]
    questions: tuple[Question, ...]
    now: Moment | None = None
    """When the questions are asked; None where no document has a date."""


@dataclass(frozen=True, slots=True)
class Suite:
    name: str
    tasks: tuple[Task, ...]

    @property
    def questions(self) -> int:
        return sum(len(task.questions) for task in self.tasks)

    @property
    def documents(self) -> int:
        return sum(len(task.documents) for task in self.tasks)

    def sampled(self, count: int, seed: int = SAMPLE_SEED) -> Suite:
        """So many of its questions, always the same. Tasks that lose all of theirs are left out."""
        every = [question for task in self.tasks for question in task.questions]
        chosen = set(map(id, random.Random(seed).sample(every, min(count, len(every)))))
        kept = (
            replace(t, questions=tuple(q for q in t.questions if id(q) in chosen))
            for t in self.tasks
        )
        return replace(self, tasks=tuple(task for task in kept if task.questions))


def draw_distractors(suite: Suite, others: Sequence[Suite], passages: int) -> list[Document]:
    """Whole groups of the other suites, about so many passages or all there are, always the same; nothing that has
    the id or the text of a document of this one."""
    known = {
        mark
        for task in suite.tasks
        for document in task.documents
        for mark in (document.id, document.text)
    }
    groups: dict[str, list[Document]] = {}
    every = (
        (other, task, document)
        for other in others
        for task in other.tasks
        for document in task.documents
    )
    for other, task, document in every:
        if document.id in known or document.text in known:
            continue
        known.add(document.text)
        group = f"{other.name} {task.name} {document.group or document.id}"
        groups.setdefault(group, []).append(replace(document, group=group))
    names = sorted(groups)
    random.Random(SAMPLE_SEED).shuffle(names)
    drawn: list[Document] = []
    for name in names:
        if passages <= 0:
            break
        drawn += groups[name]
        passages -= sum(len(list(text_spans("", document.text))) for document in groups[name])
    return drawn


def read(path: Path) -> Suite:
    tasks: list[Task] = []
    for number, line in _lines(path):
        try:
            tasks.append(_task(json.loads(line), before=sum(len(task.questions) for task in tasks)))
        except (ValueError, RecursionError) as problem:
            raise BadInput(
                f"{path.name}, line {number}: {_said(problem)}.",
                hint=_SHAPE,
            ) from None
    asked = tuple(task for task in tasks if task.questions)
    suite = Suite(path.name.removesuffix(".gz").removesuffix(".jsonl"), asked)
    if not suite.questions:
        raise BadInput(
            f"{path.name}: there is no question in it.", hint="A suite is one JSON object a line."
        )
    return suite


def _lines(path: Path) -> Iterator[tuple[int, bytes]]:
    """Numbered from one; blank ones are left out."""
    number = 0
    try:
        with path.open("rb") as file:
            zipped = file.read(2) == _GZIP
        with gzip.open(path) if zipped else path.open("rb") as file:
            for number, line in enumerate(file, start=1):
                if line.strip():
                    yield number, line
    except (EOFError, gzip.BadGzipFile, zlib.error):
        raise BadInput(
            f"{path.name}, after line {number}: the gzipped file is damaged or cut short."
        ) from None
    except OSError as problem:
        raise NotFound(
            f"{path} cannot be read: {problem.strerror}.", hint="Name a suite's file."
        ) from None


def _task(data: Any, before: int) -> Task:
    """`before`: how many questions came before."""
    documents: dict[str, Document] = {}
    for document in map(_document, _list(data, "docs")):
        # One that stands there twice is one; two with the same id are none.
        if documents.setdefault(document.id, document).text != document.text:
            raise ValueError(f"two documents have the id {document.id!r}")
    asked = enumerate(map(_question, _list(data, "queries")), start=before)
    questions = tuple(replace(question, held=number % 2 == 1) for number, question in asked)
    for question in questions:
        unknown = question.gold - documents.keys()
        if unknown:
            raise ValueError(
                f"question {question.id!r} has the gold {min(unknown)!r}, which is no document"
            )
    last = max(
        (document.at for document in documents.values() if document.at is not None), default=None
    )
    return Task(
        _text(data, "task"), tuple(documents.values()), questions, _moment(data, "now") or last
    )


def _document(data: Any) -> Document:
    return Document(
        _text(data, "id"), _text(data, "text"), _text(data, "group", ""), _moment(data, "date")
    )


def _question(data: Any) -> Question:
    id, gold = _text(data, "id"), _list(data, "gold")
    if not gold or not all(isinstance(name, str) for name in gold):
        raise ValueError(f"question {id!r} has no gold: a list of documents' ids is wanted")
    return Question(id, _text(data, "text"), frozenset(gold), _text(data, "type", ""))


def _text(data: Any, name: str, default: str | None = None) -> str:
    value = data.get(name, default) if isinstance(data, dict) else None
    if not isinstance(value, str):
        raise ValueError(f"{name!r} is missing or is no text")
    return storable(value)


def _moment(data: Any, name: str) -> Moment | None:
    date = _text(data, name, "")
    try:
        return Moment.parse(date) if date else None
    except (ValueError, OverflowError):
        raise ValueError(f"{date!r} is no date") from None


def _list(data: Any, name: str) -> Sequence[Any]:
    value = data.get(name) if isinstance(data, dict) else None
    if not isinstance(value, list):
        raise ValueError(f"{name!r} is missing or is no list")
    return value


def _said(problem: Exception) -> str:
    if isinstance(problem, json.JSONDecodeError | UnicodeDecodeError):
        return "it is not JSON"
    return "it is nested too deeply" if isinstance(problem, RecursionError) else str(problem)
