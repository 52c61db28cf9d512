"""Looking after the stores: check, rebuild, copy."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from recollect.base.errors import BadInput, ModelError
from recollect.base.text import counted
from recollect.model.codec import Json
from recollect.model.result import Scope, Told, Verified
from recollect.ops import asking
from recollect.ops.app import App

if TYPE_CHECKING:
    from recollect.store import Store

_BATCH = 64  # passages embedded and kept at once


def verify(app: App) -> Verified:
    found = []
    for scope in _present(app):
        store = app.writing(scope)  # the full-text check is a write that changes nothing
        found.append((scope, str(store.path), tuple(store.verify(app.progress))))
    return Verified(tuple(found))


def reindex(app: App) -> Told:
    """Full text and counts at once; then the vectors that are missing, in batches that stay when it is stopped. Those
    of a model that was in use before go once all are there."""
    counts: dict[str, Json] = {}
    vectors = dropped = 0
    notes: tuple[str, ...] = ()
    for scope in _present(app):
        if app.dry_run:
            counts[scope] = app.reading(scope).counts().passages
            continue
        store = app.writing(scope)
        counts[scope] = store.reindex(app.progress)
        try:
            vectors += _fill(app, store)
            dropped += _settle(app, store)
        except (ModelError, BadInput) as problem:
            notes = (problem.message, problem.hint)
        app.log.line("reindex", scope=scope, passages=counts[scope], vectors=vectors)
    total = sum(count for count in counts.values() if isinstance(count, int))
    word = "Would index" if app.dry_run else "Indexed"
    made = f", made {counted(vectors, 'vector')}" if vectors else ""
    made += f", removed {dropped:,} of another model" if dropped else ""
    facts: dict[str, Json] = {"passages": counts, "vectors": vectors, "dropped": dropped, "dry_run": app.dry_run}
    return Told(f"{word} {counted(total, 'passage')}{made}.", facts, notes)


def _fill(app: App, store: Store) -> int:
    embedder = app.embedder
    missing = store.counts().passages - store.vector_counts().get(embedder.id, 0)
    done = 0
    while given := asking.fill_vectors(store, embedder, _BATCH):
        done += given
        app.progress(min(done, missing), missing)
    return done


def _settle(app: App, store: Store) -> int:
    done = 0
    while gone := asking.settle_vectors(store, app.embedder.id):
        done += gone
    return done


def backup(app: App) -> Told:
    from recollect.store import free_name

    made: list[Json] = []
    stamp = app.clock.now().stamp()
    for scope in _present(app):
        store = app.reading(scope)
        if store.path is None:
            continue
        target = free_name(store.path.parent / "backups", stamp)
        if not app.dry_run:
            store.backup(target)
            for old in backups_of(store.path)[app.settings.count("MEMORY_BACKUPS_KEPT") :]:
                old.unlink(missing_ok=True)
            app.log.line("backup", scope=scope, file=target.name)
        made.append(str(target))
    if not made:
        return Told("There is nothing to back up yet.", {"files": [], "dry_run": app.dry_run})
    word = "Would write" if app.dry_run else "Wrote and checked"
    return Told(f"{word} {', '.join(str(path) for path in made)}.", {"files": made, "dry_run": app.dry_run})


def backups_of(path: Path | None) -> list[Path]:
    """Newest first."""
    if path is None:
        return []
    files = (path.parent / "backups").glob("memory-*.db")
    return sorted(files, key=lambda f: f.stat().st_mtime_ns, reverse=True)


def _present(app: App) -> list[Scope]:
    return [scope for scope in Scope if app.store_path(scope) is not None]
