"""A file of others: read whole, replaced whole, and only if it is still what we read.

The file belongs to a person, an agent or an editor, who may write it at any moment. So a new text is written beside it
and the two names are swapped in one step; what then lies under the spare name is what was really there. If that is not
what we had read, it goes back, and the caller begins anew. Where a system cannot swap, the file is looked at once
more just before it is replaced.

A link to a dotfile stays a link: its target is written. Mode, owner and attributes stay. A file that is marked as not
to be written, or has other names, is refused. Does not know what stands in it.
"""

from __future__ import annotations

import errno
import hashlib
import os
import stat
import sys
import time
from contextlib import suppress
from dataclasses import dataclass
from itertools import count
from pathlib import Path

from recollect.base.errors import BadInput, Conflict
from recollect.base.files import read_limited

MAX_BYTES = 5_000_000
# A writer that had the old file open when the names were swapped is given this long to finish.
_SETTLE_S = 0.02
_EXCHANGE = 2  # RENAME_EXCHANGE on Linux, RENAME_SWAP on macOS
_AT_FDCWD = -100
_serial = count()


@dataclass(frozen=True, slots=True)
class Found:
    """A file as it was read."""

    path: Path
    """As others name it."""
    target: Path
    """Where it is, behind any link."""
    content: bytes | None
    """None: there is no file."""

    @property
    def text(self) -> str:
        try:
            return (self.content or b"").decode("utf-8")
        except UnicodeDecodeError:
            raise BadInput(f"{self.path} is not UTF-8 text.", hint="It was left as it is.") from None

    @property
    def digest(self) -> str:
        return digest(self.content)


def digest(content: bytes | None) -> str:
    """Of what a file holds; empty where there is none."""
    return "" if content is None else hashlib.sha256(content).hexdigest()


def look(path: Path, *, within: Path | None = None) -> Found:
    """Read it. `within`: a link may not lead out of this folder, whose content a stranger may have written."""
    target = Path(os.path.realpath(path))
    if within is not None and not target.is_relative_to(os.path.realpath(within)):
        raise BadInput(f"{path} leads out of the project, to {target}.", hint="Name that file itself.")
    try:
        return Found(path, target, read_limited(target, MAX_BYTES))
    except (FileNotFoundError, NotADirectoryError):
        return Found(path, target, None)
    except OSError as error:
        raise _unusable(path, "read", error) from error


def replace(found: Found, content: bytes, *, new_mode: int = 0o600) -> None:
    """Make it hold this. Conflict where it is no longer what was found; then nothing of it was changed."""
    try:
        mode = _writable_mode(found)
        spare = _written(found.target, content, new_mode if mode is None else mode)
        try:
            took = _named(spare, found.target) if found.content is None else _swapped(spare, found, content)
        except FileNotFoundError:
            took = False  # it was there when we read it
        finally:
            with suppress(FileNotFoundError):
                os.unlink(spare)
    except OSError as error:
        raise _unusable(found.path, "written", error) from error
    if not took:
        raise Conflict(f"{found.path} was changed by someone else just now.", hint="Nothing was written. Try again.")


def remove(found: Found) -> None:
    """Take it away. Conflict where it is no longer what was found; where it is gone, somebody else did it."""
    aside = _spare_name(found.target)
    try:
        try:
            os.rename(found.target, aside)
        except FileNotFoundError:
            return
        if digest(_read(aside)) == found.digest:
            os.unlink(aside)
            return
        _named(aside, found.target)  # unless there is a new one already
        with suppress(FileNotFoundError):
            os.unlink(aside)
    except OSError as error:
        raise _unusable(found.path, "removed", error) from error
    raise Conflict(f"{found.path} was changed by someone else just now.", hint="Nothing was removed. Try again.")


def _writable_mode(found: Found) -> int | None:
    try:
        status = os.stat(found.target)
    except FileNotFoundError:
        return None
    if not status.st_mode & 0o222:
        raise BadInput(
            f"{found.path} is marked as not to be written.",
            hint=f"chmod u+w {found.target}, or change it where it is made.",
        )
    if status.st_nlink > 1:
        raise BadInput(
            f"{found.target} has other names (hard links), which would keep the old text.",
            hint="Make it a file of its own, or a symbolic link.",
        )
    return stat.S_IMODE(status.st_mode)


def _written(target: Path, content: bytes, mode: int) -> Path:
    """A new file beside the target, on the disk, with the target's owner and attributes."""
    spare = _spare_name(target)
    fd = os.open(spare, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o600)
    try:
        with open(fd, "wb") as file:
            _like(fd, target, mode)
            file.write(content)
            file.flush()
            os.fsync(fd)
    except BaseException:
        os.unlink(spare)
        raise
    return spare


def _like(fd: int, target: Path, mode: int) -> None:
    if sys.platform == "win32":
        return
    os.fchmod(fd, mode)
    with suppress(FileNotFoundError):
        wanted, made = os.stat(target), os.fstat(fd)
        if (wanted.st_uid, wanted.st_gid) != (made.st_uid, made.st_gid):
            os.fchown(fd, wanted.st_uid, wanted.st_gid)
            os.fchmod(fd, mode)
    if hasattr(os, "listxattr"):
        with suppress(OSError):
            for name in os.listxattr(target):
                os.setxattr(fd, name, os.getxattr(target, name))


def _spare_name(target: Path) -> Path:
    while True:
        spare = target.with_name(f".{target.name}.{os.getpid()}.{next(_serial)}.tmp")
        if not os.path.lexists(spare):
            return spare


def _named(spare: Path, target: Path) -> bool:
    """Give it its name unless there is such a file by now."""
    try:
        os.link(spare, target)
    except FileExistsError:
        return False
    except OSError:
        if os.path.lexists(target):
            return False
        os.rename(spare, target)
    _sync(target.parent)
    return True


def _swapped(spare: Path, found: Found, content: bytes) -> bool:
    target = found.target
    if digest(_read(target)) != found.digest:
        return False
    if not _exchanged(spare, target):
        os.replace(spare, target)
        _sync(target.parent)
        return True
    if digest(_read(spare)) == found.digest:
        time.sleep(_SETTLE_S)
        if digest(_read(spare)) == found.digest:
            _sync(target.parent)
            return True
    # Another wrote it meanwhile: theirs goes back. If one more wrote over ours, that one is the newest and stays.
    _exchanged(spare, target)
    if digest(_read(spare)) != digest(content):
        _exchanged(spare, target)
    return False


def _exchanged(one: Path, other: Path) -> bool:
    """Swap two names in one step; False where the system cannot."""
    if sys.platform == "win32":
        return False
    import ctypes

    library = ctypes.CDLL(None, use_errno=True)
    first, second = os.fsencode(one), os.fsencode(other)
    if sys.platform == "linux" and hasattr(library, "renameat2"):
        failed = library.renameat2(_AT_FDCWD, first, _AT_FDCWD, second, _EXCHANGE)
    elif sys.platform == "darwin" and hasattr(library, "renamex_np"):
        failed = library.renamex_np(first, second, _EXCHANGE)
    else:
        return False
    if failed and ctypes.get_errno() not in (errno.EINVAL, errno.ENOSYS, errno.ENOTSUP):
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()), str(other))
    return not failed


def _read(path: Path) -> bytes | None:
    try:
        return read_limited(path, MAX_BYTES)
    except FileNotFoundError:
        return None


def _sync(folder: Path) -> None:
    """Make the name itself last; some file systems cannot."""
    with suppress(OSError):
        fd = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(fd)
        finally:
            os.close(fd)


def _unusable(path: Path, done: str, error: OSError) -> BadInput:
    why = error.strerror or type(error).__name__
    return BadInput(f"{path} cannot be {done}: {why}.", hint="It was left as it is.")
