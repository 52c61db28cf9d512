"""Lists of memories, newest first, with filters; and what a memory is linked to."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Annotated, Any

from recollect.app.core import App
from recollect.base.errors import BadInput
from recollect.base.moment import Moment
from recollect.base.structs import replace
from recollect.base.text import clip, one_line, storable
from recollect.lifecycle.strength import apply_age, strength
from recollect.model.codec import Json, encode
from recollect.model.memory import Bridge, Condition, Kind, Lane, Memory, RuleType, Status
from recollect.model.query import REACHED, Aged, Query
from recollect.model.result import Card, Cards, Scope, Summary
from recollect.ops.table import Arg
from recollect.recall.selection import MARKS_TO_MUTE, condition, is_muted, relevance

if TYPE_CHECKING:
    from recollect.store import Store

Limit = Annotated[int, Arg("Maximum number of results.", metavar="N")]
Muted = Annotated[
    bool,
    Arg("Only muted ones, which never helped and are not shown unasked; `restore` unmutes one."),
]
_COUNTED = 1_000  # at least so many are looked for: to count all of a hundred thousand takes longer than to list some
_CAN_AGE_TO = {
    Status.SUSPENDED: (Status.ACTIVE, Status.SUSPENDED),
    Status.ARCHIVED: (Status.ACTIVE, Status.SUSPENDED, Status.ARCHIVED),
}  # the stored statuses that age may have turned into this one since
_STORED: dict[Condition, tuple[tuple[Status, ...], tuple[Status, ...]]] = {
    Condition.ACTIVE: ((Status.ACTIVE,), (Status.ACTIVE,)),
    Condition.WAITING: ((Status.CANDIDATE,), ()),
    Condition.ASLEEP: (REACHED, (Status.SUSPENDED, Status.ARCHIVED)),
    Condition.ARCHIVED: ((Status.ARCHIVED,), ()),
    Condition.REPLACED: ((Status.SUPERSEDED,), ()),
}  # as which statuses they are stored, and what age has made of those


def listing(
    app: App,
    *,
    kind: Annotated[Kind | None, Arg("Only this kind.")] = None,
    status: Annotated[
        Condition | None, Arg("Only those that are active, waiting for you, asleep and so on.")
    ] = None,
    scope: Annotated[Scope | None, Arg("Only this store.")] = None,
    topic: Annotated[str | None, Arg("Only memories with this topic.")] = None,
    tag: Annotated[str | None, Arg("Only memories with this tag.")] = None,
    group: Annotated[
        str | None, Arg("Only memories from this session, import or folder of notes.")
    ] = None,
    source: Annotated[Lane | None, Arg("Only memories from this source.")] = None,
    since: Annotated[
        str | None, Arg("Only memories active on or after this day.", metavar="DATE")
    ] = None,
    until: Annotated[
        str | None, Arg("Only memories active on or before this day.", metavar="DATE")
    ] = None,
    limit: Limit = 50,
    offset: Annotated[int, Arg("How many to pass over, for the next page.", metavar="N")] = 0,
) -> Cards:
    statuses, aged = _STORED.get(status, ((), ())) if status else ((), ())
    if status is Condition.ASLEEP and kind not in (None, Kind.THREAD):
        statuses = (Status.SUSPENDED,)  # nothing but a thread falls asleep by age
    query = Query(
        kinds=(kind,) if kind else (), statuses=statuses, lane=source,
        aged=aged_to(app, *aged) if aged and kind in (None, Kind.THREAD) else None,
        topic=storable(topic or ""), tag=storable(tag or ""), group=storable(group or ""),
        since=read_day("since", since), until=read_day("until", until, days_later=1),
    )  # fmt: skip
    is_muted = status is Condition.MUTED
    return list_memories(app, query, limit, "memories", offset=offset, only=scope, muted=is_muted)


def links(
    app: App,
    id: Annotated[
        str,
        Arg("The memory: an id, a title, a note's file, or a number of a list.", metavar="NAME"),
    ],
    *,
    depth: Annotated[int, Arg("How many links away, 1 to 4.", metavar="N")] = 2,
    limit: Annotated[int, Arg("Maximum number of memories.", metavar="N")] = 40,
) -> Summary:
    """The strongest links first, where there are too many."""
    scope, memory = app.find(id)
    store, limit = app.reader(scope), parse_limit(limit)
    steps, edges, outermost = {memory.id: 0}, dict[tuple[str, str, str], Bridge](), [memory.id]
    for step in range(1, max(1, min(depth, 4)) + 1):
        found = sorted(store.bridges(*outermost) if outermost else (), key=lambda one: -one.weight)
        for bridge in found:
            for end in (bridge.source, bridge.target):
                if len(steps) < limit:
                    steps.setdefault(end, step)
        edges |= {one.key: one for one in found if one.source in steps and one.target in steps}
        outermost = [end for end, away in steps.items() if away == step]
    memories = {end: one for end in steps if (one := store.get(end, follow=False))}
    nodes: list[Json] = [
        {"id": end, "title": one.title, "kind": str(one.kind), "status": str(card(app, scope, one).condition),
         "away": steps[end]}
        for end, one in memories.items()
    ]  # fmt: skip
    lines = [
        f"{clip(one_line(memories[edge.source].title), 50)} -> {clip(one_line(memories[edge.target].title), 50)}"
        f" ({edge.type}, {edge.weight:.2f})  {edge.source[-6:]} -> {edge.target[-6:]}"
        for edge in edges.values()
        if edge.source in memories and edge.target in memories
    ]
    facts: dict[str, Json] = {
        "id": memory.id,
        "scope": str(scope),
        "nodes": nodes,
        "edges": encode([*edges.values()]),
    }
    return Summary("\n".join(lines) or f"{memory.id} has no links.", facts)


def list_kind(
    app: App,
    kind: Kind,
    status: Status | None,
    limit: int,
    *,
    muted: bool = False,
    rule_type: RuleType | None = None,
    **filters: str | None,
) -> Cards:
    """`filters` are those of a Query. Muted ones are listed whatever their status."""
    given: dict[str, Any] = {name: storable(value) for name, value in filters.items() if value}
    query = Query(kinds=(kind,), rule_type=rule_type, **given)
    if status and not muted:
        query = replace(query, statuses=(status,))
        if kind is Kind.THREAD:  # nothing else ages
            stored = _CAN_AGE_TO.get(status, (status,))
            query = replace(query, statuses=stored, aged=aged_to(app, status))
    cards = replace(list_memories(app, query, limit, f"{kind}s", muted=muted), offset=None)
    if cards.cards:
        return cards
    others = list_memories(app, Query(kinds=(kind,)), 1, f"{kind}s").total
    return replace(cards, kind=kind, others=others)


def list_memories(
    app: App,
    query: Query,
    limit: int,
    what: str,
    *,
    offset: int = 0,
    only: Scope | None = None,
    muted: bool = False,
) -> Cards:
    """The last active first. `muted`: only those that are."""
    limit, offset = parse_limit(limit), max(0, offset)
    most = max(offset + limit, _COUNTED) + 1
    stores = {scope: store for scope, store in app.scopes() if only in (None, scope)}
    orders = {
        scope: _order(store, replace(query, limit=most), muted) for scope, store in stores.items()
    }
    total, before, near = sum(map(len, orders.values())), 0, []
    for scope, order in orders.items():
        # All of what comes before the page is of this store, except as many as the others have.
        start = max(0, offset - (total - len(order)))
        near += [(at, seq, scope) for at, seq in order[start : offset + limit]]
        before += start
    page = sorted(near, reverse=True)[offset - before :][:limit]
    units = {
        scope: store.read_units([seq for _, seq, of in page if of is scope])
        for scope, store in stores.items()
    }
    found = {(scope, seq): memory for scope, read in units.items() for seq, memory, _ in read}
    cards = tuple(
        card(app, scope, found[scope, seq]) for _, seq, scope in page if (scope, seq) in found
    )
    is_cut = any(len(order) == most for order in orders.values()) and not muted
    return Cards(cards, what if cards or not muted else f"muted {what}", total, offset, is_cut)


def _order(store: Store, query: Query, muted: bool) -> list[tuple[int, int]]:
    if not muted:
        return store.order(query)
    return _only_muted(store, store.order(replace(query, marks_against=MARKS_TO_MUTE, limit=-1)))


def _only_muted(store: Store, order: list[tuple[int, int]]) -> list[tuple[int, int]]:
    muted = {
        seq for seq, memory, _ in store.read_units([seq for _, seq in order]) if is_muted(memory)
    }
    return [(at, seq) for at, seq in order if seq in muted]


def aged_to(app: App, *statuses: Status) -> Aged:
    rules = app.age_rules
    floor = max(1e-9, rules.suspend_below)
    return Aged(statuses, app.clock.now(), rules.half_life_days, floor, rules.archive_after_days)


def card(app: App, scope: Scope, memory: Memory) -> Card:
    now, rules = app.clock.now(), app.age_rules
    strong, useful = (
        strength(memory, now=now, rules=rules),
        relevance(memory.ratings, memory.outcomes),
    )
    aged, importance = (
        apply_age(memory, now=now, rules=rules),
        round(100 * min(1.0, strong) * useful),
    )
    stands = condition(aged, put_away=memory.status is Status.ARCHIVED)
    return Card(aged, strong, scope, importance, condition=stands, relevance=useful)


def read_day(name: str, text: str | None, *, days_later: int = 0) -> Moment | None:
    """A day or a time as a person means it: here, unless it names a zone. `days_later`: for a day without a time."""
    if text is None:
        return None
    is_day = ":" not in text and "T" not in text
    try:
        when = datetime.fromisoformat(text) + timedelta(days=days_later if is_day else 0)
        return Moment.of(when if when.tzinfo else when.astimezone())
    except (ValueError, OverflowError, OSError):
        raise BadInput(
            f"{name} is {text!r}, which is not a date.", hint="Write it as 2026-11-15."
        ) from None


def parse_limit(limit: int) -> int:
    if limit < 1:
        raise BadInput(
            f"limit is {limit}; at least 1 is needed.", hint="`--limit 20`, for example."
        )
    return min(limit, 100_000)
