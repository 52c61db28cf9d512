"""`recall`, `search` and `why`: asks memory, and says why it answered so."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Annotated, NamedTuple

from recollect.app.core import PERSON, App
from recollect.app.embedding import TimedQuestion
from recollect.app.lookup import find_by_short_id
from recollect.app.memory_search import redact_question
from recollect.app.memory_search import search as search_memory
from recollect.app.session_ledger import record_recalled
from recollect.base.errors import NotFound, RecollectError
from recollect.base.ids import read_reference, read_short_reference
from recollect.base.structs import replace
from recollect.base.text import clip, one_line, storable
from recollect.lifecycle.strength import reinforce
from recollect.model.codec import Json
from recollect.model.memory import Bridge, Condition, Kind, Lane, Memory, Status
from recollect.model.plan import Plan, Update
from recollect.model.query import BEYOND_LIMIT, BY_FILTERS, REACHED, Hit, Query
from recollect.model.result import Found, Reasons, Recalled, Recollection, Scope
from recollect.model.session import RecallRecord
from recollect.ops.library import Limit, card, list_memories, parse_limit, read_day
from recollect.ops.memories import load_shown
from recollect.ops.table import Arg
from recollect.recall import selection

if TYPE_CHECKING:
    from recollect.store import Store

WAKE_ABOVE = 0.5  # the match score above which a thread that age suspended or archived wakes
FLOOR = "MEMORY_ANSWER_FLOOR"
MAX_BRIDGES = 5
RECALLED = 8  # turns, rules and notes
_LOGGED_DROPS = 50
_MAX_FILTERED = 2_000  # of the last active: which of them pass filters that no list knows
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
    full: Annotated[
        bool, Arg("With --json: every component of each score, and what was left out and why.")
    ] = False,
) -> Recalled:
    text = storable(" ".join(query)).strip()
    statuses: tuple[Status, ...] = REACHED if include_suspended else (Status.ACTIVE,)
    statuses += (Status.ARCHIVED,) if archived else ()
    most = parse_limit(limit)
    floor = app.settings.figure(FLOOR)
    asked = Query(text=text, statuses=statuses, limit=most, turns=most, floor=floor)
    found = answer(app, asked)
    _strengthen_recalled(app, found.found)
    record_recall(app, found.found)
    return replace(found, full=full)


def search(
    app: App,
    query: Annotated[
        tuple[str, ...],
        Arg("What to look for; without words, what the filters let through.", "[WORDS]", many=True),
    ] = (),
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
        Condition | None, Arg("Only those in this state now, in the words of `list`.")
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
    asked = Query(
        text=storable(" ".join(query)),
        kinds=(kind,) if kind else (),
        statuses=_statuses(status, condition, include_inbox=include_inbox, archived=archived),
        topic=storable(topic or ""),
        condition=condition,
        lane=source,
        tag=storable(tag or ""),
        group=storable(group or ""),
        since=read_day("since", since),
        until=read_day("until", until, days_later=1),
        limit=parse_limit(limit),
        floor=app.settings.figure(FLOOR),
    )
    found = _find(app, asked, scope)
    record_recall(app, found)
    is_explained = explain or numbers
    beyond = found.beyond
    if found.found:
        beyond += sum(drop.reason == BEYOND_LIMIT for drop in found.drops)
    drops = found.drops if is_explained else ()
    return replace(found, explained=is_explained, numbers=numbers, drops=drops, beyond=beyond)


def _statuses(
    status: Status | None, condition: Condition | None, *, include_inbox: bool, archived: bool
) -> tuple[Status, ...]:
    """Those that are looked at; a condition alone says which by itself."""
    if condition and not status:
        return ()
    statuses: tuple[Status, ...] = (status,) if status else REACHED
    if include_inbox:
        statuses += (Status.CANDIDATE,)
    if archived:
        statuses += (Status.ARCHIVED,)
    return statuses


def _find(app: App, asked: Query, scope: Scope | None) -> Found:
    """By the ids that it names; without words, what the filters let through; else by words and meaning."""
    named = _find_named(app, asked.text)
    if named:
        return _found_by_id(app, asked.text, named.memories)
    if not asked.text.strip() and _has_filters(asked, scope):
        return _list_filtered(app, asked, scope)
    return search_memory(app, asked, scope)


def _has_filters(query: Query, scope: Scope | None) -> bool:
    narrowed = replace(query, text="", limit=0, floor=0.0, statuses=())
    is_by_status = query.statuses != REACHED
    return narrowed != Query(limit=0) or scope is not None or is_by_status


def _list_filtered(app: App, query: Query, scope: Scope | None) -> Found:
    """Without words nothing is ranked: what the filters let through, the last active first."""
    listed = list_memories(app, replace(query, statuses=()), _MAX_FILTERED, "memories", only=scope)
    found = []
    for entry in listed.cards:
        is_put_away = entry.condition is Condition.ARCHIVED
        parts = (("strength", entry.strength), ("relevance", entry.relevance))
        hit = Hit(entry.memory, 0.0, parts, put_away=is_put_away)
        if not selection.why_refused(hit, query):
            found.append(Recollection(entry.scope, hit, entry.strength, condition=entry.condition))
    id, kept = app.mint.draw("recall"), tuple(found[: query.limit])
    return Found(
        id,
        "",
        app.clock.now(),
        kept,
        (),
        BY_FILTERS,
        beyond=len(found) - len(kept),
        are_more=listed.total > _MAX_FILTERED,
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
    if (reference := read_reference(query.text)) is not None:
        return _recall_whole(app, *reference)
    if named := _find_named(app, query.text):
        if len(named.memories) == 1:
            (_, memory) = named.memories[0]
            return _recall_whole(app, memory.id, named.offset)
        return _with_bridges(app, _found_by_id(app, query.text, named.memories))
    timed = TimedQuestion(app, query.text, until_s) if until_s is not None else None
    return _with_bridges(app, search_memory(app, query, timed=timed))


class _Named(NamedTuple):  # the memories whose id a question gives in short
    memories: list[tuple[Scope, Memory]]
    offset: int  # where to begin in the only one


def _find_named(app: App, text: str) -> _Named | None:
    """None where it is a question: no memory has such an id."""
    short = read_short_reference(text)
    if short is None:
        return None
    part, offset = short
    found = find_by_short_id(app, part)
    return _Named(found, offset) if found else None


def _recall_whole(app: App, id: str, offset: int) -> Recalled:
    shown = load_shown(app, id)
    found = _found_by_id(app, id, [(shown.card.scope, shown.card.memory)])
    return replace(_with_bridges(app, found), whole=shown, offset=offset)


def _found_by_id(app: App, asked: str, memories: Sequence[tuple[Scope, Memory]]) -> Found:
    listed = []
    for scope, memory in memories:
        stands = card(app, scope, app.reader(scope).get(memory.id, follow=False) or memory)
        parts = (
            ("match", 1.0),
            ("near", 1.0),
            ("strength", stands.strength),
            ("relevance", stands.relevance),
        )
        put_away = stands.condition is Condition.ARCHIVED
        hit = Hit(stands.memory, 1.0, parts, put_away=put_away)
        listed.append(Recollection(scope, hit, stands.strength, condition=stands.condition))
    return Found(app.mint.draw("recall"), asked, app.clock.now(), tuple(listed), (), "by id")


def _with_bridges(app: App, found: Found) -> Recalled:
    """Wakes threads that match closely, and adds links whose both ends a recall may show."""
    listed = _wake_matching(app, found.found)
    ids_by_scope: dict[Scope, list[str]] = {}
    for recollection in listed:
        ids_by_scope.setdefault(recollection.scope, []).append(recollection.hit.memory.id)
    bridges: list[tuple[Bridge, str, str]] = []
    for scope in sorted(ids_by_scope):
        ids, store = ids_by_scope[scope], app.reader(scope)
        for bridge in store.bridges(*dict.fromkeys(ids)):
            ends = [store.get(end, follow=False) for end in (bridge.source, bridge.target)]
            titles = [end.title for end in ends if end and (end.id in ids or end.status in REACHED)]
            if len(titles) == len(ends):
                bridges.append((bridge, titles[0], titles[1]))
    bridges.sort(key=lambda entry: -entry[0].weight)
    return Recalled(replace(found, found=listed), tuple(bridges[:MAX_BRIDGES]), len(bridges))


def matches_closely(recollection: Recollection) -> bool:
    """Whether the score that is shown is above the line, without what a focus adds to it: a focus is not a match."""
    hit = recollection.hit
    return round(hit.score - hit.part("focus"), 2) > WAKE_ABOVE


def _wake_matching(app: App, found: tuple[Recollection, ...]) -> tuple[Recollection, ...]:
    """Marks the threads that this recall wakes; the rest of each entry says how the memory was before. A thread wakes
    once, however many of its turns were found."""
    woken: set[tuple[Scope, str]] = set()
    for recollection in found:
        key = recollection.scope, recollection.hit.memory.id
        if key not in woken and matches_closely(recollection) and _wake(app, recollection):
            woken.add(key)
    return tuple(
        replace(one, reactivated=True) if (one.scope, one.hit.memory.id) in woken else one
        for one in found
    )


def _wake(app: App, recollection: Recollection) -> bool:
    """Whether it was a sleeping thread, which is now awake and a little stronger. What was archived on purpose stays
    so. Where a person asked, a plain `undo` takes it back: the answer told them."""
    memory = recollection.hit.memory
    is_asleep = memory.status in (Status.SUSPENDED, Status.ARCHIVED)
    if memory.kind is not Kind.THREAD or not is_asleep or recollection.hit.put_away:
        return False

    def make(store: Store) -> Plan:
        stored = store.get(memory.id, follow=False)
        if stored is None or stored.status not in REACHED:
            return Plan()
        stronger = reinforce(stored, now=app.clock.now(), rules=app.age_rules)
        awake = replace(
            stronger,
            status=Status.ACTIVE,
            activations=stored.activations + 1,
            frequency=stored.frequency + is_person,  # an agent's is counted once it was shown
        )
        return Plan.of([Update.between(stored, awake)])

    is_person = app.actor == PERSON
    op = "recall" if is_person else "wake"
    try:
        done = app.commit(
            recollection.scope, op, make, lambda _: f"Woke {memory.id}: a recall matched it."
        )
    except RecollectError:
        return False  # a store that cannot be written still answers
    return bool(done.plan)  # else somebody put it away meanwhile


def _strengthen_recalled(app: App, found: Found) -> None:
    """A person asked, and these threads answered: they grow stronger by that. Others that are listed do not."""
    if app.actor != PERSON or app.dry_run:
        return
    ids: dict[Scope, list[str]] = {}
    for recollection in found.found:
        hit = recollection.hit
        is_awake = not recollection.reactivated and hit.memory.status is Status.ACTIVE
        if hit.memory.kind is Kind.THREAD and is_awake and matches_closely(recollection):
            ids.setdefault(recollection.scope, []).append(hit.memory.id)
    for scope, own in ids.items():
        with suppress(RecollectError):  # a store that cannot be written still answers
            record_recalled(app, scope, own)


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
