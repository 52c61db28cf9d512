"""Background work on vaults: reads the files that changed, and keeps the user's own notes of the tag dialect complete.

Notes get the tags they lack after a session began, and a record of how they were used after one ended; never in a
repository, and only if a file still says what was last read from it."""

from __future__ import annotations

import time
from dataclasses import dataclass, field

from recollect.app import note_files, session_ledger
from recollect.app.core import App
from recollect.app.note_files import NO_FILE, KnownFiles, NoteFile, vault_of
from recollect.base.errors import RecollectError, StoreBusy, StoreDamaged
from recollect.jobs import vault_sync
from recollect.jobs.job_table import Memo
from recollect.model.memory import Note
from recollect.model.plan import text_hash
from recollect.model.result import Scope
from recollect.vault import note_folder, page, tags
from recollect.vault.note_folder import Refusal, Scan
from recollect.vault.tags import Form

FEW_FILES = 400
_SHARE = 10
_SETTLED_S = 2.5  # a file saved just now is read again after this: two saves at one moment look like one
_AFTER_FAILURE_S = 30.0
BATCH = 20  # files to write at a time: each is synced to the disk, some 25 ms


@dataclass(slots=True)
class _Seen:
    scan: Scan | None = None
    due_s: float = 0.0
    again_s: float = 0.0  # when to read again what was saved just before it was read; 0: never


def watch(app: App, memo: Memo) -> bool:
    """Looks at the project's vault; where there is no project, at the user's. True: there is more to read."""
    app.actor = "daemon"
    seen, began_s = memo.of(_Seen), time.monotonic()
    if began_s < seen.due_s:
        return False
    scan = note_folder.scan(vault_of(app, app.scope))
    now_s = time.monotonic()
    seen.due_s = now_s + _SHARE * (now_s - began_s)
    if scan == seen.scan and not 0 < seen.again_s <= began_s:
        return False
    try:
        report = vault_sync.refresh(app, app.scope, first=FEW_FILES, seen=scan)
    except RecollectError as problem:
        app.log.line("vault-failed", problem=problem.message)
        seen.due_s = time.monotonic() + _AFTER_FAILURE_S
        return False
    if report.waiting:
        seen.due_s = 0.0
        return True
    seen.scan = scan
    seen.again_s = time.monotonic() + _SETTLED_S if any(report.counts().values()) else 0.0
    return False


@dataclass(slots=True)
class Pending:
    """What is still to be done. In memory alone: lost, it is done after the next session."""

    session_began: bool = False
    shown: set[str] = field(default_factory=set)  # memories that were shown to sessions which are over now
    paths: list[str] = field(default_factory=list)  # of files to be written

    def __bool__(self) -> bool:
        return bool(self.session_began or self.shown or self.paths)


def session_ended(app: App, pending: Pending, session: str) -> None:
    pending.shown |= {one.memory for one in app.reader(app.scope).memories_shown(session, None)}


def write_some(app: App, pending: Pending) -> bool:
    """True: there is more to do."""
    began, shown, paths = pending.session_began, pending.shown, pending.paths
    pending.session_began, pending.shown, pending.paths = False, set(), []
    if not (began or shown or paths) or app.dry_run or app.store_path(Scope.USER) is None:
        return False
    known = KnownFiles(app.reader(Scope.USER))
    due = [
        path
        for path, one in known.files.items()
        if one.stamp != NO_FILE
        and ((began and one.form is Form.LACKING) or (one.form is Form.TAGGED and one.id in shown))
    ]
    paths = list(dict.fromkeys([*paths, *due]))
    pending.paths = paths[BATCH:]
    written: list[NoteFile] = []
    for path in paths[:BATCH]:
        try:
            written += _write(app, known, path)
        except (StoreBusy, StoreDamaged):
            raise
        except RecollectError as problem:
            app.log.line("note-not-written", problem=problem.message)
    if written:
        vault_sync.update_notes(app, Scope.USER, written, known, vault_sync.Report())
        app.log.line("notes-completed", notes=len(written))
    return bool(pending)


def _write(app: App, known: KnownFiles, path: str) -> list[NoteFile]:
    """Empty: it is as it should be, or somebody is editing it: then it is read first."""
    one, vault, reader = known.files.get(path), vault_of(app, Scope.USER), app.reader(Scope.USER)
    before = note_folder.read(vault, path)
    note = reader.exact(one.id) if one else None
    if one is None or isinstance(before, Refusal) or text_hash(before) != one.hash or not isinstance(note, Note):
        return []
    after = page.with_usage(tags.completed(before, session=session_ledger.count_sessions(reader)), note)
    if after == before:
        return []
    note_folder.change(vault, path, before, after)
    file = note_files.read(app, vault, path)
    return [file] if isinstance(file, NoteFile) and file.hash == text_hash(after) else []
