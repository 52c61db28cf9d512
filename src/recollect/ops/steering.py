"""Steering: focus (what the work is about), rating (what was useful), suggestions and compaction (threads that say the
same, have drifted, or are too many). Threads are compared by their vectors."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

from recollect.app.core import App
from recollect.app.embedding import TimedQuestion
from recollect.app.memory_search import load_focus
from recollect.app.memory_search import search as search_memory
from recollect.app.states import FOCUS, write_project_view
from recollect.base.errors import BadInput, ModelError
from recollect.base.structs import replace
from recollect.base.text import clip, counted, one_line, storable
from recollect.lifecycle import compaction, edits
from recollect.lifecycle.compaction import FIGURES, Chosen, Pair, Strategy, ThreadState
from recollect.lifecycle.strength import fades, strengthen
from recollect.model.codec import Json
from recollect.model.memory import Kind, Memory, Rating, Status, Thread
from recollect.model.plan import Plan, Update
from recollect.model.query import REACHED, Query
from recollect.model.result import Compacted, Done, Suggested, Summary
from recollect.ops import memories
from recollect.ops.table import Arg
from recollect.recall.selection import Focus, focus_boost, relevance
from recollect.render.recall_text import ago

if TYPE_CHECKING:
    from recollect.store import LocalStore

_MAX_COUNTED = 1_000  # of a topic that is everywhere, the newest
_RATINGS_KEPT = 50  # the last ten count; the rest is history
_MOST_EMBEDDED = 32  # passages without a vector that get one on the spot: about half a second
_MOST_THREADS = 5_000  # among more, it is quicker to wait until all have their vectors
_MOST_LISTED = 20
_HINTS_TIMEOUT_S = 5.0
_STEPS = 3  # before each it can be cancelled


class Verdict(StrEnum):
    USEFUL = "useful"
    NOT_USEFUL = "not-useful"
    NEVER = "never"


def focus(
    app: App,
    topic: Annotated[str, Arg("A topic, words of a title, or a memory's id.", metavar="TOPIC")],
    *,
    weight: Annotated[float, Arg("How much it counts, 0 to 1.", metavar="W")] = 0.8,
) -> Summary:
    topic = _read_topic(app, topic)
    weight, notes = memories.clamp("weight", weight, 0.0, 1.0)
    point = Focus(topic, weight, app.clock.now())
    points = [*(one for one in load_focus(app) if one.topic.lower() != topic.lower()), point]
    whole = (replace(point, weight=1.0),)
    stores = [store for _, store in app.scopes()]
    found = [
        unit[1] for store in stores for unit in store.read_units(store.about(topic, _MAX_COUNTED))
    ]
    threads = [one for one in found if one.kind is Kind.THREAD and one.status in REACHED]
    lifted = len({thread.id for thread in threads if focus_boost(thread, whole) > 0})
    if not app.dry_run:
        save_focus(app, points)
    facts: dict[str, Json] = {
        "topic": topic,
        "weight": weight,
        "threads": lifted,
        "focus": [*list_focus(points)],
    }
    summary = f'Focus set on "{topic}" (weight={weight:g}). {counted(lifted, "thread")} will be prioritized.'
    return Summary(summary, facts | {"dry_run": app.dry_run}, (*notes, *app.notes()))


def unfocus(
    app: App,
    topic: Annotated[
        str | None, Arg("The topic; by default all of them.", metavar="[TOPIC]")
    ] = None,
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


def _read_topic(app: App, topic: str) -> str:
    (text,) = app.redact_topics((topic,)) or ("",)
    if not text:
        raise BadInput(
            "There is no topic: the text is empty.", hint='`recollect focus "authentication"`'
        )
    return text


def save_focus(app: App, points: Sequence[Focus]) -> None:
    """What is in focus from now on. `.ai/focus.json` shows it and is never read back."""
    FOCUS.write(app.writer(app.scope), tuple(points))
    shown: dict[str, Json] = {
        "active_focus": [*list_focus(points)],
        "last_updated": app.clock.now().iso(),
    }
    write_project_view(app, "focus.json", shown)


def list_focus(points: Sequence[Focus]) -> list[dict[str, Json]]:
    return [
        {"topic": point.topic, "weight": point.weight, "set_at": point.set_at.iso()}
        for point in points
    ]


def rate(
    app: App,
    thread_id: Annotated[str, Arg("The memory.", metavar="ID")],
    verdict: Annotated[
        Verdict, Arg("useful, not-useful, or never: do not show it again.", metavar="VERDICT")
    ],
    *,
    reason: Annotated[str | None, Arg("Why, in a few words.")] = None,
) -> Done:
    scope, memory = app.find(thread_id)
    why = app.redact_text("reason", reason, max_chars=500) if reason else None
    scores = ""

    def make(store: LocalStore) -> Plan:
        nonlocal scores
        current = store.get(memory.id, follow=False) or memory
        rating = Rating(
            verdict is Verdict.USEFUL, app.clock.now(), why, never=verdict is Verdict.NEVER
        )
        rated = replace(current, ratings=(*current.ratings, rating)[-_RATINGS_KEPT:])
        if rating.useful and fades(current):
            rated = strengthen(rated, now=app.clock.now(), rules=app.age_rules)
        scores = " → ".join(
            f"{relevance(one.ratings, one.outcomes):.2f}" for one in (current, rated)
        )
        return Plan.of([Update.between(current, rated)])

    def say(_plan: Plan) -> str:
        if verdict is Verdict.NEVER:
            return f"{memory.id} will not be shown again unless asked for; `recollect restore {memory.id}` unmutes it."
        return f"Rated {memory.id} as {verdict.value.replace('-', ' ')}. Relevance score: {scores}"

    return app.commit(scope, "rate", make, say)


def suggestions(
    app: App,
    context: Annotated[
        str | None, Arg("What the work is about, for hints.", metavar="[CONTEXT]")
    ] = None,
    *,
    apply: Annotated[
        bool, Arg("Apply the suggested merges and splits, each with its own undo.")
    ] = False,
) -> Suggested:
    store = app.reader(app.scope)
    threads = compaction.assess(store.sketches(), now=app.clock.now(), rules=app.age_rules)
    awake = [one for one in threads if one.status is Status.ACTIVE]
    try:
        close, notes = _find_close(app, store, awake, edits.MERGE_ABOVE)
    except (ModelError, BadInput) as problem:
        close, notes = [], (f"Threads that say the same were not looked for: {problem.message}",)
    app.progress(2, _STEPS, "steps")
    ids = {one.sketch.id for one in awake}
    drifted = Query(
        kinds=(Kind.THREAD,),
        statuses=(Status.ACTIVE,),
        drifts_over=edits.MIN_DRIFTS - 1,
        limit=1_000_000,
    )
    moved = sorted(
        (one for one in store.find(drifted) if isinstance(one, Thread)),
        key=lambda one: one.created_at,
    )
    drifts = [
        (one, topics) for one in moved if one.id in ids and (topics := edits.split_topics(one))
    ]
    merges: list[dict[str, Json]] = []
    for a, b, similarity in close[:_MOST_LISTED]:
        one, other = store.get(a, follow=False), store.get(b, follow=False)
        reason = (
            clip(one_line(edits.merge_reason(one.topics, other.topics)), 100)
            if one and other
            else ""
        )
        pair: dict[str, Json] = {
            "thread_a": a,
            "thread_b": b,
            "similarity": round(similarity, 2),
            "reason": reason,
        }
        merges.append(pair | {"command": _tool_call("ai_merge", a=a, b=b)})
    splits: list[dict[str, Json]] = []
    for thread, topics in drifts[:_MOST_LISTED]:
        shown: list[Json] = [clip(one_line(topic), 60) for topic in topics[:5]]
        reason = clip(
            one_line(f"Thread drifted from '{thread.drift[0]}' to '{thread.drift[-1]}'"), 160
        )
        found: dict[str, Json] = {
            "thread_id": thread.id,
            "reason": reason,
            "topics_to_split": shown,
        }
        splits.append(
            found | {"command": _tool_call("ai_split", thread_id=thread.id, topics=shown)}
        )
    hints = tuple(_find_hints(app, context)) if context and context.strip() else ()
    health = edits.health([one.strength for one in awake], len(close), len(drifts))
    totals = {"merge_candidates": len(close), "split_candidates": len(drifts)}
    app.progress(_STEPS, _STEPS, "steps")
    applied = _apply(app, close[:_MOST_LISTED], drifts[:_MOST_LISTED]) if apply else ()
    return Suggested(
        tuple(merges), tuple(splits), hints, health, totals, app.dry_run, applied, notes
    )


def _tool_call(tool: str, **given: Json) -> str:
    """As an agent writes it: every argument has its name in the tool's schema."""
    arguments = (f"{name}={json.dumps(value, ensure_ascii=False)}" for name, value in given.items())
    return f"{tool}({', '.join(arguments)})"


def _find_hints(app: App, context: str) -> list[dict[str, Json]]:
    """The threads nearest to the context that nobody was ever shown, by topic."""
    floor = app.settings.figure("MEMORY_ANSWER_FLOOR")
    query = Query(
        text=storable(context), kinds=(Kind.THREAD,), statuses=REACHED, limit=30, floor=floor
    )
    question = TimedQuestion(app, query.text, time.monotonic() + _HINTS_TIMEOUT_S)
    by_topic: dict[str, list[Memory]] = {}
    for one in search_memory(app, query, timed=question).found:
        memory = one.hit.memory
        by_topic.setdefault(clip(one_line((*memory.topics, memory.title)[0]), 80), []).append(
            memory
        )
    hints: list[dict[str, Json]] = []
    for topic, found in by_topic.items():
        # Each turn of a session activates its thread; only being shown or asked for is a recall.
        if any(not thread.frequency for thread in found):
            last = ago(max(one.last_active_at for one in found), app.clock.now())
            hints.append({"topic": topic, "last_mentioned": last, "thread_count": len(found)})
            hints[-1]["command"] = _tool_call("ai_recall", query=topic)
    return hints[:3]


def _apply(
    app: App, close: list[Pair], splits: list[tuple[Thread, tuple[str, ...]]]
) -> tuple[str, ...]:
    """Merges first; a thread that is gone by then is passed over."""
    done: list[str] = []
    gone: set[str] = set()
    for a, b, _ in close:
        if a not in gone and b not in gone:
            done.append(memories.merge(app, a, b).summary)
            gone.add(b)
    for thread, topics in splits:
        try:
            done.append(memories.split(app, thread.id, topics=topics[:1]).summary)
        except BadInput as problem:
            done.append(f"Left as it is: {problem.message}")
    return tuple(done)


def compact(
    app: App,
    *,
    strategy: Annotated[
        Strategy, Arg("How aggressively to compact: gentle, normal or aggressive.")
    ] = Strategy.NORMAL,
) -> Compacted:
    scope, figures = app.scope, FIGURES[strategy]
    reader = app.reader(scope)
    now, age, version = app.clock.now(), app.age_rules, reader.version()
    first_look = compaction.assess(reader.sketches(), now=now, rules=age)
    awake = [one for one in first_look if one.status is Status.ACTIVE]
    close, notes = _find_close(app, reader, awake, figures.merge_above)
    chosen = Chosen()

    def make(store: LocalStore) -> Plan:
        nonlocal chosen
        is_new = reader.version() != version  # to look at a hundred thousand again takes a while
        threads = compaction.assess(store.sketches(), now=now, rules=age) if is_new else first_look
        chosen = compaction.choose(threads, close, figures, now=now, rules=age)
        ids = dict.fromkeys(id for keep, lose, _ in chosen.merges for id in (keep, lose))
        whole = {
            memory.id: memories.load_whole(store, memory)
            for id in ids
            if (memory := store.get(id, follow=False))
        }
        app.progress(2, _STEPS, "steps")
        return compaction.plan(chosen, [one.sketch for one in threads], whole, now=now, rules=age)

    def say(_plan: Plan) -> str:
        merges, archives = (
            counted(len(chosen.merges), "merge"),
            f"{len(chosen.archives):,} archived",
        )
        threads = f"{chosen.before[0]:,} → {chosen.after[0]:,} active threads"
        return f"Compacted ({strategy}): {merges}, {archives}, {threads}."

    done = app.commit(scope, "compact", make, say) if first_look else None
    app.progress(_STEPS, _STEPS, "steps")
    actions: list[dict[str, Json]] = [
        {"action": "merge", "threads": [keep, lose], "similarity": round(how, 2)}
        for keep, lose, how in chosen.merges
    ]
    actions += [
        {"action": "archive", "thread": id, "reason": reason} for id, reason in chosen.archives
    ]
    both = chosen.before, chosen.after
    before, after = (
        {"active_threads": count, "total_weight": round(weight, 2)} for count, weight in both
    )
    change, kept_out = (done.change, done.notes) if done else (None, ())
    return Compacted(
        str(strategy),
        app.dry_run,
        tuple(actions),
        before,
        after,
        scope,
        change,
        (*notes, *kept_out),
    )


def _find_close(
    app: App, store: LocalStore, awake: list[ThreadState], above: float
) -> tuple[list[Pair], tuple[str, ...]]:
    """Threads of one lane that are near to each other, without pins; and what to tell the user about it. A few passages
    without a vector are embedded on the spot, and nothing of that is kept."""
    app.progress(0, _STEPS, "steps")
    threads = {one.sketch.seq: one.sketch for one in awake if not one.sketch.pinned}
    if len(threads) < 2:
        return [], ()
    embedder = app.embedder
    missing = store.nearest(embedder.id, bytes(4 * embedder.dim), 1, ()).missing
    more: list[tuple[int, int, bytes]] = []
    if missing and len(threads) <= _MOST_THREADS:
        passages = store.vectorless(embedder.id, _MOST_EMBEDDED)
        owners = store.owners([seq for seq, _ in passages])
        vectors = embedder.embed([text for _, text in passages])
        more = [
            (seq, owners[seq].memory, row.tobytes())
            for (seq, _), row in zip(passages, vectors, strict=True)
        ]
    app.progress(1, _STEPS, "steps")
    found = store.similar_pairs(embedder.id, list(threads), above, more)
    pairs = [
        (threads[a].id, threads[b].id, how)
        for a, b, how in found
        if threads[a].lane is threads[b].lane
    ]
    left = max(0, missing - len(more))
    if not left:
        return pairs, ()
    return pairs, (f"{left:,} passages have no vector yet and were not compared.",)
