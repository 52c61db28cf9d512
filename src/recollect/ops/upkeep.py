"""Maintains databases: verifies, rebuilds, backs up and recovers them, and reattaches the memory of a moved project."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from recollect.app.core import App, backups_of, set_aside, set_aside_in, store_folders
from recollect.app.embedding import drop_old_vectors, fill_vectors, read_vector_status
from recollect.app.teams import connection, require_team
from recollect.base import project as identity
from recollect.base.errors import (
    BadInput,
    Conflict,
    ModelError,
    NotFound,
    StoreDamaged,
    refused_write,
)
from recollect.base.ids import fresh_key
from recollect.base.project import Project
from recollect.base.text import counted, one_line
from recollect.model.codec import Json
from recollect.model.memory import Memory, Message
from recollect.model.plan import Change, Create, Plan
from recollect.model.result import Finding, Scope, Summary, Verified
from recollect.ops import daemon_calls
from recollect.ops.table import Arg

if TYPE_CHECKING:
    from recollect.store import Store

_RECOVERED_AT_ONCE = 200
_EMBEDDED_AT_ONCE = 64
_SERVER_S = 600.0  # for all checks of a large team
_LIVE = "memory.db"
_DERIVED = frozenset(
    {
        "passage",
        "words",
        "term",
        "vector",
        "vector_count",
        "check_passages",
        "full_text",
        "terms",
        "vectors",
    }
)


def verify(
    app: App,
    *,
    team: Annotated[
        bool, Arg("Also look at the team's own database, which takes a while.")
    ] = False,
) -> Verified:
    stores = [
        (scope, app.writer(scope)) for scope in _present(app)
    ]  # the full-text check writes, and changes nothing
    found = [(scope, str(store.path), tuple(_findings(app, store))) for scope, store in stores]
    if team:
        own = require_team(app)
        with connection(own, _SERVER_S) as server:
            found.append(
                (Scope.TEAM, f"the server of team {own.name}", tuple(_findings(app, server)))
            )
    return Verified(tuple(found))


def _findings(app: App, store: Store) -> list[Finding]:
    return store.verify(lambda done, total: app.progress(done, total, "checks"))


def reindex(app: App) -> Summary:
    """Full text and counts at once; then the vectors that are missing, in batches that stay when it is stopped. Those
    of a model that was in use before go once all are there."""
    counts: dict[str, Json] = {}
    vectors = dropped = 0
    notes: tuple[str, ...] = ()
    for scope in _present(app):
        if app.dry_run:
            counts[scope] = app.reader(scope).counts().passages
            continue
        store = app.writer(scope)
        counts[scope] = store.reindex(
            lambda done, total: app.progress(done, total, "memories indexed")
        )
        try:
            vectors += make_vectors(app, scope)
            while gone := drop_old_vectors(store, app.embedder.id):
                dropped += gone
        except (ModelError, BadInput) as problem:
            notes = (problem.message, problem.hint)
        app.log.line("reindex", scope=scope, passages=counts[scope], vectors=vectors)
    total = sum(count for count in counts.values() if isinstance(count, int))
    word, said = (
        "Would index" if app.dry_run else "Indexed",
        f", made {counted(vectors, 'vector')}" if vectors else "",
    )
    said += f", removed {dropped:,} of another model" if dropped else ""
    facts: dict[str, Json] = {
        "passages": counts,
        "vectors": vectors,
        "dropped": dropped,
        "dry_run": app.dry_run,
    }
    return Summary(f"{word} {counted(total, 'passage')}{said}.", facts, notes)


def make_vectors(app: App, scope: Scope) -> int:
    """Gives every passage of a store its vector, in batches that stay when it is stopped; returns how many."""
    store, embedder = app.writer(scope), app.embedder
    counts, made = store.counts(), 0
    missing = counts.passages - counts.vectors_by_model.get(embedder.id, 0)
    while given := fill_vectors(store, embedder, _EMBEDDED_AT_ONCE):
        made += given
        app.progress(min(made, missing), missing, "vectors made")
    return made


def embed_imported(app: App) -> tuple[str, ...]:
    """After an import: its vectors come from the daemon, where one runs, and are made here where none does. Returns
    what the person is told."""
    if app.dry_run:
        return ()
    waiting = read_vector_status(app).waiting
    if not waiting:
        return ()
    found_by = f"{counted(waiting, 'passage')} can be found by words now"
    if daemon_calls.is_running(app.home.root):
        return (f"{found_by}, and by meaning soon: the daemon makes the vectors.",)
    try:
        for scope in _present(app):
            make_vectors(app, scope)
    except (ModelError, BadInput) as problem:
        return (f"{found_by}, and by meaning once there are vectors: {problem.message}",)
    return ()


def backup(app: App) -> Summary:
    from recollect.store import free_name

    made: list[Json] = []
    stamp = app.clock.now().stamp()
    for scope, store in app.own_scopes():
        if store.path is None:
            continue
        target = free_name(store.path.parent / "backups", stamp)
        if not app.dry_run:
            store.backup(target)
            for old in backups_of(store.path)[app.settings.count("MEMORY_BACKUPS_KEPT") :]:
                old.unlink(missing_ok=True)
            app.log.line("backup", scope=scope, file=target.name)
        made.append(str(target))
    word = "Would write" if app.dry_run else "Wrote and checked"
    summary = f"{word} {', '.join(map(str, made))}." if made else "There is nothing to back up yet."
    return Summary(summary, {"files": made, "dry_run": app.dry_run})


def _present(app: App) -> list[Scope]:
    return [scope for scope in Scope if app.store_path(scope) is not None]


def recover(app: App) -> Summary:
    """Also for a store that opens but holds damaged rows, which is set aside and made anew from what is sound, and for
    one whose file is gone."""
    from recollect.store import salvage

    facts: dict[str, Json] = {"dry_run": app.dry_run}
    total = 0
    for scope, folder in store_folders(app):
        sources = _sources(app, scope, folder)
        if not sources:
            continue
        memories, messages, ties = salvage(sources)
        missing = memories
        if (
            folder / _LIVE not in sources
        ):  # without those that this store's own journal knows: they were deleted since
            reader = app.reader(scope)
            lost = [one for one in memories if reader.get(one.id, follow=False) is None]
            missing = [one for one in lost if not reader.log(limit=1, memory=one.id)]
        facts[scope] = {
            "sources": [*map(str, sources)],
            "readable": len(memories),
            "missing": len(missing),
        }
        total += len(missing)
        if missing and not app.dry_run:
            _bring_back(app, app.writer(scope), missing, messages, ties)
            app.log.line("recover", scope=scope, memories=len(missing))
    if len(facts) == 1:
        backups = [
            str(file) for _, folder in store_folders(app) for file in backups_of(folder / _LIVE)
        ]
        kept = (
            f"{counted(len(backups), 'backup is', 'backups are')} available."
            if backups
            else "There is no backup."
        )
        return Summary(
            f"Nothing is damaged. {kept}", facts | {"backups": [*backups]}, tuple(backups)
        )
    word = "Would bring back" if app.dry_run else "Brought back"
    undone = "`recollect undo` takes it back. The files it came from stay where they are."
    notes = () if app.dry_run or not total else (undone,)
    return Summary(f"{word} {counted(total, 'memory', 'memories')}.", facts, notes)


def _sources(app: App, scope: Scope, folder: Path) -> list[Path]:
    """Set-aside files and backups, newest first. None when nothing was ever damaged or lost: what is missing then is
    missing on purpose."""
    live = folder / _LIVE
    is_gone = not live.exists() or not live.stat().st_size
    try:
        is_damaged = not is_gone and any(
            one.table not in _DERIVED for one in _findings(app, app.writer(scope))
        )
    except StoreDamaged:
        is_damaged = True  # and set aside by then, unless this is a dry run
    if is_damaged and not app.dry_run and live.exists():
        app.close()
        set_aside(app, live, StoreDamaged(f"{live} holds damaged rows."))
    aside = set_aside_in(folder)
    if is_damaged and app.dry_run:
        aside.insert(0, live)
    return [*aside, *backups_of(live)] if aside or is_gone else []


def _bring_back(
    app: App, store: Store, missing: list[Memory], messages: list[Message], ties: list[Change]
) -> None:
    said: dict[str, list[Message]] = {}
    for message in messages:
        said.setdefault(message.thread_id, []).append(message)
    act = app.change_header("recover", f"Recovered {counted(len(missing), 'memory', 'memories')}")
    for start in range(0, len(missing), _RECOVERED_AT_ONCE):
        batch = missing[start : start + _RECOVERED_AT_ONCE]
        store.apply(
            Plan.of(Create(memory, tuple(said.get(memory.id, ()))) for memory in batch), act
        )
        app.progress(start + len(batch), len(missing), "memories")
    for tie in ties:
        with suppress(Conflict):  # an end of it could not be read
            store.apply(Plan.of([tie]), act)


def projects(app: App) -> Summary:
    known = identity.known(app.home.projects)
    facts: list[Json] = [
        {
            "folder": k.folder.name,
            "name": k.name,
            "root": k.root,
            "exists": k.exists,
            "attached": k.attached,
        }
        for k in known
    ]
    lines = "\n".join(
        f"{k.folder.name}  {one_line(k.root)}{'' if k.exists else '  (gone)'}" for k in known
    )
    return Summary(lines or "No project has a memory yet.", {"projects": facts})


def attach(
    app: App,
    folder: Annotated[
        str | None,
        Arg(
            "The store's folder, as `recollect projects` lists it; without it, the one that is offered.",
            metavar="[FOLDER]",
        ),
    ] = None,
    *,
    off: Annotated[
        bool, Arg("Use the memory of this folder itself again; decline offers.")
    ] = False,
) -> Summary:
    """That a person names it is what decides: what a folder says of itself may be copied from anywhere."""
    project = app.require_project()
    if off:
        return _detach(app, project)
    folder = folder or _only_offer(app, project)
    if app.dry_run:
        return Summary(
            f"Would give {one_line(str(project.root))} the memory in {folder}.",
            {"folder": folder, "dry_run": True},
        )
    app.home.prepare()
    # It first gets what it is known by from now on, and a store of its own to come back to.
    project = identity.claim(app.home.projects, project, fresh_key())
    app.close()
    try:
        target = identity.attach(app.home.projects, project, folder)
    except OSError as problem:
        raise refused_write(app.home.projects, problem, "Nothing was changed.") from None
    app.log.line("attach", folder=target.name)
    return Summary(
        f"{one_line(str(project.root))} now has the memory in {target.name}.",
        {"folder": target.name, "dry_run": False},
        ("`recollect attach --off` takes that back.",),
    )


def _detach(app: App, project: Project) -> Summary:
    own = identity.store_folder(app.home.projects, project)
    if own is None and not identity.offers(app.home.projects, project):
        raise NotFound("Nothing is attached or offered here.", hint="`recollect projects`")
    if app.dry_run:
        return Summary(
            f"Would give {one_line(str(project.root))} its own memory.", {"dry_run": True}
        )
    app.home.prepare()
    project = identity.claim(app.home.projects, project, fresh_key())
    app.close()
    try:
        own = identity.detach(app.home.projects, project)
    except OSError as problem:
        raise refused_write(app.home.projects, problem, "Nothing was changed.") from None
    app.log.line("attach", folder=own.name, off=True)
    return Summary(
        f"{one_line(str(project.root))} has its own memory, in {own.name}.",
        {"folder": own.name, "dry_run": False},
    )


def _only_offer(app: App, project: Project) -> str:
    offered = identity.offers(app.home.projects, project)
    if len(offered) == 1:
        return offered[0].folder.name
    names = " or ".join(store.folder.name for store in offered)
    hint = "`recollect projects` lists every memory there is; `recollect attach FOLDER` takes one."
    if names:
        hint = f"`recollect attach FOLDER`, where FOLDER is {names}."
    what = "Several memories are offered here." if offered else "No memory is offered here."
    raise NotFound(what, hint=hint)
