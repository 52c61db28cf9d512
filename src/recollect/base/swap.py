"""Replaces a file that belongs to somebody else: whole, and only if it is still what we read.

A person, an agent or an editor may write it at any moment. So the new text is written beside it and the two names are
swapped in one step; if what then lies under the spare name is not what we had read, it goes back, and the caller begins
anew. Where a system cannot swap, the file is checked once more just before it is replaced. A link to a dotfile stays a
link: its target is written. Mode, owner and attributes stay.
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
from pathlib import Path

from recollect.base.errors import BadInput, Conflict
from recollect.base.files import name_if_free, open_folder, read_limited, spare_name, sync_folder, write_spare

MAX_BYTES = 5_000_000
# A writer that had the old file open when the names were swapped is given this long to finish.
_SETTLE_S = 0.02
_EXCHANGE = 2  # RENAME_EXCHANGE on Linux, RENAME_SWAP on macOS
_AT_FDCWD = -100


@dataclass(frozen=True, slots=True)
class FileSnapshot:
    """A file as it was read."""

    path: Path  # as others name it
    target: Path  # where it is, behind any link
    content: bytes | None  # None: there is no file

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
    """A hash of the file's content; empty if there is no file."""
    return "" if content is None else hashlib.sha256(content).hexdigest()


def read_snapshot(path: Path, *, within: Path | None = None) -> FileSnapshot:
    """Read it. `within`: a link may not lead out of this folder, where a stranger may have made it."""
    target = Path(os.path.realpath(path))
    if within is not None and not target.is_relative_to(os.path.realpath(within)):
        raise BadInput(f"{path} leads out of the project, to {target}.", hint="Name that file itself.")
    try:
        return FileSnapshot(path, target, read_limited(target, MAX_BYTES))
    except (FileNotFoundError, NotADirectoryError):
        return FileSnapshot(path, target, None)
    except OSError as error:
        raise _refusal(path, "read", error) from error


def replace(found: FileSnapshot, content: bytes, *, new_mode: int = 0o600) -> None:
    """Write this content. Conflict where the file is no longer what was found; then nothing was changed."""
    try:
        with suppress(FileNotFoundError):
            status = os.stat(found.target)
            new_mode = stat.S_IMODE(status.st_mode)
            if not new_mode & 0o222:
                hint = f"chmod u+w {found.target}, or change it where it is made."
                raise BadInput(f"{found.path} is marked as not to be written.", hint=hint)
            if status.st_nlink > 1:
                message = f"{found.target} has other names (hard links), which would keep the old text."
                raise BadInput(message, hint="Make it a file of its own, or a symbolic link.")
        spare = write_spare(None, found.target, content, 0o600)
        try:
            _copy_attributes(spare, found.target, new_mode)
            is_new = found.content is None
            is_ours = name_if_free(None, spare, found.target) if is_new else _swap_if_unchanged(spare, found, content)
            # A folder that cannot be read cannot be synced.
            with suppress(OSError), open_folder(found.target.parent, follow=True) as folder:
                sync_folder(folder)
        except FileNotFoundError:
            is_ours = False  # it was there when we read it
        finally:
            with suppress(FileNotFoundError):
                os.unlink(spare)
    except OSError as error:
        raise _refusal(found.path, "written", error) from error
    if not is_ours:
        raise Conflict(f"{found.path} was changed by someone else just now.", hint="Nothing was written. Try again.")


def remove(found: FileSnapshot) -> None:
    """Delete it. Conflict where it is no longer what was found; nothing to do where it is gone."""
    aside = spare_name(found.target)
    try:
        try:
            os.rename(found.target, aside)
        except FileNotFoundError:
            return
        if _digest_now(aside) == found.digest:
            os.unlink(aside)
            return
        name_if_free(None, aside, found.target)  # unless there is a new one already
        with suppress(FileNotFoundError):
            os.unlink(aside)
    except OSError as error:
        raise _refusal(found.path, "removed", error) from error
    raise Conflict(f"{found.path} was changed by someone else just now.", hint="Nothing was removed. Try again.")


def _copy_attributes(spare: Path, target: Path, mode: int) -> None:
    if sys.platform == "win32":
        return
    os.chmod(spare, mode)
    with suppress(FileNotFoundError):
        theirs, made = os.stat(target), os.stat(spare)
        if (theirs.st_uid, theirs.st_gid) != (made.st_uid, made.st_gid):
            os.chown(spare, theirs.st_uid, theirs.st_gid)
            os.chmod(spare, mode)
    if hasattr(os, "listxattr"):
        with suppress(OSError):
            for name in os.listxattr(target):
                os.setxattr(spare, name, os.getxattr(target, name))


def _swap_if_unchanged(spare: Path, found: FileSnapshot, content: bytes) -> bool:
    target = found.target
    if _digest_now(target) != found.digest:
        return False
    if not _exchange_names(spare, target):
        os.replace(spare, target)
        return True
    if _digest_now(spare) == found.digest:
        time.sleep(_SETTLE_S)
        if _digest_now(spare) == found.digest:
            return True
    # Another wrote it meanwhile: theirs goes back. If one more wrote over ours, that one is the newest and stays.
    _exchange_names(spare, target)
    if _digest_now(spare) != digest(content):
        _exchange_names(spare, target)
    return False


def _exchange_names(one: Path, other: Path) -> bool:
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


def _digest_now(path: Path) -> str:
    try:
        return digest(read_limited(path, MAX_BYTES))
    except FileNotFoundError:
        return ""


def _refusal(path: Path, done: str, error: OSError) -> BadInput:
    why = error.strerror or type(error).__name__
    return BadInput(f"{path} cannot be {done}: {why}.", hint="It was left as it is.")
