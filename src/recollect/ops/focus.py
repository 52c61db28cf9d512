"""Focus and rating: what the work is about, and what was useful."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

from recollect.app.core import App
from recollect.app.memory_search import load_focus
from recollect.app.states import FOCUS, write_project_view
from recollect.base.errors import BadInput
from recollect.base.text import counted
from recollect.model.codec import Json
from recollect.model.memory import Kind, Rating
from recollect.model.plan import Plan, Update
from recollect.model.query import REACHED
from recollect.model.result import Done, Summary
from recollect.ops.memories import clamp
from recollect.ops.table import Arg
from recollect.recall.priority import Focus, focus_boost, relevance

if TYPE_CHECKING:
    from recollect.store import Store

_MAX_COUNTED = 1_000  # of a topic that is everywhere, the newest
_RATINGS_KEPT = 50  # the last ten count; the rest is history
_MAX_REASON_CHARS = 500


class Verdict(StrEnum):
    USEFUL = "useful"
    NOT_USEFUL = "not-useful"


def focus(
    app: App,
    topic: Annotated[str, Arg("A topic, words of a title, or a memory's id.", metavar="TOPIC")],
    *,
    weight: Annotated[float, Arg("How much it counts, 0 to 1.", metavar="W")] = 0.8,
) -> Summary:
    topic = _read_topic(app, topic)
    weight, notes = clamp("weight", weight, 0.0, 1.0)
    point = Focus(topic, weight, app.clock.now())
    points = [*(one for one in load_focus(app) if one.topic.lower() != topic.lower()), point]
    threads = _count_threads(app, point)
    if not app.dry_run:
        save_focus(app, points)
    facts: dict[str, Json] = {
        "topic": topic, "weight": weight, "threads": threads, "focus": [*list_focus(points)], "dry_run": app.dry_run,
    }  # fmt: skip
    summary = f'Focus set on "{topic}" (weight={weight:g}). {counted(threads, "thread")} will be prioritized.'
    return Summary(summary, facts, (*notes, *app.notes()))


def unfocus(
    app: App, topic: Annotated[str | None, Arg("The topic; by default all of them.", metavar="[TOPIC]")] = None
) -> Summary:
    points, left = load_focus(app), []
    summary = "All focus cleared. Returning to similarity-based injection."
    if topic is not None:
        topic = _read_topic(app, topic)
        left = [one for one in points if one.topic.lower() != topic.lower()]
        summary = f'Focus on "{topic}" cleared.'
        if len(left) == len(points):
            named = ", ".join(f'"{one.topic}"' for one in points) or "nothing"
            raise BadInput(f'There is no focus on "{topic}".', hint=f"In focus: {named}.")
    if len(left) < len(points) and not app.dry_run:
        save_focus(app, left)
    return Summary(summary, {"focus": [*list_focus(left)], "dry_run": app.dry_run})


def save_focus(app: App, points: Sequence[Focus]) -> None:
    """What is in focus from now on. `.ai/focus.json` shows it and is never read back."""
    FOCUS.write(app.writer(app.scope), tuple(points))
    shown: dict[str, Json] = {"active_focus": [*list_focus(points)], "last_updated": app.clock.now().iso()}
    write_project_view(app, "focus.json", shown)


def list_focus(points: Sequence[Focus]) -> list[dict[str, Json]]:
    return [{"topic": point.topic, "weight": point.weight, "set_at": point.set_at.iso()} for point in points]


def rate(
    app: App,
    thread_id: Annotated[str, Arg("The memory.", metavar="ID")],
    verdict: Annotated[Verdict, Arg("useful or not-useful.", metavar="VERDICT")],
    *,
    reason: Annotated[str | None, Arg("Why, in a few words.")] = None,
) -> Done:
    scope, memory = app.find(thread_id)
    why = app.redact_text("reason", reason, max_chars=_MAX_REASON_CHARS) if reason else None
    scores = ""

    def make(store: Store) -> Plan:
        nonlocal scores
        current = store.get(memory.id, follow=False) or memory
        rating = Rating(verdict is Verdict.USEFUL, app.clock.now(), why)
        rated = replace(current, ratings=(*current.ratings, rating)[-_RATINGS_KEPT:])
        scores = " → ".join(f"{relevance(one.ratings, one.outcomes):.2f}" for one in (current, rated))
        return Plan.of([Update.between(current, rated)])

    shown = verdict.value.replace("-", " ")
    return app.commit(scope, "rate", make, lambda _: f"Rated {memory.id} as {shown}. Relevance score: {scores}")


def _read_topic(app: App, topic: str) -> str:
    (text,) = app.redact_topics((topic,)) or ("",)
    if not text:
        raise BadInput("There is no topic: the text is empty.", hint='`recollect focus "authentication"`')
    return text


def _count_threads(app: App, point: Focus) -> int:
    """How many threads the focus will lift."""
    whole = (replace(point, weight=1.0),)
    stores = [store for _, store in app.scopes()]
    found = [unit[1] for store in stores for unit in store.read_units(store.about(point.topic, _MAX_COUNTED))]
    threads = [one for one in found if one.kind is Kind.THREAD and one.status in REACHED]
    return len({thread.id for thread in threads if focus_boost(thread, whole) > 0})
