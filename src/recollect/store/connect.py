"""Opens one database file, safely, and reports in our own words what is wrong with it.

The file is private (0600) before SQLite sees it, and never opened through a symlink; WAL with synchronous=FULL, so what
was acknowledged survives a power cut. No WAL on a network mount, where its shared memory cannot work.
"""

import errno
import os
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import NamedTuple

import apsw

from recollect.base import errors
from recollect.base.errors import StoreError, StoreForeign, StoreFull, StoreReadOnly

APPLICATION_ID = 0x5243_4C54  # "RCLT"
_NETWORK_MOUNTS = frozenset({"nfs", "nfs4", "cifs", "smb3", "smbfs", "9p", "afs", "fuse.sshfs", "ncpfs"})


class Tuning(NamedTuple):
    """How a database is opened. The defaults are the product's; the crash benchmark varies the rest."""

    busy_timeout_ms: int = 15_000
    journal_days: float = 365
    synchronous: str = "FULL"
    vfs: str | None = None
    checkpoint_pages: int = 1_000


def connect(path: Path | None, tuning: Tuning, *, read_only: bool = False) -> apsw.Connection:
    """`None` opens an empty database in memory."""
    if path is None:
        return _set_up(apsw.Connection(":memory:"), tuning)
    _prepare_file(path, read_only=read_only)
    with translated_errors(path):
        if read_only:
            return _set_up(_open_read_only(path, tuning), tuning)
        return _set_up(apsw.Connection(str(path), vfs=tuning.vfs), tuning)


def use_wal(connection: apsw.Connection, path: Path | None, timeout_ms: int) -> None:
    """Call only once the file is known to be ours: this writes."""
    mode = "delete" if path is not None and on_network_mount(path) else "wal"
    patience = _Patience(timeout_ms)
    for tries in count():
        try:
            connection.execute(f"PRAGMA journal_mode = {mode}").fetchall()
            return
        except apsw.BusyError:  # this pragma alone does not ask the busy handler
            if not patience(tries):
                raise


class _Patience:
    """Waits for other writers in short steps that differ between processes. SQLite's own steps grow, so the writer that
    waited longest asks least often: with sixteen writers 15 s, here 2."""

    def __init__(self, timeout_ms: int) -> None:
        self._timeout_s = timeout_ms / 1_000
        self._until = 0.0

    def __call__(self, tries: int) -> bool:
        if tries == 0:
            self._until = time.monotonic() + self._timeout_s
        if time.monotonic() >= self._until:
            return False
        time.sleep((1 + (os.getpid() * 31 + tries * 7) % 10) / 1_000)
        return True


def _set_up(connection: apsw.Connection, tuning: Tuning) -> apsw.Connection:
    connection.set_busy_handler(_Patience(tuning.busy_timeout_ms))
    for pragma in (
        f"synchronous = {tuning.synchronous}",
        f"wal_autocheckpoint = {tuning.checkpoint_pages}",
        f"journal_size_limit = {64 * 1024 * 1024}",
        "foreign_keys = ON",
        "secure_delete = ON",
        "trusted_schema = ON",  # the full-text table reads our own view
        "temp_store = MEMORY",
    ):
        connection.execute(f"PRAGMA {pragma}").fetchall()
    return connection


def _open_read_only(path: Path, tuning: Tuning) -> apsw.Connection:
    """A folder that cannot be written cannot hold WAL's helper files; without a WAL the file alone is opened, as
    immutable."""
    wal = path.with_name(path.name + "-wal")
    is_alone = not os.access(path.parent, os.W_OK) and not (wal.exists() and wal.stat().st_size)
    name = f"{path.absolute().as_uri()}{'?immutable=1' if is_alone else ''}"
    return apsw.Connection(name, flags=apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI, vfs=tuning.vfs)


def _prepare_file(path: Path, *, read_only: bool) -> None:
    """Refuses what is not a regular file: a link would be followed, a pipe would hang. A writer gets a private one."""
    try:
        found = path.lstat()
        if not stat.S_ISREG(found.st_mode):
            what = "a symbolic link" if stat.S_ISLNK(found.st_mode) else "not a regular file"
            raise StoreForeign(f"{path} is {what}, not a database.", hint="Move it away; nothing was touched.")
        is_ours = hasattr(os, "getuid") and found.st_uid == os.getuid()
        if is_ours and stat.S_IMODE(found.st_mode) & 0o077 and not read_only:
            path.chmod(0o600)
    except FileNotFoundError:
        if not read_only:
            create_private(path)
    except OSError as problem:
        if not read_only:
            raise os_error(path, problem) from None


def create_private(path: Path) -> None:
    try:
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR | getattr(os, "O_NOFOLLOW", 0), 0o600))
    except FileExistsError:
        pass  # another process was first; it made it private, too
    except OSError as problem:
        raise os_error(path, problem) from None


def os_error(path: Path, problem: OSError) -> StoreError:
    if problem.errno == errno.ENOSPC:
        return StoreFull(f"No space left to write {path}.", hint="Free some space, then try again.")
    hint = "Check the folder's owner and permissions."
    return StoreReadOnly(f"{path} cannot be written: {problem.strerror}.", hint=hint)


_FULL = "Nothing was written and nothing is lost. Free some space, or `recollect purge` something."
# SQLite's errors, ours, the message and what to do next; the first that fits.
_ERRORS: tuple[tuple[tuple[type[apsw.Error], ...], type[errors.RecollectError], str, str], ...] = (
    ((apsw.BusyError, apsw.LockedError), errors.StoreBusy, "{} is held by another process.",
     "Nothing was written. Try again in a moment."),
    ((apsw.FullError,), StoreFull, "No space left to write {}.", _FULL),
    ((apsw.ReadOnlyError,), StoreReadOnly, "{} cannot be written.", "Check its owner and permissions."),
    ((apsw.CorruptError, apsw.NotADBError), errors.StoreDamaged, "{} is damaged: {}.",
     "`recollect recover` brings back what can be read."),
    ((apsw.CantOpenError,), StoreReadOnly, "{} cannot be opened.", "Check its owner and permissions."),
    ((apsw.ConstraintError,), errors.Conflict, "Other memories depend on this: {1}.",
     "Undo the later change first (`recollect log`)."),
    ((apsw.IOError, apsw.PermissionsError, apsw.NoMemError, apsw.TooBigError), StoreError, "{}: {}.",
     "`recollect doctor` looks for the cause."),
)  # fmt: skip


@contextmanager
def translated_errors(path: Path | None) -> Iterator[None]:
    """SQLite's errors as ours, with what to do next."""
    try:
        yield
    except apsw.Error as problem:
        where = path or "the database in memory"
        if getattr(problem, "extendedresult", 0) == apsw.SQLITE_IOERR_SHMSIZE:  # no room for WAL's shared memory
            raise StoreFull(f"No space left to write {where}.", hint=_FULL) from None
        for kinds, error, message, hint in _ERRORS:
            if isinstance(problem, kinds):
                raise error(message.format(where, problem), hint=hint) from None
        raise


def on_network_mount(path: Path) -> bool:
    """According to the mount table; False where there is none."""
    try:
        lines = Path("/proc/self/mounts").read_text(errors="replace").splitlines()
    except OSError:
        return False
    mounts = [
        (parts[1].replace("\\040", " ").rstrip("/"), parts[2]) for line in lines if len(parts := line.split(" ")) > 2
    ]
    target = str(path.resolve())
    above = [mount for mount in mounts if target.startswith(f"{mount[0]}/")]
    return bool(above) and max(reversed(above), key=lambda mount: len(mount[0]))[1] in _NETWORK_MOUNTS


def sqlite_version() -> str:
    return apsw.sqlite_lib_version()
