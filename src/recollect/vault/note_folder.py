"""The files of a vault: finds, reads, makes, changes and moves them. page.py says what they mean.

No link is followed on the way to a note. A file is only overwritten if it still is what was read (base/files.py), made
only where there is none, and moved in one step, so that what an editor saves meanwhile is never lost."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from contextlib import suppress
from operator import attrgetter
from pathlib import Path
from typing import NamedTuple

from recollect.base import files
from recollect.base.errors import BadInput, Conflict
from recollect.base.files import create_new, read_limited
from recollect.base.structs import Struct, field
from recollect.base.text import one_line, storable

SUFFIXES = (".md", ".markdown")
MAX_BYTES = 5_000_000
_RESERVED = re.compile(r"(?:con|prn|aux|nul|com\d|lpt\d)\Z", re.IGNORECASE)  # no files on Windows
Stamp = tuple[
    int, int, int
]  # when it was written (ns), its size, its inode: different once it was changed


class Refusal(NamedTuple):
    path: str
    why: str  # it is left out: an expected outcome


class Vault(NamedTuple):
    base: Path
    tops: tuple[str, ...] = ("",)  # folders in it that hold notes; the empty one is all of it
    within: Path | None = None
    """What it may not lead out of. None: it is the user's own, who may have put a link there."""
    mode: int = 0o600  # of new files


class Scan(Struct, frozen=False):
    stamps: dict[str, Stamp] = field(
        default_factory=dict
    )  # by path below the vault's base, with slashes
    refused: list[Refusal] = field(default_factory=list)
    is_whole: bool = True  # False: there are more


def scan(vault: Vault, most: int = 200_000) -> Scan:
    """Every note, or some more than `most` of them. Nothing is opened."""
    found = Scan()
    waiting: list[tuple[str, str, int]] = []
    for name in reversed(vault.tops):
        if _leads_out(vault, vault.base / name):
            found.refused.append(Refusal(name, "it leads out of the project"))
        elif (vault.base / name).is_dir():
            waiting.append((str(vault.base / name), name, 0))
    # There may be a hundred thousand files, so little is done for each.
    while waiting and len(found.stamps) <= most:
        place, named, depth = waiting.pop()
        try:
            with os.scandir(place) as listing:
                entries = sorted(listing, key=attrgetter("name"))
        except OSError as error:
            found.refused.append(Refusal(named, _reason(error).lower()))
            continue
        lead = f"{named}/" if named else ""
        for one in entries:
            path, is_note = lead + one.name, one.name.lower().endswith(SUFFIXES)
            if one.name[0] == ".":
                continue
            if is_note and one.is_file(follow_symlinks=False):
                if not path.isascii() and storable(path) != path:
                    found.refused.append(
                        Refusal(path.encode(errors="replace").decode(), "its name is not UTF-8")
                    )
                    continue
                with suppress(OSError):  # it is gone by now
                    status = one.stat(follow_symlinks=False)
                    found.stamps[path] = (status.st_mtime_ns, status.st_size, status.st_ino)
            elif one.is_symlink():
                if is_note or one.is_dir():
                    found.refused.append(Refusal(path, "a link: notes are files of their own"))
            elif one.is_dir():
                if depth < 40:
                    waiting.append((one.path, path, depth + 1))
                else:
                    found.refused.append(Refusal(path, "it lies too deep"))
    if len(found.stamps) > most:
        found.is_whole = False
        found.refused.append(Refusal(".", f"more than {most:,} notes: the rest was left out"))
    return found


def read(vault: Vault, path: str) -> str | Refusal:
    """Its text: no link on the way, no more than a note can be, UTF-8."""
    place = vault.base / path
    try:
        if os.path.realpath(place) != _direct_path(vault, place):
            return Refusal(path, "a link")
        return read_limited(place, MAX_BYTES).decode("utf-8")
    except UnicodeDecodeError:
        return Refusal(path, "not UTF-8 text")
    except OSError as error:
        return Refusal(
            path, "it is gone" if isinstance(error, FileNotFoundError) else _reason(error).lower()
        )


def change(vault: Vault, path: str, old: str, new: str) -> None:
    """Overwrite what was read. Conflict where somebody saved it meanwhile; theirs stays."""
    found = _look(vault, path, old)
    if new != old:
        files.replace(found, new.encode())


def remove(vault: Vault, path: str, text: str) -> None:
    """Remove what `create` made. Conflict where it says something else by now."""
    files.remove(_look(vault, path, text))


def _look(vault: Vault, path: str, text: str) -> files.FileSnapshot:
    found = files.read_snapshot(vault.base / path, within=vault.base)
    if found.content != text.encode():
        raise Conflict(
            f"{path} was saved by someone else just now.", hint="It was left as it is. Try again."
        )
    return found


def create(vault: Vault, path: str, text: str) -> None:
    """A new file, with the folders on the way, never through a link. Conflict where there is one by now."""
    place = vault.base / path
    try:
        missing, here = [], place.parent
        while not here.is_dir():
            missing.append(here)
            here = here.parent
        if here.is_relative_to(vault.base) and os.path.realpath(here) != _direct_path(vault, here):
            raise OSError(0, "a symbolic link where a folder was expected", str(here))
        for one in reversed(missing):
            os.mkdir(one, 0o700 if vault.within is None else 0o755)
        if _leads_out(vault, place.parent):
            raise OSError(0, "it leads out of the project", str(place.parent))
        is_made = create_new(place, text, mode=vault.mode)
    except OSError as error:
        raise _not_writable(path, error) from error
    if not is_made:
        raise Conflict(f"There is another file at {path} by now.", hint="Nothing was written.")


def move(vault: Vault, path: str, target: str) -> None:
    """To exactly this name; Conflict where another file has it. What is saved under the old name meanwhile stays."""
    create(vault, target, "")  # the name is ours now
    try:
        os.replace(vault.base / path, vault.base / target)
    except OSError as error:
        with suppress(OSError):
            os.unlink(vault.base / target)
        raise _not_writable(path, error) from error


def free_path(vault: Vault, folder: str, name: str, taken: Iterable[str] = ()) -> str:
    """A path in a folder that no file has yet: this name, or the next that is free."""
    stem, suffix = os.path.splitext(name)
    for number in range(1, 1_000):
        shown = name if number == 1 else f"{stem}-{number}{suffix}"
        path = f"{folder}/{shown}" if folder else shown
        if path not in taken and not os.path.lexists(vault.base / path):
            return path
    raise BadInput(
        f"There is no free name like {name} in {folder or 'the vault'}.",
        hint="Give it another title.",
    )


def stamp(vault: Vault, path: str) -> Stamp | None:
    try:
        found = os.lstat(vault.base / path)
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino


def name_for(title: str) -> str:
    """A file name that every system accepts and a person recognizes."""
    words = re.sub(r"[^\w]+", "-", one_line(title).lower()).strip("-_")
    while len(words.encode()) > 120:
        words = words[: len(words) * 3 // 4].rstrip("-_")
    if not words or _RESERVED.match(words):
        words = f"note-{words}" if words else "note"
    return f"{words}.md"


def _direct_path(vault: Vault, place: Path) -> str:
    """Where it is if there is no link between the vault and it."""
    return os.path.join(os.path.realpath(vault.base), *place.relative_to(vault.base).parts)


def _leads_out(vault: Vault, folder: Path) -> bool:
    within = vault.within
    return within is not None and not Path(os.path.realpath(folder)).is_relative_to(
        os.path.realpath(within)
    )


def _reason(error: OSError) -> str:
    return error.strerror or type(error).__name__


def _not_writable(path: str, error: OSError) -> BadInput:
    return BadInput(f"{path} cannot be written: {_reason(error)}.", hint="Nothing was changed.")
