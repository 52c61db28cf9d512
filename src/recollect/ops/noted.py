"""What a note's file means to memory: its status by where it lies, its lane by whose vault it is.

Pure: values in, values out. Reads no file (vault/folder.py), writes nothing (vaults.py).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import PurePosixPath

from recollect.base.moment import Moment
from recollect.model.memory import Lane, Note, Status
from recollect.vault.page import Page, spelt

ALWAYS, INBOX, ARCHIVE, COLD = "_always-load", "_inbox", "_archive", "memory-cold"
MEMORY = "memory"
"""The shelf of a project's notes; the user's vault is one shelf by itself."""
ORIGIN = "vault"


@dataclass(frozen=True, slots=True)
class Place:
    """Where a note lies, as memory sees it."""

    shelf: str
    folders: tuple[str, ...]

    @classmethod
    def of(cls, path: str) -> Place:
        *folders, _name = PurePosixPath(path).parts
        shelf = folders.pop(0) if folders and folders[0] in (MEMORY, COLD) else ""
        return cls(shelf, tuple(folders))

    @property
    def first(self) -> str:
        return self.folders[0] if self.folders else ""

    @property
    def status(self) -> Status:
        if self.shelf == COLD or self.first == ARCHIVE:
            return Status.ARCHIVED
        return Status.CANDIDATE if self.first == INBOX else Status.ACTIVE

    @property
    def group(self) -> str:
        """Its folder, for notes that name no group."""
        return "/".join(folder for folder in self.folders if folder not in (ALWAYS, INBOX, ARCHIVE))


def is_always_loaded(path: str) -> bool:
    place = Place.of(path)
    return place.first == ALWAYS and place.status is Status.ACTIVE


def new_note(page: Page, path: str, *, id: str, lane: Lane, written: Moment) -> Note:
    blank = Note(
        id=id,
        title="",
        body="",
        created_at=written,
        reinforced_at=written,
        last_active_at=written,
        lane=lane,
        origin=ORIGIN,
    )
    return renewed(blank, page, path, written=written)


def renewed(note: Note, page: Page, path: str, *, written: Moment) -> Note:
    """As its file says now; how it was used stays. A count in the user's own file may come from elsewhere."""
    said = replace(
        note,
        title=page.title,
        body=page.body,
        topics=page.words,
        tags=page.tags,
        group=page.group or Place.of(path).group,
        path=path,
        # A stranger's file does not put itself above others.
        pinned=page.pinned and note.lane is Lane.USER,
        frequency=max(note.frequency, page.frequency) if note.lane is Lane.USER else note.frequency,
        status=status_of(page, path, superseded_by=note.superseded_by),
    )
    if page.appreciation is not None and note.lane is Lane.USER:
        said = replace(said, appreciation=page.appreciation)
    if said.status is not Status.SUPERSEDED:
        said = replace(said, superseded_by=None)
    return said if said.body == note.body and note.title else replace(said, last_active_at=written)


def usage(note: Note) -> dict[str, object]:
    """What of its use is written into its file. When it was last seen is only known once it was seen here."""
    seen: dict[str, object] = {"last_accessed_session": note.last_session} if note.last_session else {}
    return {"frequency": note.frequency, **seen, "appreciation": spelt(note.appreciation), "pinned": note.pinned}


def status_of(page: Page, path: str, *, superseded_by: str | None) -> Status:
    """What a newer note supersedes stays so, though its own file does not say it."""
    status = Place.of(path).status
    if status is Status.ACTIVE and (page.superseded or superseded_by is not None):
        return Status.SUPERSEDED
    return status
