"""Reads and writes files: ours, written whole or not at all and never through a link; and those of somebody else, never
over an edit made meanwhile.

Ours: a write goes into a new file beside the target, reaches the disk, and takes the target's name in one step, all of
it relative to an opened folder, so a folder swapped for a link meanwhile changes nothing. Others': a person, an agent
or an editor may write them at any moment, so the new text is written beside the file and the two names are swapped in
one step; if what then lies under the spare name is not what we had read, it goes back, and the caller begins anew."""

from __future__ import annotations

import errno
import os
import stat
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from itertools import count
from pathlib import Path
from typing import BinaryIO, NamedTuple

from recollect.base.errors import BadInput, Conflict, HomeRefused

# Windows lacks these; there they ask for nothing.
_NO_FOLLOW: int = getattr(os, "O_NOFOLLOW", 0)
_NO_BLOCK: int = getattr(os, "O_NONBLOCK", 0)
_FOLDER: int = getattr(os, "O_DIRECTORY", 0)
_BINARY: int = getattr(os, "O_BINARY", 0)
_HAS_FOLDER_FD = os.open in os.supports_dir_fd and _FOLDER != 0

PRIVATE_FILE = 0o600
PRIVATE_FOLDER = 0o700
_serial = count()
# Of others: how much is read, and how long a writer that had the old file open when names were swapped is given.
MAX_BYTES = 5_000_000
_SETTLE_S = 0.02
_EXCHANGE = 2  # RENAME_EXCHANGE on Linux, RENAME_SWAP on macOS
_AT_FDCWD = -100
Stamp = tuple[int, int, int, int]


def stamp(path: str | Path | None) -> Stamp | None:
    """Differs once a file was written or replaced; None where there is none."""
    try:
        found = os.stat(path) if path is not None else None
    except OSError:
        return None
    return (found.st_mtime_ns, found.st_size, found.st_ino, found.st_dev) if found else None


def write_private(path: Path, text: str, *, sync: bool = True) -> None:
    """Replace `path` with `text`, 0600 whatever the umask; refuse where a link stands. Without `sync` it need not
    outlive the machine's next crash."""
    _write(path, text, PRIVATE_FILE, follow=True, sync=sync)


def write_view(path: Path, text: str) -> None:
    """Replace `path`, in a project's tree, through no link of folder or file. Not synced: it can be made again."""
    _write(path, text, 0o644, sync=False)


def create_new(path: Path, text: str, *, mode: int) -> bool:
    """Make `path`, in a project's tree, unless something is there; nobody sees half of it, no folder may be a link."""
    return _write(path, text, mode, is_new=True)


def _write(
    path: Path,
    text: str,
    mode: int,
    *,
    follow: bool = False,
    sync: bool = True,
    is_new: bool = False,
) -> bool:
    with open_folder(path.parent, follow=follow) as folder:
        found = _status(folder, path)
        if found is not None and is_new:
            return False
        if found is not None and (not stat.S_ISREG(found.st_mode) or found.st_nlink > 1):
            message = f"{path} is not a plain file of its own (a link, a folder or a device)."
            raise HomeRefused(message, hint="Move it away; Recollect makes a new one.")
        spare = write_spare(folder, path, text.encode("utf-8"), mode, sync=sync)
        try:
            if is_new:
                return name_if_free(folder, spare, path)
            os.replace(
                _relative(folder, spare),
                _relative(folder, path),
                src_dir_fd=folder,
                dst_dir_fd=folder,
            )
            return True
        finally:
            _remove(folder, spare)
            if sync:
                sync_folder(folder)


@contextmanager
def open_regular(path: Path, *, follow: bool = False) -> Iterator[BinaryIO]:
    """A regular file, to be read; OSError for anything else, such as a pipe on which one would wait for ever."""
    fd = os.open(path, os.O_RDONLY | _NO_BLOCK | _BINARY | (0 if follow else _NO_FOLLOW))
    with open(fd, "rb") as file:
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            raise OSError(errno.EINVAL, "Not a regular file", str(path))
        yield file


def read_limited(path: Path, max_bytes: int, *, follow: bool = False) -> bytes:
    """The whole of a regular file of at most `max_bytes`; OSError for anything else."""
    with open_regular(path, follow=follow) as file:
        found = file.read(max_bytes + 1)
    if len(found) > max_bytes:
        raise OSError(errno.EFBIG, f"Larger than {max_bytes} bytes", str(path))
    return found


def make_private_folder(path: Path) -> None:
    """One folder, 0700 whatever the umask. Its parent must exist."""
    try:
        os.mkdir(path, PRIVATE_FOLDER)
        os.chmod(path, PRIVATE_FOLDER)
    except FileExistsError:
        if not os.path.isdir(path):
            raise


@contextmanager
def open_folder(folder: Path, *, follow: bool) -> Iterator[int | None]:
    """A descriptor that later names are relative to, or None where the system has no such thing."""
    if not _HAS_FOLDER_FD:
        if not follow and folder.is_symlink():
            raise OSError(errno.ELOOP, "A symbolic link where a folder was expected", str(folder))
        yield None
        return
    fd = os.open(folder, os.O_RDONLY | _FOLDER | (0 if follow else _NO_FOLLOW))
    try:
        yield fd
    finally:
        os.close(fd)


def sync_folder(folder: int | None) -> None:
    """Make the new name itself last; some file systems cannot, and the file is whole either way."""
    if folder is not None:
        with suppress(OSError):
            os.fsync(folder)


def spare_name(path: Path) -> Path:
    """An unused name in the same folder."""
    while True:
        spare = path.with_name(
            f".{path.name}.{os.getpid()}.{threading.get_ident()}.{next(_serial)}.tmp"
        )
        if not os.path.lexists(spare):
            return spare


def write_spare(
    folder: int | None, path: Path, content: bytes, mode: int, *, sync: bool = True
) -> Path:
    """A new file beside `path` that holds this and, with `sync`, is on the disk."""
    spare = spare_name(path)
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | _NO_FOLLOW | _BINARY
    fd = os.open(_relative(folder, spare), flags, mode, dir_fd=folder)
    try:
        with open(fd, "wb") as file:
            if mode == PRIVATE_FILE and hasattr(os, "fchmod"):
                os.fchmod(fd, mode)
            file.write(content)
            file.flush()
            if sync:
                os.fsync(fd)
    except BaseException:
        _remove(folder, spare)
        raise
    return spare


def name_if_free(folder: int | None, spare: Path, path: Path) -> bool:
    """Give the spare file its name, unless another process was first."""
    names = _relative(folder, spare), _relative(folder, path)
    try:
        os.link(*names, src_dir_fd=folder, dst_dir_fd=folder)
    except FileExistsError:
        return False
    except OSError:
        # No hard links on this file system. A rename is whole too, if not exclusive to the instant.
        if _status(folder, path) is not None:
            return False
        os.rename(*names, src_dir_fd=folder, dst_dir_fd=folder)
    return True


def _relative(folder: int | None, path: Path) -> str:
    return str(path) if folder is None else path.name


def _status(folder: int | None, path: Path) -> os.stat_result | None:
    try:
        return os.stat(_relative(folder, path), dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return None


def _remove(folder: int | None, path: Path) -> None:
    with suppress(OSError):
        os.unlink(_relative(folder, path), dir_fd=folder)


class FileSnapshot(NamedTuple):  # a file of somebody else's as it was read
    path: Path  # as others name it
    target: Path  # where it is, behind any link
    content: bytes | None  # None: there is no file

    @property
    def text(self) -> str:
        try:
            return (self.content or b"").decode("utf-8")
        except UnicodeDecodeError:
            raise BadInput(
                f"{self.path} is not UTF-8 text.", hint="It was left as it is."
            ) from None

    @property
    def digest(self) -> str:
        return digest(self.content)


def digest(content: bytes | None) -> str:
    """A hash of the file's content; empty if there is no file."""
    import hashlib  # not for programs that only write their own files

    return "" if content is None else hashlib.sha256(content).hexdigest()


def read_snapshot(path: Path, *, within: Path | None = None) -> FileSnapshot:
    """Read it. `within`: a link may not lead out of this folder, where a stranger may have made it."""
    target = Path(os.path.realpath(path))
    if within is not None and not target.is_relative_to(os.path.realpath(within)):
        raise BadInput(
            f"{path} leads out of the project, to {target}.", hint="Name that file itself."
        )
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
                message = (
                    f"{found.target} has other names (hard links), which would keep the old text."
                )
                raise BadInput(message, hint="Make it a file of its own, or a symbolic link.")
        spare = write_spare(None, found.target, content, 0o600)
        try:
            _copy_attributes(spare, found.target, new_mode)
            is_new = found.content is None
            is_ours = (
                name_if_free(None, spare, found.target)
                if is_new
                else _swap_if_unchanged(spare, found, content)
            )
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
        raise Conflict(
            f"{found.path} was changed by someone else just now.",
            hint="Nothing was written. Try again.",
        )


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
    raise Conflict(
        f"{found.path} was changed by someone else just now.",
        hint="Nothing was removed. Try again.",
    )


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
