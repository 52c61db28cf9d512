"""Erasing memories from one store with every trace, and the note that makes it certain to be finished.

Before anything is touched, a note of the ids (never of words) is written beside the stores; it is removed when all is
done. Whoever comes later (the daemon, the next command) finds the note and does the whole of it once more, which
changes nothing where it was done before."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from recollect.app import note_files
from recollect.app.core import App, backups_of
from recollect.app.states import FOCUS, NOTICES, OUTDATED, TURN_VECTORS
from recollect.base.errors import RecollectError, StoreBusy, refused_write
from recollect.base.files import make_private_folder, read_limited, write_private
from recollect.base.structs import Struct
from recollect.model.codec import decode, encode
from recollect.model.memory import Memory
from recollect.model.query import Query
from recollect.model.result import Scope

if TYPE_CHECKING:
    from recollect.base.paths import Home
    from recollect.store import ChangeHeader, LocalStore, Store

_MAX_NOTE_BYTES = 20_000_000
_SESSION_TAG = "session:"
_CUT_OFF = ".unfinished"  # what a backup is called until it is whole


class Erasure(Struct):
    """What is to be erased from one store. Ids alone: the note must not keep what it is to erase."""

    store: str  # the path of the database
    scope: Scope
    ids: tuple[str, ...]
    sessions: tuple[str, ...]  # that they came from: what those asked may share their words
    change: str  # under which the journal knows it
    is_own: bool = True  # a person asked for it here; else a colleague did, and the team knows


class Erased(NamedTuple):
    entries: int = 0  # of the journal, that lost what they said
    backups: int = 0
    unreadable: tuple[str, ...] = ()  # backups that could not be opened and were removed
    skipped: tuple[str, ...] = ()  # stores of other projects that could not be looked at


def sessions_of(memory: Memory) -> list[str]:
    tagged = [tag.removeprefix(_SESSION_TAG) for tag in memory.tags if tag.startswith(_SESSION_TAG)]
    return [session for session in (memory.group, *tagged) if session]


def write_note(app: App, erasure: Erasure) -> Path:
    """On the disk when this returns."""
    app.home.prepare()
    path = app.home.erasures / f"{erasure.change}-{erasure.scope}.json"
    try:
        make_private_folder(app.home.erasures)
        write_private(path, json.dumps(encode(erasure)))
    except OSError as problem:
        raise refused_write(path, problem, "Nothing was erased yet.") from None
    return path


def unfinished(home: Home) -> Iterator[tuple[Path, Erasure | None]]:
    """Erasures that were cut off, oldest first; None for a note that cannot be read."""
    for path in sorted(home.erasures.glob("*.json")) if home.erasures.is_dir() else ():
        try:
            yield path, decode(Erasure, json.loads(read_limited(path, _MAX_NOTE_BYTES)))
        except (OSError, ValueError):
            yield path, None


def is_reachable(app: App, erasure: Erasure) -> bool:
    """Whether this App has the store open that it is about."""
    return str(app.store_path(erasure.scope)) == erasure.store


def erase_in_store(
    store: LocalStore,
    ids: tuple[str, ...],
    sessions: tuple[str, ...] = (),
    header: ChangeHeader | None = None,
) -> Erased:
    """Memories, and what sessions asked: in the database, and in its backups. StoreBusy where another process still
    reads the old data."""
    entries = _erase_in_file(store, ids, sessions, header)
    if store.path is None:
        return Erased(entries)
    folder = store.path.parent / "backups"
    for half in folder.glob(f"*{_CUT_OFF}*"):
        half.unlink(missing_ok=True)
    backups = 0
    unreadable: list[str] = []
    for copy in backups_of(store.path):
        if _erase_in_backup(copy, ids, sessions):
            backups += 1
        else:
            unreadable.append(str(copy))
    return Erased(entries, backups, tuple(unreadable))


def erase_traces(app: App, planned: Erasure) -> list[str]:
    """In the other stores of this home: what sessions were told of a memory is kept in their own project's store.
    Returns those that could not be looked at."""
    problems: list[str] = []
    for path in sorted([*app.home.projects.glob("*/memory.db"), app.home.user_store]):
        if str(path) == planned.store or not path.is_file():
            continue
        try:
            _erase_traces_in(path, planned)
        except StoreBusy:
            raise
        except RecollectError as problem:
            problems.append(f"{path} ({problem.message})")
    return problems


def _erase_traces_in(path: Path, planned: Erasure) -> None:
    from recollect.store import SqliteStore, Tuning

    with closing(SqliteStore(path, Tuning())) as store:
        # What was shared from here is the memory itself: a colleague's erasure does not reach it.
        ids = tuple(id for id in planned.ids if store.get(id, follow=False) is None)
        is_told_of = bool(NOTICES.find(store)) or store.holds_traces(ids, planned.sessions)
        if is_told_of or any(_holds_traces(copy, planned) for copy in backups_of(path)):
            erase_in_store(store, ids, planned.sessions)


def _holds_traces(copy: Path, planned: Erasure) -> bool:
    from recollect.store import SqliteStore, Tuning

    try:
        with closing(SqliteStore(copy, Tuning(), read_only=True)) as store:
            return store.holds_traces(planned.ids, planned.sessions)
    except RecollectError:
        return False


def _erase_in_file(
    store: LocalStore,
    ids: tuple[str, ...],
    sessions: tuple[str, ...],
    header: ChangeHeader | None = None,
) -> int:
    note_files.forget(store, ids)
    store.forget_recalls(sessions)
    with store.transaction():
        flagged = OUTDATED.read(store)
        OUTDATED.write(store, {id: hash for id, hash in flagged.items() if id not in ids})
        NOTICES.remove(store)  # lines that wait for a person quote what was kept
        _take_from_focus(store, ids)
        for key in TURN_VECTORS.find_all(store):
            TURN_VECTORS.remove(store, key)
    return store.purge(ids, header)


def _take_from_focus(store: LocalStore, ids: tuple[str, ...]) -> None:
    """Topics in the words of what goes: often a title. Where nothing stays, all of them."""
    points = FOCUS.read(store)
    if not points:
        return
    memories = [memory for id in ids if (memory := store.get(id, follow=False))]
    texts = [text for one in memories for text in (one.id, one.title, one.body, *one.topics)]
    texts += [message.content for one in memories for message in store.messages(one.id)]
    said = "\n".join(texts).casefold()
    is_left = any(one.id not in ids for one in store.find(Query(limit=len(ids) + 1)))
    kept = [
        point
        for point in points
        if is_left and not all(word in said for word in point.topic.casefold().split())
    ]
    FOCUS.write(store, tuple(kept))


def _erase_in_backup(copy: Path, ids: tuple[str, ...], sessions: tuple[str, ...]) -> bool:
    """False: it could not be opened, and was removed."""
    from recollect.store import SqliteStore, Tuning

    try:
        with closing(SqliteStore(copy, Tuning())) as store:
            _erase_in_file(store, ids, sessions)
    except RecollectError:
        copy.unlink(missing_ok=True)
        return False
    finally:  # one of an older version was copied before it was brought up to date
        shutil.rmtree(copy.parent / copy.parent.name, ignore_errors=True)
    return True


def known_to(store: Store, ids: tuple[str, ...]) -> tuple[str, ...]:
    """Those that a store has, or whose words its journal may still have."""
    return tuple(id for id in ids if store.get(id, follow=False) or store.log(limit=1, memory=id))
