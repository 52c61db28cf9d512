"""Damaged databases are set aside, never deleted. `recover` (ops/upkeep.py) reads them and the backups."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from itertools import chain, count
from pathlib import Path
from typing import TYPE_CHECKING

from recollect.base.errors import RecollectError, StoreDamaged
from recollect.base.project import store_folder
from recollect.model.result import Scope

if TYPE_CHECKING:
    from recollect.app.core import App

_FOLDER = "set-aside"


def set_aside(app: App, path: Path, problem: RecollectError) -> StoreDamaged:
    """Moves the file and its log out of the way; the next command starts with a new one."""
    folder = path.parent / _FOLDER
    folder.mkdir(mode=0o700, exist_ok=True)
    name = f"{path.stem}-{app.clock.now().stamp()}"
    names = chain([name], (f"{name}-{number}" for number in count(2)))
    target = next(one for one in (folder / f"{name}.db" for name in names) if not one.exists())
    try:
        path.rename(target)
        for suffix in ("-wal", "-shm"):
            with suppress(FileNotFoundError):
                path.with_name(path.name + suffix).rename(target.with_name(target.name + suffix))
    except OSError as trouble:
        return StoreDamaged(f"{problem.message} It could not be moved: {trouble.strerror}.", hint=problem.hint)
    app.log.line("set-aside", file=target.name, why=problem.message)
    return StoreDamaged(
        f"{problem.message} It was moved to {target}; nothing was deleted.",
        hint="`recollect recover` brings back what it and the backups still hold; other commands start anew.",
    )


def set_aside_files(app: App) -> list[Path]:
    return sorted(file for _, folder in store_folders(app) for file in set_aside_in(folder))


def set_aside_in(folder: Path) -> list[Path]:
    """Newest first."""
    return sorted((folder / _FOLDER).glob("*.db"), reverse=True)


def store_folders(app: App) -> Iterable[tuple[Scope, Path]]:
    project = store_folder(app.home.projects, app.project) if app.project else None
    if project is not None:
        yield Scope.PROJECT, project
    yield Scope.USER, app.home.user_store.parent


def backups_of(path: Path | None) -> list[Path]:
    """Newest first."""
    if path is None:
        return []
    files = (path.parent / "backups").glob("memory-*.db")
    return sorted(files, key=lambda f: f.stat().st_mtime_ns, reverse=True)
