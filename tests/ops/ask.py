"""Small questions that tests of operations ask."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

from recollect.app.core import App
from recollect.model.memory import Memory, Message
from recollect.model.plan import Create
from recollect.model.result import Done, Scope
from recollect.ops import memories, recall
from tests.store.helpers import State, state
from tests.values import act, messages, plan, thread


def pinned(
    app: App,
    text: str,
    *,
    title: str | None = None,
    topics: tuple[str, ...] = (),
    user: bool = False,
) -> str:
    return made(memories.pin(app, text, title=title, topics=topics, user=user))


def keep(app: App, *memories: Memory, scope: Scope = Scope.PROJECT) -> None:
    """Without an operation."""
    app.writer(scope).apply(plan(*map(Create, memories)), act(summary="kept"))


def add(app: App, title: str, *contents: str, **fields: Any) -> str:
    """The id of a new thread of the project."""
    made = thread(title, **fields)
    app.writer(Scope.PROJECT).apply(plan(Create(made, messages(made, *contents))), act())
    return made.id


def made(done: Done) -> str:
    """The id of the memory that a write brought."""
    return next(change.memory.id for change in done.plan.changes if isinstance(change, Create))


def kept(app: App, id: str) -> Memory:
    return app.find(id)[1]


def said(app: App, id: str) -> tuple[Message, ...]:
    scope, memory = app.find(id)
    return app.reader(scope).messages(memory.id)


def titles(app: App, *words: str) -> set[str]:
    """Of what is found by its words; what is only near in meaning is left out."""
    found = recall.search(app, words).found
    return {one.hit.memory.title for one in found if dict(one.hit.components)["cover"]}


def states(app: App) -> dict[Scope, State]:
    return {scope: state(app.writer(scope)) for scope, _ in app.scopes()}


def set_to(app: App, name: str, value: str) -> None:
    """A setting."""
    changed = tuple(
        one._replace(value=value) if one.name == name else one for one in app.settings.values
    )
    app.settings = app.settings._replace(values=changed)


def files(folder: Path) -> dict[str, str]:
    """Every file below, by its content. Not what SQLite leaves beside a database that was only read: shared
    memory and an empty log."""
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
        and not path.name.endswith("-shm")
        and not (path.name.endswith("-wal") and not path.stat().st_size)
    }


def holding(folder: Path, text: str) -> list[Path]:
    """The files below that hold the text, as UTF-8 or as JSON spells it."""
    spelt = {text.encode("utf-8"), text.encode("unicode_escape")}
    return [
        path
        for path in folder.rglob("*")
        if path.is_file() and any(s in path.read_bytes() for s in spelt)
    ]


def at(level: str) -> dict[str, Any]:
    """The option of `install` and `uninstall` that names a level."""
    return {level: True}
