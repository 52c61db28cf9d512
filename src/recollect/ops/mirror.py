"""Files of ours among files of others, where an agent reads them: written, renewed, and taken away again.

A file of ours says of itself whether it is still as we wrote it (agents/seal.py); one that a person edited is left
alone and named. Nothing is written through a link, nothing half, and nothing over an edit that came meanwhile. What
only we can know is kept in `<home>/mirrors/`: which folders were made for it, when it was last written, and whether
a person put an end to it here.
"""

from __future__ import annotations

import hashlib
import json
import os
import stat
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from recollect.agents import seal
from recollect.base import swap
from recollect.base.errors import BadInput, Conflict
from recollect.base.files import create_new, make_private_folder, read_limited, write_private
from recollect.base.moment import Moment
from recollect.base.text import counted
from recollect.model.codec import Json
from recollect.model.result import Told
from recollect.ops.app import App

_TRIES = 5
_MAX_RECEIPT_BYTES = 100_000
_EDITED = "was edited by hand"
_LINK = "is a link, or no plain file"

Edit = Callable[[str], str]
Judges = Callable[[str], bool]


class Receipt(NamedTuple):
    """What is kept of one folder that we write into."""

    what: str
    """`rules` or `skills`."""
    host: str
    root: str
    """Of the project."""
    folder: str
    made: tuple[str, ...] = ()
    """Folders, and the index, that were not there before; the outermost first."""
    at: str = ""
    """When something was last written."""
    off: bool = False
    """A person had it taken away here."""

    def write(self, app: App) -> None:
        folder = _folder(app)
        app.home.prepare()
        make_private_folder(folder)
        write_private(folder / self._name, json.dumps(self._asdict(), indent=1) + "\n")

    def remove(self, app: App) -> None:
        (_folder(app) / self._name).unlink(missing_ok=True)
        with suppress(OSError):
            _folder(app).rmdir()

    @property
    def _name(self) -> str:
        key = hashlib.sha256(os.fsencode(f"{self.what}\x00{self.host}\x00{self.folder}")).hexdigest()
        return f"{key[:24]}.json"


def _folder(app: App) -> Path:
    return app.home.root / "mirrors"


def receipts(app: App, what: str = "", root: Path | None = None) -> Iterator[Receipt]:
    """Those of a project, or of all."""
    try:
        names = sorted(os.listdir(_folder(app)))
    except OSError:
        return
    for name in names:
        try:
            kept = json.loads(read_limited(_folder(app) / name, _MAX_RECEIPT_BYTES))
            one = Receipt(**{**kept, "made": tuple(kept["made"])})
        except (OSError, ValueError, TypeError, KeyError):
            continue
        if what in ("", one.what) and (root is None or one.root == str(root)):
            yield one


def receipt(app: App, what: str, host: str, root: Path, folder: Path) -> Receipt:
    """The one of this folder, or a new one."""
    standing = (one for one in receipts(app, what) if (one.host, one.folder) == (host, str(folder)))
    return next(standing, Receipt(what, host, str(root), str(folder)))


def forget(app: App, receipt: Receipt, stays: tuple[str, ...], *, off: bool) -> None:
    """After all was taken away: only a person's word is kept. A folder that was made for this one and holds another
    of ours by now goes with that one."""
    if off:
        receipt._replace(at="", made=(), off=True).write(app)
    else:
        receipt.remove(app)
    for path in stays:
        for other in receipts(app):
            if other.at and Path(other.folder).is_relative_to(path):
                made = sorted({path, *other.made}, key=len)
                other._replace(made=tuple(made)).write(app)
                break


@dataclass(slots=True)
class Work:
    """What is done to files, and what came of it. In a dry run it is only said."""

    dry_run: bool
    mode: int = 0o600
    """Of new files."""
    written: list[str] = field(default_factory=list)
    removed: list[str] = field(default_factory=list)
    left: list[str] = field(default_factory=list)
    """Files that were not ours to change, each with the reason."""
    notes: list[str] = field(default_factory=list)
    made: list[str] = field(default_factory=list)

    @property
    def changed(self) -> bool:
        return bool(self.written or self.removed)

    def put(self, path: Path, text: str) -> bool:
        """A file of ours as it should be. False: someone made it his own, and it stays as it is."""
        return self._attempt(path, lambda: self._put(path, text))

    def _put(self, path: Path, text: str) -> bool:
        found = self._ours(path)
        if found is None:
            return False
        if found.content is None:
            if not self.dry_run and not _created(path, text, self.mode):
                raise Conflict(f"{path} was made by someone else just now.")
            self.written.append(str(path))
        elif found.content != text.encode("utf-8"):
            if not self.dry_run:
                swap.replace(found, text.encode("utf-8"))
            self.written.append(str(path))
        return True

    def take(self, path: Path) -> bool:
        """A file of ours away. False: it stays, someone made it his own."""
        return self._attempt(path, lambda: self._take(path))

    def _take(self, path: Path) -> bool:
        found = self._ours(path)
        if found is None:
            return False
        if found.content is not None:
            if not self.dry_run:
                swap.remove(found)
            self.removed.append(str(path))
        return True

    def change(self, path: Path, edit: Edit, *, made: bool) -> None:
        """A file of others, in which we have a part. `made`: it was made for us, and goes with our part of it."""
        self._attempt(path, lambda: self._change(path, edit, made))

    def _change(self, path: Path, edit: Edit, made: bool) -> bool:
        if _is_odd(path):
            self.left.append(f"{path} {_LINK}")
            return False
        found = swap.look(path)
        try:
            before = found.text
        except BadInput:
            self.left.append(f"{path} is not UTF-8 text")
            return False
        after = edit(before)
        if after == before:
            return True
        if not after and made:
            if not self.dry_run:
                swap.remove(found)
            self.removed.append(str(path))
            return True
        if not self.dry_run:
            swap.replace(found, after.encode("utf-8"), new_mode=self.mode)
        if found.content is None:
            self.made.append(str(path))
        self.written.append(str(path))
        return True

    def make_folders(self, base: Path, folder: Path) -> bool:
        """Those that lack below `base`. False where a link stands in the way."""
        for part in (*reversed([up for up in folder.parents if up.is_relative_to(base) and up != base]), folder):
            if part.is_symlink() or (part.exists() and not part.is_dir()):
                self.left.append(f"{part} {_LINK}")
                return False
            if part.is_dir() or self.dry_run:
                continue
            try:
                os.mkdir(part)
            except FileExistsError:
                continue
            except OSError as error:
                raise BadInput(f"{part} cannot be made: {error.strerror}.") from error
            self.made.append(str(part))
        return True

    def remove_folders(self, made: tuple[str, ...]) -> tuple[str, ...]:
        """Of those that were made for us, the ones that are empty now. Answers the rest."""
        gone = set()
        for path in reversed(made):
            if not self.dry_run:
                with suppress(OSError):
                    os.rmdir(path)
            if not os.path.lexists(path):
                gone.add(path)
        return tuple(path for path in made if path not in gone)

    def _ours(self, path: Path) -> swap.Found | None:
        """The file as it is, absent perhaps; None where it is not ours to change."""
        if _is_odd(path):
            self.left.append(f"{path} {_LINK}")
            return None
        found = swap.look(path)
        if found.content is not None and not is_ours(found.content):
            self.left.append(f"{path} {_EDITED}")
            return None
        return found

    def _attempt(self, path: Path, act: Callable[[], bool]) -> bool:
        for _ in range(_TRIES):
            with suppress(Conflict):
                return act()
        self.left.append(f"{path} changes all the time")
        return False


def read(path: Path) -> str:
    """Of a file that may be ours; empty where there is none, or nothing that can be read."""
    try:
        return "" if _is_odd(path) else read_limited(path, swap.MAX_BYTES).decode("utf-8", "replace")
    except OSError:
        return ""


def is_ours(content: bytes) -> bool:
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return seal.is_intact(text) or _is_sealed_json(text)


def json_sealed(fields: dict[str, Json]) -> str:
    """As seal.py does it for texts: JSON has no comments."""
    return json.dumps({**fields, "seal": seal.checksum(_plain(fields))}, indent=2, ensure_ascii=False) + "\n"


def _is_sealed_json(text: str) -> bool:
    if not text.startswith("{"):
        return False
    try:
        fields = json.loads(text)
        mark = fields.pop("seal", "")
    except (ValueError, RecursionError, AttributeError):
        return False
    return bool(mark == seal.checksum(_plain(fields)))


def _plain(fields: dict[str, Json]) -> str:
    return json.dumps(fields, sort_keys=True)


def _created(path: Path, text: str, mode: int) -> bool:
    try:
        return create_new(path, text, mode=mode)
    except OSError as error:
        raise BadInput(f"{path} cannot be written: {error.strerror}.", hint="Nothing of it was written.") from error


def _is_odd(path: Path) -> bool:
    """A link, a folder, a pipe: nothing that we write to. Also where the folder that holds it is a link."""
    if path.parent.is_symlink():
        return True
    try:
        found = os.lstat(path)
    except OSError:
        return False
    return not stat.S_ISREG(found.st_mode) or found.st_nlink > 1


# Words


def told(work: Work, title: str, folder: Path, facts: dict[str, Json]) -> Told:
    would = "would be " if work.dry_run else ""
    parts = [f"{counted(len(work.written), 'file')} {would}written"] if work.written else []
    parts += [f"{counted(len(work.removed), 'file')} {would}removed"] if work.removed else []
    summary = f"{title}: {', '.join(parts) or 'nothing to change'} ({folder})."
    listed = [
        f"{'+' if sign else '-'} {path}" for sign, paths in ((1, work.written), (0, work.removed)) for path in paths
    ]
    notes = (*(listed if work.dry_run else ()), *(f"Left alone: {one}." for one in work.left), *work.notes)
    lists: dict[str, Json] = {
        "written": list(work.written), "removed": list(work.removed), "left_alone": list(work.left)
    }  # fmt: skip
    return Told(summary, {"folder": str(folder), **facts, "dry_run": work.dry_run, **lists}, notes)


def stamped(receipt: Receipt, work: Work, now: Moment) -> Receipt:
    """After a write: with what was made for it, and when."""
    made = tuple(dict.fromkeys((*receipt.made, *work.made)))
    return receipt._replace(made=made, at=now.iso() if work.changed or not receipt.at else receipt.at, off=False)
