"""Files that are ours alone: written whole or not at all, never through a link.

A write goes into a new file beside the target, reaches the disk, and takes the target's name in one step; all of it
relative to an opened folder, so a folder swapped for a link meanwhile changes nothing. Raises OSError as the system
does, and HomeRefused where a link stands in the place of a file.
"""

from __future__ import annotations

import errno
import os
import stat
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from itertools import count
from pathlib import Path

from recollect.base.errors import HomeRefused

# Windows lacks these; there they ask for nothing.
_NO_FOLLOW: int = getattr(os, "O_NOFOLLOW", 0)
_NO_BLOCK: int = getattr(os, "O_NONBLOCK", 0)
_FOLDER: int = getattr(os, "O_DIRECTORY", 0)
_BINARY: int = getattr(os, "O_BINARY", 0)
_HAS_FOLDER_FD = os.open in os.supports_dir_fd and _FOLDER != 0

PRIVATE_FILE = 0o600
PRIVATE_FOLDER = 0o700
_serial = count()
Stamp = tuple[int, int, int, int]


def stamp(path: str | Path | None) -> Stamp | None:
    """Differs once a file was written or replaced; None where there is none."""
    try:
        found = os.stat(path) if path is not None else None
    except OSError:
        return None
    return (found.st_mtime_ns, found.st_size, found.st_ino, found.st_dev) if found else None


def write_private(path: Path, text: str) -> None:
    """Replace `path` with `text`, 0600 whatever the umask; refuse where a link stands."""
    with open_folder(path.parent, follow=True) as folder:
        _replace(folder, path, text, PRIVATE_FILE, sync=True)
        sync_folder(folder)


def write_view(path: Path, text: str) -> None:
    """Replace `path`, in a project's tree, whole or not at all, and through no link of folder or file. Not synced: it
    can be made again."""
    with open_folder(path.parent, follow=False) as folder:
        _replace(folder, path, text, 0o644, sync=False)


def create_new(path: Path, text: str, *, mode: int) -> bool:
    """Make `path`, in a project's tree, unless something is there already; nobody ever sees half of it. The folder
    itself may not be a link."""
    with open_folder(path.parent, follow=False) as folder:
        if _status(folder, path) is not None:
            return False
        spare = write_spare(folder, path, text.encode("utf-8"), mode)
        try:
            is_made = name_if_free(folder, spare, path)
            sync_folder(folder)
            return is_made
        finally:
            _remove(folder, spare)


def read_limited(path: Path, max_bytes: int, *, follow: bool = False) -> bytes:
    """The whole of a regular file of at most `max_bytes`; OSError for anything else."""
    fd = os.open(path, os.O_RDONLY | _NO_BLOCK | _BINARY | (0 if follow else _NO_FOLLOW))
    with open(fd, "rb") as file:
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            raise OSError(errno.EINVAL, "Not a regular file", str(path))
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
        spare = path.with_name(f".{path.name}.{os.getpid()}.{threading.get_ident()}.{next(_serial)}.tmp")
        if not os.path.lexists(spare):
            return spare


def write_spare(folder: int | None, path: Path, content: bytes, mode: int, *, sync: bool = True) -> Path:
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


def _replace(folder: int | None, path: Path, text: str, mode: int, *, sync: bool) -> None:
    found = _status(folder, path)
    if found is not None and (not stat.S_ISREG(found.st_mode) or found.st_nlink > 1):
        message = f"{path} is not a plain file of its own (a link, a folder or a device)."
        raise HomeRefused(message, hint="Move it away; Recollect makes a new one.")
    spare = write_spare(folder, path, text.encode("utf-8"), mode, sync=sync)
    try:
        os.replace(_relative(folder, spare), _relative(folder, path), src_dir_fd=folder, dst_dir_fd=folder)
    except BaseException:
        _remove(folder, spare)
        raise


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
