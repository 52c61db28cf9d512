"""Recall, search and why: asking memory, and asking why it answered so."""

from __future__ import annotations

import json
from collections.abc import Sequence, Set
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated

from recollect.base.errors import BadInput, ModelError, NotFound, RecollectError
from recollect.base.ids import read_reference
from recollect.base.moment import Moment
from recollect.base.text import clip, one_line, storable
from recollect.lifecycle.strength import reinforced
from recollect.model.bridge import Bridge
from recollect.model.codec import Json
from recollect.model.memory import Kind, Memory, Status
from recollect.model.plan import Plan, Update
from recollect.model.query import REACHED, Hit, Query
from recollect.model.result import Found, Reasons, Recalled, Recollection, Scope
from recollect.ops import anchors, asking
from recollect.ops.app import App
from recollect.ops.focus import focused
from recollect.ops.haste import Haste
from recollect.ops.memories import Limit, at_least_one, card, show
from recollect.ops.table import Arg
from recollect.recall import weigh

if TYPE_CHECKING:
    from recollect.store import Store

WAKE_ABOVE = 0.5  # a thread that age put to sleep or away and that comes nearer than this wakes
MAX_BRIDGES = 5
RECALLED = 8  # turns, rules and notes
_FILLED_AT_ONCE = 32  # passages that a recall embeds on its way: about a second
_LOGGED_DROPS = 50
_LOGGED_QUERY_CHARS = 300
_LOGGED_PASSAGE_CHARS = 240
_TOLD_QUERY_CHARS = 2_000  # of the question, in the answer: who asked with a megabyte does not want it back
_CLEANED_CHARS = 20_000  # more than that is never told: no secret begins before it and ends in what is told

Archived = Annotated[bool, Arg("Also memories that were archived on purpose, by a person or a compaction.")]
Words = Annotated[
    tuple[str, ...],
    Arg(
        "What to look for; an id gives that memory whole, ID+OFFSET the rest of a long one.", metavar="WORDS", many=True
    ),
]


def recall(
    app: App,
    query: Words,
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
    most = at_least_one("limit", limit)
    asked = Query(text=text, statuses=statuses, limit=most, turns=most)
    reference = read_reference(text)
    answer = look_up(app, *reference) if reference else whole(app, answered(app, asked))
    note(app, answer.found)
    return answer


def search(
    app: App,
    query: Annotated[tuple[str, ...], Arg("What to look for.", metavar="WORDS", many=True)],
    *,
    kind: Annotated[Kind | None, Arg("Only this kind.")] = None,
    status: Annotated[Status | None, Arg("Only this status (else active, suspended, and archived by age).")] = None,
    topic: Annotated[str | None, Arg("Only those with this topic.")] = None,
    tag: Annotated[str | None, Arg("Only those with this tag.")] = None,
    group: Annotated[str | None, Arg("Only those of this session, conversation, import or folder of notes.")] = None,
    scope: Annotated[Scope | None, Arg("Only this store.")] = None,
    since: Annotated[str | None, Arg("Active on or after this day.", metavar="DATE")] = None,
    until: Annotated[str | None, Arg("Active on or before this day.", metavar="DATE")] = None,
    include_inbox: Annotated[bool, Arg("What waits for review, too.")] = False,
    archived: Archived = False,
    explain: Annotated[bool, Arg("Show every component, and what was left out and why.")] = False,
    limit: Limit = 10,
) -> Found:
    statuses: tuple[Status, ...] = (status,) if status else REACHED
    statuses += (Status.CANDIDATE,) if include_inbox else ()
    statuses += (Status.ARCHIVED,) if archived else ()
    asked = Query(
        text=storable(" ".join(query)),
        kinds=(kind,) if kind else (),
        statuses=statuses,
        topic=storable(topic or ""),
        tag=storable(tag or ""),
        group=storable(group or ""),
        since=_day("since", since),
        until=_end_of(_day("until", until)),
        limit=at_least_one("limit", limit),
    )
    found = answered(app, asked, scope)
    note(app, found)
    return replace(found, explained=True) if explain else replace(found, drops=())


def why(
    app: App,
    id: Annotated[str | None, Arg("A recall or a memory; the last recall if none is given.", metavar="[ID]")] = None,
    *,
    limit: Annotated[int, Arg("At most so many recalls.", metavar="N")] = 5,
) -> Reasons:
    most = at_least_one("limit", limit)
    if id is None:
        return Reasons(_recalls(app, limit=1))
    by_recall = _recalls(app, limit=1, id=storable(id))
    if by_recall:
        return Reasons(by_recall)
    memory = app.find(id)[1]
    found = _recalls(app, limit=most, memory=memory.id)
    judged = weigh.evidence(memory)
    if not found and not judged:
        raise NotFound(f"{memory.id} was in no recall that is still known.", hint="`recollect recall WORDS` makes one.")
    useful = weigh.relevance(memory.ratings, memory.outcomes)
    return Reasons(found, memory.id, (("relevance", round(useful, 4)), *judged), weigh.is_quiet(memory))


@dataclass(frozen=True, slots=True, kw_only=True)
class Injected:
    """For whom it was, when it was put in front of an agent."""

    session: str
    event: str
    agent: str = ""
    chars: int = 0
    delivered: bool = True
    """Whether the hook confirmed that it printed it."""


def whole(app: App, found: Found) -> Recalled:
    """With the bridges of what was found; sleeping threads that came near enough are awake now."""
    nearest: dict[tuple[Scope, str], Recollection] = {}
    for one in sorted(found.found, key=_similarity, reverse=True):
        nearest.setdefault((one.scope, one.hit.memory.id), one)
    after = {key: _woken(app, one) for key, one in nearest.items()}  # once, however many of its turns were found
    woken = tuple(_as_now(one, after[one.scope, one.hit.memory.id]) for one in found.found)
    bridges = _bridges(app, woken)
    return Recalled(replace(found, found=woken), tuple(bridges[:MAX_BRIDGES]), len(bridges))


def answered(
    app: App,
    query: Query,
    only: Scope | None = None,
    *,
    seen: Set[str] = frozenset(),
    haste: Haste | None = None,
) -> Found:
    """With `haste` someone waits: there is no second look, and no passage is given its vector on the way."""
    if not query.text.strip():
        raise BadInput("There is nothing to look for: the question is empty.", hint="`recollect recall WORDS`")
    scopes = [scope for scope, _ in app.scopes() if only in (None, scope)]
    now = app.clock.now()
    asked: asking.Vector
    if haste is None:
        asked, how = as_vector(app, query.text, scopes if app.fills_on_the_way and not app.dry_run else ())
    else:
        asked, how = haste.asked, ""
    stores = [app.reading(scope) for scope in scopes]
    focus = focused(app)
    answer = asking.ask(
        stores, query, now=now, rules=app.age_rules, asked=asked, focus=focus, seen=seen, deep=haste is None
    )
    if haste is not None:
        how = haste.how
    elif answer.without_vectors:
        cure = ": `recollect reindex`" if app.fills_on_the_way else ""
        how += f" ({answer.without_vectors:,} passages have no vector yet{cure})"
    found = tuple(
        Recollection(scopes[hit.store], _aged(app, scopes[hit.store], hit), dict(hit.components)["strength"])
        for hit in answer.picked.hits
    )
    # A prompt is not told again by its answer: `note` cleans it, and the answer need not wait for that.
    told = query.text[:_CLEANED_CHARS] if query.unasked else _told(app, query.text, _TOLD_QUERY_CHARS)
    picked = answer.picked
    return Found(app.mint.draw("recall"), told, now, found, picked.drops, how, answer.ms, left_out=picked.left_out)


def _told(app: App, question: str, max_chars: int) -> str:
    """A question as it may be told again. Cleaned first, then cut: half a secret is not known as one."""
    return clip(app.without_secrets(question[:_CLEANED_CHARS]), max_chars)


def _aged(app: App, scope: Scope, hit: Hit) -> Hit:
    """With the files that are no longer what it speaks of."""
    stale = anchors.changed(app, hit.memory) if scope is Scope.PROJECT and hit.memory.anchors else ()
    return replace(hit, stale=stale) if stale else hit


def as_vector(app: App, text: str, scopes: Sequence[Scope] = ()) -> tuple[asking.Asked | None, str]:
    """Without the model, words alone answer, and it is said."""
    try:
        embedder = app.embedder
    except (ModelError, BadInput) as problem:  # missing, broken, or a setting that names none
        return None, f"words alone: {problem.message.rstrip('.')}"
    for scope in scopes:
        try:
            asking.fill_vectors(app.writing(scope), embedder, _FILLED_AT_ONCE)
        except RecollectError:
            continue  # a store that cannot be written is asked all the same
    try:
        return asking.question_vector(embedder, app.question(text)), "words and vectors"
    except ModelError as problem:  # it was there, and does not answer
        return None, f"words alone: {problem.message.rstrip('.')}"


def look_up(app: App, id: str, offset: int = 0) -> Recalled:
    """One memory whole. Who asks for the rest of a long one is not counted again."""
    shown = show(app, id)
    memory, strength, scope = shown.card.memory, shown.card.strength, shown.card.scope
    parts = (("match", 1.0), ("near", 1.0), ("strength", strength))
    hit = Hit(memory, 1.0, parts, put_away=app.find(id)[1].status is Status.ARCHIVED)
    listed = (Recollection(scope, hit, strength),)
    found = Found(app.mint.draw("recall"), id, app.clock.now(), listed, (), "by id")
    return replace(whole(app, found), whole=shown, offset=offset)


def _similarity(one: Recollection) -> float:
    parts = dict(one.hit.components)
    return parts.get("near") or parts.get("cover", 0.0)


def _as_now(one: Recollection, now: Recollection) -> Recollection:
    hit = replace(one.hit, memory=now.hit.memory)
    return replace(one, hit=hit, strength=now.strength, reactivated=now.reactivated)


def _woken(app: App, one: Recollection) -> Recollection:
    """A sleeping thread that comes near enough wakes, a little stronger."""
    memory = one.hit.memory
    sleeps = memory.status in (Status.SUSPENDED, Status.ARCHIVED) and not one.hit.put_away
    if not sleeps or memory.kind is not Kind.THREAD or _similarity(one) <= WAKE_ABOVE:
        return one
    now = app.clock.now()

    def make(store: Store) -> Plan:
        standing = store.exact(memory.id)
        if standing is None or standing.status not in REACHED:
            return Plan.empty()
        stronger = reinforced(standing, now=now, rules=app.age_rules)
        return Plan.of(
            [Update.between(standing, replace(stronger, status=Status.ACTIVE, activations=standing.activations + 1))]
        )

    try:
        done = app.commit(one.scope, "wake", make, lambda _: f"Woke {memory.id}: a recall came near.")
    except RecollectError:
        return one  # a store that cannot be written still answers
    if not done.plan:
        return one  # somebody put it away meanwhile
    awake = _after(app, one.scope, memory)
    return replace(
        one, hit=replace(one.hit, memory=awake), strength=card(app, one.scope, awake).strength, reactivated=True
    )


def _after(app: App, scope: Scope, memory: Memory) -> Memory:
    return replace(app.reading(scope).exact(memory.id) or memory, status=Status.ACTIVE)


def _bridges(app: App, found: tuple[Recollection, ...]) -> list[tuple[Bridge, str, str]]:
    """Those between memories that a recall may show: no title comes in by the side door."""
    listed = []
    for scope in Scope:
        ids = [one.hit.memory.id for one in found if one.scope is scope]
        if not ids:
            continue
        store = app.reading(scope)
        for bridge in store.bridges(*ids):
            ends = [store.exact(end) for end in (bridge.source, bridge.target)]
            titles = [end.title for end in ends if end and (end.id in ids or end.status in REACHED)]
            if len(titles) == len(ends):
                listed.append((bridge, titles[0], titles[1]))
    return sorted(listed, key=lambda entry: -entry[0].weight)


def note(app: App, found: Found, injected: Injected | None = None) -> None:
    """What `why` will say. A store that cannot be written does not stop the answer; where there is none, none
    is made."""
    scopes = [scope for scope, _ in app.scopes()]
    if not scopes:
        return
    listed: list[Json] = [
        {"id": one.hit.memory.id, "title": clip(one.hit.memory.title, 80), "lane": str(one.hit.memory.lane),
         "score": round(one.hit.score, 4), "passage": clip(one_line(one.hit.passage), _LOGGED_PASSAGE_CHARS),
         "components": {name: round(value, 4) for name, value in one.hit.components}}
        for one in found.found
    ]  # fmt: skip
    drops: list[Json] = [{"id": drop.id, "reason": drop.reason} for drop in found.drops[:_LOGGED_DROPS]]
    answer: dict[str, Json] = {
        "id": found.id,
        "at": found.at.iso(),
        "query": clip(one_line(_told(app, found.query, _TOLD_QUERY_CHARS)), _LOGGED_QUERY_CHARS),
        "how": found.how,
        "ms": round(found.ms, 2),
        "hits": listed,
        "dropped": drops,
    }
    if injected is not None:
        answer |= {"event": injected.event, "session": injected.session, "agent": injected.agent}
        answer |= {"chars": injected.chars, "delivered": injected.delivered}
    ids = [one.hit.memory.id for one in found.found] + [drop.id for drop in found.drops[:_LOGGED_DROPS]]
    for scope in scopes:
        try:
            app.writing(scope).note_recall(found.id, found.at, json.dumps(answer, ensure_ascii=False), ids)
        except RecollectError:
            continue
        if injected is None:
            app.log.line("recall", id=found.id, hits=len(listed), dropped=len(found.drops), ms=round(found.ms, 1))
        return


def _recalls(app: App, *, limit: int, id: str = "", memory: str = "") -> tuple[dict[str, Json], ...]:
    found = [json.loads(text) for _, store in app.scopes() for text in store.recalls(limit=limit, id=id, memory=memory)]
    return tuple(sorted(found, key=lambda answer: str(answer["at"]), reverse=True)[:limit])


def _day(name: str, text: str | None) -> Moment | None:
    if text is None:
        return None
    try:
        return Moment.parse(text)
    except ValueError:
        raise BadInput(f"{name} is {text!r}, which is no date.", hint="Write it as 2026-11-15.") from None


def _end_of(day: Moment | None) -> Moment | None:
    at_midnight = day is not None and day.micros % 86_400_000_000 == 0
    return day.plus(days=1) if day is not None and at_midnight else day
