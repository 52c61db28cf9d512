"""Keeps the user's own notes of the tag dialect complete: adds the tags they lack, and writes down how they were used.

The first happens after a session began, the second after one ended; both in the background, a few files at a time, and
never in a repository. A file is only written if it still says what was last read from it; what we wrote is read again
at once, so that it is never mistaken for somebody's edit. A file that cannot be written is logged and left.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from recollect.app import note_files, session_ledger
from recollect.app.core import App
from recollect.app.note_files import NO_FILE, KnownFiles, NoteFile, vault_of
from recollect.base.errors import RecollectError, StoreBusy, StoreDamaged
from recollect.jobs import vault_sync
from recollect.model.memory import Note
from recollect.model.plan import text_hash
from recollect.model.result import Scope
from recollect.vault import note_folder, page, tags
from recollect.vault.note_folder import Refusal
from recollect.vault.tags import Form

BATCH = 20  # files at a time: each is synced to the disk, some 25 ms


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
    known = KnownFiles.load(app.reader(Scope.USER))
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
