"""Looking at memories, and the small changes of one."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated

from recollect.base.errors import BadInput
from recollect.base.text import storable, title_from
from recollect.lifecycle import change
from recollect.lifecycle.strength import strength
from recollect.model.memory import Kind, Lane, Memory, Status
from recollect.model.plan import Change, Plan
from recollect.model.query import Query
from recollect.model.result import Card, Cards, Done, Scope, Shown
from recollect.ops.app import App
from recollect.ops.table import Arg

if TYPE_CHECKING:
    from recollect.store import Store

Ids = Annotated[tuple[str, ...], Arg("The memories, by id.", metavar="ID", many=True)]
Topics = Annotated[tuple[str, ...], Arg("Topics, divided by commas.", metavar="A,B")]
User = Annotated[bool, Arg("Keep it for every project, not only this one.")]
Limit = Annotated[int, Arg("At most so many.", metavar="N")]


def threads(
    app: App,
    *,
    status: Annotated[Status | None, Arg("Only those of this status.")] = None,
    topic: Annotated[str | None, Arg("Only those with this topic.")] = None,
    limit: Limit = 20,
) -> Cards:
    return listed(app, Kind.THREAD, status, topic, limit, what="threads")


def listed(app: App, kind: Kind, status: Status | None, topic: str | None, limit: int, *, what: str) -> Cards:
    query = Query(
        kinds=(kind,),
        statuses=(status,) if status else (),
        topic=storable(topic or ""),
        limit=at_least_one("limit", limit),
    )
    cards = [card(app, scope, memory) for scope, store in app.scopes() for memory in store.find(query)]
    cards.sort(key=lambda c: c.memory.last_active_at, reverse=True)
    return Cards(tuple(cards[:limit]), what)


def show(app: App, id: Annotated[str, Arg("The memory's id.", metavar="ID")]) -> Shown:
    scope, memory = app.find(id)
    store = app.reading(scope)
    bridges = []
    for bridge in store.bridges(memory.id):
        other = store.exact(bridge.target if bridge.source == memory.id else bridge.source)
        bridges.append((bridge, other.title if other else "?"))
    return Shown(card(app, scope, memory), id, store.messages(memory.id), tuple(bridges), store.aliases(memory.id))


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
    if boost != boost:  # NaN compares with nothing
        raise BadInput("The boost is not a number.", hint="Give a number from 0 to 0.5.")
    heading, named = app.take_title(title) or title_from(content), app.take_topics(topics)
    lane = Lane.AGENT if app.actor == "agent" else Lane.USER

    def make(_store: Store) -> Plan:
        thread = change.pinned_thread(
            content,
            id=app.mint.draw("thread"),
            title=heading,
            topics=named,
            boost=boost,
            lane=lane,
            now=app.clock.now(),
        )
        return change.pin(thread, message_id=app.mint.draw("message"))

    weight = 1 + max(0.0, min(change.MAX_BOOST, boost))
    return app.commit(scope_of(user), "pin", make, lambda plan: f"Pinned as {plan.touched()[0]} (weight={weight:.2f})")


def archive(app: App, ids: Ids) -> Done:
    return _for_each(app, ids, "archive", "Archived", change.archive)


def restore(app: App, ids: Ids) -> Done:
    return _for_each(app, ids, "restore", "Restored", lambda memory: change.restore(memory, now=app.clock.now()))


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
    return Card(memory, strength(memory, now=app.clock.now(), rules=app.age_rules), scope)


def scope_of(user: bool) -> Scope:
    return Scope.USER if user else Scope.PROJECT


def at_least_one(name: str, value: int) -> int:
    if value < 1:
        raise BadInput(f"{name} is {value}; at least 1 is needed.", hint=f"`--{name} 20`, for example.")
    return min(value, 100_000)


def _for_each(app: App, ids: tuple[str, ...], op: str, word: str, plan_of: Callable[[Memory], Plan]) -> Done:
    scope, wanted = _of_one_store(app, ids)

    def make(store: Store) -> Plan:
        return Plan.of(c for memory in _standing(store, wanted) for c in plan_of(memory).changes)

    return app.commit(scope, op, make, lambda plan: f"{word} {_named(plan.touched())}.")


def _standing(store: Store, ids: tuple[str, ...]) -> list[Memory]:
    return [memory for memory in map(store.exact, ids) if memory is not None]


def _named(ids: tuple[str, ...]) -> str:
    return ids[0] if len(ids) == 1 else f"{len(ids)} memories"


def _of_one_store(app: App, ids: tuple[str, ...]) -> tuple[Scope, tuple[str, ...]]:
    found = [app.find(id) for id in ids]
    scopes = {scope for scope, _ in found}
    if len(scopes) > 1:
        raise BadInput("Some of these belong to the project and some to the user.", hint="Name those of one at a time.")
    return scopes.pop(), tuple(dict.fromkeys(memory.id for _, memory in found))
