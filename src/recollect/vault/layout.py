"""What a note's file means to memory: its status by the folder it is in, its trust by whose vault it is.

Pure: values in, values out. Reads no file (note_folder.py), writes nothing (jobs/vault_sync.py).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath

from recollect.base.moment import Moment
from recollect.model.memory import Lane, Note, Status
from recollect.vault.note_folder import Vault
from recollect.vault.page import Page, without_point

ALWAYS, INBOX, ARCHIVE, COLD = "_always-load", "_inbox", "_archive", "memory-cold"
MEMORY = "memory"  # the folder of a project's notes; the user's vault needs none
ORIGIN = "vault"


def user_vault(folder: Path) -> Vault:
    return Vault(folder)


def project_vault(root: Path) -> Vault:
    return Vault(root / ".ai", (MEMORY, COLD), within=root, mode=0o644)


@dataclass(frozen=True, slots=True)
class Place:
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

    @property
    def group(self) -> str:
        """Its folder, for notes that name no group."""
        return "/".join(folder for folder in self.folders if folder not in (ALWAYS, INBOX, ARCHIVE))


def place_of(path: str) -> Place:
    *folders, _name = PurePosixPath(path).parts
    top = folders.pop(0) if folders and folders[0] in (MEMORY, COLD) else ""
    return Place(top, tuple(folders))


def is_always_loaded(path: str) -> bool:
    place = place_of(path)
    return place.first == ALWAYS and place.status is Status.ACTIVE


def new_note(page: Page, path: str, *, id: str, lane: Lane, written: Moment) -> Note:
    blank = Note(
        id=id, title="", body="", lane=lane, origin=ORIGIN, created_at=written, reinforced_at=written,
        last_active_at=written,
    )  # fmt: skip
    return renewed(blank, page, path, written=written)


def renewed(note: Note, page: Page, path: str, *, written: Moment) -> Note:
    """The note as its file says now; how it was used stays. A count in the user's own file may come from elsewhere."""
    status = place_of(path).status
    if status is Status.ACTIVE and (page.superseded or note.superseded_by is not None):
        status = Status.SUPERSEDED  # what a newer note supersedes stays so, even if its own file does not say it
    said = replace(
        note,
        title=page.title,
        body=page.body,
        topics=page.words,
        tags=page.tags,
        group=page.group or place_of(path).group,
        path=path,
        status=status,
        superseded_by=note.superseded_by if status is Status.SUPERSEDED else None,
    )
    if note.lane is Lane.USER:  # a stranger's file does not put itself above others
        said = replace(
            said,
            pinned=page.pinned,
            frequency=max(note.frequency, page.frequency),
            appreciation=note.appreciation if page.appreciation is None else page.appreciation,
        )
    else:
        said = replace(said, pinned=False)
    return said if said.body == note.body and note.title else replace(said, last_active_at=written)


def usage(note: Note, page: Page) -> dict[str, object]:
    """How the note was used, for its file's metadata. Sessions may have been counted elsewhere before: the session of
    the last access never goes back."""
    seen: dict[str, object] = {}
    if note.last_session > page.last_session:
        seen["last_accessed_session"] = note.last_session
    appreciation = without_point(note.appreciation)
    return {"frequency": note.frequency, **seen, "appreciation": appreciation, "pinned": note.pinned}
