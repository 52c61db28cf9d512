"""Looking at memories, and the small changes of one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

from recollect.base.errors import BadInput, NotFound, UnknownId
from recollect.base.text import storable, title_from
from recollect.lifecycle import change, use
from recollect.lifecycle.ageing import aged
from recollect.lifecycle.strength import strength
from recollect.model.memory import Kind, Lane, Memory, Status
from recollect.model.plan import Change, Plan, Update
from recollect.model.query import Query
from recollect.model.result import Card, Cards, Done, Scope, Shown
from recollect.ops.app import App
from recollect.ops.table import Arg
from recollect.recall.weigh import is_quiet

if TYPE_CHECKING:
    from recollect.store import Store

Ids = Annotated[tuple[str, ...], Arg("The memories, by id.", metavar="ID", many=True)]
Topics = Annotated[tuple[str, ...], Arg("Topics, divided by commas.", metavar="A,B")]
User = Annotated[bool, Arg("Keep it for every project, not only this one.")]
_AGE_TO = {
    Status.SUSPENDED: (Status.ACTIVE, Status.SUSPENDED),
    Status.ARCHIVED: (Status.ACTIVE, Status.SUSPENDED, Status.ARCHIVED),
}
"""Those that age may have brought there since they were last written."""
Quiet = Annotated[bool, Arg("Those that never helped and are no longer shown unasked; `revive` brings one back.")]
_MOST_JUDGED = 100_000
Limit = Annotated[int, Arg("At most so many.", metavar="N")]


def threads(
    app: App,
    *,
    status: Annotated[Status | None, Arg("Only those of this status.")] = None,
    topic: Annotated[str | None, Arg("Only those with this topic.")] = None,
    quiet: Quiet = False,
    limit: Limit = 20,
) -> Cards:
    if quiet:
        return hushed(app, Kind.THREAD, limit, what="threads")
    return listed(app, Kind.THREAD, status, topic, limit, what="threads")


def hushed(app: App, kind: Kind, limit: int, *, what: str) -> Cards:
    """Those that went quiet, whatever their status."""
    found = quiet_ones(app, kind)[: at_least_one("limit", limit)]
    return Cards(tuple(found), what if found else f"{what} went quiet")


def quiet_ones(app: App, kind: Kind | None = None) -> list[Card]:
    found = [(scope, memory) for scope, store in app.scopes() for memory in store.judged(_MOST_JUDGED)]
    return [card(app, scope, memory) for scope, memory in found if kind in (None, memory.kind) and is_quiet(memory)]


def listed(app: App, kind: Kind, status: Status | None, topic: str | None, limit: int, *, what: str) -> Cards:
    query = Query(
        kinds=(kind,),
        statuses=_AGE_TO.get(status, (status,)) if status else (),
        topic=storable(topic or ""),
        limit=at_least_one("limit", limit),
    )
    cards = [card for scope, store in app.scopes() for card in _aged_cards(app, scope, store, query, status)]
    cards.sort(key=lambda c: c.memory.last_active_at, reverse=True)
    return Cards(tuple(cards[:limit]), what)


def _aged_cards(app: App, scope: Scope, store: Store, query: Query, status: Status | None) -> list[Card]:
    """Of the status that age gives, which may not be written down yet: it is looked further until there are enough."""
    while True:
        found = store.find(query)
        cards = [one for one in (card(app, scope, memory) for memory in found) if status in (None, one.memory.status)]
        if len(cards) >= query.limit or len(found) < query.limit:
            return cards
        query = replace(query, limit=4 * query.limit)


def show(
    app: App,
    id: Annotated[str, Arg("The memory's id; of a note also its file's name or path.", metavar="ID")],
    *,
    content: Annotated[bool, Arg("Only what it says.")] = False,
) -> Shown:
    scope, memory, asked = by_name(app, id)
    store = app.reading(scope)
    bridges = []
    for bridge in store.bridges(memory.id):
        other = store.exact(bridge.target if bridge.source == memory.id else bridge.source)
        bridges.append((bridge, other.title if other else "?"))
    messages, merged = store.messages(memory.id), store.aliases(memory.id)
    return Shown(card(app, scope, memory), asked, messages, tuple(bridges), merged, content)


def by_name(app: App, id: str) -> tuple[Scope, Memory, str]:
    """By id; else the note of this name. And the id that it was asked for by."""
    try:
        return *app.find(id), id
    except UnknownId as unknown:
        from recollect.ops.notes import named

        try:
            note = named(app, id)
        except NotFound:
            raise unknown from None
        return *app.find(note.id), note.id


def pin(
    app: App,
    text: Annotated[str, Arg("What to keep, word for word; - reads standard input.", metavar="TEXT", stdin=True)],
    *,
    title: Annotated[str | None, Arg("A title; made from the text if none is given.")] = None,
    topics: Topics = (),
    boost: Annotated[float, Arg("How far above normal, 0 to 0.5.", metavar="B")] = 0.3,
    user: User = False,
) -> Done:
    content = app.take("text", text)
    if not content.strip():
        raise BadInput("There is nothing to pin: the text is empty.", hint='`recollect pin "What to remember"`')
    held, said = clamped("boost", boost, 0.0, change.MAX_BOOST)
    heading, named = app.take_title(title) or title_from(content), app.take_topics(topics)
    lane = Lane.AGENT if app.actor == "agent" else Lane.USER

    def make(_store: Store) -> Plan:
        thread = change.pinned_thread(
            content,
            id=app.mint.draw("thread"),
            title=heading,
            topics=named,
            boost=held,
            lane=lane,
            now=app.clock.now(),
        )
        return change.pin(thread, message_id=app.mint.draw("message"))

    done = app.commit(
        scope_of(user), "pin", make, lambda plan: f"Pinned as {plan.touched()[0]} (weight={1 + held:.2f})"
    )
    return replace(done, notes=(*said, *done.notes))


def archive(app: App, ids: Ids) -> Done:
    return _for_each(app, ids, "archive", "Archived", change.archive)


def restore(app: App, ids: Ids) -> Done:
    now, rules = app.clock.now(), app.age_rules
    return _for_each(app, ids, "restore", "Restored", lambda memory: change.restore(memory, now=now, rules=rules))


def revive(app: App, ids: Ids) -> Done:
    """What it was judged by is forgotten; the journal keeps it."""

    def revived(memory: Memory) -> Plan:
        return Plan.of([Update.between(memory, use.revived(memory))])

    return _for_each(app, ids, "revive", "Revived", revived, says_the_same=True)


def delete(app: App, ids: Ids) -> Done:
    scope, wanted = _of_one_store(app, ids)

    def make(store: Store) -> Plan:
        changes: list[Change] = []
        gone: set[tuple[str, str, str]] = set()
        for memory in _standing(store, wanted):
            bridges = tuple(b for b in store.bridges(memory.id) if b.key not in gone)
            gone |= {b.key for b in bridges}
            changes += change.delete(memory, store.messages(memory.id), bridges, store.aliases(memory.id)).changes
        return Plan.of(changes)

    return app.commit(scope, "delete", make, lambda _: f"Deleted {_named(wanted)}. `recollect undo` brings it back.")


def edit(
    app: App,
    id: Annotated[str, Arg("The memory's id.", metavar="ID")],
    *,
    title: Annotated[str | None, Arg("The new title.")] = None,
    body: Annotated[str | None, Arg("The new body; - reads standard input.", metavar="TEXT", stdin=True)] = None,
    topics: Annotated[str | None, Arg("The new topics, divided by commas.", metavar="A,B")] = None,
) -> Done:
    scope, memory = app.find(id)
    not_a_file(app, scope, memory)
    new_title = memory.title if title is None else app.take_title(title)
    new_body = memory.body if body is None else app.take("body", body)
    new_topics = memory.topics if topics is None else app.take_topics(tuple(topics.split(",")))
    if not new_title:
        raise BadInput("The title is empty.", hint="Give it a few words.")

    def make(store: Store) -> Plan:
        standing = store.get(memory.id) or memory
        return change.revise(standing, title=new_title, body=new_body, topics=new_topics, now=app.clock.now())

    return app.commit(scope, "edit", make, lambda _: f"Changed {memory.id}.")


def card(app: App, scope: Scope, memory: Memory) -> Card:
    now, rules = app.clock.now(), app.age_rules
    return Card(aged(memory, now=now, rules=rules), strength(memory, now=now, rules=rules), scope)


def scope_of(user: bool) -> Scope:
    return Scope.USER if user else Scope.PROJECT


def clamped(name: str, value: float, low: float, high: float) -> tuple[float, tuple[str, ...]]:
    """Within its range, and what to say where it was not."""
    if value != value:  # NaN compares with nothing
        raise BadInput(f"The {name} is not a number.", hint=f"Give a number from {low:g} to {high:g}.")
    held = max(low, min(high, value))
    said = (f"The {name} {value:g} is outside {low:g} to {high:g}: it was taken as {held:g}.",) if held != value else ()
    return held, said


def at_least_one(name: str, value: int) -> int:
    if value < 1:
        raise BadInput(f"{name} is {value}; at least 1 is needed.", hint=f"`--{name} 20`, for example.")
    return min(value, 100_000)


def _for_each(
    app: App,
    ids: tuple[str, ...],
    op: str,
    word: str,
    plan_of: Callable[[Memory], Plan],
    *,
    says_the_same: bool = False,
) -> Done:
    scope, wanted = _of_one_store(app, ids, says_the_same=says_the_same)

    def make(store: Store) -> Plan:
        return Plan.of(c for memory in _standing(store, wanted) for c in plan_of(memory).changes)

    return app.commit(scope, op, make, lambda plan: f"{word} {_named(plan.touched())}.")


def _standing(store: Store, ids: tuple[str, ...]) -> list[Memory]:
    return [memory for memory in map(store.exact, ids) if memory is not None]


def _named(ids: tuple[str, ...]) -> str:
    return ids[0] if len(ids) == 1 else f"{len(ids)} memories"


def not_a_file(app: App, scope: Scope, memory: Memory) -> None:
    """A note is changed by its file: what is changed here alone would come back with it."""
    from recollect.ops.vaults import file_of

    path = file_of(app, scope, memory)
    if path is not None:
        raise BadInput(
            f"{memory.id} is a note, and its file counts: {path}.",
            hint="Change, move or remove the file; or `recollect note archive NAME`, `note evolve NAME`.",
        )


def _of_one_store(app: App, ids: tuple[str, ...], *, says_the_same: bool = False) -> tuple[Scope, tuple[str, ...]]:
    found = [app.find(id) for id in ids]
    for scope, memory in found if not says_the_same else ():
        not_a_file(app, scope, memory)
    scopes = {scope for scope, _ in found}
    if len(scopes) > 1:
        raise BadInput("Some of these belong to the project and some to the user.", hint="Name those of one at a time.")
    return scopes.pop(), tuple(dict.fromkeys(memory.id for _, memory in found))
