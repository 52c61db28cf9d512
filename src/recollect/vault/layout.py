"""What a note's file means to memory: its status by the folder it is in, its trust by whose vault it is.

Pure: reads no file (note_folder.py), writes nothing (jobs/vault_sync.py).
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import PurePosixPath
from typing import NamedTuple

from recollect.base.moment import Moment
from recollect.model.memory import Lane, Note, Status
from recollect.vault import tags
from recollect.vault.page import Page, read

ALWAYS, INBOX, ARCHIVE, COLD = "_always-load", "_inbox", "_archive", "memory-cold"
MEMORY = "memory"  # the folder of a project's notes; the user's vault needs none


class Place(NamedTuple):
    """Where a note lies, as memory sees it."""

    top: str  # `memory` or `memory-cold`; empty: neither
    folders: tuple[str, ...]

    @property
    def first(self) -> str:
        return self.folders[0] if self.folders else ""

    @property
    def status(self) -> Status:
        if self.top == COLD or self.first == ARCHIVE:
            return Status.ARCHIVED
        return Status.CANDIDATE if self.first == INBOX else Status.ACTIVE


def place_of(path: str) -> Place:
    *folders, _name = PurePosixPath(path).parts
    top = folders.pop(0) if folders and folders[0] in (MEMORY, COLD) else ""
    return Place(top, tuple(folders))


def is_always_loaded(path: str) -> bool:
    place = place_of(path)
    return place.first == ALWAYS and place.status is Status.ACTIVE


def new_note(page: Page, path: str, *, id: str, lane: Lane, written: Moment) -> Note:
    blank = Note(
        id=id, title="", body="", lane=lane, origin="vault", created_at=written, reinforced_at=written,
        last_active_at=written,
    )  # fmt: skip
    return updated(blank, page, path, written=written)


def updated(note: Note, page: Page, path: str, *, written: Moment) -> Note:
    """The note as its file says now; how it was used stays."""
    place = place_of(path)
    status = place.status
    if status is Status.ACTIVE and (page.superseded or note.superseded_by is not None):
        status = Status.SUPERSEDED  # what a newer note supersedes stays so, even if its own file does not say it
    folder = "/".join(folder for folder in place.folders if folder not in (ALWAYS, INBOX, ARCHIVE))
    is_own = note.lane is Lane.USER  # a stranger's file does not put itself above others
    figure = page.appreciation if is_own and page.appreciation is not None else note.appreciation
    return replace(
        note,
        title=page.title,
        body=page.body,
        topics=page.words,
        tags=page.tags,
        group=page.group or folder,
        path=path,
        status=status,
        superseded_by=note.superseded_by if status is Status.SUPERSEDED else None,
        pinned=is_own and page.pinned,
        frequency=max(note.frequency, page.frequency) if is_own else note.frequency,
        appreciation=figure,
        last_active_at=note.last_active_at if page.body == note.body and note.title else written,
    )


def with_usage(text: str, note: Note) -> str:
    """The text with how the note was used, where it has metadata. Sessions may have been counted elsewhere before: the
    session of the last access never goes back."""
    if tags.METADATA not in tags.find(text):
        return text
    figures: dict[str, object] = {"frequency": note.frequency, "appreciation": note.appreciation, "pinned": note.pinned}
    if note.last_session > read(text, "").last_session:
        figures["last_accessed_session"] = note.last_session
    return tags.with_metadata(text, figures)
