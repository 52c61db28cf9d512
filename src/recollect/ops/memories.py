"""Memories of any kind: list, show, pin, edit, archive, restore, delete, link, merge and split them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from itertools import chain
from typing import TYPE_CHECKING, Annotated, Any

from recollect.app.core import App
from recollect.app.note_files import file_of
from recollect.base.errors import BadInput, NotFound
from recollect.base.text import first_line_title, storable
from recollect.lifecycle import edits
from recollect.lifecycle.edits import Whole
from recollect.lifecycle.strength import apply_age, strength
from recollect.model.memory import Bridge, BridgeType, Kind, Lane, Memory, Status, Thread
from recollect.model.plan import Alias, Link, Plan, Unlink
from recollect.model.query import Drop, Query
from recollect.model.result import Card, Cards, Done, Scope, Shown
from recollect.ops.table import Arg
from recollect.recall.priority import is_muted, relevance

if TYPE_CHECKING:
    from recollect.store import Store

Name = Annotated[str, Arg("The memory: an id, a title, a note's file, or a number of a list.", metavar="NAME")]
Names = Annotated[tuple[str, ...], Arg("The memories: ids, titles, or numbers of a list.", metavar="NAME", many=True)]
Topics = Annotated[tuple[str, ...], Arg("Topics, separated by commas.", metavar="A,B")]
User = Annotated[bool, Arg("Keep it for every project, not only this one.")]
Muted = Annotated[bool, Arg("Only muted ones, which never helped and are not shown unasked; `restore` unmutes one.")]
Limit = Annotated[int, Arg("Maximum number of results.", metavar="N")]
From = Annotated[str, Arg("Where the link starts.", metavar="FROM")]
To = Annotated[str, Arg("Where it ends.", metavar="TO")]
_CAN_AGE_TO = {
    Status.SUSPENDED: (Status.ACTIVE, Status.SUSPENDED),
    Status.ARCHIVED: (Status.ACTIVE, Status.SUSPENDED, Status.ARCHIVED),
}  # the stored statuses that age may have turned into this one since
_MOST_JUDGED = 100_000


def threads(
    app: App,
    *,
    status: Annotated[Status | None, Arg("Only memories with this status.")] = None,
    topic: Annotated[str | None, Arg("Only memories with this topic.")] = None,
    muted: Muted = False,
    limit: Limit = 20,
) -> Cards:
    return list_kind(app, Kind.THREAD, status, limit, muted=muted, topic=topic)


def list_kind(
    app: App, kind: Kind, status: Status | None, limit: int, *, muted: bool = False, **filters: str | None
) -> Cards:
    """The last active first. `filters` are those of a Query."""
    limit, what = at_least_one("limit", limit), f"{kind}s"
    if muted:
        found = muted_memories(app, kind)[:limit]
        return Cards(tuple(found), what if found else f"muted {what}")
    statuses = _CAN_AGE_TO.get(status, (status,)) if status else ()
    given: dict[str, Any] = {name: storable(value) for name, value in filters.items() if value}
    query = Query(kinds=(kind,), statuses=statuses, limit=limit, **given)
    cards = [card for scope, store in app.scopes() for card in _aged_cards(app, scope, store, query, status)]
    cards.sort(key=lambda card: card.memory.last_active_at, reverse=True)
    return Cards(tuple(cards[:limit]), what)


def muted_memories(app: App, kind: Kind | None = None) -> list[Card]:
    """All muted memories, whatever their status."""
    judged = Query(judged=True, limit=_MOST_JUDGED)
    found = [(scope, memory) for scope, store in app.scopes() for memory in store.find(judged)]
    return [card(app, scope, memory) for scope, memory in found if kind in (None, memory.kind) and is_muted(memory)]


def _aged_cards(app: App, scope: Scope, store: Store, query: Query, status: Status | None) -> list[Card]:
    """Filters by the status that age gives, which may not be stored yet: reads on until there are enough."""
    while True:
        found = store.find(query)
        cards = [one for one in (card(app, scope, memory) for memory in found) if status in (None, one.memory.status)]
        if len(cards) >= query.limit or len(found) < query.limit:
            return cards
        query = replace(query, limit=4 * query.limit)


def show(app: App, id: Name, *, content: Annotated[bool, Arg("Print only its content.")] = False) -> Shown:
    scope, memory = app.find(id)
    store = app.reader(scope)
    whole = load_whole(store, memory)
    bridges = []
    for bridge in whole.bridges:
        other = store.get(bridge.target if bridge.source == memory.id else bridge.source, follow=False)
        bridges.append((bridge, other.title if other else "?"))
    asked = id if id in whole.aliases else memory.id
    return Shown(card(app, scope, memory), asked, whole.messages, tuple(bridges), whole.aliases, content)


def card(app: App, scope: Scope, memory: Memory) -> Card:
    now, rules = app.clock.now(), app.age_rules
    strong, useful = strength(memory, now=now, rules=rules), relevance(memory.ratings, memory.outcomes)
    return Card(apply_age(memory, now=now, rules=rules), strong, scope, round(100 * min(1.0, strong) * useful))


def pin(
    app: App,
    text: Annotated[str, Arg("What to keep, word for word; - reads standard input.", metavar="TEXT", stdin=True)],
    *,
    title: Annotated[str | None, Arg("A title; by default made from the text.")] = None,
    topics: Topics = (),
    boost: Annotated[float, Arg("How far above normal, 0 to 0.5.", metavar="B")] = 0.3,
    user: User = False,
) -> Done:
    content = app.redact_text("text", text)
    if not content.strip():
        raise BadInput("There is nothing to pin: the text is empty.", hint='`recollect pin "What to remember"`')
    boost, notes = clamp("boost", boost, 0.0, edits.MAX_BOOST)
    heading, named = app.redact_title(title) or first_line_title(content), app.redact_topics(topics)

    def make(_store: Store) -> Plan:
        lane = Lane.AGENT if app.actor == "agent" else Lane.USER
        return edits.pin(
            content, id=app.mint.draw("thread"), message_id=app.mint.draw("message"), title=heading, topics=named,
            boost=boost, lane=lane, now=app.clock.now(),
        )  # fmt: skip

    weight = f"(weight={1 + boost:.2f})"
    done = app.commit(scope_of(user), "pin", make, lambda plan: f"Pinned as {plan.touched()[0]} {weight}")
    return replace(done, notes=(*notes, *done.notes))


def edit(
    app: App,
    id: Name,
    *,
    title: Annotated[str | None, Arg("The new title.")] = None,
    body: Annotated[str | None, Arg("The new body; - reads standard input.", metavar="TEXT", stdin=True)] = None,
    topics: Annotated[str | None, Arg("The new topics, separated by commas.", metavar="A,B")] = None,
) -> Done:
    scope, memory = app.find(id)
    refuse_note_file(app, scope, memory)
    new_title = memory.title if title is None else app.redact_title(title)
    new_body = memory.body if body is None else app.redact_text("body", body)
    new_topics = memory.topics if topics is None else app.redact_topics(tuple(topics.split(",")))
    if not new_title:
        raise BadInput("The title is empty.", hint="Give it a few words.")

    def make(store: Store) -> Plan:
        standing = store.get(memory.id) or memory
        return edits.revise(standing, title=new_title, body=new_body, topics=new_topics, now=app.clock.now())

    return app.commit(scope, "edit", make, lambda _: f"Changed {memory.id}.")


def archive(app: App, ids: Names) -> Done:
    return _change_each(app, ids, "archive", "Archived", edits.archive)


def restore(app: App, ids: Names) -> Done:
    """Whatever archived them. Ratings that alone muted a memory are cleared; the journal keeps them."""
    if all(is_muted_only(app.find(id)[1]) for id in ids):
        return _change_each(app, ids, "revive", "Revived", edits.revive, may_be_files=True)
    now, rules = app.clock.now(), app.age_rules
    return _change_each(app, ids, "restore", "Restored", lambda memory: edits.restore(memory, now=now, rules=rules))


def is_muted_only(memory: Memory) -> bool:
    """Its ratings alone keep it from being shown."""
    return memory.status is Status.ACTIVE and is_muted(memory)


def delete(app: App, ids: Names) -> Done:
    scope, wanted = _in_one_store(app, ids)

    def make(store: Store) -> Plan:
        return edits.delete(*(load_whole(store, memory) for id in wanted if (memory := store.get(id, follow=False))))

    return app.commit(scope, "delete", make, lambda _: f"Deleted {_count(wanted)}. `recollect undo` brings it back.")


def _change_each(
    app: App, ids: tuple[str, ...], op: str, word: str, plan_of: Callable[[Memory], Plan], *, may_be_files: bool = False
) -> Done:
    scope, wanted = _in_one_store(app, ids, may_be_files=may_be_files)

    def make(store: Store) -> Plan:
        return Plan.of(chain(*(plan_of(memory).changes for id in wanted if (memory := store.get(id, follow=False)))))

    return app.commit(scope, op, make, lambda plan: f"{word} {_count(plan.touched())}.")


def _in_one_store(app: App, ids: tuple[str, ...], *, may_be_files: bool = False) -> tuple[Scope, tuple[str, ...]]:
    found = [app.find(id) for id in ids]
    for scope, memory in found if not may_be_files else ():
        refuse_note_file(app, scope, memory)
    return only_scope(scope for scope, _ in found), tuple(dict.fromkeys(memory.id for _, memory in found))


def only_scope(scopes: Iterable[Scope]) -> Scope:
    scope, *others = set(scopes)
    if others:
        raise BadInput("Some of these are in the project's store and some in yours.", hint="Name those of one store.")
    return scope


def _count(ids: tuple[str, ...]) -> str:
    return ids[0] if len(ids) == 1 else f"{len(ids)} memories"


def load_whole(store: Store, memory: Memory) -> Whole:
    aliases = tuple(one.old for one in store.records(Alias, new=memory.id))
    return Whole(memory, store.messages(memory.id), store.bridges(memory.id), aliases)


def refuse_note_file(app: App, scope: Scope, memory: Memory) -> None:
    """A note is changed through its file: what is changed in memory alone would come back with the file."""
    if path := file_of(app, scope, memory):
        hint = "Edit, move or delete the file, or use `recollect note archive NAME` or `note evolve NAME`."
        raise BadInput(f"{memory.id} is a note; edit its file instead: {path}.", hint=hint)


def link(
    app: App,
    source: From,
    target: To,
    *,
    type: Annotated[BridgeType, Arg("What the first is to the second.")] = BridgeType.EXTENDS,
    weight: Annotated[float, Arg("How strong, 0 to 1.", metavar="W")] = 0.5,
) -> Done:
    if not 0 <= weight <= 1:
        raise BadInput(f"The weight is {weight}; it must be between 0 and 1.", hint="`--weight 0.5`, for example.")
    scope, a, b = app.find_pair(source, target)

    def make(store: Store) -> Plan:
        standing = [one for one in store.bridges(a.id) if one.key == (a.id, b.id, type)]
        new = Bridge(a.id, b.id, type, weight, app.clock.now(), origin=app.actor)
        if standing and standing[0].weight == weight:
            return Plan()
        return Plan.of([*(Unlink(bridge) for bridge in standing), Link(new)])

    return app.commit(scope, "link", make, lambda _: f"{a.id} -> {b.id} ({type}, weight: {weight:.2f})")


def unlink(
    app: App,
    source: From,
    target: To,
    *,
    type: Annotated[BridgeType | None, Arg("Remove only links of this type; by default all between the two.")] = None,
) -> Done:
    scope, a, b = app.find_pair(source, target)

    def make(store: Store) -> Plan:
        ends = {a.id, b.id}
        between = [x for x in store.bridges(a.id) if {x.source, x.target} == ends and type in (None, x.type)]
        if not between:
            raise NotFound(f"No link joins {a.id} and {b.id}.", hint=f"`recollect show {a.id}` lists its links.")
        return Plan.of(Unlink(bridge) for bridge in between)

    return app.commit(scope, "unlink", make, lambda plan: f"Removed the links between them: {len(plan.changes)}.")


def merge(
    app: App,
    a: Annotated[str, Arg("The memory that stays.", metavar="KEPT")],
    b: Annotated[str, Arg("The memory that becomes part of it.", metavar="OTHER")],
) -> Done:
    scope, keep, lose = app.find_pair(a, b)
    for memory in (keep, lose):
        refuse_note_file(app, scope, memory)
    if keep.kind is not lose.kind or keep.kind is Kind.NOTE:
        problem = f"{keep.id} is a {keep.kind} and {lose.id} is a {lose.kind}."
        raise BadInput(problem, hint="Only two threads or two rules can be merged.")

    def make(store: Store) -> Plan:
        one, other = (load_whole(store, store.get(memory.id, follow=False) or memory) for memory in (keep, lose))
        return edits.merge(one, other, now=app.clock.now(), rules=app.age_rules)

    return app.commit(scope, "merge", make, lambda _: f"Merged {lose.id} into {keep.id}; both ids lead to it.")


def split(app: App, thread_id: Annotated[str, Arg("The thread.", metavar="NAME")], *, topics: Topics = ()) -> Done:
    scope, memory = app.find(thread_id)
    wanted = app.redact_topics(topics)

    def make(store: Store) -> Plan:
        thread = store.get(memory.id, follow=False) or memory
        if not isinstance(thread, Thread):
            raise BadInput(f"{thread.id} is a {thread.kind}, not a thread.", hint="Only threads can be split.")
        messages, new_id = store.messages(thread.id), app.mint.draw("thread")
        plan = edits.split(thread, messages, wanted, new_id=new_id, now=app.clock.now())
        if isinstance(plan, Drop):
            hint = f"`recollect show {thread.id}` shows its messages."
            raise BadInput(f"{thread.id} cannot be split: {plan.reason}.", hint=hint)
        return plan

    return app.commit(scope, "split", make, lambda plan: f"Split {memory.id}: {plan.touched()[0]} is new.")


def scope_of(user: bool) -> Scope:
    return Scope.USER if user else Scope.PROJECT


def clamp(name: str, value: float, low: float, high: float) -> tuple[float, tuple[str, ...]]:
    """Within its range, and what to say where it was not."""
    if value != value:  # NaN compares with nothing
        raise BadInput(f"The {name} is not a number.", hint=f"Give a number from {low:g} to {high:g}.")
    held = max(low, min(high, value))
    note = f"{name} must be between {low:g} and {high:g}; {value:g} was changed to {held:g}."
    return held, (note,) if held != value else ()


def at_least_one(name: str, value: int) -> int:
    if value < 1:
        raise BadInput(f"{name} is {value}; at least 1 is needed.", hint=f"`--{name} 20`, for example.")
    return min(value, 100_000)
