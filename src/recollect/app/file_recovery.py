"""Files of notes that a process was about to change when it was killed. What it was about to do is written down beside
the store before the first file is touched, and removed once the transaction has ended. Whoever comes next finds the
record: the database says whether that transaction was committed; where it was not, the files are put back.

Only files that are still as that process left them: what somebody saved since stays."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

from recollect.app.states import LAST_FILE_CHANGES
from recollect.base.errors import RecollectError, refused_write
from recollect.base.files import read_limited, write_private
from recollect.base.structs import Struct
from recollect.model.codec import decode, encode
from recollect.model.plan import FileChange, text_hash
from recollect.model.result import Scope
from recollect.vault import note_folder
from recollect.vault.note_folder import Refusal, Vault

if TYPE_CHECKING:
    from pathlib import Path

    from recollect.app.core import App
    from recollect.store import Store

_RECORD = "file-changes-{}.json"
_MAX_BYTES = 100_000_000
_SPARE = r"\.{name}\.\d+\.\d+\.\d+\.tmp"  # as base/files.py names them


class BegunChanges(Struct):
    id: str  # which the database knows once they were committed
    changes: tuple[FileChange, ...] = ()


def begin(app: App, scope: Scope, store: Store, changes: Sequence[FileChange]) -> None:
    """On the disk when this returns. Several in one transaction add up. One whose text holds a secret is left out."""
    database = app.store_path(scope)
    if database is None:
        return
    before = app.begun_changes or BegunChanges(app.mint.draw("change"))
    kept = tuple(change for change in changes if change.is_kept)
    app.begun_changes = BegunChanges(before.id, before.changes + kept)
    record = _record_of(database, before.id)
    try:
        write_private(record, json.dumps(encode(app.begun_changes)))
    except OSError as problem:
        raise refused_write(record, problem, "No file was changed.") from None
    LAST_FILE_CHANGES.write(store, before.id)


def end(app: App, database: Path | None) -> None:
    """The transaction was committed, or its files are back."""
    begun, app.begun_changes = app.begun_changes, None
    if begun is not None and database is not None:
        with suppress(OSError):
            _record_of(database, begun.id).unlink(missing_ok=True)


def recover(app: App, scope: Scope, vault: Vault) -> None:
    """Before somebody looks at the files."""
    if app.dry_run or not _records(app, scope):
        return
    store = app.writer(scope)
    with store.transaction():  # waits for a process that is still at it
        recover_within(app, scope, store, vault)


def recover_within(app: App, scope: Scope, store: Store, vault: Vault) -> None:
    """The same in a transaction, before it changes files itself."""
    if app.begun_changes is not None:
        return
    for record in _records(app, scope):
        begun = _read(record)
        if begun is not None and begun.id != LAST_FILE_CHANGES.read(store):
            for change in reversed(begun.changes):
                with suppress(RecollectError):  # somebody changes it at this moment
                    _put_back(vault, change)
            app.log.line("files-put-back", scope=scope, files=len(begun.changes))
        with suppress(OSError):
            record.unlink(missing_ok=True)


def _records(app: App, scope: Scope) -> list[Path]:
    """Also those that were not written to their end: nothing was begun then."""
    database = app.store_path(scope)
    if database is None:
        return []
    cut_off = database.parent.glob(f".{_RECORD.format('*')}.*.tmp")
    return [*cut_off, *sorted(database.parent.glob(_RECORD.format("*")))]


def _record_of(database: Path, id: str) -> Path:
    """Each has its own: who removes it after its transaction removes no other's."""
    return database.with_name(_RECORD.format(id))


def _read(record: Path) -> BegunChanges | None:
    try:
        return decode(BegunChanges, json.loads(read_limited(record, _MAX_BYTES)))
    except (OSError, ValueError):
        return None


def _put_back(vault: Vault, change: FileChange) -> None:
    if not change.old_path:
        _remove_made(vault, change)
    elif not change.new_path:
        if note_folder.stamp(vault, change.old_path) is None:
            note_folder.create(vault, change.old_path, change.inverse().apply(""))
    else:
        _move_back(vault, change)
        _change_back(vault, change)
    for path in {change.old_path, change.new_path} - {""}:
        _remove_spares(vault.base / path, (change.old_hash, change.new_hash))


def _remove_made(vault: Vault, change: FileChange) -> None:
    text = note_folder.read(vault, change.new_path)
    if not isinstance(text, Refusal) and text_hash(text) == change.new_hash:
        note_folder.remove(vault, change.new_path, text)


def _move_back(vault: Vault, change: FileChange) -> None:
    if change.old_path == change.new_path:
        return
    text = note_folder.read(vault, change.new_path)
    if isinstance(text, Refusal):
        return
    if note_folder.stamp(vault, change.old_path) is None:
        if text_hash(text) == change.new_hash:
            note_folder.move(vault, change.new_path, change.old_path)
    elif not text:
        note_folder.remove(vault, change.new_path, text)  # it only held the name


def _change_back(vault: Vault, change: FileChange) -> None:
    text = note_folder.read(vault, change.old_path)
    if not isinstance(text, Refusal) and text_hash(text) == change.new_hash:
        note_folder.change(vault, change.old_path, text, change.inverse().apply(text))


def _remove_spares(path: Path, hashes: tuple[str, str]) -> None:
    """Files under passing names. One that holds anything else is somebody's edit."""
    pattern = _SPARE.format(name=re.escape(path.name))
    for spare in path.parent.glob(".*.tmp"):
        if not re.fullmatch(pattern, spare.name):
            continue
        with suppress(OSError, ValueError):
            text = read_limited(spare, note_folder.MAX_BYTES).decode()
            if not text or text_hash(text) in hashes:
                spare.unlink()
