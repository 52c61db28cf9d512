"""Memories of any kind: show, pin, edit, archive, restore, delete, link, merge and split them; the journal of
those changes (`log`), and `undo`."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Annotated

from recollect.app import note_files
from recollect.app.core import IMPORT_ACTOR, App
from recollect.app.lookup import TEAM_SYNC, find_named, is_asked, is_list_number
from recollect.app.plan_gate import files_of
from recollect.base.errors import BadInput, Conflict, NotFound, RecollectError, UnknownId
from recollect.base.local_time import local_minute
from recollect.base.structs import replace
from recollect.base.text import clip, first_line_title, one_line, storable
from recollect.jobs.rule_contexts import with_contexts
from recollect.lifecycle import edits
from recollect.lifecycle.differences import differences
from recollect.model.codec import version_of
from recollect.model.memory import Bridge, BridgeType, Kind, Lane, Memory, Status, Thread
from recollect.model.plan import Alias, Link, Plan, Unlink
from recollect.model.query import Drop
from recollect.model.result import Cards, Done, Entry, History, Scope, Shown
from recollect.ops.activity import can_undo, change_words
from recollect.ops.library import Limit, Muted, card, list_kind, parse_limit
from recollect.ops.table import Arg
from recollect.recall.selection import is_muted
from recollect.render.blocks import SHORT_ID
from recollect.render.undo_words import undone_words

if TYPE_CHECKING:
    from recollect.store import Store

_LONG_AGO_DAYS = 1 / 24

Name = Annotated[
    str, Arg("The memory: an id, a title, a note's file, or a number of a list.", metavar="NAME")
]
Names = Annotated[
    tuple[str, ...],
    Arg("The memories: ids, titles, or numbers of a list.", metavar="NAME", many=True),
]
Topics = Annotated[tuple[str, ...], Arg("Topics, separated by commas.", metavar="A,B")]
User = Annotated[bool, Arg("Keep it for every project, not only this one.")]
Expect = Annotated[
    str | None,
    Arg(
        "Only if it still says what you saw: its version, which `show --json` has.",
        metavar="VERSION",
    ),
]
From = Annotated[str, Arg("Where the link starts.", metavar="FROM")]
To = Annotated[str, Arg("Where it ends.", metavar="TO")]


def threads(
    app: App,
    *,
    status: Annotated[Status | None, Arg("Only memories with this status.")] = None,
    topic: Annotated[str | None, Arg("Only memories with this topic.")] = None,
    muted: Muted = False,
    limit: Limit = 20,
) -> Cards:
    return list_kind(app, Kind.THREAD, status, limit, muted=muted, topic=topic)


def show(
    app: App, id: Name, *, content: Annotated[bool, Arg("Print only its content.")] = False
) -> Shown:
    shown = load_shown(app, id)
    if content:
        return replace(shown, content=True)
    scope, memory = shown.card.scope, shown.card.memory
    files = tuple(files_of(app, memory).items()) if scope is Scope.PROJECT else ()
    path = note_files.file_of(app, scope, memory)
    return replace(
        shown, card=with_contexts(app, [shown.card])[0], files=files, file=str(path or "")
    )


def load_shown(app: App, id: str) -> Shown:
    """Without what takes a look at files."""
    scope, memory = app.find(id)
    store = app.reader(scope)
    _, messages, bridges, merged = load_whole(store, memory)
    ends = [
        store.get(one.target if one.source == memory.id else one.source, follow=False)
        for one in bridges
    ]
    titled = tuple(
        (bridge, end.title if end else "?") for bridge, end in zip(bridges, ends, strict=True)
    )
    return Shown(
        card(app, scope, memory), id if id in merged else memory.id, messages, titled, merged
    )


def pin(
    app: App,
    text: Annotated[
        str, Arg("What to keep, word for word; - reads standard input.", metavar="TEXT", stdin=True)
    ],
    *,
    title: Annotated[str | None, Arg("A title; by default made from the text.")] = None,
    topics: Topics = (),
    boost: Annotated[float, Arg("How far above normal, 0 to 0.5.", metavar="B")] = 0.3,
    user: User = False,
) -> Done:
    content = app.redact_text("text", text)
    if not content.strip():
        raise BadInput(
            "There is nothing to pin: the text is empty.", hint='`recollect pin "What to remember"`'
        )
    if title is None:
        _refuse_name(app, content)
    boost, notes = clamp("boost", boost, 0.0, edits.MAX_BOOST)
    heading, named = app.redact_title(title), app.redact_topics(topics)

    def make(_store: Store) -> Plan:
        lane = Lane.AGENT if app.actor == "agent" else Lane.USER
        return edits.pin(
            content, id=app.mint.draw("thread"), message_id=app.mint.draw("message"), title=heading, topics=named,
            boost=boost, lane=lane, now=app.clock.now(),
        )  # fmt: skip

    weight = f"weight={1 + boost:.2f}"
    done = app.commit(
        scope_of(user), "pin", make, lambda plan: f"Pinned as {plan.touched()[0]} ({weight})"
    )
    return replace(done, notes=(*notes, *done.notes))


def _refuse_name(app: App, text: str) -> None:
    """`pin 1` means a memory that is there already; kept would be the figure 1."""
    name = text.strip()
    named = find_named(app, name)
    if named is None and not is_list_number(name):
        return
    hint = (
        f'To keep it as a text all the same, give it a title: `recollect pin {name} --title "..."`.'
    )
    if named is None:
        raise BadInput(
            f"{name} is a number of a list, and `pin` keeps new words. Nothing was kept.", hint=hint
        )
    memory = named[1]
    hint = f"`recollect show {memory.id[-SHORT_ID:]}` shows it. {hint}"
    if memory.kind is not Kind.THREAD:
        protect = (
            f"`recollect appreciate {memory.id[-SHORT_ID:]}` protects it from being forgotten."
        )
        hint = f"{protect} {hint}"
    raise BadInput(
        f"{name} is the {memory.kind} \u201c{clip(one_line(memory.title), 60)}\u201d, which is remembered already;"
        " `pin` keeps new words. Nothing was kept.",
        hint=hint,
    )


def edit(
    app: App,
    id: Name,
    *,
    title: Annotated[str | None, Arg("The new title.")] = None,
    body: Annotated[
        str | None, Arg("The new body; - reads standard input.", metavar="TEXT", stdin=True)
    ] = None,
    topics: Annotated[
        str | None, Arg("The new topics, separated by commas.", metavar="A,B")
    ] = None,
    expect: Expect = None,
) -> Done:
    """A title that was made from the text follows it."""
    scope, memory = app.find(id)
    refuse_note_file(app, scope, memory)
    new_title = None if title is None else app.redact_title(title)
    new_body = None if body is None else app.redact_text("body", body)
    new_topics = None if topics is None else app.redact_topics(tuple(topics.split(",")))
    if new_title == "":
        raise BadInput("The title is empty.", hint="Give it a few words.")

    def plan_of(now: Memory) -> Plan:
        text = now.body if new_body is None else new_body
        heading = first_line_title(text) if now.title == first_line_title(now.body) else now.title
        plan = edits.revise(
            now, title=heading if new_title is None else new_title, body=text,
            topics=now.topics if new_topics is None else new_topics, now=app.clock.now(),
        )  # fmt: skip
        if plan:
            refuse_unexpected(now, expect)
        return plan

    return change_one(app, scope, memory, "edit", plan_of, f"Changed {memory.id}.")


def refuse_unexpected(memory: Memory, expect: str | None) -> None:
    """Raised while a plan is made, so it is final: only a plan that could not be applied is made anew."""
    version = version_of(memory)
    if expect and expect != version:
        message = f"{memory.id} was changed since you saw it. Now it says: {clip(one_line(memory.body), 300)}"
        raise Conflict(
            message, hint=f"Nothing was written. Edit what is there now; its version is {version}."
        )


def change_one(
    app: App, scope: Scope, memory: Memory, op: str, plan_of: Callable[[Memory], Plan], summary: str
) -> Done:
    """Planned from the memory as it is when it is written."""
    return app.commit(
        scope,
        op,
        lambda store: plan_of(store.get(memory.id, follow=False) or memory),
        lambda _: summary,
    )


def archive(app: App, ids: Names) -> Done:
    return _change_all(app, ids, "archive", lambda _, found: edits.archive(*found))


def restore(app: App, ids: Names) -> Done:
    """Whatever archived them. Ratings that alone muted a memory are cleared; the journal keeps them."""
    if all(is_muted_only(app.find(id)[1]) for id in ids):
        return _change_all(app, ids, "revive", lambda _, found: edits.revive(*found))
    now, rules = app.clock.now(), app.age_rules
    return _change_all(
        app, ids, "restore", lambda _, found: edits.restore(*found, now=now, rules=rules)
    )


def is_muted_only(memory: Memory) -> bool:
    """Its ratings alone keep it from being shown."""
    return memory.status in (Status.ACTIVE, Status.CANDIDATE) and is_muted(memory)


def delete(app: App, ids: Names) -> Done:
    return _change_all(
        app,
        ids,
        "delete",
        lambda store, found: edits.delete(*(load_whole(store, x) for x in found)),
    )


def _change_all(
    app: App, names: tuple[str, ...], op: str, plan_of: Callable[[Store, list[Memory]], Plan]
) -> Done:
    found = [app.find(name) for name in names]
    for scope, memory in found if op != "revive" else ():  # ratings are not in the file
        refuse_note_file(app, scope, memory)
    ids = dict.fromkeys(memory.id for _, memory in found)

    def make(store: Store) -> Plan:
        return plan_of(store, [memory for id in ids if (memory := store.get(id, follow=False))])

    def say(plan: Plan) -> str:
        changed = list(ids.keys() & set(plan.touched()))
        which = changed[0] if len(changed) == 1 else f"{len(changed)} memories"
        return f"{op.capitalize()}d {which}.{' `recollect undo` brings it back.' if op == 'delete' else ''}"

    return app.commit(only_scope(scope for scope, _ in found), op, make, say)


def only_scope(scopes: Iterable[Scope]) -> Scope:
    scope, *others = set(scopes)
    if others:
        raise BadInput(
            "Some of these are in the project's store and some in yours.",
            hint="Name those of one store.",
        )
    return scope


def load_whole(store: Store, memory: Memory) -> edits.Whole:
    aliases = tuple(one.old for one in store.records(Alias, new=memory.id))
    return edits.Whole(memory, store.messages(memory.id), store.bridges(memory.id), aliases)


def refuse_note_file(app: App, scope: Scope, memory: Memory) -> None:
    """A note is changed through its file: what is changed in memory alone would come back with the file."""
    if path := note_files.file_of(app, scope, memory):
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
        raise BadInput(
            f"The weight is {weight}; it must be between 0 and 1.",
            hint="`--weight 0.5`, for example.",
        )
    scope, a, b = app.find_pair(source, target)

    def make(store: Store) -> Plan:
        standing = [one for one in store.bridges(a.id) if one.key == (a.id, b.id, type)]
        if standing and standing[0].weight == weight:
            return Plan()
        new = Bridge(a.id, b.id, type, weight, app.clock.now(), origin=app.actor)
        return Plan.of([*map(Unlink, standing), Link(new)])

    return app.commit(
        scope, "link", make, lambda _: f"{a.id} -> {b.id} ({type}, weight: {weight:.2f})"
    )


def unlink(
    app: App,
    source: From,
    target: To,
    *,
    type: Annotated[
        BridgeType | None, Arg("Remove only links of this type; by default all between the two.")
    ] = None,
) -> Done:
    scope, a, b = app.find_pair(source, target)

    def make(store: Store) -> Plan:
        ends = {a.id, b.id}
        between = [
            x
            for x in store.bridges(a.id)
            if {x.source, x.target} == ends and type in (None, x.type)
        ]
        if not between:
            raise NotFound(
                f"No link joins {a.id} and {b.id}.",
                hint=f"`recollect show {a.id}` lists its links.",
            )
        return Plan.of(map(Unlink, between))

    return app.commit(
        scope, "unlink", make, lambda plan: f"Removed the links between them: {len(plan.changes)}."
    )


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
    is_equal = keep.lane is lose.lane and keep.status is lose.status is Status.ACTIVE
    if app.actor == "agent" and keep.kind is Kind.RULE and not is_equal:
        # Words that wait for a person would hold with the rule that takes them in, or a person's become an agent's.
        problem = f"{keep.id} and {lose.id} are not two rules in force of one source."
        raise BadInput(problem, hint=f"Ask the user to run `recollect merge {keep.id} {lose.id}`.")

    def make(store: Store) -> Plan:
        one, other = (
            load_whole(store, store.get(memory.id, follow=False) or memory)
            for memory in (keep, lose)
        )
        return edits.merge(one, other, now=app.clock.now(), rules=app.age_rules)

    return app.commit(
        scope, "merge", make, lambda _: f"Merged {lose.id} into {keep.id}; both ids lead to it."
    )


def split(
    app: App, thread_id: Annotated[str, Arg("The thread.", metavar="NAME")], *, topics: Topics = ()
) -> Done:
    scope, memory = app.find(thread_id)
    wanted = app.redact_topics(topics)

    def make(store: Store) -> Plan:
        thread = store.get(memory.id, follow=False) or memory
        if not isinstance(thread, Thread):
            raise BadInput(
                f"{thread.id} is a {thread.kind}, not a thread.", hint="Only threads can be split."
            )
        messages, new_id = store.messages(thread.id), app.mint.draw("thread")
        plan = edits.split(thread, messages, wanted, new_id=new_id, now=app.clock.now())
        if isinstance(plan, Drop):
            hint = f"`recollect show {thread.id}` shows its messages."
            raise BadInput(f"{thread.id} cannot be split: {plan.reason}.", hint=hint)
        return plan

    return app.commit(
        scope, "split", make, lambda plan: f"Split {memory.id}: {plan.touched()[0]} is new."
    )


def log(
    app: App,
    memory: Annotated[str | None, Arg("Only changes of this memory.", "[ID]")] = None,
    *,
    diff: Annotated[bool, Arg("Show what each one changed, before and after.")] = False,
    limit: Limit = 20,
) -> History:
    limit, wanted = parse_limit(limit), find_id(app, memory)[1] if memory else ""
    found = _newest_first(app, limit=limit + 1, memory=wanted)
    entries = []
    for scope, entry in found[:limit]:
        words = change_words(app.reader(scope), entry)[1]
        entry = replace(entry, text=words, can_undo=can_undo(entry))
        entries.append((scope, _with_differences(app, scope, entry, wanted) if diff else entry))
    return History(tuple(entries), is_cut=len(found) > limit)


def _with_differences(app: App, scope: Scope, entry: Entry, memory: str) -> Entry:
    changes = app.reader(scope).journalled(entry.change, memory=memory)
    return replace(
        entry, differences=tuple(one for change in changes for one in differences(change, memory))
    )


def find_id(app: App, name: str) -> tuple[Scope, str]:
    """Also of a memory that was deleted: its words live on in the journal."""
    id = storable(name)
    try:
        scope, memory = app.find(id)
    except UnknownId:
        for scope, store in app.scopes():
            if store.log(limit=1, memory=id):
                return scope, id
        raise
    return scope, memory.id


def undo(
    app: App,
    change: Annotated[
        str | None,
        Arg(
            "The change to undo; by default the last one that you made or were told about.",
            "[CHANGE]",
        ),
    ] = None,
) -> Done:
    latest = _newest_first(app, limit=200)
    if change:
        id = storable(change)
        found = [
            (scope, entry)
            for scope, store in app.scopes()
            for entry in store.log(limit=1, change=id)
        ]
        fitting = {pair[1].change: pair for pair in latest if len(id) >= 4 and id in pair[1].change}
        found = found or (list(fitting.values()) if len(fitting) == 1 else [])
    else:  # the newest that still stands, is itself no undo, and that a person asked for or was shown
        standing = [
            (scope, one) for scope, one in latest if not (one.undoes or one.undone_by or one.purged)
        ]
        found = [pair for pair in standing if is_asked(pair[1].op) and _is_meant(app, pair[1])]
    if not found:
        raise _nothing_to_undo(app, change)
    entry = found[0][1]
    parts = [
        (scope, one)
        for scope, store in app.scopes()
        for one in store.log(limit=1, change=entry.change)
    ]
    standing = [(scope, one) for scope, one in parts if not one.undone_by]
    if not standing:
        again = f"To redo it: `recollect undo {entry.undone_by}`."
        raise BadInput(f"{entry.change} was undone by {entry.undone_by}.", hint=again)
    if entry.op == TEAM_SYNC:
        problem = f"{entry.change} brought what the team shares, all at once."
        raise BadInput(
            problem,
            hint="`recollect unshare` removes a memory for everyone, `forget` for you alone.",
        )
    if entry.op == note_files.SYNC:
        problem = (
            f"{entry.change} ({entry.summary}) was read from files, which would bring it back."
        )
        raise BadInput(problem, hint=note_files.USE_FILES)
    with app.as_one_change():
        done = as_one([app.undo(scope, one) for scope, one in standing])
    done = _in_words(app, done, is_redo=entry.undoes is not None)
    return replace(done, notes=(*_reach(app, standing, is_named=bool(change)), *done.notes))


def _is_meant(app: App, entry: Entry) -> bool:
    """An agent that names no change means what it did itself, or what was heard. A person's own act has to be named;
    an import is one, too."""
    is_by_person = entry.actor in ("user", IMPORT_ACTOR)
    return app.actor != "agent" or not is_by_person or entry.op == "capture"


def _nothing_to_undo(app: App, change: str | None) -> NotFound:
    """Other projects are not looked into, so where such a change may be is all that can be said."""
    where = "in what holds in every project"
    if app.project is not None:
        where = f"in {app.project.name}, nor {where}"
    if change:
        problem = f"No change has the id {change!r} {where}."
    elif app.actor == "agent":
        problem = f"There is nothing to undo that you did or that was heard {where}."
    else:
        problem = f"There is nothing to undo {where}."
    others = "One of another project is undone in that project's folder: `recollect projects`."
    return NotFound(problem, hint=f"`recollect log` lists the changes. {others}")


def _reach(app: App, undone: Sequence[tuple[Scope, Entry]], *, is_named: bool) -> Iterator[str]:
    """That it was for every project; and when it was made, for who meant a newer change of another project."""
    if app.project is None:
        return
    if all(scope is Scope.USER for scope, _ in undone):
        yield "It was for every project."
    _, entry = undone[0]
    if not is_named and app.clock.now().days_since(entry.at) >= _LONG_AGO_DAYS:
        yield f"It was made {local_minute(entry.at)} and was the last change in {app.project.name}."


def _in_words(app: App, done: Done, *, is_redo: bool) -> Done:
    """What is true now, and how to have it the other way round again."""

    def memory_of(id: str) -> Memory | None:
        stores = (store for _, store in app.scopes())
        return next((memory for store in stores if (memory := store.get(id, follow=False))), None)

    words = undone_words(done.plan, memory_of)
    summary = f"{'Done again' if is_redo else 'Undone'}: {words}."
    if not done.change:
        return replace(done, summary=summary)
    again = f"{'Undo' if is_redo else 'Redo'}: `recollect undo {done.change[-SHORT_ID:]}`"
    return replace(done, summary=summary, notes=(again, *done.notes))


def as_one(parts: Sequence[Done], problems: Sequence[RecollectError] = ()) -> Done:
    """The parts of one change, and what could not be done."""
    notes = (
        *(f"{one.message} {one.hint}".strip() for one in problems),
        *(note for one in parts for note in one.notes),
    )
    plan = Plan(tuple(change for one in parts for change in one.plan.changes))
    change = next((one.change for one in parts if one.change), None)
    return replace(
        parts[0],
        summary=" ".join(one.summary for one in parts),
        plan=plan,
        change=change,
        notes=notes,
    )


def _newest_first(app: App, *, limit: int, memory: str = "") -> list[tuple[Scope, Entry]]:
    """Each store's in the order of its journal, even where the clock was set back; the two by time."""
    stores = [
        [(scope, entry) for entry in store.log(limit=limit, memory=memory)]
        for scope, store in app.scopes()
    ]
    return list(heapq.merge(*stores, key=lambda pair: pair[1].at, reverse=True))


def scope_of(user: bool) -> Scope:
    return Scope.USER if user else Scope.PROJECT


def clamp(name: str, value: float, low: float, high: float) -> tuple[float, tuple[str, ...]]:
    """Within its range, and what to say where it was not."""
    if value != value:  # NaN compares with nothing
        raise BadInput(
            f"The {name} is not a number.", hint=f"Give a number from {low:g} to {high:g}."
        )
    held = max(low, min(high, value))
    note = f"{name} must be between {low:g} and {high:g}; {value:g} was changed to {held:g}."
    return held, (note,) if held != value else ()
