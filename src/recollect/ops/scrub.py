"""scrub: what older versions let through, taken out of everything that is kept.

Every store of the home with its backups, the log, rendered recalls and the views in the project. Nothing that was
found is said, logged or journalled, only how much and of which kind. No undo: what was taken out stood in the journal,
too.

What a secret is, `redact` says; how a database is rewritten, `store/scrub.py`.
"""

from __future__ import annotations

import os
import shutil
import stat
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from recollect.base.errors import ModelError, RecollectError, StoreBusy
from recollect.base.files import write_private
from recollect.base.text import counted
from recollect.model.codec import Json
from recollect.model.result import Told
from recollect.ops import asking, rendered
from recollect.ops.app import App
from recollect.ops.recovery import set_aside_files
from recollect.ops.upkeep import backups_of

if TYPE_CHECKING:
    from recollect.store import Scrubbed, SqliteStore

_BATCH = 64
_MOST_VECTORS = 2_000  # the daemon makes the rest


def scrub(app: App) -> Told:
    app.close()  # whoever has a file open here keeps its old bytes in the log
    work = _Work(app)
    for path in _stores(app):
        work.store(path)
    for path in _texts(app):
        work.text(path)
    work.mirrors()
    if not app.dry_run:
        app.log.line("scrub", found=sum(work.found.values()), rows=sum(work.rows.values()), files=len(work.files))
    return work.told()


class _Work:
    def __init__(self, app: App) -> None:
        self._app = app
        self.found: Counter[str] = Counter()
        self.rows: Counter[str] = Counter()
        self.files: list[str] = []
        self._backups = 0
        self._removed: list[str] = []
        self._notes: list[str] = []

    def store(self, path: Path) -> None:
        try:
            store = self._opened(path)
        except RecollectError as problem:
            self._notes.append(f"{path} could not be read and stays as it is: {problem.message}")
            return
        try:
            found = self._scrubbed(store)
            if found.memories and not self._app.dry_run:
                self._fill(store)
        finally:
            store.close()
        for copy in backups_of(path):
            self._backup(copy)

    def text(self, path: Path) -> None:
        """A file of lines. Each is cleaned alone, so that none can take the rest of the file with it."""
        try:
            text = path.read_text(encoding="utf-8", errors="replace")
            if not self._app.redactor.clean(text).found:
                return
            cleaned = "\n".join(map(self._clean, text.split("\n")))
            if cleaned == text:
                return
            self.files.append(str(path))
            if not self._app.dry_run:
                write_private(path, cleaned)
        except (OSError, RecollectError) as problem:
            self._notes.append(f"{path} could not be cleaned: {problem}")

    def mirrors(self) -> None:
        """Copies that agents read: they go, and come again clean."""
        from recollect.ops import mirrors

        done = mirrors.erase(self._app, lambda text: self._clean(text) != text)
        self.files += done.removed
        self._notes += [f"{one}, and may hold some." for one in done.left]

    def told(self) -> Told:
        rows: dict[str, Json] = dict(sorted(self.rows.items()))
        total = sum(self.found.values())
        changed = [f"{counted(count, 'row')} of {table}" for table, count in sorted(self.rows.items())]
        changed += [counted(len(self.files), "file")] if self.files else []
        changed += [counted(self._backups, "backup")] if self._backups else []
        dry = self._app.dry_run
        verb = "Would take" if dry else "Took"
        summary = f"{verb} {counted(total, 'secret')} out of {', '.join(changed)}." if changed else "Nothing was found."
        facts: dict[str, Json] = {
            "dry_run": dry,
            "found": dict(sorted(self.found.items())),
            "rows": rows,
            "files": [*self.files],
            "backups": self._backups,
            "removed": [*self._removed],
        }
        notes = [*self._notes]
        if aside := set_aside_files(self._app):
            notes.append(f"Damaged files may still hold some: {', '.join(map(str, aside))}.")
        if self._removed:
            gone = counted(len(self._removed), "backup")
            notes.append(f"{gone} could not be opened and {'would go' if dry else 'had to go'}.")
        if changed and not dry:
            notes.append("Change these secrets where they are used: what was written down was perhaps read.")
            notes.append("Exports and copies that you keep elsewhere were not looked at.")
        return Told(summary, facts, tuple(notes))

    def _backup(self, copy: Path) -> None:
        try:
            store = self._opened(copy)
            try:
                self._backups += bool(self._scrubbed(store, journalled=False))
            finally:
                store.close()
        except StoreBusy:
            raise
        except RecollectError:
            self._removed.append(str(copy))
            if not self._app.dry_run:
                copy.unlink(missing_ok=True)
        # One of an older version was copied before it was brought up to date.
        shutil.rmtree(copy.parent / copy.parent.name, ignore_errors=True)

    def _opened(self, path: Path) -> SqliteStore:
        from recollect.store import SqliteStore, Tuning

        count = self._app.settings.count
        tuning = Tuning(busy_timeout_ms=count("MEMORY_BUSY_TIMEOUT_MS"), journal_days=count("MEMORY_JOURNAL_DAYS"))
        return SqliteStore(path, tuning, read_only=self._app.dry_run)

    def _scrubbed(self, store: SqliteStore, *, journalled: bool = True) -> Scrubbed:
        if self._app.dry_run:
            found = store.scrubbable(self._clean, self._app.progress)
        else:
            act = self._app.act("scrub", "Took secrets out of what was kept") if journalled else None
            found = store.scrub(self._clean, act, self._app.progress)
        if journalled:
            self.rows.update(dict(found.rows))
        return found

    def _clean(self, text: str) -> str:
        cleaned = self._app.redactor.clean(text)
        self.found.update(dict(cleaned.found))
        return cleaned.text

    def _fill(self, store: SqliteStore) -> None:
        """What was changed has other vectors, or none yet."""
        done = 0
        try:
            while done < _MOST_VECTORS and (given := asking.fill_vectors(store, self._app.embedder, _BATCH)):
                done += given
        except ModelError as problem:
            self._notes += (problem.message, problem.hint)


def _stores(app: App) -> Iterator[Path]:
    """Of every project: a log and a key are common to all of them, and so may be a secret."""
    for path in (app.home.user_store, *sorted(app.home.projects.glob("*/memory.db"))):
        if _is_plain(path):
            yield path


def _texts(app: App) -> Iterator[Path]:
    views = [app.project.root / ".ai" / name for name in ("heartbeat.json", "focus.json")] if app.project else []
    for path in (*sorted(app.home.logs.rglob("*")), *sorted(rendered.folder_of(app).rglob("*")), *views):
        if _is_plain(path):
            yield path


def _is_plain(path: Path) -> bool:
    try:
        found = os.lstat(path)
    except OSError:
        return False
    return stat.S_ISREG(found.st_mode) and found.st_size > 0
