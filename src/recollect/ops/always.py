"""Notes that are loaded at every session's start: those in `_always-load/`.

The user's own are always loaded. A project's may have been written by a stranger, so they are loaded only once a person
allowed them, and only as they were then: what is remembered is the hash of their names and texts. It stands in the
store, where nothing in a tree can reach it.
"""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Annotated, NamedTuple

from recollect.base.errors import NotFound
from recollect.base.text import counted
from recollect.model.memory import Note, Status
from recollect.model.result import Scope, Told
from recollect.ops import noted, vaults
from recollect.ops.app import App
from recollect.ops.register import NO_FILE, Known, Register
from recollect.ops.table import Arg

if TYPE_CHECKING:
    from recollect.model.codec import Json

_ALLOWED = "vault-allowed"
_READ = "read them, then `recollect allow`"
MOST = 50


class Always(NamedTuple):
    notes: dict[str, tuple[Scope, Note]]
    waiting: int = 0
    """Of the project's, those that nobody allowed as they are."""
    changed: bool = False
    """They were allowed, as they were then."""

    @property
    def told(self) -> str:
        """For a person's eyes. Says how many, never what."""
        many = counted(self.waiting, "note")
        if self.changed:
            return f"Recollect: always-load notes of this repository changed since you allowed them; {_READ}"
        return f"Recollect: {many} of this repository would be always loaded; {_READ}"


def loaded(app: App) -> Always:
    """In order of their paths, the user's first."""
    found: dict[str, tuple[Scope, Note]] = {}
    waiting, changed = 0, False
    for scope in (Scope.USER, Scope.PROJECT):
        files = _files(app, scope)
        if scope is Scope.PROJECT and files and not _is_allowed(app, files):
            waiting, changed = len(files), bool(_allowed(app))
            continue
        for one in list(files.values())[:MOST]:
            note = app.reading(scope).exact(one.id)
            if isinstance(note, Note) and note.status is Status.ACTIVE:
                found[note.id] = (scope, note)
    return Always(found, waiting, changed)


def allow(
    app: App, *, off: Annotated[bool, Arg("Take it back: they are not loaded until allowed again.")] = False
) -> Told:
    app.must_have_a_place(Scope.PROJECT)
    for shelf in vaults.shelves(app):
        if shelf.scope is Scope.PROJECT and not app.dry_run:
            vaults.refresh(app, shelf)
    files = _files(app, Scope.PROJECT)
    facts: dict[str, Json] = {"notes": list(files), "allowed": not off, "dry_run": app.dry_run}
    if not files:
        raise NotFound(
            "This project has no notes that want to be always loaded.", hint="They lie in .ai/memory/_always-load/."
        )
    if not app.dry_run:
        app.writing(Scope.PROJECT).sessions.put_state(_ALLOWED, "" if off else _digest(files))
        app.log.line("allow", notes=len(files), off=off)
    many = counted(len(files), "note")
    if off:
        return Told(f"{many} of this project will not be loaded any more.", facts)
    said = f"{many} of this project will be loaded at every session's start, as they are now:"
    return Told(f"{said} {', '.join(files)}.", facts, ("If one is changed, they wait until you allow them again.",))


def _files(app: App, scope: Scope) -> dict[str, Known]:
    if app.store_path(scope) is None:
        return {}
    shelf = f"{noted.MEMORY}/{noted.ALWAYS}/" if scope is Scope.PROJECT else f"{noted.ALWAYS}/"
    files = Register.read(app.reading(scope), under=shelf).files
    return {path: one for path, one in sorted(files.items()) if one.stamp != NO_FILE}


def _is_allowed(app: App, files: dict[str, Known]) -> bool:
    return _allowed(app) == _digest(files)


def _allowed(app: App) -> str:
    return app.reading(Scope.PROJECT).sessions.state(_ALLOWED) or ""


def _digest(files: dict[str, Known]) -> str:
    told = [[path, one.hash] for path, one in sorted(files.items())]
    return hashlib.sha256(json.dumps(told).encode()).hexdigest()
