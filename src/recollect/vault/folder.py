"""The files of a vault: found, read, made, changed, moved.

No link is followed on the way to a note: what it leads to may be anything. Hidden files and folders are the editor's
own. A file is only written over if it still is what was read (base/swap.py), made only where there is none, and moved
in one step, so that what an editor saves meanwhile is never lost. What cannot be taken is told, not raised.

Does not look into notes (page.py) and does not know what folders mean to memory (ops/vaults.py).
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from recollect.base import swap
from recollect.base.errors import BadInput, Conflict
from recollect.base.files import create_new, read_limited
from recollect.base.text import one_line

SUFFIXES = (".md", ".markdown")
MAX_FILES = 200_000
MAX_DEPTH = 40
MAX_BYTES = 5_000_000
_MAX_NAME_BYTES = 120
_RESERVED = re.compile(r"(?:con|prn|aux|nul|com\d|lpt\d)\Z", re.IGNORECASE)  # no files on Windows
Stamp = tuple[int, int, int]
"""When it was written (ns), its size, its number: another once it was changed."""


class Refusal(NamedTuple):
    """A file that is not taken, and why: an expected outcome."""

    path: str
    why: str


@dataclass(frozen=True, slots=True)
class Vault:
    base: Path
    shelves: tuple[str, ...] = ("",)
    """Folders in it that hold notes; the empty one is all of it."""
    within: Path | None = None
    """What it may not lead out of. None: it is the user's own, who may have put a link there."""
    mode: int = 0o600
    """Of new files."""


@dataclass(frozen=True, slots=True)
class Scan:
    stamps: dict[str, Stamp]
    """By path below the vault's base, with slashes."""
    refused: tuple[Refusal, ...] = ()
    is_whole: bool = True
    """False: there are more."""


def scan(vault: Vault, most: int = MAX_FILES) -> Scan:
    """Every note there is, or the first so many. Nothing is opened."""
    stamps: dict[str, Stamp] = {}
    refused: list[Refusal] = []
    for shelf in vault.shelves:
        top = vault.base / shelf if shelf else vault.base
        if not top.is_dir():
            continue
        if _leads_out(vault, top):
            refused.append(Refusal(shelf, "it leads out of the project"))
            continue
        for path, stamp in _walk(top, shelf, lambda path, why: refused.append(Refusal(path, why))):
            if len(stamps) >= most:
                refused.append(Refusal(shelf or ".", f"more than {most:,} notes: the rest was left"))
                return Scan(stamps, tuple(refused), is_whole=False)
            stamps[path] = stamp
    return Scan(stamps, tuple(refused))


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


def create(vault: Vault, folder: str, name: str, text: str) -> str:
    """A new file of this name, or of the next that is free. Returns its path."""
    for path in _names(folder, name):
        place = vault.base / path
        try:
            _folders(vault, place.parent)
            if create_new(place, text, mode=vault.mode):
                return path
        except OSError as error:
            raise _unusable(path, error) from error
    raise BadInput(f"There is no free name like {name} in {folder or 'the vault'}.", hint="Give it another title.")


def move(vault: Vault, path: str, to_folder: str) -> str:
    """Into a folder, under its name or the next that is free. Whatever stands under the old name at that instant is
    moved; what is saved there afterwards stays there."""
    if isinstance(found := read(vault, path), Refusal):
        raise BadInput(f"{path} cannot be moved: {found.why}.", hint="It was left as it is.")
    for target in _names(to_folder, PurePosixPath(path).name):
        if _moved(vault, path, target):
            return target
    raise BadInput(f"{path} cannot be moved: no name is free in {to_folder}.", hint="It was left as it is.")


def move_to(vault: Vault, path: str, target: str) -> None:
    """Under this very name."""
    if not _moved(vault, path, target):
        raise Conflict(f"There is another file at {target} by now.", hint=f"{path} was left where it is.")


def _moved(vault: Vault, path: str, target: str) -> bool:
    """False: the name is another's."""
    place = vault.base / target
    try:
        _folders(vault, place.parent)
        if not create_new(place, "", mode=vault.mode):  # the name is ours now
            return False
        try:
            os.replace(vault.base / path, place)
        except OSError:
            with suppress(OSError):
                os.unlink(place)
            raise
    except OSError as error:
        raise _unusable(path, error) from error
    return True


def remove_new(vault: Vault, path: str, text: str) -> None:
    """Take back what `create` made, if it still says so."""
    found = swap.look(vault.base / path, within=vault.base)
    if found.content == text.encode():
        swap.remove(found)


def stamp(vault: Vault, path: str) -> Stamp | None:
    try:
        found = os.lstat(vault.base / path)
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


def _walk(top: Path, shelf: str, refuse: Callable[[str, str], object]) -> Iterator[tuple[str, Stamp]]:
    waiting = [(str(top), shelf, 0)]
    while waiting:
        folder, named, depth = waiting.pop()
        try:
            with os.scandir(folder) as listing:
                found = sorted(listing, key=lambda one: one.name)
        except OSError as error:
            refuse(named, (error.strerror or type(error).__name__).lower())
            continue
        for one in found:
            if one.name.startswith("."):
                continue
            path = f"{named}/{one.name}" if named else one.name
            if one.is_symlink():
                if one.name.lower().endswith(SUFFIXES) or os.path.isdir(one.path):
                    refuse(path, "a link: notes are files of their own")
            elif one.is_dir(follow_symlinks=False):
                if depth < MAX_DEPTH:
                    waiting.append((one.path, path, depth + 1))
                else:
                    refuse(path, "it lies too deep")
            elif one.is_file(follow_symlinks=False) and one.name.lower().endswith(SUFFIXES):
                if not path.isascii() and not _is_utf8(path):
                    refuse(path.encode(errors="replace").decode(), "its name is not UTF-8")
                    continue
                try:
                    status = one.stat(follow_symlinks=False)
                except OSError:
                    continue  # it is gone by now
                yield path, (status.st_mtime_ns, status.st_size, status.st_ino)


def _names(folder: str, name: str) -> Iterator[str]:
    stem, suffix = os.path.splitext(name)
    for number in range(1, 1_000):
        shown = name if number == 1 else f"{stem}-{number}{suffix}"
        yield f"{folder}/{shown}" if folder else shown


def _folders(vault: Vault, folder: Path) -> None:
    """Those on the way that are not there yet, none of them a link."""
    missing, here = [], folder
    while not here.is_dir():
        missing.append(here)
        here = here.parent
    if here.is_relative_to(vault.base) and os.path.realpath(here) != _straight(vault, here):
        raise OSError(0, "a link in the place of a folder", str(here))
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


def _is_utf8(path: str) -> bool:
    try:
        path.encode()
    except UnicodeEncodeError:
        return False
    return True


def _unusable(path: str, error: OSError) -> BadInput:
    return BadInput(f"{path} cannot be written: {error.strerror or type(error).__name__}.", hint="Nothing was changed.")
