"""How well work is grouped into threads: scripted sessions whose topics interleave and come back, beside never grouping
and grouping by session.

Each turn is labelled with its topic (data/THREADS.md). Purity: the share of turns that stand in a thread most of whose
turns are of their topic. Coverage: the share that stands where most of their topic's turns do. B-cubed asks the same of
every turn and averages. What says nothing (`none`) must stand nowhere. The weights were fitted on one half; the held
half is only ever scored.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.report import Report, share
from recollect.app.core import App
from recollect.base import project as projects
from recollect.base.clock import FixedClock
from recollect.base.errors import BadInput, ModelError
from recollect.base.moment import Moment
from recollect.base.paths import Home
from recollect.base.settings import load
from recollect.capture.turns import message_id
from recollect.embed.embedder import Embedder
from recollect.embed.embedder import load as load_model
from recollect.jobs import turn_threads
from recollect.model.session import Act, SessionPart, Speaker, ToolAction, ToolUse

SHIPPED = Path(__file__).parent / "data" / "threads.jsonl"
HALVES = ("tune", "held")
NONE = "none"
_BEGIN = Moment.parse("2026-03-02T09:00:00Z")
_DAYS_APART, _MINUTES_APART, _SECONDS_APART = 1.5, 9, 20


@dataclass(frozen=True, slots=True)
class Spoken:
    """A turn as it was written down, and what it is about."""

    topic: str
    prompt: str
    acts: tuple[dict[str, Any], ...]


@dataclass(frozen=True, slots=True)
class Session:
    half: str
    project: str
    id: str
    turns: tuple[Spoken, ...]


@dataclass(frozen=True, slots=True)
class GroupScore:
    system: str
    threads: int
    purity: float
    coverage: float
    precision: float
    recall: float
    f1: float
    """Of B-cubed precision and recall."""


@dataclass(frozen=True, slots=True)
class ThreadFigures:
    half: str
    sessions: int
    turns: int
    topics: int
    scores: tuple[GroupScore, ...]
    kept: float
    """Of the turns that have a topic."""
    junk_kept: int
    junk: int
    titles: tuple[str, ...]

    def score(self, system: str) -> GroupScore:
        return next(one for one in self.scores if one.system == system)


@dataclass(frozen=True, slots=True)
class ThreadReport(Report):
    figures: tuple[ThreadFigures, ...]


def read(path: Path) -> list[Session]:
    try:
        rows = [json.loads(line) for line in path.read_text("utf-8").splitlines() if line.strip()]
        return [
            Session(
                row["half"],
                row["project"],
                row["session"],
                tuple(
                    Spoken(turn["topic"], turn["prompt"], tuple(turn["acts"]))
                    for turn in row["turns"]
                ),
            )
            for row in rows
        ]
    except (OSError, ValueError, KeyError, TypeError) as problem:
        raise BadInput(
            f"{path} is no file of scripted sessions: {problem}", hint="docs: bench/data/THREADS.md"
        ) from None


def run_threads(
    folder: Path, sessions: Sequence[Session], halves: Sequence[str] = HALVES
) -> ThreadReport:
    try:
        embedder: Embedder | None = load_model()
    except ModelError:
        embedder = None
    figures = []
    for half in halves:
        own = [session for session in sessions if session.half == half]
        if own:
            figures.append(_figures(folder / half, half, own, embedder))
    return ThreadReport(tuple(figures))


Key = tuple[str, str, int]
"""A turn: project, session, number."""


def _figures(
    folder: Path, half: str, sessions: list[Session], embedder: Embedder | None
) -> ThreadFigures:
    labels: dict[Key, str] = {}
    for session in sessions:
        for number, turn in enumerate(session.turns):
            labels[session.project, session.id, number] = f"{session.project} {turn.topic}"
    junk = {key for key, label in labels.items() if label.endswith(f" {NONE}")}
    topics = {key: label for key, label in labels.items() if key not in junk}
    systems: dict[str, dict[Key, str]] = {
        "words and files": grouped(folder / "words", sessions, None)[0]
    }
    placed = systems["words and files"]
    titles: tuple[str, ...] = ()
    if embedder is not None:
        placed, titles = grouped(folder / "vectors", sessions, embedder)
        systems = {"words, files and vectors": placed, **systems}
    scores = [
        score(name, topics, {key: found.get(key, key) for key in topics})
        for name, found in systems.items()
    ]
    scores.append(score("never grouped", topics, {key: key for key in topics}))
    scores.append(score("by session", topics, {key: key[:2] for key in topics}))
    return ThreadFigures(
        half=half,
        sessions=len(sessions),
        turns=len(topics),
        topics=len(set(topics.values())),
        scores=tuple(scores),
        kept=share(sum(key in placed for key in topics), len(topics)),
        junk_kept=sum(key in placed for key in junk),
        junk=len(junk),
        titles=titles,
    )


def score(system: str, topics: dict[Key, str], found: dict[Key, Hashable]) -> GroupScore:
    of_topic, of_group = defaultdict(set), defaultdict(set)
    for key, label in topics.items():
        of_topic[label].add(key)
        of_group[found[key]].add(key)
    both = {key: len(of_topic[topics[key]] & of_group[found[key]]) for key in topics}
    precision = sum(both[key] / len(of_group[found[key]]) for key in topics) / len(topics)
    recall = sum(both[key] / len(of_topic[topics[key]]) for key in topics) / len(topics)
    pure = sum(max(Counter(topics[key] for key in group).values()) for group in of_group.values())
    covered = sum(max(Counter(found[key] for key in topic).values()) for topic in of_topic.values())
    return GroupScore(
        system=system,
        threads=len(of_group),
        purity=share(pure, len(topics)),
        coverage=share(covered, len(topics)),
        precision=round(precision, 4),
        recall=round(recall, 4),
        f1=round(2 * precision * recall / (precision + recall), 4),
    )


# Through the product


def grouped(
    folder: Path, sessions: Sequence[Session], embedder: Embedder | None
) -> tuple[dict[Key, str], tuple[str, ...]]:
    """In which thread each turn stands, by the taker as the daemon calls it, and the titles of the threads."""
    placed: dict[Key, str] = {}
    titles: list[str] = []
    for project in dict.fromkeys(session.project for session in sessions):
        app = an_app(folder / project, embedder)
        try:
            for day, session in enumerate(one for one in sessions if one.project == project):
                begin = _BEGIN.plus(days=day * _DAYS_APART)
                for number, ids in enumerate(_lived(app, session, begin)):
                    standing = [one.thread_id for one in app.writer(app.scope).messages(ids=ids)]
                    if standing:
                        placed[project, session.id, number] = Counter(standing).most_common(1)[0][0]
            titles += [memory.title for memory, _ in app.writer(app.scope).each()]
        finally:
            app.close()
    return placed, tuple(titles)


def an_app(folder: Path, embedder: Embedder | None) -> App:
    """One that knows this embedder, or none."""
    work = folder / "work"
    (work / ".git").mkdir(parents=True)
    app = App(
        home=Home(folder / "home"), project=projects.find(work, folder), settings=load(None, None, {}),
        clock=FixedClock(_BEGIN), actor="bench",
    )  # fmt: skip
    app.__class__ = _Without if embedder is None else App
    app._embedder = embedder
    return app


class _Without(App):
    @property
    def embedder(self) -> Embedder:
        raise ModelError("This part is measured without a model.", hint="")


def _lived(app: App, session: Session, begin: Moment) -> list[list[str]]:
    """Turn by turn; returns the ids that the messages of each turn have, if they were kept."""
    acts: list[Act] = []
    ids: list[list[str]] = []
    for number, turn in enumerate(session.turns):
        at = begin.plus(seconds=60 * _MINUTES_APART * number)
        new = acts_of(turn, f"{session.id}-{number}", at)
        acts += new
        told(
            app,
            SessionPart(
                host="bench", session=session.id, acts=tuple(acts), new_from=len(acts) - len(new)
            ),
        )
        ids.append([message_id(act) for act in new])
    return ids


def told(app: App, sitting: SessionPart) -> None:
    """As `digest` does it."""
    if isinstance(app.clock, FixedClock) and sitting.acts:
        app.clock.at = sitting.acts[-1].at
    store = app.writer(app.scope)
    write = turn_threads.record_turns(app, sitting)
    if write is not None:
        with store.transaction():
            write()


def acts_of(turn: Spoken, name: str, at: Moment) -> list[Act]:
    said = [Act(id=f"{name}-p", at=at, speaker=Speaker.PERSON, text=turn.prompt)]
    for number, one in enumerate(turn.acts, start=1):
        when = at.plus(seconds=number * _SECONDS_APART)
        match one:
            case {"say": text}:
                said.append(Act(id=f"{name}-{number}", at=when, speaker=Speaker.AGENT, text=text))
            case {"read": file}:
                said.append(
                    _call(
                        f"{name}-{number}",
                        when,
                        ToolUse(ToolAction.READ, "Read", "", (file,)),
                        "…",
                        failed=False,
                    )
                )
            case {"edit": file}:
                said.append(
                    _call(
                        f"{name}-{number}",
                        when,
                        ToolUse(ToolAction.EDIT, "Edit", "", (file,)),
                        "ok",
                        failed=False,
                    )
                )
            case _:
                run = ToolUse(ToolAction.RUN, "Bash", one["run"])
                said.append(
                    _call(f"{name}-{number}", when, run, one["output"], failed=one["failed"])
                )
    return said


def _call(id: str, at: Moment, use: ToolUse, output: str, *, failed: bool) -> Act:
    return Act(id=id, at=at, speaker=Speaker.TOOL, text=output, use=use, failed=failed)
