"""Keeps the user's own notes of the tag dialect complete: adds the tags they lack, and writes down how they were used.

The first happens after a session began, the second after one ended; both in the background, a few files at a time, and
never in a repository. A file is only written if it still says what was last read from it; what we wrote is read again
at once, so that it is never mistaken for somebody's edit. A file that cannot be written is logged and left.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from recollect.app import note_files, session_ledger
from recollect.app.core import App
from recollect.app.note_files import NO_FILE, Form, KnownFiles, NoteFile, vault_of
from recollect.base.errors import RecollectError, StoreBusy, StoreDamaged
from recollect.jobs import vault_sync
from recollect.model.memory import Note
from recollect.model.plan import text_hash
from recollect.model.result import Scope
from recollect.vault import layout, note_folder, page, tags
from recollect.vault.note_folder import Refusal

BATCH = 20  # files at a time: each is synced to the disk, some 25 ms
_Change = Callable[[str, str], str]  # a note's id and text: the text as it should be


@dataclass(slots=True)
class Pending:
    """What is still to be done. In memory alone: lost, it is done after the next session."""

    session_began: bool = False
    shown: set[str] = field(default_factory=set)  # memories that sessions were shown which are over now
    lacking: list[str] = field(default_factory=list)
    used: list[str] = field(default_factory=list)  # paths of notes

    def __bool__(self) -> bool:
        return bool(self.session_began or self.shown or self.lacking or self.used)


def session_ended(app: App, pending: Pending, session: str) -> None:
    sights = app.reader(app.scope).memories_shown(session, None)
    pending.shown |= {sight.memory for sight in sights}


def write_some(app: App, pending: Pending) -> bool:
    """True: there is more to do."""
    if not pending or app.dry_run or app.store_path(Scope.USER) is None:
        pending.session_began, pending.shown, pending.lacking, pending.used = False, set(), [], []
        return False
    known = KnownFiles.load(app.reader(Scope.USER))
    if pending.session_began:
        pending.session_began, pending.lacking = False, _paths(known, Form.LACKING)
    if pending.shown:
        used = [path for path in _paths(known, Form.TAGGED) if known.files[path].id in pending.shown]
        pending.shown, pending.used = set(), list(dict.fromkeys([*pending.used, *used]))
    lacking, pending.lacking = pending.lacking[:BATCH], pending.lacking[BATCH:]
    used, pending.used = pending.used[:BATCH], pending.used[BATCH:]
    session = session_ledger.count_sessions(app.reader(Scope.USER))
    _write_all(app, known, lacking, lambda _id, text: tags.completed(text, session=session))
    _write_all(app, known, used, lambda id, text: _with_usage(app, id, text))
    return bool(pending)


def _paths(known: KnownFiles, form: Form) -> list[str]:
    return [path for path, one in known.files.items() if one.form is form and one.stamp != NO_FILE]


def _with_usage(app: App, id: str, text: str) -> str:
    note = app.reader(Scope.USER).exact(id)
    return tags.with_metadata(text, layout.usage(note, page.read(text, ""))) if isinstance(note, Note) else text


def _write_all(app: App, known: KnownFiles, paths: Iterable[str], change: _Change) -> None:
    written: list[NoteFile] = []
    for path in paths:
        try:
            file = _write(app, known, path, change)
        except (StoreBusy, StoreDamaged):
            raise
        except RecollectError as problem:
            app.log.line("note-not-written", problem=problem.message)
            continue
        if file is not None:
            written.append(file)
    if written:
        vault_sync.update_notes(app, Scope.USER, written, known, vault_sync.Report())
        app.log.line("notes-completed", notes=len(written))


def _write(app: App, known: KnownFiles, path: str, change: _Change) -> NoteFile | None:
    """None: it is as it should be, or somebody is editing it: then it is read first."""
    one, vault = known.files.get(path), vault_of(app, Scope.USER)
    before = note_folder.read(vault, path)
    if one is None or isinstance(before, Refusal) or text_hash(before) != one.hash:
        return None
    after = change(one.id, before)
    if after == before:
        return None
    note_folder.change(vault, path, before, after)
    file = note_files.read(app, Scope.USER, path)
    return file if isinstance(file, NoteFile) and file.hash == text_hash(after) else None
