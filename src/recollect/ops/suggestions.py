"""Suggestions and compaction: threads that say the same, that drifted, that grew too many.

Similarity is a matter of vectors. Passages that have none yet are embedded for the occasion, a few of them, and
nothing of that is kept: so a dry run writes nothing and still comes to the same end.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, NamedTuple

from recollect.app.core import App
from recollect.app.memory_search import search as search_memory
from recollect.app.question_vector import TimedQuestion
from recollect.base.errors import BadInput, ModelError
from recollect.base.text import clip, counted, one_line, storable
from recollect.lifecycle import compaction, reshape
from recollect.lifecycle.compaction import FIGURES, Chosen, Pair, Standing, Strategy, Tally, Whole
from recollect.model.codec import Json
from recollect.model.memory import Kind, Memory, Status, Thread
from recollect.model.plan import Plan
from recollect.model.query import REACHED, Query
from recollect.model.result import Compacted, Scope, Suggested
from recollect.ops import memories
from recollect.ops.table import Arg
from recollect.render.recall_text import ago

if TYPE_CHECKING:
    from recollect.store import Store

_EMBEDDED = 32  # passages without a vector that are given one for the occasion: about half a second
_FEW = 5_000  # among more threads, to find and join those takes longer than to wait until they have their vectors
_LISTED = 20
_HINTS = 3
_HINTS_WITHIN_S = 5.0
_LOOKED_AT = 30
_ALL = 1_000_000
_STEPS = 4


@contextmanager
def _uncollected() -> Iterator[None]:
    """Hundreds of thousands of small values, none of them in a circle: to look among them for garbage, again and again,
    would take a quarter of the time."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


@_uncollected()
def suggestions(
    app: App,
    context: Annotated[str | None, Arg("What the work is about, for hints.", metavar="[CONTEXT]")] = None,
    *,
    apply: Annotated[bool, Arg("Do the merges and splits that are suggested, each with its own undo.")] = False,
) -> Suggested:
    scope = app.scope
    store = app.reader(scope)
    now, age = app.clock.now(), app.age_rules
    app.progress(0, _STEPS, "steps")
    threads = compaction.standing(store.sketches(), now=now, rules=age)
    awake = [one for one in threads if one.status is Status.ACTIVE]
    app.progress(1, _STEPS, "steps")
    close, notes = _may_find_none(app, store, awake, reshape.MERGE_ABOVE)
    app.progress(2, _STEPS, "steps")
    ids = {one.sketch.id for one in awake}
    wanted = Query(kinds=(Kind.THREAD,), statuses=(Status.ACTIVE,), drifts_over=reshape.DRIFTS_MORE_THAN, limit=_ALL)
    moved = sorted((one for one in store.find(wanted) if isinstance(one, Thread)), key=lambda one: one.created_at)
    splits = [(one, parts) for one in moved if one.id in ids and (parts := reshape.parts(one))]
    hints = _hints(app, context)
    app.progress(3, _STEPS, "steps")
    health = reshape.health([one.force for one in awake], len(close), len(splits))
    merges = [_merge_entry(store, pair) for pair in close[:_LISTED]]
    told = Suggested(
        tuple(merges),
        tuple(_split_entry(thread.id, parts, reshape.drifted_from(thread)) for thread, parts in splits[:_LISTED]),
        tuple(hints),
        {
            "active_threads": health.active_threads,
            "context_pressure": health.context_pressure,
            "recommendation": health.recommendation,
        },
        {"merge_candidates": len(close), "split_candidates": len(splits)},
        app.dry_run,
        notes=notes,
    )
    return _applied(app, told) if apply else told


@_uncollected()
def compact(
    app: App, *, strategy: Annotated[Strategy, Arg("How much: gentle, normal or aggressive.")] = Strategy.NORMAL
) -> Compacted:
    scope, figures = app.scope, FIGURES[strategy]
    if app.store_path(scope) is None:
        return _compacted(app, strategy, _NOTHING, scope, None, ())
    app.progress(0, _STEPS, "steps")
    reading = app.reader(scope)
    now, age = app.clock.now(), app.age_rules
    looked_at = compaction.standing(reading.sketches(), now=now, rules=age)
    awake = [one for one in looked_at if one.status is Status.ACTIVE]
    app.progress(1, _STEPS, "steps")
    close, notes = _close(app, reading, awake, figures.merge_above)
    app.progress(2, _STEPS, "steps")
    chosen = [_NOTHING]

    def make(store: Store) -> Plan:
        threads = looked_at if store is reading else compaction.standing(store.sketches(), now=now, rules=age)
        chosen[0] = compaction.choose(threads, close, figures, now=now, rules=age)
        whole = _whole(store, chosen[0])
        app.progress(3, _STEPS, "steps")  # the last moment at which it can be called off
        return compaction.plan(chosen[0], [one.sketch for one in threads], whole, figures, now=now, rules=age)

    done = app.commit(scope, "compact", make, lambda _: _in_short(strategy, chosen[0]))
    app.progress(_STEPS, _STEPS, "steps")
    return _compacted(app, strategy, chosen[0], scope, done.change, (*notes, *done.notes))


_NOTHING = Chosen((), (), (), Tally(0, 0.0), Tally(0, 0.0))


class _Close(NamedTuple):
    pairs: list[Pair]
    notes: tuple[str, ...]


def _may_find_none(app: App, store: Store, awake: Sequence[Standing], above: float) -> _Close:
    try:
        return _close(app, store, awake, above)
    except (ModelError, BadInput) as problem:
        return _Close([], (f"Threads that say the same were not looked for: {problem.message}",))


def _close(app: App, store: Store, awake: Sequence[Standing], above: float) -> _Close:
    """Threads of one lane that are near to each other; pins are left as they are. ModelError without vectors."""
    names = {one.sketch.seq: one.sketch for one in awake if not one.sketch.pinned}
    if len(names) < 2:
        return _Close([], ())
    embedder = app.embedder
    missing = store.nearest(embedder.id, bytes(4 * embedder.dim), 1, ()).missing
    more: list[tuple[int, int, bytes]] = []
    if missing and len(names) <= _FEW:
        passages = store.vectorless(embedder.id, _EMBEDDED)
        owners = store.owners([seq for seq, _ in passages])
        vectors = embedder.embed([text for _, text in passages])
        more = [(seq, owners[seq].memory, row.tobytes()) for (seq, _), row in zip(passages, vectors, strict=True)]
    found = store.pairs(embedder.id, list(names), above, more)
    pairs = [(names[a].id, names[b].id, how) for a, b, how in found if names[a].lane is names[b].lane]
    left = max(0, missing - len(more))
    return _Close(pairs, (f"{left:,} passages have no vector yet and were not compared.",) if left else ())


def _whole(store: Store, chosen: Chosen) -> Whole:
    lost = [lose for _, lose, _ in chosen.merges]
    ids = dict.fromkeys(id for keep, lose, _ in chosen.merges for id in (keep, lose))
    found = {id: memory for id in ids if (memory := store.exact(id)) is not None}
    return Whole(
        found,
        {id: store.messages(id) for id in lost},
        store.bridges(*ids) if ids else (),
        {id: store.aliases(id) for id in lost},
    )


def _in_short(strategy: Strategy, chosen: Chosen) -> str:
    return (
        f"Compacted ({strategy}): {counted(len(chosen.merges), 'merge')}, {len(chosen.archives):,} archived, "
        f"{chosen.before.active_threads:,} → {chosen.after.active_threads:,} active threads."
    )


def _compacted(
    app: App, strategy: Strategy, chosen: Chosen, scope: Scope, change: str | None, notes: tuple[str, ...]
) -> Compacted:
    merges: list[dict[str, Json]] = [
        {"action": "merge", "threads": [keep, lose], "similarity": round(how, 2)} for keep, lose, how in chosen.merges
    ]
    archives: list[dict[str, Json]] = [
        {"action": "archive", "thread": id, "reason": str(reason)} for id, reason in chosen.archives
    ]
    before, after = _tally(chosen.before), _tally(chosen.after)
    return Compacted(str(strategy), app.dry_run, (*merges, *archives), before, after, scope, change, notes)


def _tally(tally: Tally) -> dict[str, Json]:
    return {"active_threads": tally.active_threads, "total_weight": round(tally.total_weight, 2)}


def _merge_entry(store: Store, pair: Pair) -> dict[str, Json]:
    a, b, how = pair
    one, other = store.exact(a), store.exact(b)
    reason = reshape.alike(one.topics, other.topics) if one and other else ""
    return {
        "thread_a": a, "thread_b": b, "similarity": round(how, 2), "reason": clip(one_line(reason), 100),
        "command": f"ai_merge('{a}', '{b}')",
    }  # fmt: skip


def _split_entry(id: str, parts: tuple[str, ...], reason: str) -> dict[str, Json]:
    topics: list[Json] = [clip(one_line(topic), 60) for topic in parts[:5]]
    return {
        "thread_id": id, "reason": clip(one_line(reason), 160), "topics_to_split": topics,
        "command": f"ai_split('{id}', topics={topics!r})",
    }  # fmt: skip


def _hints(app: App, context: str | None) -> list[dict[str, Json]]:
    """The nearest to the context that nobody was ever shown, by topic."""
    if not context or not context.strip() or not any(True for _ in app.scopes()):
        return []
    query = Query(text=storable(context), kinds=(Kind.THREAD,), statuses=REACHED, limit=_LOOKED_AT)
    question = TimedQuestion(app, query.text, time.monotonic() + _HINTS_WITHIN_S)
    found = [one.hit.memory for one in search_memory(app, query, timed=question).found]
    by_topic: dict[str, list[Memory]] = {}
    for memory in found:
        by_topic.setdefault(_topic_of(memory), []).append(memory)
    never = dict.fromkeys(_topic_of(memory) for memory in found if memory.frequency == 0 and memory.activations == 0)
    now = app.clock.now()
    return [
        {
            "topic": topic,
            "last_mentioned": ago(max(memory.last_active_at for memory in by_topic[topic]), now),
            "thread_count": len(by_topic[topic]),
            "command": f"ai_recall({topic!r})",
        }
        for topic in list(never)[:_HINTS]
    ]


def _topic_of(memory: Memory) -> str:
    return clip(one_line(memory.topics[0] if memory.topics else memory.title), 80)


def _applied(app: App, told: Suggested) -> Suggested:
    """Merges first; a thread that is gone by then is passed over."""
    said: list[str] = []
    gone: set[str] = set()
    for one in told.merges:
        a, b = str(one["thread_a"]), str(one["thread_b"])
        if a in gone or b in gone:
            continue
        said.append(memories.merge(app, a, b).summary)
        gone.add(b)
    for one in told.splits:
        try:
            topics = one["topics_to_split"]
            wanted = tuple(map(str, topics)) if isinstance(topics, list) else ()
            said.append(memories.split(app, str(one["thread_id"]), topics=wanted[:1]).summary)
        except BadInput as problem:
            said.append(f"Left as it is: {problem.message}")
    return replace(told, applied=tuple(said))
