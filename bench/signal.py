"""How much of what is kept and told is right, on labelled real sessions.

SESSIONS has a folder of transcripts for each project; LABELS has JSON lines about them, made by reading:

    prompts.jsonl    what a person typed (`text`), and which words of it hold beyond the task (`durable`, each a `span`,
                     with `ask`: a question that it answers)
    questions.jsonl  a `question`, and `answer`: alternatives, each a list of words that must all be seen
    pairs.jsonl      a later prompt, an earlier turn, and whether that `bears` on it
    unrelated.jsonl  prompts (`kind`: unrelated or contentless) on which nothing in the project's past bears
    turns.jsonl      what a good record of a turn says: `asked`, `found`, `decided`, `ended`

Every row names its `project` and its `part`: `tune` was looked at while building, `held` was not.
"""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any

from bench.report import Report, share
from recollect.agents.transcript import Tail
from recollect.app import rule_keeping
from recollect.app.core import App
from recollect.app.embedding import TimedQuestion
from recollect.base import project as projects
from recollect.base.clock import SystemClock
from recollect.base.errors import BadInput
from recollect.base.moment import Moment
from recollect.base.paths import Home
from recollect.base.settings import load
from recollect.capture import terms
from recollect.capture.prompt_text import Action
from recollect.jobs import session_import
from recollect.model.memory import Kind
from recollect.model.passage import Record, read_record
from recollect.model.query import Query
from recollect.model.result import Scope
from recollect.ops import past_sessions, recall, upkeep
from recollect.ops.past_sessions import replay_sessions, time_of
from recollect.ops.prompt_recall import search_unasked
from recollect.render.recall_text import recall_text
from recollect.store import Progress

Row = Mapping[str, Any]
_NO_HURRY_S = 3_600.0
_MOST_THREADS = 100_000
_SAME_WORDS = 0.5
"""Of a labelled span: so much of it must stand in a rule's."""


@dataclass(frozen=True, slots=True)
class RuleFigures:
    prompts: int
    durable: int
    in_force: int
    precision: float
    found_in_force: float
    found_in_force_or_inbox: float
    found_by_recall: float
    """Asked for after the sessions were imported."""
    inbox_per_100: float
    inbox_worth_keeping: float


@dataclass(frozen=True, slots=True)
class AnswerFigures:
    questions: int
    visible: float
    visible_in_other_words: float
    chars: int
    """Of an answer, on average."""


@dataclass(frozen=True, slots=True)
class UnaskedFigures:
    prompts: int
    """With at least one earlier turn that was judged."""
    told: int
    judged: int
    """Of what was told: turns that were judged for this prompt."""
    precision: float
    recall: float
    """Of the turns that bear on their prompt."""
    unrelated: int
    unrelated_told: float
    contentless: int
    contentless_told: float


@dataclass(frozen=True, slots=True)
class RecordFigures:
    """Which share of the words of a good record stand in the same part of ours."""

    turns: int
    asked: float
    found: float
    decided: float
    ended: float


@dataclass(frozen=True, slots=True)
class SignalReport(Report):
    half: str
    rules: RuleFigures
    answers: AnswerFigures
    unasked: UnaskedFigures
    records: RecordFigures
    replay: dict[str, int]
    """Over all projects: prompts, told, memories, used."""


def run_signal(
    folder: Path, sessions: Path, labels: Path, half: str, progress: Progress
) -> SignalReport:
    """`half`: tune or held."""
    told = _Labels(labels, half)
    found = _Found()
    names = told.projects(sessions)
    for number, name in enumerate(names):
        progress(number, len(names))
        app = _app(folder / name)
        try:
            past_sessions.import_past(app, str(sessions / name))
            upkeep.reindex(app)
            found.hear(app, told.of(name, "prompts"))
            found.ask(app, told.of(name, "questions"))
            found.tell(app, told.of(name, "unrelated"))
            found.compare(app, told.of(name, "turns"), sessions / name)
        finally:
            app.close()
        found.replay(_app(folder / f"{name}-replayed"), sessions / name, told.of(name, "pairs"))
    progress(len(names), len(names))
    return found.report(half)


class _Labels:
    def __init__(self, folder: Path, half: str) -> None:
        self._rows = {
            name: [row for row in _lines(folder / f"{name}.jsonl") if row["part"] == half]
            for name in ("prompts", "questions", "pairs", "unrelated", "turns")
        }

    def projects(self, sessions: Path) -> list[str]:
        named = {row["project"] for rows in self._rows.values() for row in rows}
        found = sorted(name for name in named if (sessions / name).is_dir())
        if not found:
            raise BadInput(
                f"No labelled project has a folder in {sessions}.",
                hint="Name a folder with one folder per project.",
            )
        return found

    def of(self, project: str, name: str) -> list[Row]:
        """Of every project, where a row says so."""
        return [row for row in self._rows[name] if row["project"] in (project, "any")]


def _lines(path: Path) -> Iterator[Row]:
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as problem:
        raise BadInput(
            f"{path} cannot be read: {problem.strerror}.",
            hint="See `recollect bench signal --help`.",
        ) from None
    for number, line in enumerate(text.splitlines(), 1):
        try:
            yield json.loads(line)
        except ValueError:
            raise BadInput(
                f"Line {number} of {path} is no JSON.", hint="One JSON object on each line."
            ) from None


def _app(folder: Path) -> App:
    (folder / "project" / ".ai").mkdir(parents=True)
    return App(
        home=Home(folder / "home"), project=projects.find(folder / "project", folder), settings=load(None, None, {}),
        clock=SystemClock(), actor="bench",
    )  # fmt: skip


class _Found:
    """Counts over all projects."""

    def __init__(self) -> None:
        self._count: Counter[str] = Counter()
        self._chars = 0
        self._parts: dict[str, list[float]] = {"asked": [], "found": [], "decided": [], "ended": []}

    def hear(self, app: App, prompts: Sequence[Row]) -> None:
        """What would be kept of each prompt, and whether what is durable in it can be asked for."""
        for row in prompts:
            rules = rule_keeping.read_prompt(app, row["text"]).found
            durable = row["durable"]
            kept = [rule for rule in rules if rule.action is not Action.DROPPED]
            in_force = [rule for rule in kept if rule.action is Action.STORED]
            inbox = [rule for rule in kept if rule.action is Action.INBOX]
            self._count.update(
                prompts=1, durable=len(durable), in_force=len(in_force), inbox=len(inbox),
                right=sum(any(_same(one["span"], rule.span) for one in durable) for rule in in_force),
                worth=sum(any(_same(one["span"], rule.span) for one in durable) for rule in inbox),
                heard=sum(any(_same(one["span"], rule.span) for rule in in_force) for one in durable),
                kept=sum(any(_same(one["span"], rule.span) for rule in kept) for one in durable),
                found=sum(_is_visible(_recalled(app, one["ask"]), [one["see"]]) for one in durable),
            )  # fmt: skip

    def ask(self, app: App, questions: Sequence[Row]) -> None:
        for row in questions:
            text = _recalled(app, row["question"])
            visible = _is_visible(text, row["answer"])
            other = bool(row["other_words"])
            self._chars += len(text)
            self._count.update(
                questions=1, visible=visible, others=other, visible_others=visible and other,
            )  # fmt: skip

    def tell(self, app: App, prompts: Sequence[Row]) -> None:
        for row in prompts:
            mind = search_unasked(
                app, TimedQuestion(app, row["prompt"], time.monotonic() + _NO_HURRY_S), seen=frozenset(),
                limit=app.settings.count("MEMORY_PROMPT_HITS"),
            )  # fmt: skip
            self._count.update({row["kind"]: 1, f"{row['kind']} told": bool(mind.hits)})

    def compare(self, app: App, turns: Sequence[Row], sessions: Path) -> None:
        """Our record of each labelled turn with the one that a reader wrote."""
        times = _times(sessions)
        records = _records(app)
        for row in turns:
            ours = records.get(times.get(row["uuid"], Moment(0)), Record())
            self._count.update(turns=1)
            for part, shares in self._parts.items():
                if row[part]:
                    shares.append(_covered(row[part], _part(ours, part)))

    def replay(self, app: App, sessions: Path, pairs: Sequence[Row]) -> None:
        _, transcripts = next(iter(session_import.choose(app, str(sessions))[0].values()))
        asked = replay_sessions(app, transcripts)
        times = _times(sessions)
        told = {(one.session, one.at): one for one in asked}
        self._count.update(
            {
                "replayed": len(asked),
                "answered": sum(bool(one.hits) for one in asked),
                "entries": sum(len(one.hits) for one in asked),
                "used": sum(one.is_used(hit) for one in asked for hit in one.hits),
            }
        )
        by_prompt = groupby(sorted(pairs, key=_prompt_of), key=_prompt_of)
        for (session, uuid), rows in by_prompt:
            one = told.get((session, times.get(uuid, Moment(0))))
            if one is None:
                continue
            shown = {time_of(hit) for hit in one.hits}
            bears = {
                times[row["turn_uuid"]]: bool(row["bears"])
                for row in rows
                if row["turn_uuid"] in times
            }
            self._count.update(
                judged_prompts=1, told=len(shown), judged=len(shown & bears.keys()),
                right_told=sum(bears.get(at, False) for at in shown), bearing=sum(bears.values()),
                reached=sum(is_true and at in shown for at, is_true in bears.items()),
            )  # fmt: skip

    def report(self, half: str) -> SignalReport:
        n = self._count
        rules = RuleFigures(
            n["prompts"], n["durable"], n["in_force"], share(n["right"], n["in_force"]),
            share(n["heard"], n["durable"]), share(n["kept"], n["durable"]), share(n["found"], n["durable"]),
            round(100 * share(n["inbox"], n["prompts"]), 1), share(n["worth"], n["inbox"]),
        )  # fmt: skip
        answers = AnswerFigures(
            n["questions"], share(n["visible"], n["questions"]), share(n["visible_others"], n["others"]),
            round(self._chars / n["questions"]) if n["questions"] else 0,
        )  # fmt: skip
        unasked = UnaskedFigures(
            n["judged_prompts"], n["told"], n["judged"], share(n["right_told"], n["judged"]),
            share(n["reached"], n["bearing"]), n["unrelated"], share(n["unrelated told"], n["unrelated"]),
            n["contentless"], share(n["contentless told"], n["contentless"]),
        )  # fmt: skip
        means = {
            part: round(sum(all) / len(all), 4) if all else 0.0 for part, all in self._parts.items()
        }
        records = RecordFigures(n["turns"], **means)
        replayed = {name: n[name] for name in ("replayed", "answered", "entries", "used")}
        return SignalReport(half, rules, answers, unasked, records, replayed)


def _recalled(app: App, question: str) -> str:
    return recall_text(recall.recall(app, (question,)), now=app.clock.now())


def _is_visible(text: str, answer: Sequence[Sequence[str]]) -> bool:
    """Line ends and quotation marks of the layout do not count."""
    seen = " ".join(text.replace("\n> ", " ").split()).casefold()
    return any(all(" ".join(words.split()).casefold() in seen for words in one) for one in answer)


def _same(span: str, other: str) -> bool:
    wanted = set(terms.words(span))
    return bool(wanted) and len(wanted & set(terms.words(other))) >= _SAME_WORDS * len(wanted)


def _covered(wanted: str, ours: str) -> float:
    words = set(terms.words(wanted))
    return len(words & set(terms.words(ours))) / len(words) if words else 1.0


def _part(record: Record, part: str) -> str:
    """What a reader calls the finding may stand in how it ended, and the other way round."""
    if part in ("found", "ended"):
        return f"{record.found} {record.ended}"
    return f"{record.asked} {record.decided}" if part == "decided" else str(getattr(record, part))


def _prompt_of(row: Row) -> tuple[str, str]:
    return row["prompt_session"], row["prompt_uuid"]


def _times(sessions: Path) -> dict[str, Moment]:
    """When each line of the transcripts was written, by its id."""
    found: dict[str, Moment] = {}
    for path in sorted(sessions.glob("*.jsonl")):
        for line in Tail(path):
            id, at = line.get("uuid"), line.get("timestamp")
            if isinstance(id, str) and isinstance(at, str):
                found[id] = Moment.parse(at)
    return found


def _records(app: App) -> dict[Moment, Record]:
    """By the time of their turn's prompt."""
    store = app.reader(Scope.PROJECT)
    threads = store.find(Query(kinds=(Kind.THREAD,), limit=_MOST_THREADS))
    messages = (message for thread in threads for message in store.messages(thread.id))
    return {
        message.at: found
        for message in messages
        if (found := read_record(message.content)) is not None
    }
