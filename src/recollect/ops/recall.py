"""`recall`, `search` and `why`: asks memory, and says why it answered so."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated

from recollect.app.core import App
from recollect.app.embedding import TimedQuestion
from recollect.app.memory_search import redact_question
from recollect.app.memory_search import search as search_memory
from recollect.base.errors import NotFound, RecollectError
from recollect.base.ids import read_reference
from recollect.base.structs import replace
from recollect.base.text import clip, one_line, storable
from recollect.lifecycle.strength import reinforce
from recollect.model.codec import Json
from recollect.model.memory import Bridge, Condition, Kind, Lane, Status
from recollect.model.plan import Plan, Update
from recollect.model.query import REACHED, Hit, Query
from recollect.model.result import Found, Reasons, Recalled, Recollection, Scope
from recollect.model.session import RecallRecord
from recollect.ops.library import Limit, card, parse_limit, read_day
from recollect.ops.memories import load_shown
from recollect.ops.table import Arg
from recollect.recall import selection

if TYPE_CHECKING:
    from recollect.store import Store

WAKE_ABOVE = 0.5  # a thread that age suspended or archived wakes when it comes nearer than this
MAX_BRIDGES = 5
RECALLED = 8  # turns, rules and notes
_LOGGED_DROPS = 50
_LOGGED_QUERY_CHARS = 300
_LOGGED_PASSAGE_CHARS = 240

Archived = Annotated[
    bool, Arg("Also memories that were archived on purpose, by a person or a compaction.")
]
Numbers = Annotated[bool, Arg("Show the numbers behind the reasons.")]
_ASK = "What to look for; an id gives that memory whole, ID+OFFSET the rest of a long one."


def recall(
    app: App,
    query: Annotated[tuple[str, ...], Arg(_ASK, metavar="WORDS", many=True)],
    *,
    limit: Annotated[int, Arg("Maximum number of turns, rules and notes.", metavar="N")] = RECALLED,
    include_suspended: Annotated[
        bool, Arg("Also threads that age has suspended or archived; a near match reactivates one.")
    ] = True,
    archived: Archived = False,
) -> Recalled:
    text = storable(" ".join(query)).strip()
    statuses: tuple[Status, ...] = REACHED if include_suspended else (Status.ACTIVE,)
    statuses += (Status.ARCHIVED,) if archived else ()
    most = parse_limit(limit)
    found = answer(app, Query(text=text, statuses=statuses, limit=most, turns=most))
    record_recall(app, found.found)
    return found


def search(
    app: App,
    query: Annotated[tuple[str, ...], Arg("What to look for.", metavar="WORDS", many=True)],
    *,
    kind: Annotated[Kind | None, Arg("Only this kind.")] = None,
    status: Annotated[
        Status | None, Arg("Only this status (default: active, suspended, or archived by age).")
    ] = None,
    topic: Annotated[str | None, Arg("Only memories with this topic.")] = None,
    tag: Annotated[str | None, Arg("Only memories with this tag.")] = None,
    group: Annotated[
        str | None, Arg("Only memories from this session, conversation, import or folder of notes.")
    ] = None,
    condition: Annotated[
        Condition | None, Arg("Only those that stand so now, in the words of `list`.")
    ] = None,
    source: Annotated[Lane | None, Arg("Only memories from this source.")] = None,
    scope: Annotated[Scope | None, Arg("Only this store.")] = None,
    since: Annotated[
        str | None, Arg("Only memories active on or after this day.", metavar="DATE")
    ] = None,
    until: Annotated[
        str | None, Arg("Only memories active on or before this day.", metavar="DATE")
    ] = None,
    include_inbox: Annotated[bool, Arg("Also memories that wait for review.")] = False,
    archived: Archived = False,
    explain: Annotated[
        bool, Arg("Say why each was found, and which were left out and why.")
    ] = False,
    numbers: Numbers = False,
    limit: Limit = 10,
) -> Found:
    statuses: tuple[Status, ...] = (status,) if status else REACHED
    statuses += (Status.CANDIDATE,) if include_inbox else ()
    statuses += (Status.ARCHIVED,) if archived else ()
    statuses = () if condition and not status else statuses
    asked = Query(
        text=storable(" ".join(query)), kinds=(kind,) if kind else (), statuses=statuses, topic=storable(topic or ""),
        condition=condition, lane=source,
        tag=storable(tag or ""), group=storable(group or ""), since=read_day("since", since),
        until=read_day("until", until, days_later=1), limit=parse_limit(limit),
    )  # fmt: skip
    found = search_memory(app, asked, scope)
    record_recall(app, found)
    is_explained = explain or numbers
    return replace(
        found, explained=is_explained, numbers=numbers, drops=found.drops if is_explained else ()
    )


def why(
    app: App,
    id: Annotated[
        str | None, Arg("A recall or a memory; by default the last recall.", metavar="[ID]")
    ] = None,
    *,
    limit: Annotated[int, Arg("Maximum number of recalls.", metavar="N")] = 5,
    numbers: Numbers = False,
) -> Reasons:
    most = parse_limit(limit)
    by_recall = _recalls(app, limit=1, id=storable(id or "") or None)
    if id is None or by_recall:
        return Reasons(by_recall, numbers=numbers)
    memory = app.find(id)[1]
    found = _recalls(app, limit=most, memory=memory.id)
    judged = selection.evidence(memory)
    if not found and not judged:
        message = f"{memory.id} was not part of any recall that is still on record."
        raise NotFound(message, hint="`recollect recall WORDS` makes one.")
    now = {
        "relevance": round(selection.relevance(memory.ratings, memory.outcomes), 4),
        **dict(judged),
    }
    quiet, unwanted = selection.is_muted(memory), selection.is_unwanted(memory)
    return Reasons(found, memory.id, now, quiet, numbers=numbers, unwanted=unwanted)


def answer(app: App, query: Query, until_s: float | None = None) -> Recalled:
    """`until_s`: by when, of the monotonic clock. An id gives that memory whole; reading on in it counts no more."""
    reference = read_reference(query.text)
    if reference is None:
        timed = TimedQuestion(app, query.text, until_s) if until_s is not None else None
        return _with_bridges(app, search_memory(app, query, timed=timed))
    id, offset = reference
    shown = load_shown(app, id)
    memory, strength, scope = shown.card.memory, shown.card.strength, shown.card.scope
    parts = (("match", 1.0), ("near", 1.0), ("strength", strength))
    stored = app.reader(scope).get(memory.id, follow=False) or memory
    hit = Hit(memory, 1.0, parts, put_away=stored.status is Status.ARCHIVED)
    listed = (Recollection(scope, hit, strength),)
    found = Found(app.mint.draw("recall"), id, app.clock.now(), listed, (), "by id")
    return replace(_with_bridges(app, found), whole=shown, offset=offset)


def _with_bridges(app: App, found: Found) -> Recalled:
    """Wakes threads that match closely, and adds links whose both ends a recall may show."""
    nearest: dict[tuple[Scope, str], Recollection] = {}
    for one in sorted(found.found, key=_similarity, reverse=True):
        nearest.setdefault((one.scope, one.hit.memory.id), one)
    woken = {
        key: _wake(app, one) for key, one in nearest.items()
    }  # once, however many of its turns were found
    current = []
    for one in found.found:
        now = woken[one.scope, one.hit.memory.id]
        current.append(replace(now, hit=replace(one.hit, memory=now.hit.memory)))
    bridges: list[tuple[Bridge, str, str]] = []
    for scope in sorted({scope for scope, _ in nearest}):
        ids, store = [id for where, id in nearest if where is scope], app.reader(scope)
        for bridge in store.bridges(*ids):
            ends = [store.get(end, follow=False) for end in (bridge.source, bridge.target)]
            titles = [end.title for end in ends if end and (end.id in ids or end.status in REACHED)]
            if len(titles) == len(ends):
                bridges.append((bridge, titles[0], titles[1]))
    bridges.sort(key=lambda entry: -entry[0].weight)
    return Recalled(
        replace(found, found=tuple(current)), tuple(bridges[:MAX_BRIDGES]), len(bridges)
    )


def _similarity(one: Recollection) -> float:
    return one.hit.part("near") or one.hit.part("cover")


def _wake(app: App, one: Recollection) -> Recollection:
    """A sleeping thread that comes near enough wakes, a little stronger."""
    memory = one.hit.memory
    sleeps = memory.status in (Status.SUSPENDED, Status.ARCHIVED) and not one.hit.put_away
    if not sleeps or memory.kind is not Kind.THREAD or _similarity(one) <= WAKE_ABOVE:
        return one

    def make(store: Store) -> Plan:
        stored = store.get(memory.id, follow=False)
        if stored is None or stored.status not in REACHED:
            return Plan()
        stronger = reinforce(stored, now=app.clock.now(), rules=app.age_rules)
        awake = replace(stronger, status=Status.ACTIVE, activations=stored.activations + 1)
        return Plan.of([Update.between(stored, awake)])

    try:
        done = app.commit(
            one.scope, "wake", make, lambda _: f"Woke {memory.id}: a recall came near."
        )
    except RecollectError:
        return one  # a store that cannot be written still answers
    if not done.plan:
        return one  # somebody put it away meanwhile
    awake = replace(
        app.reader(one.scope).get(memory.id, follow=False) or memory, status=Status.ACTIVE
    )
    hit = replace(one.hit, memory=awake)
    return replace(one, hit=hit, strength=card(app, one.scope, awake).strength, reactivated=True)


def record_recall(app: App, found: Found, injected: Mapping[str, Json] | None = None) -> None:
    """For `why`. `injected`: to whom, where an agent got it. A store that cannot be written stops no answer."""
    if app.dry_run:
        return
    hits: list[Json] = [
        {"id": one.hit.memory.id, "title": clip(one.hit.memory.title, 80), "lane": str(one.hit.memory.lane),
         "score": round(one.hit.score, 4), "passage": clip(one_line(one.hit.passage), _LOGGED_PASSAGE_CHARS),
         "components": {name: round(value, 4) for name, value in one.hit.components}}
        for one in found.found
    ]  # fmt: skip
    drops = found.drops[:_LOGGED_DROPS]
    entry: dict[str, Json] = {
        "id": found.id, "at": found.at.iso(), "how": found.how, "ms": round(found.ms, 2), "hits": hits,
        "query": clip(one_line(redact_question(app, found.query)), _LOGGED_QUERY_CHARS),
        "dropped": [{"id": drop.id, "reason": drop.reason} for drop in drops],
        **(injected or {}),
    }  # fmt: skip
    ids = (*(one.hit.memory.id for one in found.found), *(drop.id for drop in drops))
    for scope, _ in app.scopes():
        try:
            app.writer(scope).put(
                RecallRecord(found.id, found.at, json.dumps(entry, ensure_ascii=False), ids)
            )
        except RecollectError:
            continue
        if injected is None:
            app.log.line(
                "recall",
                id=found.id,
                hits=len(hits),
                dropped=len(found.drops),
                ms=round(found.ms, 1),
            )
        return


def _recalls(app: App, *, limit: int, **filters: object) -> tuple[dict[str, Json], ...]:
    kept = (store.records(RecallRecord, limit=limit, **filters) for _, store in app.scopes())
    found = [json.loads(one.answer) for own in kept for one in own]
    return tuple(sorted(found, key=lambda entry: str(entry["at"]), reverse=True)[:limit])
