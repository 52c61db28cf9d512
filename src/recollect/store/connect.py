"""Opens one database file, safely, and says in our own words what is wrong with it.

Private file (0600) before SQLite sees it, never through a symlink; WAL with synchronous=FULL, so what was
acknowledged survives a power cut; a wait for other writers; foreign keys. Not WAL on a network mount,
where its shared memory cannot work.
"""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count
from pathlib import Path

import apsw

from recollect.base.errors import (
    Conflict,
    RecollectError,
    StoreBusy,
    StoreDamaged,
    StoreError,
    StoreForeign,
    StoreFull,
    StoreReadOnly,
)

APPLICATION_ID = 0x5243_4C54  # "RCLT"
WAL_MAX_BYTES = 64 * 1024 * 1024
_NETWORK_MOUNTS = frozenset({"nfs", "nfs4", "cifs", "smb3", "smbfs", "9p", "afs", "fuse.sshfs", "ncpfs"})


@dataclass(frozen=True, slots=True)
class Tuning:
    """How a database is opened. The defaults are the product's; the crash benchmark varies the rest."""

    busy_timeout_ms: int = 15_000
    journal_days: float = 365
    synchronous: str = "FULL"
    vfs: str | None = None
    checkpoint_pages: int = 1_000


def connect(path: Path | None, tuning: Tuning, *, read_only: bool = False) -> apsw.Connection:
    """`None` opens a database in memory: an empty store for those who only look."""
    if path is None:
        return _set_up(apsw.Connection(":memory:"), tuning)
    _refuse_what_is_no_file(path)
    with translated_errors(path):
        if read_only:
            return _set_up(_open_read_only(path, tuning), tuning)
        _make_private(path)
        return _set_up(apsw.Connection(str(path), vfs=tuning.vfs), tuning)


def use_wal(connection: apsw.Connection, path: Path | None, timeout_ms: int) -> None:
    """Only once the file is known to be ours: this writes."""
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
    """Waits for other writers in short steps that differ from process to process. SQLite's own steps grow, and
    with sixteen writers the one that waited longest then asked least often: waits of 15 s, here of 2."""

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
        f"journal_size_limit = {WAL_MAX_BYTES}",
        "foreign_keys = ON",
        "secure_delete = ON",
        "trusted_schema = ON",  # our own view stands behind the full-text table
        "temp_store = MEMORY",
    ):
        connection.execute(f"PRAGMA {pragma}").fetchall()
    return connection


def _open_read_only(path: Path, tuning: Tuning) -> apsw.Connection:
    """A folder that cannot be written cannot hold WAL's helper files; with no WAL left, the file alone
    is the whole truth and is opened as such."""
    flags = apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI
    wal = path.with_name(path.name + "-wal")
    alone = not os.access(path.parent, os.W_OK) and not (wal.exists() and wal.stat().st_size)
    quoted = str(path.absolute()).replace("%", "%25").replace("?", "%3f").replace("#", "%23")
    return apsw.Connection(f"file:{quoted}{'?immutable=1' if alone else ''}", flags=flags, vfs=tuning.vfs)


def _refuse_what_is_no_file(path: Path) -> None:
    """A link would be followed, a pipe would hang."""
    try:
        mode = path.lstat().st_mode
    except OSError:
        return  # told when it is opened
    if not stat.S_ISREG(mode):
        what = "a symbolic link" if stat.S_ISLNK(mode) else "not a regular file"
        raise StoreForeign(f"{path} is {what}, not a database.", hint="Move it away; nothing was touched.")


def _make_private(path: Path) -> None:
    try:
        found = path.lstat()
    except FileNotFoundError:
        flags = os.O_CREAT | os.O_EXCL | os.O_RDWR | getattr(os, "O_NOFOLLOW", 0)
        try:
            os.close(os.open(path, flags, 0o600))
        except FileExistsError:
            pass  # another process was first; it made it private too
        except OSError as problem:
            raise os_trouble(path, problem) from None
        return
    if hasattr(os, "getuid") and found.st_uid == os.getuid() and stat.S_IMODE(found.st_mode) & 0o077:
        try:
            path.chmod(0o600)
        except OSError as problem:
            raise os_trouble(path, problem) from None


def os_trouble(path: Path, problem: OSError) -> StoreError:
    if problem.errno == 28:  # ENOSPC
        return StoreFull(f"No space left to write {path}.", hint="Free some space, then try again.")
    return StoreReadOnly(
        f"{path} cannot be written: {problem.strerror}.", hint="Check the folder's owner and permissions."
    )


_FULL = "Nothing was written and nothing is lost. Free some space, or `recollect purge` something."
# SQLite's errors, ours, what is said and what to do next; the first that fits.
_TROUBLES: tuple[tuple[tuple[type[apsw.Error], ...], type[RecollectError], str, str], ...] = (
    ((apsw.BusyError, apsw.LockedError), StoreBusy, "{} is held by another process.",
     "Nothing was written. Try again in a moment."),
    ((apsw.FullError,), StoreFull, "No space left to write {}.", _FULL),
    ((apsw.ReadOnlyError,), StoreReadOnly, "{} cannot be written.", "Check its owner and permissions."),
    ((apsw.CorruptError, apsw.NotADBError), StoreDamaged, "{} is damaged: {}.",
     "`recollect recover` brings back what can be read."),
    ((apsw.CantOpenError,), StoreReadOnly, "{} cannot be opened.", "Check its owner and permissions."),
    ((apsw.ConstraintError,), Conflict, "Other memories depend on this: {1}.",
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
        for kinds, error, said, hint in _TROUBLES:
            if isinstance(problem, kinds):
                raise error(said.format(where, problem), hint=hint) from None
        raise


def on_network_mount(path: Path) -> bool:
    """By the mount table; where there is none, no."""
    try:
        lines = Path("/proc/self/mounts").read_text(errors="replace").splitlines()
    except OSError:
        return False
    target = str(path.resolve())
    best = ("", "")
    for line in lines:
        parts = line.split(" ")
        if len(parts) < 3:
            continue
        point = parts[1].replace("\\040", " ").rstrip("/")
        if (target.startswith(point + "/") or not point) and len(point) >= len(best[0]):
            best = (point, parts[2])
    return best[1] in _NETWORK_MOUNTS


def sqlite_version() -> str:
    return apsw.sqlite_lib_version()
