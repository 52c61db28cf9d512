"""What is known of a vault's files: which note each became, and how it stood then.

Kept beside the memories, one state a file, written in the same transaction as they are. Finds a file again that was
renamed: by its text, or by the id in its front matter. Only a note whose own file is gone can be found so, and no file
can claim a note by naming its id while that stands elsewhere.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple

from recollect.base.text import storable
from recollect.model.memory import Lane
from recollect.model.result import Scope
from recollect.ops.app import App
from recollect.vault import folder, page, tags
from recollect.vault.folder import Refusal, Stamp, Vault
from recollect.vault.page import Dialect, Page

if TYPE_CHECKING:
    from recollect.store import Store

SYNC = "note sync"
"""The operation that reads files: it is taken back there, not by `undo`."""
KNOWN = "vault:"
"""Begins the names of these states."""
COLD_FROM = "cold:"
"""Begins the names of states that say from which folder a note went into cold storage."""
NO_FILE: Stamp = (0, -1, 0)
UNTRUSTED: Stamp = (0, -2, 0)
"""Written so shortly before it was read that a later save could leave the same stamp: it is read again."""


class Shelf(NamedTuple):
    """A vault and where its notes are kept."""

    scope: Scope
    vault: Vault
    lane: Lane


class Form(StrEnum):
    """What may be written into a file by itself."""

    OTHER = ""
    TAGGED = "tagged"
    """How it was used."""
    LACKING = "lacking"
    """It is of the tag dialect, and lacks some of its tags."""


class Known(NamedTuple):
    """A file as it was taken in."""

    id: str
    stamp: Stamp
    hash: str
    form: Form = Form.OTHER


class Leaf(NamedTuple):
    """A file that was read."""

    path: str
    stamp: Stamp
    hash: str
    page: Page


def leaf(path: str, text: str, stamp: Stamp) -> Leaf:
    return Leaf(path, stamp, content_hash(text), page.read(storable(text), path))


def read_leaf(app: App, shelf: Shelf, path: str, stamp: Stamp | None = None) -> Leaf | Refusal:
    """One file as it stands. The stamp is from before it was read: a save in between is seen at the next look."""
    stamp = stamp or folder.stamp(shelf.vault, path) or UNTRUSTED
    text = folder.read(shelf.vault, path)
    if isinstance(text, Refusal):
        return text
    most = app.settings.count("MEMORY_MAX_BODY_CHARS")
    return Refusal(path, f"more than {most:,} characters") if len(text) > most else leaf(path, text, stamp)


def form_of(page: Page) -> Form:
    if page.dialect is not Dialect.TAGS or not tags.is_written_so(page.text):
        return Form.OTHER
    return Form.TAGGED if tags.completed(page.text, session=0) == page.text else Form.LACKING


def content_hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def forget(store: Store, ids: Iterable[str]) -> None:
    """Of notes that are erased: neither their ids nor hashes of what they said."""
    gone = set(ids)
    for path, one in Register.read(store).files.items():
        if one.id in gone:
            store.sessions.drop_state(KNOWN + path)
    for id in gone:
        store.sessions.drop_state(COLD_FROM + id)


class Register:
    def __init__(self, files: Mapping[str, Known]) -> None:
        self.files = dict(files)
        self._ids = {one.id for one in files.values()}
        self._lost: dict[str, str] = {}
        """What a lost file can be known by (its hash, its note's id), and its path."""
        self.gone: list[str] = []
        """Files that were there at the last look, and are not now."""
        self.arrived: list[str] = []
        """Files that were not known before."""

    @classmethod
    def read(cls, store: Store, under: str = "") -> Register:
        """`under`: only those whose paths begin so."""
        found: dict[str, Known] = {}
        for name, value in store.sessions.states(KNOWN + under).items():
            try:
                id, (written, size, number), hash, *form = json.loads(value)
                found[name.removeprefix(KNOWN)] = Known(id, (written, size, number), hash, Form(*form or ("",)))
            except (ValueError, TypeError):
                continue  # it is taken in anew
        return cls(found)

    def compare(self, there: Iterable[str]) -> None:
        """Find out which files are gone."""
        present = set(there)
        for path, one in self.files.items():
            if path not in present:
                self._lost[one.hash] = self._lost[one.id] = path
                if one.stamp != NO_FILE:
                    self.gone.append(path)

    def was(self, leaf: Leaf) -> Known | None:
        """The note that this file is; None: a new one."""
        known = self.files.get(leaf.path)
        if known is not None:
            return known
        path = self._lost.get(leaf.hash) or self._lost.get(leaf.page.id)
        return self.files.get(path) if path else None

    def says_the_same(self, leaf: Leaf) -> bool:
        """As this very file did when it was taken in."""
        known = self.files.get(leaf.path)
        return known is not None and known.hash == leaf.hash and known.stamp != NO_FILE

    def stamp(self, path: str) -> Stamp | None:
        known = self.files.get(path)
        return known.stamp if known else None

    def moved(self, path: str, leaf: Leaf) -> None:
        """This file has another name by now."""
        known = self.files[path]
        self._lost[leaf.hash] = self._lost[known.id] = path

    def has(self, id: str) -> bool:
        return id in self._ids

    def settle(self, store: Store | None, files: Mapping[str, Known]) -> None:
        """As they were taken in. Without a store it is only known here."""
        for path, one in files.items():
            old = self._lost.get(one.id)
            if old is not None and old != path:
                self.drop(store, old)
            if path not in self.files:
                self.arrived.append(path)
            self.files[path] = one
            self._ids.add(one.id)
            if store is not None:
                store.sessions.put_state(KNOWN + path, json.dumps([one.id, one.stamp, one.hash, one.form]))

    def drop(self, store: Store | None, path: str) -> None:
        was = self.files.pop(path, None)
        if was is not None:
            self._lost.pop(was.hash, None)
            self._lost.pop(was.id, None)
        self.gone = [one for one in self.gone if one != path]
        if store is not None:
            store.sessions.drop_state(KNOWN + path)
