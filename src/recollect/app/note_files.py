"""The files of notes: where they are, which note each one is, and how a plan changes them. What is known of a file is
written in the same transaction as its note. A renamed file is recognized by its text, or by the id in its front matter;
but no file can claim a note while that note's own file is there."""

from __future__ import annotations

import hashlib
import os
from collections import defaultdict
from collections.abc import Container, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

from recollect.app import file_recovery
from recollect.app.states import State
from recollect.base.errors import Conflict, NotFound, RecollectError
from recollect.base.text import indexed_length, storable
from recollect.model.memory import Lane, Memory, Note, Status
from recollect.model.plan import FileChange, Plan, Unlink, text_hash
from recollect.model.result import Scope
from recollect.vault import note_folder, page
from recollect.vault.dialects import Form, form_of
from recollect.vault.note_folder import Refusal, Stamp, Vault
from recollect.vault.page import Page

if TYPE_CHECKING:
    from pathlib import Path

    from recollect.app.core import App
    from recollect.store import Store

SYNC = "note sync"  # the operation that reads files. It cannot be undone: the files would bring it back.
WIKILINK = (
    "wikilink"  # the origin of links between notes that follow from `[[Name]]` in their texts
)
NO_FILE: Stamp = (0, -1, 0)
UNTRUSTED: Stamp = (
    0,
    -2,
    0,
)  # written so shortly before it was read that a later save could leave the same stamp
USE_FILES = (
    "Change or remove the file itself; or `recollect note archive NAME`, `note restore NAME`."
)


def vault_of(app: App, scope: Scope) -> Vault:
    if scope is Scope.USER:
        return Vault(app.home.vault)
    root = app.require_project().root
    return Vault(root / ".ai", (page.MEMORY, page.COLD), within=root, mode=0o644)


def vault_scopes(app: App) -> tuple[Scope, ...]:
    """The vaults that can exist here, the user's first."""
    return (Scope.USER, Scope.PROJECT) if app.project is not None else (Scope.USER,)


def recover(app: App, scope: Scope) -> None:
    """Puts back files that a process had changed when it was killed."""
    if scope in vault_scopes(app):
        file_recovery.recover(app, scope, vault_of(app, scope))


def lane_of(scope: Scope) -> Lane:
    """A stranger may have written what lies in a project's tree."""
    return Lane.USER if scope is Scope.USER else Lane.REPOSITORY


def file_of(app: App, scope: Scope, memory: Memory) -> Path | None:
    """The memory's file, if it is a note that has one: then the file decides what it says."""
    if not isinstance(memory, Note) or not memory.path or scope not in vault_scopes(app):
        return None
    path = vault_of(app, scope).base / memory.path
    return path if path.is_file() else None


class NoteFile(NamedTuple):  # a note's file as it was read
    path: str
    stamp: Stamp
    hash: str
    form: Form
    page: Page


def parse(path: str, text: str, stamp: Stamp = UNTRUSTED) -> NoteFile:
    clean = storable(text)
    return NoteFile(path, stamp, text_hash(text), form_of(clean), page.read(clean, path))


def read(app: App, vault: Vault, path: str, stamp: Stamp | None = None) -> NoteFile | Refusal:
    """The file as it is now. The stamp is from before it was read: a save in between is seen at the next look."""
    stamp = stamp or note_folder.stamp(vault, path) or UNTRUSTED
    text = read_text(app, vault, path)
    return text if isinstance(text, Refusal) else parse(path, text, stamp)


def read_text(app: App, vault: Vault, path: str) -> str | Refusal:
    text, most = note_folder.read(vault, path), app.settings.count("MEMORY_MAX_BODY_CHARS")
    if not isinstance(text, Refusal) and indexed_length(text) > most:
        return Refusal(path, f"more than {most:,} characters")
    return text


class KnownFile(NamedTuple):  # a file as it was when its note was last read from it
    id: str
    stamp: Stamp
    hash: str
    form: Form = Form.OTHER


NOTE_FILES = State(
    "vault:", KnownFile, "Which note each file of a vault is, and how it was when it was last read."
)
WAITING_LINKS = State(
    "vault-wanted:", list[str], "Notes that link to a name (a hash) that no note has.", limit=200
)


class KnownFiles:
    """The files of a vault as they were last read. `present`: those that are there now; None: all of them."""

    def __init__(self, store: Store, present: Container[str] | None = None) -> None:
        self.files = NOTE_FILES.find_all(store)
        self.updated: set[str] = set()  # ids of notes whose files say something else than before
        lost = {
            path: one
            for path, one in self.files.items()
            if present is not None and path not in present
        }
        self.gone = [
            path for path, one in lost.items() if one.stamp != NO_FILE
        ]  # they were there at the last look
        self.lost = {key: path for path, one in lost.items() for key in (one.hash, one.id)}

    def put(self, store: Store | None, files: Mapping[str, KnownFile]) -> None:
        """Without a store nothing is written."""
        for path, one in files.items():
            old = self.lost.get(one.id)
            if old is not None and old != path:
                self.drop(store, old)
            self.files[path] = one
            if store is not None:
                NOTE_FILES.write(store, one, path)

    def drop(self, store: Store | None, path: str) -> None:
        was = self.files.pop(path, None)
        for key in (was.hash, was.id) if was else ():
            self.lost.pop(key, None)
        self.gone = [one for one in self.gone if one != path]
        if store is not None:
            NOTE_FILES.remove(store, path)


def forget(store: Store, ids: Container[str]) -> None:
    """Of notes that are purged: neither their ids nor hashes of what they said, nor what their links wait for."""
    for path, one in NOTE_FILES.find_all(store).items():
        if one.id in ids:
            NOTE_FILES.remove(store, path)
    for key, waiting in WAITING_LINKS.find_all(store).items():
        if left := [id for id in waiting if id not in ids]:
            WAITING_LINKS.write(store, left, key)
        else:
            WAITING_LINKS.remove(store, key)


class FoundNote(NamedTuple):
    scope: Scope
    path: str
    id: str


def find_note(app: App, name: str) -> FoundNote:
    scope, memory = app.find(name)
    for path, one in NOTE_FILES.find_all(app.reader(scope)).items():
        if one.id == memory.id and one.stamp != NO_FILE:
            return FoundNote(scope, path, memory.id)
    raise NotFound(
        f"{memory.title!r} is a {memory.kind}, not a note.",
        hint="`recollect notes` lists the notes.",
    )


def notes_called(app: App, name: str) -> list[str]:
    """Their ids, by path or name: active before archived ones, the project's before the user's, paths before names."""
    found: dict[tuple[bool, int, int], list[str]] = defaultdict(list)
    for order, scope in enumerate(reversed(vault_scopes(app))):
        # The user's vault is often spoken of as `memory/` too.
        paths = {name, name.removeprefix(f"{page.MEMORY}/")} if scope is Scope.USER else {name}
        names = set(map(page.normal_name, paths))
        for path, one in NOTE_FILES.find_all(app.reader(scope)).items():
            fits = (
                path in paths,
                page.normal_name(path) in names,
                page.normal_name(page.stem(path)) in names,
            )
            if any(fits) and one.stamp != NO_FILE:
                is_archived = page.place_of(path).status is Status.ARCHIVED
                found[is_archived, order, fits.index(True)].append(one.id)
    return found[min(found)] if found else []


def notes_called_in_part(app: App, name: str) -> list[str]:
    """Their ids, where a file's name only begins with this, or else only contains it; active before archived ones."""
    part = page.normal_name(name)
    found: dict[tuple[bool, bool], list[str]] = defaultdict(list)
    for scope in vault_scopes(app):
        for path, known in NOTE_FILES.find_all(app.reader(scope)).items():
            stem = page.normal_name(page.stem(path))
            if part in stem and known.stamp != NO_FILE:
                is_archived = page.place_of(path).status is Status.ARCHIVED
                found[is_archived, not stem.startswith(part)].append(known.id)
    return found[min(found)] if found else []


def write(app: App, scope: Scope, store: Store, changes: Sequence[FileChange]) -> None:
    """All or none, in the transaction of the rest of the plan: where that fails, they are put back. Conflict where a
    file is not what the plan knew."""
    vault = vault_of(app, scope)
    file_recovery.recover_within(app, scope, store, vault)
    texts: list[tuple[str, str]] = []  # before and after
    for change in changes:
        before = "" if not change.old_path else note_folder.read(vault, change.old_path)
        if isinstance(before, Refusal) or (
            change.old_path and text_hash(before) != change.old_hash
        ):
            why = before.why if isinstance(before, Refusal) else "it was changed since"
            raise Conflict(
                f"{change.old_path} cannot be changed: {why}.",
                hint=f"Nothing was written. {USE_FILES}",
            )
        if change.new_path not in ("", change.old_path) and os.path.lexists(
            vault.base / change.new_path
        ):
            raise Conflict(
                f"There is another file at {change.new_path} by now.",
                hint="Move it away, then try again.",
            )
        texts.append((before, change.apply(before)))
    done: list[tuple[FileChange, str, str]] = []

    def put_back() -> None:
        for change, before, after in reversed(done):
            with suppress(RecollectError):
                _write(vault, change, before, after)

    file_recovery.begin(app, scope, store, changes)
    try:
        for change, (before, after) in zip(changes, texts, strict=True):
            _write(vault, change, before, after)
            done.append((change.inverse(), after, before))
    except RecollectError:
        put_back()
        raise
    app.files_changed(put_back)
    for change in changes:
        if change.old_path and change.old_path != change.new_path:
            NOTE_FILES.remove(store, change.old_path)
        if change.new_path:
            NOTE_FILES.write(
                store, KnownFile(change.id, UNTRUSTED, change.new_hash), change.new_path
            )
    # Notes that link to one that is removed wait for a note of its name again.
    gone = {change.id: change.old_path for change in changes if not change.new_path}
    links = [bridge for bridge in store.bridges(*gone) if bridge.origin == WIKILINK] if gone else []
    if links:
        store.apply(
            Plan.of(map(Unlink, links)),
            app.change_header(SYNC, "Removed links to a note that is gone."),
        )
    for link in links:
        for name in (
            (gone[link.target], page.stem(gone[link.target])) if link.source not in gone else ()
        ):
            key = link_key(name)
            WAITING_LINKS.write(store, sorted({*WAITING_LINKS.read(store, key), link.source}), key)


def link_key(name: str) -> str:
    return hashlib.sha256(page.normal_name(name).encode(errors="replace")).hexdigest()[:20]


def _write(vault: Vault, change: FileChange, before: str, after: str) -> None:
    if not change.old_path:
        note_folder.create(vault, change.new_path, after)
    elif not change.new_path:
        note_folder.remove(vault, change.old_path, before)
    else:
        note_folder.change(vault, change.old_path, before, after)
        if change.old_path != change.new_path:
            note_folder.move(vault, change.old_path, change.new_path)
