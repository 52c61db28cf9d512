"""Tends the user's own notes of the tag dialect: gives them the tags they lack, and writes down how they were used.

The first after a session began, the second after one ended; both in the background, a few files at a time, and never in
a repository. A file is only written if it still says what was last taken in from it; what we wrote is taken in at
once, so that it is never mistaken for somebody's edit. A file that cannot be written is logged and left.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from recollect.base.errors import RecollectError, StoreBusy, StoreDamaged
from recollect.model.memory import Note
from recollect.model.result import Scope
from recollect.ops import noted, register, sessions, vaults
from recollect.ops.app import App
from recollect.ops.here import scope_here
from recollect.ops.register import NO_FILE, Form, Leaf, Register, Shelf
from recollect.ops.vaults import Report
from recollect.vault import folder, tags
from recollect.vault.folder import Refusal

FEW = 20
"""Files a time: each is synced to the disk, some 25 ms."""
_Change = Callable[[str, str], str]
"""A note's id and text: the text as it should be."""


@dataclass(slots=True)
class Due:
    """What is still to be done. In memory alone: lost, it is done after the next session."""

    began: bool = False
    shown: set[str] = field(default_factory=set)
    """Memories that sessions were shown which are over now."""
    lacking: list[str] = field(default_factory=list)
    used: list[str] = field(default_factory=list)
    """Paths of notes."""

    def __bool__(self) -> bool:
        return bool(self.began or self.shown or self.lacking or self.used)


def ended(app: App, due: Due, session: str) -> None:
    sights = app.reading(scope_here(app)).sessions.sights(session, None)
    due.shown |= {sight.memory for sight in sights}


def some(app: App, due: Due) -> bool:
    """True: there is more to do."""
    if not due or app.dry_run or app.store_path(Scope.USER) is None:
        due.began, due.shown, due.lacking, due.used = False, set(), [], []
        return False
    shelf = vaults.users(app.home)
    files = Register.read(app.reading(Scope.USER))
    if due.began:
        due.began, due.lacking = False, _of(files, Form.LACKING)
    if due.shown:
        used = [path for path in _of(files, Form.TAGGED) if files.files[path].id in due.shown]
        due.shown, due.used = set(), list(dict.fromkeys([*due.used, *used]))
    lacking, due.lacking = due.lacking[:FEW], due.lacking[FEW:]
    used, due.used = due.used[:FEW], due.used[FEW:]
    session = sessions.number(app.reading(Scope.USER))
    _tended(app, shelf, files, lacking, lambda _id, text: tags.completed(text, session=session))
    _tended(app, shelf, files, used, lambda id, text: _with_usage(app, id, text))
    return bool(due)


def _of(files: Register, form: Form) -> list[str]:
    return [path for path, one in files.files.items() if one.form is form and one.stamp != NO_FILE]


def _with_usage(app: App, id: str, text: str) -> str:
    note = app.reading(Scope.USER).exact(id)
    return tags.with_metadata(text, noted.usage(note)) if isinstance(note, Note) else text


def _tended(app: App, shelf: Shelf, files: Register, paths: Iterable[str], change: _Change) -> None:
    written: list[Leaf] = []
    for path in paths:
        try:
            leaf = _written(app, shelf, files, path, change)
        except (StoreBusy, StoreDamaged):
            raise
        except RecollectError as problem:
            app.log.line("note-not-written", problem=problem.message)
            continue
        if leaf is not None:
            written.append(leaf)
    if written:
        vaults.take(app, shelf, written, files, Report())
        app.log.line("notes-tended", notes=len(written))


def _written(app: App, shelf: Shelf, files: Register, path: str, change: _Change) -> Leaf | None:
    """None: it is as it should be, or somebody is at it: then it is looked at first."""
    known = files.files.get(path)
    before = folder.read(shelf.vault, path)
    if known is None or isinstance(before, Refusal) or register.content_hash(before) != known.hash:
        return None
    after = change(known.id, before)
    if after == before:
        return None
    folder.change(shelf.vault, path, before, after)
    leaf = register.read_leaf(app, shelf, path)
    return leaf if isinstance(leaf, Leaf) and leaf.hash == register.content_hash(after) else None
