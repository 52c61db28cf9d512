"""Suggestions and compaction: threads that say the same, that drifted, that grew too many. Threads are compared by
their vectors; a few passages that have none yet are embedded on the spot, and nothing of that is kept."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

from recollect.app.core import App
from recollect.app.memory_search import search as search_memory
from recollect.app.question_vector import TimedQuestion
from recollect.base.errors import BadInput, ModelError
from recollect.base.text import clip, counted, one_line, storable
from recollect.lifecycle import compaction, edits
from recollect.lifecycle.compaction import FIGURES, Chosen, Pair, Strategy, ThreadState
from recollect.model.codec import Json
from recollect.model.memory import Kind, Memory, Status, Thread
from recollect.model.plan import Plan
from recollect.model.query import REACHED, Query
from recollect.model.result import Compacted, Suggested
from recollect.ops import memories
from recollect.ops.table import Arg
from recollect.render.recall_text import ago

if TYPE_CHECKING:
    from recollect.store import Store

_MOST_EMBEDDED = 32  # passages without a vector that get one on the spot: about half a second
_MOST_THREADS = 5_000  # among more, it is quicker to wait until all have their vectors
_MOST_LISTED = 20
_MOST_HINTS = 3
_HINTS_TIMEOUT_S = 5.0
_HINT_CANDIDATES = 30
_NO_LIMIT = 1_000_000
_STEPS = 3  # before each it can be cancelled


def suggestions(
    app: App,
    context: Annotated[str | None, Arg("What the work is about, for hints.", metavar="[CONTEXT]")] = None,
    *,
    apply: Annotated[bool, Arg("Apply the suggested merges and splits, each with its own undo.")] = False,
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
    drifted = Query(kinds=(Kind.THREAD,), statuses=(Status.ACTIVE,), drifts_over=edits.MIN_DRIFTS - 1, limit=_NO_LIMIT)
    moved = sorted((one for one in store.find(drifted) if isinstance(one, Thread)), key=lambda one: one.created_at)
    splits = [(one, topics) for one in moved if one.id in ids and (topics := edits.split_topics(one))]
    found = Suggested(
        tuple(_merge_entry(store, *pair) for pair in close[:_MOST_LISTED]),
        tuple(_split_entry(*split) for split in splits[:_MOST_LISTED]),
        tuple(_find_hints(app, context)),
        edits.health([one.strength for one in awake], len(close), len(splits)),
        {"merge_candidates": len(close), "split_candidates": len(splits)},
        app.dry_run,
        notes=notes,
    )
    app.progress(_STEPS, _STEPS, "steps")
    return replace(found, applied=_apply(app, close[:_MOST_LISTED], splits[:_MOST_LISTED])) if apply else found


def compact(
    app: App,
    *,
    strategy: Annotated[Strategy, Arg("How aggressively to compact: gentle, normal or aggressive.")] = Strategy.NORMAL,
) -> Compacted:
    scope, figures = app.scope, FIGURES[strategy]
    if app.store_path(scope) is None:
        return _report(app, strategy, Chosen(), None, ())
    reader = app.reader(scope)
    now, age = app.clock.now(), app.age_rules
    first_look = compaction.assess(reader.sketches(), now=now, rules=age)
    awake = [one for one in first_look if one.status is Status.ACTIVE]
    close, notes = _find_close(app, reader, awake, figures.merge_above)
    chosen = Chosen()

    def make(store: Store) -> Plan:
        nonlocal chosen
        threads = first_look if store is reader else compaction.assess(store.sketches(), now=now, rules=age)
        chosen = compaction.choose(threads, close, figures, now=now, rules=age)
        ids = dict.fromkeys(id for keep, lose, _ in chosen.merges for id in (keep, lose))
        whole = {memory.id: memories.load_whole(store, memory) for id in ids if (memory := store.get(id, follow=False))}
        app.progress(2, _STEPS, "steps")
        return compaction.plan(chosen, [one.sketch for one in threads], whole, now=now, rules=age)

    def say(_plan: Plan) -> str:
        merges, archives = counted(len(chosen.merges), "merge"), f"{len(chosen.archives):,} archived"
        threads = f"{chosen.before[0]:,} → {chosen.after[0]:,} active threads"
        return f"Compacted ({strategy}): {merges}, {archives}, {threads}."

    done = app.commit(scope, "compact", make, say)
    app.progress(_STEPS, _STEPS, "steps")
    return _report(app, strategy, chosen, done.change, (*notes, *done.notes))


def _find_close(app: App, store: Store, awake: list[ThreadState], above: float) -> tuple[list[Pair], tuple[str, ...]]:
    """Threads of one lane that are near to each other, without pins; and what to tell the user about it."""
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
        more = [(seq, owners[seq].memory, row.tobytes()) for (seq, _), row in zip(passages, vectors, strict=True)]
    app.progress(1, _STEPS, "steps")
    found = store.similar_pairs(embedder.id, list(threads), above, more)
    pairs = [(threads[a].id, threads[b].id, how) for a, b, how in found if threads[a].lane is threads[b].lane]
    left = max(0, missing - len(more))
    return pairs, (f"{left:,} passages have no vector yet and were not compared.",) if left else ()


def _report(app: App, strategy: Strategy, chosen: Chosen, change: str | None, notes: tuple[str, ...]) -> Compacted:
    merges: list[dict[str, Json]] = [
        {"action": "merge", "threads": [keep, lose], "similarity": round(how, 2)} for keep, lose, how in chosen.merges
    ]
    archives: list[dict[str, Json]] = [
        {"action": "archive", "thread": id, "reason": reason} for id, reason in chosen.archives
    ]
    before, after = (
        {"active_threads": count, "total_weight": round(weight, 2)} for count, weight in (chosen.before, chosen.after)
    )
    return Compacted(str(strategy), app.dry_run, (*merges, *archives), before, after, app.scope, change, notes)


def _merge_entry(store: Store, a: str, b: str, similarity: float) -> dict[str, Json]:
    one, other = store.get(a, follow=False), store.get(b, follow=False)
    reason = edits.merge_reason(one.topics, other.topics) if one and other else ""
    return {
        "thread_a": a, "thread_b": b, "similarity": round(similarity, 2), "reason": clip(one_line(reason), 100),
        "command": f"ai_merge('{a}', '{b}')",
    }  # fmt: skip


def _split_entry(thread: Thread, topics: tuple[str, ...]) -> dict[str, Json]:
    shown: list[Json] = [clip(one_line(topic), 60) for topic in topics[:5]]
    reason = f"Thread drifted from '{thread.drift[0]}' to '{thread.drift[-1]}'"
    return {
        "thread_id": thread.id, "reason": clip(one_line(reason), 160), "topics_to_split": shown,
        "command": f"ai_split('{thread.id}', topics={shown!r})",
    }  # fmt: skip


def _find_hints(app: App, context: str | None) -> list[dict[str, Json]]:
    """The threads nearest to the context that nobody was ever shown, by topic."""
    if not context or not context.strip() or not any(True for _ in app.scopes()):
        return []
    query = Query(text=storable(context), kinds=(Kind.THREAD,), statuses=REACHED, limit=_HINT_CANDIDATES)
    question = TimedQuestion(app, query.text, time.monotonic() + _HINTS_TIMEOUT_S)
    by_topic: dict[str, list[Memory]] = {}
    for one in search_memory(app, query, timed=question).found:
        memory = one.hit.memory
        by_topic.setdefault(clip(one_line((*memory.topics, memory.title)[0]), 80), []).append(memory)
    never_shown = [
        topic for topic, found in by_topic.items() if any(not one.frequency and not one.activations for one in found)
    ]
    return [
        {
            "topic": topic,
            "last_mentioned": ago(max(memory.last_active_at for memory in by_topic[topic]), app.clock.now()),
            "thread_count": len(by_topic[topic]),
            "command": f"ai_recall({topic!r})",
        }
        for topic in never_shown[:_MOST_HINTS]
    ]


def _apply(app: App, close: list[Pair], splits: list[tuple[Thread, tuple[str, ...]]]) -> tuple[str, ...]:
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
