"""What was done, taking it back, and erasing for good."""

from __future__ import annotations

import difflib
import heapq
import shutil
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from recollect.app import note_files
from recollect.app.core import App
from recollect.app.lookup import UNASKED_OPS
from recollect.app.recovery import backups_of
from recollect.base.errors import BadInput, NotFound, RecollectError, UnknownId
from recollect.base.text import counted, storable
from recollect.jobs import vault_sync
from recollect.model.query import Query
from recollect.model.result import Done, Entry, History, Scope, Summary
from recollect.ops.memories import Limit, at_least_one, refuse_note_file
from recollect.ops.table import Arg

if TYPE_CHECKING:
    from recollect.store import Store


def log(
    app: App,
    memory: Annotated[str | None, Arg("Only what touched this memory.", metavar="[ID]")] = None,
    *,
    limit: Limit = 20,
) -> History:
    wanted = _placed(app, memory)[1] if memory else ""
    return History(tuple(_newest_first(app, limit=at_least_one("limit", limit), memory=wanted)[:limit]))


def undo(
    app: App,
    change: Annotated[
        str | None,
        Arg(
            "The change to take back; if none is given, the last one that you made or were told of.", metavar="[CHANGE]"
        ),
    ] = None,
) -> Done:
    scope, entry = _named(app, change) if change else _last(app)
    if entry.undone_by:
        raise BadInput(
            f"{entry.change} was undone by {entry.undone_by}.",
            hint=f"`recollect undo {entry.undone_by}` does it again.",
        )
    if entry.op == note_files.SYNC:
        raise BadInput(
            f"{entry.change} ({entry.summary}) was read from files, which would bring it again.",
            hint=note_files.USE_FILES,
        )
    return app.undo(scope, entry)


def purge(
    app: App,
    ids: Annotated[tuple[str, ...], Arg("The memories, by id.", metavar="ID", many=True)] = (),
    *,
    group: Annotated[str | None, Arg("Everything that came from this session or import.")] = None,
) -> Summary:
    wanted = _to_purge(app, ids, group)
    for scope, found in wanted.items():
        for memory in filter(None, map(app.reader(scope).exact, found)):
            refuse_note_file(app, scope, memory)
    listed = [id for found in wanted.values() for id in found]
    many = counted(len(listed), "memory", "memories")
    if app.dry_run:
        return Summary(f"Would erase {many} with every trace.", {"dry_run": True, "ids": [*listed]})
    emptied, copies, removed = 0, 0, 0
    for scope, found in wanted.items():
        store = app.writer(scope)
        _forget_files(store, found)
        emptied += store.purge(found, app.change_header("purge", f"Purged {counted(len(found), 'memory', 'memories')}"))
        for copy in backups_of(store.path):
            cleaned = _purge_copy(copy, found)
            copies += cleaned
            removed += not cleaned
    from recollect.ops import validate  # its rooms are needed here alone

    validate.erase_log_lines(app, listed)
    mirrored = _purge_mirrors(app, listed)
    app.log.line("purge", memories=len(listed), entries=emptied, backups=copies)
    notes = [f"{counted(removed, 'backup')} could not be opened and had to go."] if removed else []
    return Summary(
        f"Erased {many}; cleaned of them: "
        f"{counted(emptied, 'journal entry', 'journal entries')}, {counted(copies, 'backup')}.",
        {"dry_run": False, "ids": [*listed], "journal_entries": emptied, "backups": copies},
        (*notes, *mirrored, *_set_aside_note(app)),
    )


def _to_purge(app: App, ids: tuple[str, ...], group: str | None) -> dict[Scope, tuple[str, ...]]:
    """With the rows that were merged into them: their words live on in what they became."""
    if bool(ids) == bool(group):
        raise BadInput("Name memories by id, or a group, not both.", hint="`recollect purge ID`")
    wanted: dict[Scope, list[str]] = {}
    for scope, id in [_placed(app, id) for id in ids]:
        wanted.setdefault(scope, []).append(id)
    if group:
        for scope, store in app.scopes():
            found = store.find(Query(group=storable(group), limit=1_000_000))
            if found:
                wanted[scope] = [memory.id for memory in found]
        if not wanted:
            raise NotFound(f"No memory came from {group!r}.", hint="`recollect show ID` names a memory's group.")
    return {
        scope: tuple(dict.fromkeys([*found, *(old for id in found for old in app.reader(scope).aliases(id))]))
        for scope, found in wanted.items()
    }


def _placed(app: App, id: str) -> tuple[Scope, str]:
    """Also a memory that was deleted: its words live on in the journal."""
    id = storable(id)
    try:
        scope, memory = app.find(id)
    except UnknownId:
        for scope, store in app.scopes():
            if store.log(limit=1, memory=id):
                return scope, id
        raise
    return scope, memory.id


def _purge_copy(copy: Path, ids: tuple[str, ...]) -> bool:
    from recollect.store import Store, Tuning

    try:
        with closing(Store(copy, Tuning())) as store:
            _forget_files(store, ids)
            store.purge(ids)
    except RecollectError:
        copy.unlink(missing_ok=True)
        return False
    finally:  # one of an older version was copied before it was brought up to date
        shutil.rmtree(copy.parent / copy.parent.name, ignore_errors=True)
    return True


def _forget_files(store: Store, ids: tuple[str, ...]) -> None:
    """What is known of notes' files."""
    from recollect.ops import validate

    for forget in (note_files.forget, vault_sync.forget_links, validate.remove_flags):
        forget(store, ids)


def _purge_mirrors(app: App, ids: list[str]) -> list[str]:
    """Where agents read by themselves. A file that a person edited is his to clean."""
    from recollect.integrations import rule_copies

    left = rule_copies.erase(app, lambda text: any(id in text for id in ids))
    return [f"Left alone, and may still hold them: {one}." for one in left]


def _set_aside_note(app: App) -> list[str]:
    from recollect.app.recovery import set_aside_files

    found = set_aside_files(app)
    return [f"Damaged files may still hold them: {', '.join(str(f) for f in found)}."] if found else []


def _named(app: App, change: str) -> tuple[Scope, Entry]:
    change = storable(change)
    known: list[tuple[Scope, Entry]] = []
    for scope, store in app.scopes():
        found = store.log(limit=1, change=change)
        if found:
            return scope, found[0]
        known += [(scope, entry) for entry in store.log(limit=200)]
    fitting = [pair for pair in known if len(change) >= 4 and change in pair[1].change]
    if len(fitting) == 1:
        return fitting[0]
    near = difflib.get_close_matches(change, [entry.change for _, entry in known], n=2)
    hint = f"Did you mean {' or '.join(near)}?" if near else "`recollect log` lists the changes."
    raise NotFound(f"No change has the id {change!r}.", hint=hint)


def _last(app: App) -> tuple[Scope, Entry]:
    """The newest change that still stands, is not itself an undo, and that a person asked for or was shown: what a
    session leaves by itself comes between a line that offers `undo` and the person who types it."""
    for scope, entry in _newest_first(app, limit=200):
        if not (entry.undoes or entry.undone_by or entry.purged or entry.op in UNASKED_OPS):
            return scope, entry
    raise NotFound("There is nothing to undo.", hint="`recollect log` shows what was done.")


def _newest_first(app: App, *, limit: int, memory: str = "") -> list[tuple[Scope, Entry]]:
    """Each store's in the order of its journal, even where the clock was set back; the two by time."""
    stores = [[(scope, entry) for entry in store.log(limit=limit, memory=memory)] for scope, store in app.scopes()]
    return list(heapq.merge(*stores, key=lambda pair: pair[1].at, reverse=True))
