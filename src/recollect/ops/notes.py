"""note save, list, show, evolve, archive, restore: a person's notes, by name. The file is the truth: each command
changes it first, in one step that loses no other's text, and memory follows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, NamedTuple

from recollect.base.errors import BadInput, NotFound, RecollectError
from recollect.base.text import storable, title_from
from recollect.model.memory import Kind, Lane, Note, Status
from recollect.model.plan import Plan
from recollect.model.query import Query
from recollect.model.result import Cards, Done, Scope, Shown
from recollect.ops import memories, noted, register, retrace, vaults, wikilinks
from recollect.ops.app import App
from recollect.ops.memories import Limit, at_least_one, card
from recollect.ops.register import NO_FILE, UNTRUSTED, Leaf, Register, Shelf
from recollect.ops.table import Arg
from recollect.ops.vaults import Report
from recollect.vault import folder, page, tags
from recollect.vault.folder import Refusal

if TYPE_CHECKING:
    from recollect.store import Store

Name = Annotated[str, Arg("The note: its file's path or name, with or without .md, or its id.", metavar="NAME")]
Names = Annotated[
    tuple[str, ...], Arg("The notes: paths or names of files, with or without .md, or ids.", metavar="NAME", many=True)
]
Text = Annotated[str, Arg("What it says, in Markdown; - reads standard input.", metavar="TEXT", stdin=True)]
Title = Annotated[str | None, Arg("A title; made from the text if none is given.")]
Tags = Annotated[tuple[str, ...], Arg("Tags, divided by commas.", metavar="A,B")]
_PUT_BY = (noted.ARCHIVE, noted.INBOX)
_NEAR = 5


class Named(NamedTuple):
    """A note that was meant by a name."""

    shelf: Shelf
    files: Register
    path: str
    id: str


_Step = Callable[[App, Named], Done]


def save(
    app: App,
    text: Text,
    *,
    title: Title = None,
    tags: Tags = (),
    group: Annotated[str | None, Arg("A group it belongs to.")] = None,
    inbox: Annotated[bool, Arg("Put it into the inbox: not surfaced until `note restore`.")] = False,
    always: Annotated[bool, Arg("Load it at every session's start.")] = False,
    project: Annotated[bool, Arg("Into this project's .ai/memory/, shared through git, not your own vault.")] = False,
) -> Done:
    if inbox and always:
        raise BadInput("A note waits in the inbox or is always loaded, not both.", hint="Leave one of the two out.")
    shelf = _shelf_of(app, Scope.PROJECT if project else Scope.USER)
    top = noted.MEMORY if project else ""
    place = "/".join(part for part in (top, noted.INBOX if inbox else noted.ALWAYS if always else "") if part)
    written = _worded(app, text, title, tags, group or "")
    with _uninterrupted(app, shelf):
        return _made(app, shelf, place, written)


def listing(
    app: App,
    *,
    status: Annotated[Status | None, Arg("Only those of this status (else active; candidate is the inbox).")] = None,
    tag: Annotated[str | None, Arg("Only those with this tag.")] = None,
    group: Annotated[str | None, Arg("Only those of this group or folder.")] = None,
    limit: Limit = 50,
) -> Cards:
    query = Query(
        kinds=(Kind.NOTE,),
        statuses=(status or Status.ACTIVE,),
        tag=storable(tag or ""),
        group=storable(group or ""),
        limit=at_least_one("limit", limit),
    )
    cards = [card(app, scope, note) for scope, store in app.scopes() for note in store.find(query)]
    cards.sort(key=lambda one: one.memory.last_active_at, reverse=True)
    return Cards(tuple(cards[:limit]), "notes")


def show(app: App, name: Name) -> Shown:
    return memories.show(app, named(app, name).id)


def evolve(
    app: App,
    name: Name,
    text: Annotated[str, Arg("What holds now; - reads standard input.", metavar="TEXT", stdin=True)],
    *,
    title: Title = None,
) -> Done:
    old = _named_now(app, name)
    if noted.Place.of(old.path).status is Status.ARCHIVED:
        raise BadInput(f"{old.path} was put away.", hint=f"`recollect note restore {page.stem(old.path)}` first.")
    before = _text(old.shelf, old.path)
    was = page.read(before, old.path)
    written = _worded(app, text, title, was.tags, was.group, supersedes=page.stem(old.path))
    with _uninterrupted(app, old.shelf):
        return _evolved(app, old, before, written)


def _evolved(app: App, old: Named, before: str, written: _Worded) -> Done:
    path = _created(app, old.shelf, old.path.rpartition("/")[0], written)
    after = page.superseded(before, page.stem(path))
    try:
        _changed(app, old, before, after)
    except RecollectError:
        with suppress(RecollectError):
            folder.remove_new(old.shelf.vault, path, written.text)
        raise
    both = [_leaf(app, old.shelf, path, written.text), _leaf(app, old.shelf, old.path, after)]
    steps = (retrace.step(old.path, before, old.path, after), retrace.created(path, written.text))
    said = f"Saved {path}, which takes the place of {old.path}."
    return _taken(app, old.shelf, old.files, both, "note evolve", said, steps)


def archive(app: App, names: Names) -> Done:
    """How it was used goes into its file, where that has a place for it and is the user's own."""
    return _each(app, names, "archive", _archived)


def chill(app: App, name: str) -> Done:
    """Into cold storage, what it says and how it was used together; `note restore` brings it back to where it was."""
    return _each(app, (name,), "forget", _chilled)


def rewrite(app: App, name: str, change: Callable[[str], str], op: str, said: str) -> Done:
    """Change the file of a note by a splice, and let memory follow."""
    note = _named_now(app, name)
    before = _text(note.shelf, note.path)
    after = change(before)
    steps = (retrace.step(note.path, before, note.path, after),)
    with _uninterrupted(app, note.shelf):
        _changed(app, note, before, after)
        return _taken(app, note.shelf, note.files, [_leaf(app, note.shelf, note.path, after)], op, said, steps)


def is_tagged(app: App, name: str) -> bool:
    """Whether its file is of the dialect that has a place for how it is used."""
    note = named(app, name)
    return tags.is_written_so(_text(note.shelf, note.path))


def restore(app: App, names: Names) -> Done:
    """Out of the archive, the cold, the inbox; in force again where it was superseded."""
    return _each(app, names, "restore", _restored)


# Names


def named(app: App, name: str) -> Named:
    """As far as memory knows the files. The project's come before the user's, those in use before those put away."""
    wanted = storable(name).strip()
    found = [one for shelf in reversed(list(vaults.shelves(app))) for one in _matches(app, shelf, wanted)]
    live = [one for one in found if noted.Place.of(one.path).status is not Status.ARCHIVED] or found
    first = [one for one in live if one.shelf.scope is live[0].shelf.scope]
    if len(first) == 1:
        return first[0]
    if first:
        paths = ", ".join(one.path for one in first[:_NEAR])
        raise BadInput(
            f"{wanted!r} could be any of {len(first)} notes: {paths}.", hint="Give the whole path, or an id."
        )
    raise NotFound(f"No note is called {wanted!r}.", hint="`recollect note list` shows what there is.")


def _named_now(app: App, name: str) -> Named:
    """After a look at the files: what will be changed must be known as it is."""
    if not app.dry_run:
        for shelf in vaults.shelves(app):
            vaults.refresh(app, shelf)
    return named(app, name)


def _matches(app: App, shelf: Shelf, wanted: str) -> Iterator[Named]:
    files = Register.read(app.reading(shelf.scope))
    name = page.known_as(wanted)
    found = (
        [path for path, one in files.files.items() if wanted in (one.id, path)]
        or [path for path in files.files if page.known_as(path) == name]
        or [path for path in files.files if page.known_as(page.stem(path)) == name]
    )
    for path in found:
        if files.stamp(path) != NO_FILE:
            yield Named(shelf, files, path, files.files[path].id)


def _shelf_of(app: App, scope: Scope) -> Shelf:
    app.must_have_a_place(scope)
    return next(shelf for shelf in vaults.shelves(app) if shelf.scope is scope)


# Changes


def _uninterrupted(app: App, shelf: Shelf) -> AbstractContextManager[None]:
    """From the change of a file until it is taken in, no other process takes it in first: what was done is told, kept
    in the journal and undone as what it was."""
    return nullcontext() if app.dry_run else app.writing(shelf.scope).together()


class _Worded(NamedTuple):
    title: str
    text: str


def _worded(app: App, text: str, title: str | None, tags: Sequence[str], group: str, supersedes: str = "") -> _Worded:
    said = app.take("note", text)
    if not said.strip():
        raise BadInput("There is nothing to save: the text is empty.", hint='`recollect note save "What to remember"`')
    heading = app.take_title(title) or title_from(said)
    created = app.clock.now().iso()[:10]
    written = page.new(
        said,
        id=app.mint.draw("note"),
        title=heading,
        tags=app.take_topics(tuple(tags)),
        group=app.take_title(group),
        created=created,
        supersedes=supersedes,
    )
    return _Worded(heading, written)


def _made(app: App, shelf: Shelf, place: str, written: _Worded) -> Done:
    path = _created(app, shelf, place, written)
    leaf = _leaf(app, shelf, path, written.text)
    files = Register.read(app.reading(shelf.scope))
    return _taken(app, shelf, files, [leaf], "note save", f"Saved {path}.", (retrace.created(path, written.text),))


def _created(app: App, shelf: Shelf, place: str, written: _Worded) -> str:
    """Its path; in a dry run the one it would have, were the name free."""
    name = folder.name_for(written.title)
    if app.dry_run:
        return f"{place}/{name}" if place else name
    if shelf.scope is Scope.USER:
        app.home.prepare()
    return folder.create(shelf.vault, place, name, written.text)


def _changed(app: App, note: Named, before: str, after: str) -> None:
    if not app.dry_run:
        folder.change(note.shelf.vault, note.path, before, after)


def _each(app: App, names: tuple[str, ...], op: str, one: _Step) -> Done:
    found = {note.id: note for note in (_named_now(app, name) for name in names)}
    if len({note.shelf.scope for note in found.values()}) > 1:
        raise BadInput("Some of these belong to the project and some to the user.", hint="Name those of one at a time.")
    dones = [one(app, note) for note in found.values()]
    return replace(dones[-1], summary=" ".join(done.summary for done in dones))


def _archived(app: App, note: Named) -> Done:
    place = noted.Place.of(note.path)
    _must_be_in_use(note)
    target = "/".join(part for part in (place.shelf, noted.ARCHIVE, *place.folders) if part)
    with _uninterrupted(app, note.shelf):
        return _moved(app, note, _with_usage_kept(app, note), target, "note archive", "put away")


def _chilled(app: App, note: Named) -> Done:
    _must_be_in_use(note)
    if not app.dry_run and note.shelf.scope is Scope.USER:
        app.writing(note.shelf.scope).sessions.put_state(register.COLD_FROM + note.id, note.path.rpartition("/")[0])
    target = "/".join((noted.COLD, *noted.Place.of(note.path).folders))
    with _uninterrupted(app, note.shelf):
        return _moved(app, note, _with_usage_kept(app, note), target, "forget", "in cold storage")


def _must_be_in_use(note: Named) -> None:
    if noted.Place.of(note.path).status is Status.ARCHIVED:
        raise BadInput(f"{note.path} is put away already.", hint="`recollect note restore NAME` brings it back.")


def _with_usage_kept(app: App, note: Named) -> tuple[str, str]:
    """What its file said, and says from now on."""
    before = _text(note.shelf, note.path)
    after = _with_usage(app, note, before)
    _changed(app, note, before, after)
    return before, after


def _restored(app: App, note: Named) -> Done:
    place = noted.Place.of(note.path)
    before = _text(note.shelf, note.path)
    after = page.active(before)
    stored = app.reading(note.shelf.scope).exact(note.id)
    if place.status is Status.ACTIVE and not (stored and stored.status is Status.SUPERSEDED):
        raise BadInput(f"{note.path} is in use already.", hint="There is nothing to restore.")
    target = _way_back(app, note)
    with _uninterrupted(app, note.shelf):
        _changed(app, note, before, after)
        return _moved(app, note, (before, after), target, "note restore", "in use again")


def _way_back(app: App, note: Named) -> str:
    """The folder that it came from."""
    place = noted.Place.of(note.path)
    if place.shelf == noted.COLD and note.shelf.scope is Scope.USER:
        came_from = app.reading(note.shelf.scope).sessions.state(register.COLD_FROM + note.id)
        if came_from is not None:
            return came_from
    folders = place.folders[1:] if place.first in _PUT_BY else place.folders
    top = noted.MEMORY if place.shelf or note.shelf.scope is Scope.PROJECT else ""
    return "/".join(part for part in (top, *folders) if part)


def _moved(app: App, note: Named, texts: tuple[str, str], target: str, op: str, word: str) -> Done:
    path = note.path
    if path.rpartition("/")[0] != target:
        name = path.rpartition("/")[2]
        path = folder.move(note.shelf.vault, path, target) if not app.dry_run else f"{target}/{name}".lstrip("/")
    before, after = texts
    leaf = _leaf(app, note.shelf, path, after)
    note.files.moved(note.path, leaf)
    freed = frozenset({note.id}) if op == "note restore" else frozenset()
    steps = (retrace.step(note.path, before, path, after),)
    return _taken(app, note.shelf, note.files, [leaf], op, f"{path} is {word}.", steps, freed=freed)


def _with_usage(app: App, note: Named, text: str) -> str:
    """Never into a repository."""
    stored = app.reading(note.shelf.scope).exact(note.id)
    if note.shelf.lane is not Lane.USER or not isinstance(stored, Note) or tags.METADATA not in tags.find(text):
        return text
    return tags.with_metadata(text, noted.usage(stored))


def _taken(
    app: App,
    shelf: Shelf,
    files: Register,
    leaves: Sequence[Leaf],
    op: str,
    said: str,
    steps: Sequence[retrace.Step],
    *,
    freed: frozenset[str] = frozenset(),
) -> Done:
    def beside(store: Store, change: str) -> None:
        retrace.keep(app, store, change, steps)

    done = vaults.take(app, shelf, leaves, files, Report(), op=op, said=said, thorough=True, freed=freed, beside=beside)
    wikilinks.follow(app, shelf, {one.path: one.page.links for one in leaves}, files)
    return done or Done(said, Plan.empty(), shelf.scope, None, app.dry_run)


def _leaf(app: App, shelf: Shelf, path: str, text: str) -> Leaf:
    """As the file stands; in a dry run as it would."""
    if app.dry_run:
        return register.leaf(path, text, UNTRUSTED)
    read = register.read_leaf(app, shelf, path)
    if isinstance(read, Refusal):
        raise BadInput(f"{read.path} cannot be taken in: {read.why}.", hint="Its file is as it is.")
    return read


def _text(shelf: Shelf, path: str) -> str:
    read = folder.read(shelf.vault, path)
    if isinstance(read, Refusal):
        raise BadInput(f"{read.path} cannot be read: {read.why}.", hint="It was left as it is.")
    return read
