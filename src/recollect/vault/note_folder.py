"""The files of a vault: found, read, made, changed, moved.

No link is followed on the way to a note: what it leads to may be anything. Hidden files and folders are the editor's
own. A file is only written over if it still is what was read (base/swap.py), made only where there is none, and moved
in one step, so that what an editor saves meanwhile is never lost. What cannot be taken is told, not raised.

Does not look into notes (page.py) and does not know what folders mean to memory (layout.py).
"""

from __future__ import annotations

import heapq
import os
import re
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from operator import attrgetter
from pathlib import Path
from typing import NamedTuple

from recollect.base import swap
from recollect.base.errors import BadInput, Conflict
from recollect.base.files import create_new, read_limited
from recollect.base.text import one_line
from recollect.vault.front import is_utf8

SUFFIXES = (".md", ".markdown")
MAX_FILES = 200_000
MAX_DEPTH = 40
MAX_BYTES = 5_000_000
_MAX_NAME_BYTES = 120
_NAME = attrgetter("name")
_RESERVED = re.compile(r"(?:con|prn|aux|nul|com\d|lpt\d)\Z", re.IGNORECASE)  # no files on Windows
Stamp = tuple[int, int, int]  # when it was written (ns), its size, its number: another once it was changed


class Refusal(NamedTuple):
    """A file that is not taken, and why: an expected outcome."""

    path: str
    why: str


@dataclass(frozen=True, slots=True)
class Vault:
    base: Path
    tops: tuple[str, ...] = ("",)  # folders in it that hold notes; the empty one is all of it
    within: Path | None = None
    """What it may not lead out of. None: it is the user's own, who may have put a link there."""
    mode: int = 0o600  # of new files


@dataclass(frozen=True, slots=True)
class Scan:
    stamps: dict[str, Stamp]  # by path below the vault's base, with slashes
    refused: tuple[Refusal, ...] = ()
    is_whole: bool = True  # False: there are more
    folders: dict[str, int] = field(default_factory=dict, compare=False)
    """When something was last put into each or taken away (ns); 0: it is not there."""

    def newest(self, count: int) -> list[str]:
        """Those that were saved last."""
        return heapq.nlargest(count, self.stamps, key=self.stamps.__getitem__)


def scan(vault: Vault, most: int = MAX_FILES) -> Scan:
    """Every note, or the first `most` of them. Nothing is opened."""
    walk = _Walk(most)
    for name in vault.tops:
        top = vault.base / name if name else vault.base
        if not top.is_dir():
            walk.folders[str(top)] = 0
        elif _leads_out(vault, top):
            walk.refused.append(Refusal(name, "it leads out of the project"))
        else:
            walk.down(str(top), name)
    if len(walk.stamps) <= most:
        return Scan(walk.stamps, tuple(walk.refused), folders=walk.folders)
    for path in list(walk.stamps)[most:]:
        del walk.stamps[path]
    walk.refused.append(Refusal(".", f"more than {most:,} notes: the rest was left"))
    return Scan(walk.stamps, tuple(walk.refused), is_whole=False, folders=walk.folders)


def has_changed(vault: Vault, seen: Scan, paths: Iterable[str]) -> bool:
    """A quick look: whether a folder has other files in it by now, or one of these paths was saved. A save of any
    other file is not noticed."""
    try:
        if any(os.stat(place).st_mtime_ns != at for place, at in seen.folders.items() if at):
            return True
    except OSError:
        return True
    if any(not at and os.path.isdir(place) for place, at in seen.folders.items()):
        return True
    lead = f"{vault.base}{os.sep}"
    return any(_stamp(lead + path) != seen.stamps.get(path) for path in paths)


def read(vault: Vault, path: str) -> str | Refusal:
    """What stands in it; no link on the way, no more than a note can be, UTF-8."""
    place = vault.base / path
    try:
        if os.path.realpath(place) != _straight(vault, place):
            return Refusal(path, "a link")
        return read_limited(place, MAX_BYTES).decode("utf-8")
    except UnicodeDecodeError:
        return Refusal(path, "not UTF-8 text")
    except FileNotFoundError:
        return Refusal(path, "it is gone")
    except OSError as error:
        return Refusal(path, (error.strerror or type(error).__name__).lower())


def change(vault: Vault, path: str, old: str, new: str) -> None:
    """Write it over what was read. Conflict where somebody saved it meanwhile; theirs stays."""
    found = swap.look(vault.base / path, within=vault.base)
    if found.content != old.encode():
        raise Conflict(f"{path} was saved by someone else just now.", hint="Nothing was written to it. Try again.")
    if new != old:
        swap.replace(found, new.encode())


def free_path(vault: Vault, folder: str, name: str) -> str:
    """A path in a folder that no file has yet: this name, or the next that is free."""
    stem, suffix = os.path.splitext(name)
    for number in range(1, 1_000):
        shown = name if number == 1 else f"{stem}-{number}{suffix}"
        path = f"{folder}/{shown}" if folder else shown
        if not os.path.lexists(vault.base / path):
            return path
    raise BadInput(f"There is no free name like {name} in {folder or 'the vault'}.", hint="Give it another title.")


def create(vault: Vault, path: str, text: str) -> None:
    """A new file. Conflict where there is one by now."""
    place = vault.base / path
    try:
        _make_folders(vault, place.parent)
        if not create_new(place, text, mode=vault.mode):
            raise Conflict(f"There is another file at {path} by now.", hint="Nothing was written.")
    except OSError as error:
        raise _not_writable(path, error) from error


def move(vault: Vault, path: str, target: str) -> None:
    """Under this very name; Conflict where another file has it. Whatever stands under the old name at that instant is
    moved; what is saved there afterwards stays there."""
    place = vault.base / target
    try:
        _make_folders(vault, place.parent)
        if not create_new(place, "", mode=vault.mode):  # the name is ours now
            raise Conflict(f"There is another file at {target} by now.", hint=f"{path} was left where it is.")
        try:
            os.replace(vault.base / path, place)
        except OSError:
            with suppress(OSError):
                os.unlink(place)
            raise
    except OSError as error:
        raise _not_writable(path, error) from error


def remove(vault: Vault, path: str, text: str) -> None:
    """Remove what `create` made. Conflict where it says something else by now."""
    found = swap.look(vault.base / path, within=vault.base)
    if found.content != text.encode():
        raise Conflict(f"{path} was saved by someone else just now.", hint="It was left as it is.")
    swap.remove(found)


def stamp(vault: Vault, path: str) -> Stamp | None:
    return _stamp(str(vault.base / path))


def _stamp(place: str) -> Stamp | None:
    try:
        found = os.lstat(place)
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino


def name_for(title: str) -> str:
    """A file's name that any system takes, and a person knows again."""
    words = re.sub(r"[^\w]+", "-", one_line(title).lower()).strip("-_")
    while len(words.encode()) > _MAX_NAME_BYTES:
        words = words[: len(words) * 3 // 4].rstrip("-_")
    if not words or _RESERVED.match(words):
        words = f"note-{words}" if words else "note"
    return f"{words}.md"


class _Walk:
    """Everything below a folder. A look at a hundred thousand files: what is done for each is little."""

    def __init__(self, most: int) -> None:
        self.stamps: dict[str, Stamp] = {}
        self.folders: dict[str, int] = {}
        self.refused: list[Refusal] = []
        self.most = most

    def down(self, top: str, named: str) -> None:
        waiting = [(top, named, 0)]
        while waiting and len(self.stamps) <= self.most:
            place, named, depth = waiting.pop()
            try:
                self.folders[place] = os.stat(place).st_mtime_ns  # before it is read: what comes then is seen again
                with os.scandir(place) as listing:
                    found = sorted(listing, key=_NAME)
            except OSError as error:
                self.refused.append(Refusal(named, (error.strerror or type(error).__name__).lower()))
                continue
            lead = f"{named}/" if named else ""
            for one in found:
                name = one.name
                if name[0] == ".":
                    continue
                if name.endswith(SUFFIXES) or name.lower().endswith(SUFFIXES):
                    self._file(one, lead + name, waiting, depth)
                elif one.is_dir():
                    self._folder(one, lead + name, waiting, depth)

    def _file(self, one: os.DirEntry[str], path: str, waiting: list[tuple[str, str, int]], depth: int) -> None:
        if one.is_file(follow_symlinks=False):
            if not path.isascii() and not is_utf8(path):
                self.refused.append(Refusal(path.encode(errors="replace").decode(), "its name is not UTF-8"))
                return
            try:
                status = one.stat(follow_symlinks=False)
            except OSError:
                return  # it is gone by now
            self.stamps[path] = (status.st_mtime_ns, status.st_size, status.st_ino)
        elif one.is_symlink() or one.is_dir():
            self._folder(one, path, waiting, depth)

    def _folder(self, one: os.DirEntry[str], path: str, waiting: list[tuple[str, str, int]], depth: int) -> None:
        if one.is_symlink():
            self.refused.append(Refusal(path, "a link: notes are files of their own"))
        elif depth < MAX_DEPTH:
            waiting.append((one.path, path, depth + 1))
        else:
            self.refused.append(Refusal(path, "it lies too deep"))


def _make_folders(vault: Vault, folder: Path) -> None:
    """Those on the way that are not there yet, none of them a link."""
    missing, here = [], folder
    while not here.is_dir():
        missing.append(here)
        here = here.parent
    if here.is_relative_to(vault.base) and os.path.realpath(here) != _straight(vault, here):
        raise OSError(0, "a symbolic link where a folder was expected", str(here))
    for one in reversed(missing):
        os.mkdir(one, 0o700 if vault.within is None else 0o755)
    if _leads_out(vault, folder):
        raise OSError(0, "it leads out of the project", str(folder))


def _straight(vault: Vault, place: Path) -> str:
    """Where it is if no link stands between the vault and it."""
    return os.path.join(os.path.realpath(vault.base), *place.relative_to(vault.base).parts)


def _leads_out(vault: Vault, folder: Path) -> bool:
    return vault.within is not None and not Path(os.path.realpath(folder)).is_relative_to(
        os.path.realpath(vault.within)
    )


def _not_writable(path: str, error: OSError) -> BadInput:
    return BadInput(f"{path} cannot be written: {error.strerror or type(error).__name__}.", hint="Nothing was changed.")
