"""Steering: what the work is about, what was useful, and what could be tidied up."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

from recollect.base.errors import BadInput
from recollect.base.text import counted
from recollect.model.codec import Json
from recollect.model.memory import Kind, Memory, Rating
from recollect.model.plan import Plan, Update
from recollect.model.query import REACHED
from recollect.model.result import Done, Told
from recollect.ops.app import MAX_TOPIC_CHARS, App
from recollect.ops.focus import as_listed, focused, keep_focus
from recollect.ops.memories import clamped
from recollect.ops.table import Arg
from recollect.recall.weigh import Focus, focus_boost, relevance

if TYPE_CHECKING:
    from recollect.store import Store

_COUNTED = 1_000  # of a topic that is everywhere, the newest
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
) -> Told:
    wanted = _topic(app, topic)
    held, notes = clamped("weight", weight, 0.0, 1.0)
    point = Focus(wanted, held, app.clock.now())
    others = [one for one in focused(app) if one.topic.lower() != wanted.lower()]
    threads = _prioritized(app, point)
    if not app.dry_run:
        keep_focus(app, (*others, point))
    many = counted(threads, "thread")
    facts: dict[str, Json] = {"topic": wanted, "weight": held, "threads": threads, "focus": _listed((*others, point))}
    facts["dry_run"] = app.dry_run
    return Told(
        f'Focus set on "{wanted}" (weight={held:g}). {many} will be prioritized.', facts, (*notes, *app.notes())
    )


def unfocus(
    app: App, topic: Annotated[str | None, Arg("The topic; all of them if none is given.", metavar="[TOPIC]")] = None
) -> Told:
    standing = focused(app)
    if topic is None:
        if standing and not app.dry_run:
            keep_focus(app, ())
        return Told(
            "All focus cleared. Returning to similarity-based injection.", {"focus": [], "dry_run": app.dry_run}
        )
    wanted = _topic(app, topic)
    left = [one for one in standing if one.topic.lower() != wanted.lower()]
    if len(left) == len(standing):
        named = ", ".join(f'"{one.topic}"' for one in standing)
        raise BadInput(f'There is no focus on "{wanted}".', hint=f"In focus: {named}." if named else "Nothing is.")
    if not app.dry_run:
        keep_focus(app, left)
    return Told(f'Focus on "{wanted}" cleared.', {"focus": _listed(left), "dry_run": app.dry_run})


def rate(
    app: App,
    thread_id: Annotated[str, Arg("The memory.", metavar="ID")],
    verdict: Annotated[Verdict, Arg("useful or not-useful.", metavar="VERDICT")],
    *,
    reason: Annotated[str | None, Arg("Why, in a few words.")] = None,
) -> Done:
    if not isinstance(verdict, Verdict):
        raise BadInput(f"{str(verdict)[:80]!r} is no verdict.", hint="Say useful or not-useful.")
    scope, memory = app.find(thread_id)
    why = app.take("reason", reason, max_chars=_MAX_REASON_CHARS) if reason else None
    useful = verdict is Verdict.USEFUL
    scores = [0.0, 0.0]

    def make(store: Store) -> Plan:
        standing = store.exact(memory.id) or memory
        rated = (*standing.ratings, Rating(useful, app.clock.now(), why))[-_RATINGS_KEPT:]
        scores[:] = relevance(standing.ratings, standing.outcomes), relevance(rated, standing.outcomes)
        return Plan.of([Update.between(standing, replace(standing, ratings=rated))])

    as_what = "useful" if useful else "not useful"
    return app.commit(
        scope, "rate", make,
        lambda _: f"Rated {memory.id} as {as_what}. Relevance score: {scores[0]:.2f} → {scores[1]:.2f}",
    )  # fmt: skip


def _topic(app: App, topic: str) -> str:
    (taken,) = app.take_topics((topic,)) or ("",)
    if not taken:
        raise BadInput("There is no topic: the text is empty.", hint='`recollect focus "authentication"`')
    if len(taken) > MAX_TOPIC_CHARS:
        raise BadInput(f"A topic has at most {MAX_TOPIC_CHARS} characters.", hint="Name it in a few words.")
    return taken


def _listed(points: Sequence[Focus]) -> list[Json]:
    return [dict(point) for point in as_listed(points)]


def _prioritized(app: App, point: Focus) -> int:
    found: dict[str, Memory] = {}
    for _, store in app.scopes():
        seqs = store.about(point.topic, _COUNTED)
        found |= {memory.id: memory for _, memory, _ in store.whole(seqs)}
    return sum(
        memory.kind is Kind.THREAD
        and focus_boost(memory, (replace(point, weight=1.0),)) > 0
        and memory.status in REACHED
        for memory in found.values()
    )
