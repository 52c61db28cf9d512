"""The managed piece: something of ours in a file or folder of others, which we add, renew, check and take back.

A settings file is only ever inserted into, and what was inserted where is kept in the receipts (never the file's own
text, which may hold secrets), so that taking it back leaves the file byte for byte; where it was edited since, only our
entries go. A file of ours ends in a checksum of itself: one that a person edited is left alone and reported. Nothing is
written through a link in a project's tree, nor half, nor over an edit made meanwhile (base/files.py).
"""

from __future__ import annotations

import difflib
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import NamedTuple

from recollect.app.core import App
from recollect.base import files
from recollect.base.errors import BadInput, Conflict
from recollect.base.files import FileSnapshot
from recollect.integrations.pieces import Edit, Entries, LeftAlone, Piece, Receipts
from recollect.integrations.settings_text import NotPlain
from recollect.wire import lockfile

_TRIES = 5  # others write these files too, but not all the time
_LOCK_WAIT_S = 10.0
UNSETTLED = "changes all the time"


class Change(StrEnum):
    ADDED = "add"
    RENEWED = "renew"
    REMOVED = "remove"
    SAME = "keep"  # it is as it should be
    ABSENT = "absent"  # it was to be removed, and is not there
    LEFT = "leave"  # it is not ours to change


class PieceResult(NamedTuple):
    piece: Piece
    change: Change
    reason: str = ""  # why it was left alone
    diff: str = ""  # in a dry run, of a file of others

    @property
    def is_change(self) -> bool:
        return self.change in (Change.ADDED, Change.RENEWED, Change.REMOVED)


@dataclass(slots=True)
class Work:
    """Changes to pieces, and what came of each. In a dry run nothing is written."""

    app: App
    receipts: Receipts
    outcomes: list[PieceResult] = field(default_factory=list)

    @property
    def changed(self) -> bool:
        return any(one.is_change for one in self.outcomes)

    def change(self, piece: Piece, *, wanted: bool) -> PieceResult:
        """Adds or renews it, or takes it away."""
        outcome = PieceResult(piece, Change.LEFT, f"{piece.path} {UNSETTLED}")
        for _ in range(_TRIES):
            try:
                outcome = self._attempt(piece, wanted=wanted)
            except Conflict:
                continue
            except LeftAlone as problem:
                outcome = PieceResult(piece, Change.LEFT, str(problem))
                if not wanted and not self.app.dry_run and not isinstance(piece, Entries):
                    self.receipts.pieces.pop(piece.receipt.key, None)
            break
        self.outcomes.append(outcome)
        return outcome

    def _attempt(self, piece: Piece, *, wanted: bool) -> PieceResult:
        change, found, edit = _plan(piece, self.receipts, wanted=wanted)
        outcome = PieceResult(piece, change)
        if self.app.dry_run and outcome.is_change and isinstance(piece, Entries):
            before, after = found.text.splitlines(), (edit.content or b"").decode("utf-8").splitlines()
            names = str(found.path), f"{found.path} (after)"
            outcome = outcome._replace(diff="\n".join(difflib.unified_diff(before, after, *names, lineterm="", n=2)))
        if self.app.dry_run:
            return outcome
        key, kept = piece.receipt.key, dict(self.receipts.pieces)
        try:
            if wanted and edit.receipt is not None:
                self.receipts.pieces[key] = edit.receipt
            if outcome.is_change and wanted:
                self._make_folders(found.target.parent, piece)
            if outcome.is_change:
                self.receipts.save()
                if edit.content is None:
                    files.remove(found)
                else:
                    files.replace(found, edit.content, new_mode=piece.mode)
        except BaseException:
            self.receipts.pieces = kept
            raise
        if not wanted:
            self.receipts.pieces.pop(key, None)
        return outcome

    def _make_folders(self, folder: Path, piece: Piece) -> None:
        for one in (parent for parent in reversed((folder, *folder.parents)) if not parent.is_dir()):
            try:
                os.mkdir(one, 0o700 if piece.mode == 0o600 else 0o755)
            except OSError as error:
                raise BadInput(f"{one} cannot be created: {error.strerror}.") from error
            self.receipts.made.append(str(one))


def preview(piece: Piece, receipts: Receipts) -> PieceResult:
    """What adding it would do: SAME where it is there and current, RENEWED where it is outdated."""
    try:
        return PieceResult(piece, _plan(piece, receipts, wanted=True)[0])
    except LeftAlone as problem:
        return PieceResult(piece, Change.LEFT, str(problem))


def _plan(piece: Piece, receipts: Receipts, *, wanted: bool) -> tuple[Change, FileSnapshot, Edit]:
    found = piece.look()
    try:
        edit = piece.edit(found, receipts.pieces.get(piece.receipt.key), wanted=wanted)
    except NotPlain as problem:
        raise LeftAlone(f"{piece.path}, {problem}") from None
    if edit.content == found.content:
        return Change.SAME if wanted else Change.ABSENT, found, edit
    return Change.REMOVED if not wanted else Change.RENEWED if edit.was_there else Change.ADDED, found, edit


@contextmanager
def changes(app: App) -> Iterator[Work]:
    """Pieces are changed by one process at a time. A dry run needs no lock, and without a home there is none."""
    if app.dry_run or not app.home.root.is_dir():
        yield Work(app, Receipts(app))
        return
    path, until_s = app.home.root / "installed.lock", time.monotonic() + _LOCK_WAIT_S
    while (lock := lockfile.acquire(str(path))) is None:
        if time.monotonic() > until_s:
            raise Conflict("Another Recollect is changing the same files.", hint="Nothing was written. Try again.")
        time.sleep(0.02)
    try:
        receipts = Receipts(app)
        try:
            yield Work(app, receipts)
        finally:
            for made in sorted(receipts.made, key=len, reverse=True):  # folders for us that are empty now
                with suppress(OSError):
                    os.rmdir(made)
                if not os.path.lexists(made):
                    receipts.made.remove(made)
            receipts.save()
            if not receipts.path.exists():
                path.unlink(missing_ok=True)
    finally:
        lockfile.release(lock)
