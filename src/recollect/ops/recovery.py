"""When a database is damaged: it is set aside, never deleted, and what can be read of it comes back."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from recollect.base.errors import Conflict, RecollectError, StoreDamaged
from recollect.base.project import store_folder
from recollect.base.text import counted
from recollect.model.bridge import Bridge
from recollect.model.codec import Json
from recollect.model.memory import Memory, Message
from recollect.model.plan import Alias, Change, Create, Link, Plan
from recollect.model.result import Scope, Told
from recollect.ops.app import App
from recollect.ops.upkeep import backups_of

if TYPE_CHECKING:
    from recollect.store import Salvaged, Store

_FOLDER = "set-aside"
_LIVE = "memory.db"
_DERIVED = frozenset(
    {"passage", "words", "term", "vector", "vector_count", "passages", "full_text", "terms", "vectors"}
)
_BATCH = 200


def set_aside(app: App, path: Path, problem: RecollectError) -> StoreDamaged:
    """Moves the file and its log out of the way; the next command starts with a new one."""
    folder = path.parent / _FOLDER
    folder.mkdir(mode=0o700, exist_ok=True)
    target = folder / f"{path.stem}-{app.clock.now().stamp()}.db"
    number = 2
    while target.exists():
        target = target.with_name(f"{path.stem}-{app.clock.now().stamp()}-{number}.db")
        number += 1
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
    return sorted(file for _, folder in _folders(app) for file in (folder / _FOLDER).glob("*.db"))


def recover(app: App) -> Told:
    """Also for a store that opens but holds damaged rows, which is set aside and made anew from what is sound, and for
    one whose file is gone."""
    facts: dict[str, Json] = {"dry_run": app.dry_run}
    total = 0
    for scope, folder in _folders(app):
        sources = _sources(app, scope, folder)
        if not sources:
            continue
        found = _pooled(sources)
        would_be_new = folder / _LIVE in sources
        missing = list(found.memories) if would_be_new else _missing(app, scope, found.memories)
        facts[scope] = {
            "sources": [str(s) for s in sources],
            "readable": len(found.memories),
            "missing": len(missing),
        }
        total += len(missing)
        if missing and not app.dry_run:
            _bring_back(app, app.writing(scope), missing, found)
            app.log.line("recover", scope=scope, memories=len(missing))
    if len(facts) == 1:
        return _nothing_damaged(app, facts)
    word = "Would bring back" if app.dry_run else "Brought back"
    note = (
        ()
        if app.dry_run or not total
        else ("`recollect undo` takes it back. The files it came from stay where they are.",)
    )
    return Told(f"{word} {counted(total, 'memory', 'memories')}.", facts, note)


def _nothing_damaged(app: App, facts: dict[str, Json]) -> Told:
    backups = [str(file) for _, folder in _folders(app) for file in backups_of(folder / _LIVE)]
    facts["backups"] = [*backups]
    if not backups:
        return Told("Nothing is damaged: nothing to recover. There is no backup.", facts)
    kept = f"{counted(len(backups), 'backup is', 'backups are')} kept, for a store that is damaged or gone"
    return Told(f"Nothing is damaged: nothing to recover. {kept}.", facts, tuple(backups))


def _folders(app: App) -> Iterable[tuple[Scope, Path]]:
    project = store_folder(app.home.projects, app.project) if app.project else None
    if project is not None:
        yield Scope.PROJECT, project
    yield Scope.USER, app.home.user_store.parent


def _sources(app: App, scope: Scope, folder: Path) -> list[Path]:
    """Set-aside files and backups, newest first. None when nothing was ever damaged or lost: what is missing then is
    missing on purpose."""
    live = folder / _LIVE
    if not live.exists() or not live.stat().st_size:
        return [*_set_aside_in(folder), *backups_of(live)]
    damaged = live.exists() and _is_damaged(app, scope)
    if damaged and not app.dry_run and live.exists():
        app.close()
        set_aside(app, live, StoreDamaged(f"{live} holds damaged rows."))
    aside = _set_aside_in(folder)
    if damaged and app.dry_run:
        aside.insert(0, live)
    return [*aside, *backups_of(live)] if aside else []


def _set_aside_in(folder: Path) -> list[Path]:
    return sorted((folder / _FOLDER).glob("*.db"), reverse=True)


def _is_damaged(app: App, scope: Scope) -> bool:
    try:
        found = app.writing(scope).verify(app.progress)
    except StoreDamaged:
        return True  # and set aside by then, unless this is a dry run
    return any(finding.table not in _DERIVED for finding in found)


def _pooled(sources: list[Path]) -> Salvaged:
    """The newest sound version of each."""
    from recollect.store import Salvaged, salvage

    memories: dict[str, Memory] = {}
    messages: dict[str, Message] = {}
    bridges: dict[tuple[str, str, str], Bridge] = {}
    aliases: dict[str, str] = {}
    removed: set[str] = set()
    for source in sources:
        found = salvage(source)
        for memory in found.memories:
            if memory.id not in removed:
                memories.setdefault(memory.id, memory)
        removed |= found.removed - memories.keys()
        for message in found.messages:
            messages.setdefault(message.id, message)
        for bridge in found.bridges:
            bridges.setdefault(bridge.key, bridge)
        for old, new in found.aliases:
            aliases.setdefault(old, new)
    return Salvaged(
        tuple(memories.values()),
        tuple(messages.values()),
        tuple(bridges.values()),
        tuple(aliases.items()),
        frozenset(removed),
    )


def _missing(app: App, scope: Scope, memories: tuple[Memory, ...]) -> list[Memory]:
    """Not those that this store's own journal knows: they were deleted or purged since."""
    store = app.reading(scope)
    return [m for m in memories if store.exact(m.id) is None and not store.log(limit=1, memory=m.id)]


def _bring_back(app: App, store: Store, missing: list[Memory], found: Salvaged) -> None:
    said: dict[str, list[Message]] = {}
    for message in found.messages:
        said.setdefault(message.thread_id, []).append(message)
    act = app.act("recover", f"Recovered {counted(len(missing), 'memory', 'memories')}")
    for start in range(0, len(missing), _BATCH):
        batch = missing[start : start + _BATCH]
        store.apply(Plan.of(Create(memory, tuple(said.get(memory.id, ()))) for memory in batch), act)
        app.progress(start + len(batch), len(missing))
    ties: list[Change] = [Link(bridge) for bridge in found.bridges]
    ties += [Alias(old, new) for old, new in found.aliases]
    for tie in ties:
        with suppress(Conflict):  # an end of it could not be read
            store.apply(Plan.of([tie]), act)
