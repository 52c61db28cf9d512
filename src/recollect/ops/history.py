"""The journal of changes: `log`, `undo`, and `purge`, which erases for good."""

from __future__ import annotations

import heapq
import shutil
from collections import defaultdict
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from recollect.app import note_files
from recollect.app.core import App
from recollect.app.lookup import UNASKED_OPS
from recollect.base.errors import BadInput, NotFound, RecollectError, UnknownId
from recollect.base.text import counted, storable
from recollect.model.plan import Alias
from recollect.model.query import Query
from recollect.model.result import Done, Entry, History, Scope, Summary
from recollect.ops.memories import Limit, at_least_one, refuse_note_file
from recollect.ops.table import Arg

if TYPE_CHECKING:
    from recollect.store import Store

_MOST_LOOKED_AT = 200


def log(
    app: App,
    memory: Annotated[str | None, Arg("Only changes of this memory.", metavar="[ID]")] = None,
    *,
    limit: Limit = 20,
) -> History:
    wanted = _find_id(app, memory)[1] if memory else ""
    return History(tuple(_newest_first(app, limit=at_least_one("limit", limit), memory=wanted)[:limit]))


def undo(
    app: App,
    change: Annotated[
        str | None, Arg("The change to undo; by default the last one that you made or were told about.", "[CHANGE]")
    ] = None,
) -> Done:
    scope, entry = _find_change(app, change) if change else _last_change(app)
    if entry.undone_by:
        again = f"To redo it: `recollect undo {entry.undone_by}`."
        raise BadInput(f"{entry.change} was undone by {entry.undone_by}.", hint=again)
    if entry.op == note_files.SYNC:
        problem = f"{entry.change} ({entry.summary}) was read from files, which would bring it back."
        raise BadInput(problem, hint=note_files.USE_FILES)
    return app.undo(scope, entry)


def purge(app: App, ids: tuple[str, ...] = (), *, group: str | None = None) -> Summary:
    """Erase these memories, or everything that came from one session or import."""
    wanted = _to_purge(app, ids, group)
    for scope, found in wanted.items():
        for memory in filter(None, (app.reader(scope).get(id, follow=False) for id in found)):
            refuse_note_file(app, scope, memory)
    listed = [id for found in wanted.values() for id in found]
    many = counted(len(listed), "memory", "memories")
    if app.dry_run:
        return Summary(f"Would erase {many} with every trace.", {"dry_run": True, "ids": [*listed]})
    from recollect.app.recovery import backups_of, set_aside_files
    from recollect.integrations import rule_copies
    from recollect.ops import validate

    emptied, copies, notes = 0, 0, []
    for scope, found in wanted.items():
        store = app.writer(scope)
        _forget_files(store, found)
        emptied += store.purge(found, app.change_header("purge", f"Purged {counted(len(found), 'memory', 'memories')}"))
        for copy in backups_of(store.path):
            if _purge_copy(copy, found):
                copies += 1
            else:
                notes.append(f"The backup {copy} could not be opened and was removed.")
    validate.erase_log_lines(app, listed)
    edited = rule_copies.erase(app, lambda text: any(id in text for id in listed))  # a person edited these files
    notes += [f"Not changed, may still contain them: {one}." for one in (*edited, *set_aside_files(app))]
    app.log.line("purge", memories=len(listed), entries=emptied, backups=copies)
    entries = counted(emptied, "journal entry", "journal entries")
    return Summary(
        f"Erased {many}; removed them from {entries} and {counted(copies, 'backup')}.",
        {"dry_run": False, "ids": [*listed], "journal_entries": emptied, "backups": copies},
        tuple(notes),
    )


def _to_purge(app: App, ids: tuple[str, ...], group: str | None) -> dict[Scope, tuple[str, ...]]:
    """With the rows that were merged into them: their words live on in what they became."""
    if bool(ids) == bool(group):
        raise BadInput("Name memories by id, or a group, not both.", hint="`recollect purge ID`")
    wanted: dict[Scope, list[str]] = defaultdict(list)
    for scope, id in [_find_id(app, id) for id in ids]:
        wanted[scope].append(id)
    for scope, store in app.scopes() if group else ():
        if found := store.find(Query(group=storable(group or ""), limit=1_000_000)):
            wanted[scope] = [memory.id for memory in found]
    if not wanted:
        raise NotFound(f"No memory came from {group!r}.", hint="`recollect show ID` names a memory's group.")
    return {
        scope: tuple(dict.fromkeys([*found, *(one.old for one in app.reader(scope).records(Alias, new=found))]))
        for scope, found in wanted.items()
    }


def _find_id(app: App, name: str) -> tuple[Scope, str]:
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


def _purge_copy(copy: Path, ids: tuple[str, ...]) -> bool:
    """False: it could not be opened, and was removed."""
    from recollect.store import SqliteStore, Tuning

    try:
        with closing(SqliteStore(copy, Tuning())) as store:
            _forget_files(store, ids)
            store.purge(ids)
    except RecollectError:
        copy.unlink(missing_ok=True)
        return False
    finally:  # one of an older version was copied before it was brought up to date
        shutil.rmtree(copy.parent / copy.parent.name, ignore_errors=True)
    return True


def _forget_files(store: Store, ids: tuple[str, ...]) -> None:
    """Removes what is known of their files, links and flags."""
    from recollect.ops import validate

    note_files.forget(store, ids)
    validate.remove_flags(store, ids)


def _find_change(app: App, change: str) -> tuple[Scope, Entry]:
    change = storable(change)
    known: list[tuple[Scope, Entry]] = []
    for scope, store in app.scopes():
        if found := store.log(limit=1, change=change):
            return scope, found[0]
        known += [(scope, entry) for entry in store.log(limit=_MOST_LOOKED_AT)]
    fitting = [pair for pair in known if len(change) >= 4 and change in pair[1].change]
    if len(fitting) == 1:
        return fitting[0]
    raise NotFound(f"No change has the id {change!r}.", hint="`recollect log` lists the changes.")


def _last_change(app: App) -> tuple[Scope, Entry]:
    """The newest that still stands, is itself no undo, and that a person asked for or was shown."""
    for scope, entry in _newest_first(app, limit=_MOST_LOOKED_AT):
        if not (entry.undoes or entry.undone_by or entry.purged or entry.op in UNASKED_OPS):
            return scope, entry
    raise NotFound("There is nothing to undo.", hint="`recollect log` shows what was done.")


def _newest_first(app: App, *, limit: int, memory: str = "") -> list[tuple[Scope, Entry]]:
    """Each store's in the order of its journal, even where the clock was set back; the two by time."""
    stores = [[(scope, entry) for entry in store.log(limit=limit, memory=memory)] for scope, store in app.scopes()]
    return list(heapq.merge(*stores, key=lambda pair: pair[1].at, reverse=True))
