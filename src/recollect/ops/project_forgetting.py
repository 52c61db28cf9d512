"""`forget --project`: puts away everything that is remembered of this project, as one change.

Rules, threads and what waits are archived in the store; files of notes move to cold storage. What colleagues share and
what is kept for every project stays. Erasing for good (`--purge`) is ops/forget.py's.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from recollect.app import note_files
from recollect.app.core import App
from recollect.base.structs import replace
from recollect.base.text import counted
from recollect.model.memory import Memory, Status
from recollect.model.plan import Plan, UpdateAll
from recollect.model.query import Query
from recollect.model.result import Done, Scope
from recollect.ops import memories, notes

if TYPE_CHECKING:
    from recollect.store import Store

_STANDING = (Status.ACTIVE, Status.SUSPENDED, Status.CANDIDATE)
_NO_LIMIT = 1_000_000


def forget_project(app: App) -> Done:
    """Everything that still stands; what was archived or replaced before stays as it is."""
    project = app.require_project()
    standing = _standing(app.reader(Scope.PROJECT))
    files = [one for one in standing if note_files.file_of(app, Scope.PROJECT, one) is not None]
    file_ids = {note.id for note in files}

    def make(store: Store) -> Plan:
        by_status: dict[Status, list[str]] = {}
        for memory in _standing(store):
            if memory.id not in file_ids:
                by_status.setdefault(memory.status, []).append(memory.id)
        archived = {"status": str(Status.ARCHIVED)}
        return Plan(
            tuple(
                UpdateAll(tuple(ids), {"status": str(status)}, archived)
                for status, ids in by_status.items()
            )
        )

    summary = _summary(app, project.name, standing)
    with app.as_one_change():
        parts = [notes.forget_files(app, tuple(file_ids))] if files else []
        parts.append(app.commit(Scope.PROJECT, "forget", make, lambda _: summary))
    return replace(memories.as_one(parts), summary=summary)


def _standing(store: Store) -> list[Memory]:
    return store.find(Query(statuses=_STANDING, limit=_NO_LIMIT))


def _summary(app: App, name: str, standing: list[Memory]) -> str:
    if not standing:
        return f"Nothing is remembered of {name}."
    kinds = Counter(str(memory.kind) for memory in standing)
    many = ", ".join(counted(count, kind) for kind, count in sorted(kinds.items()))
    if app.dry_run:
        return f"Would archive everything of {name}: {many}."
    return f"Archived everything of {name}: {many}. `recollect undo` brings it back."
