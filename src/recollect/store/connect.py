"""Opens one database file safely (private, never through a symlink, WAL with synchronous=FULL but not on a network
mount), brings it to the current version, and reports in our own words what is wrong.

schema.sql is the first version, every later one a migration that depends on nothing else in the program. A new file is
made the same way an old one is brought up, so `verify` can compare their schemas to the letter. An older program
refuses a newer file; a newer one takes a backup first, then migrates in one transaction: killed at any point, the file
is as it was."""

import errno
import os
import stat
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from itertools import count
from pathlib import Path
from typing import NamedTuple

import apsw

from recollect.base import errors
from recollect.base.errors import (
    StoreDamaged,
    StoreError,
    StoreForeign,
    StoreFull,
    StoreReadOnly,
    StoreTooNew,
)
from recollect.base.files import make_private_folder
from recollect.store import rows


def _allow_team_lane(db: apsw.Connection) -> None:
    """Only the check of a column changes: to copy the table for it would take long."""
    db.execute("PRAGMA writable_schema = ON")
    old, new = "lane IN ('user', 'tool',", "lane IN ('user', 'team', 'tool',"
    db.execute(
        "UPDATE sqlite_schema SET sql = replace(sql, ?, ?) WHERE name = 'memory'", (old, new)
    )
    db.execute("PRAGMA writable_schema = RESET")


# MIGRATIONS[n] brings version n + 1 to n + 2. It may drop what is derived and then returns True: that is rebuilt after
# the last one. To the rest it only adds.
MIGRATIONS: tuple[Callable[[apsw.Connection], object], ...] = (_allow_team_lane,)
APPLICATION_ID = 0x5243_4C54  # "RCLT"
_NETWORK_MOUNTS = frozenset(
    {"nfs", "nfs4", "cifs", "smb3", "smbfs", "9p", "afs", "fuse.sshfs", "ncpfs"}
)


class Tuning(NamedTuple):
    """How a database is opened. The defaults are the product's; the crash benchmark varies the rest."""

    busy_timeout_ms: int = 15_000
    journal_days: float = 365
    synchronous: str = "FULL"
    vfs: str | None = None
    checkpoint_pages: int = 1_000


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


def connect(path: Path | None, tuning: Tuning, *, read_only: bool = False) -> apsw.Connection:
    """`None` opens an empty database in memory."""
    if path is not None:
        _prepare_file(path, read_only=read_only)
    with translated_errors(path):
        if path is None or not read_only:
            connection = apsw.Connection(str(path or ":memory:"), vfs=tuning.vfs)
        else:
            # A folder that cannot be written cannot hold WAL's helper files; without a WAL the file alone is opened.
            wal = path.with_name(path.name + "-wal")
            is_alone = not os.access(path.parent, os.W_OK) and not (
                wal.exists() and wal.stat().st_size
            )
            name = f"{path.absolute().as_uri()}{'?immutable=1' if is_alone else ''}"
            flags = apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI
            connection = apsw.Connection(name, flags=flags, vfs=tuning.vfs)
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


def _prepare_file(path: Path, *, read_only: bool) -> None:
    """Refuses what is not a regular file: a link would be followed, a pipe would hang. A writer gets a private one."""
    try:
        found = path.lstat()
        if not stat.S_ISREG(found.st_mode):
            what = "a symbolic link" if stat.S_ISLNK(found.st_mode) else "not a regular file"
            raise StoreForeign(
                f"{path} is {what}, not a database.", hint="Move it away; nothing was touched."
            )
        is_ours = hasattr(os, "getuid") and found.st_uid == os.getuid()
        if is_ours and stat.S_IMODE(found.st_mode) & 0o077 and not read_only:
            path.chmod(0o600)
    except FileNotFoundError:
        if not read_only:
            _create_private(path)
    except OSError as problem:
        if not read_only:
            raise _os_error(path, problem) from None


def _create_private(path: Path) -> None:
    try:
        os.close(
            os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR | getattr(os, "O_NOFOLLOW", 0), 0o600)
        )
    except FileExistsError:
        pass  # another process was first; it made it private, too
    except OSError as problem:
        raise _os_error(path, problem) from None


def _os_error(path: Path, problem: OSError) -> StoreError:
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
    ((apsw.CorruptError, apsw.NotADBError), StoreDamaged, "{} is damaged: {}.",
     "`recollect recover` brings back what can be read."),
    ((apsw.CantOpenError,), StoreReadOnly, "{} cannot be opened.", "Check its owner and permissions."),
    ((apsw.ConstraintError,), errors.Conflict, "Other memories depend on this: {1}.",
     "Undo the later change first (`recollect log`)."),
    ((apsw.IOError, apsw.PermissionsError, apsw.NoMemError, apsw.TooBigError), StoreError, "{}: {}.",
     "`recollect doctor` looks for the cause."),
)  # fmt: skip


@contextmanager
def translated_errors(path: Path | None) -> Iterator[None]:
    try:
        yield
    except apsw.Error as problem:
        where = path or "the database in memory"
        if (
            getattr(problem, "extendedresult", 0) == apsw.SQLITE_IOERR_SHMSIZE
        ):  # no room for WAL's shared memory
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
    target, nearest = str(path.resolve()), ("", "")
    for _, folder, kind, *_ in (line.split(" ", 3) for line in lines if line.count(" ") > 1):
        folder = folder.replace("\\040", " ").rstrip("/")
        if target.startswith(f"{folder}/") and len(folder) >= len(
            nearest[0]
        ):  # of equals the last covers the others
            nearest = (folder, kind)
    return nearest[1] in _NETWORK_MOUNTS


def current_version() -> int:
    return 1 + len(MIGRATIONS)


def build(db: apsw.Connection) -> None:
    # Not by importlib.resources: that loads tempfile, shutil and lzma, which would delay the daemon's start.
    db.execute(Path(__file__).with_name("schema.sql").read_text(encoding="utf-8"))
    for migration in MIGRATIONS:
        migration(db)


def inspect(db: apsw.Connection, path: Path | None) -> int:
    """The file's version; 0 for an empty file. Refuses a file that is not ours."""
    # In this order: while another process makes the file, what is seen later can only be more than before.
    is_empty = db.execute("SELECT count(*) FROM sqlite_schema").fetchall()[0][0] == 0
    is_ours = db.pragma("application_id") == APPLICATION_ID
    version = int(db.pragma("user_version"))
    if not is_ours and is_empty:
        return 0
    if not is_ours:
        hint = "Move it away, or set RECOLLECT_HOME; it was not touched."
        raise StoreForeign(f"{path} is a database of another program.", hint=hint)
    if version > current_version():
        message = f"{path} has schema version {version}; this Recollect knows no version after {current_version()}."
        hint = "Upgrade this Recollect; a file from before the first release cannot be used. Nothing was written."
        raise StoreTooNew(message, hint=hint)
    return version


def bring_up(
    db: apsw.Connection, path: Path | None, timeout_ms: int, reindex: Callable[[], object]
) -> bool:
    """Makes the file a current one, in WAL mode, whatever it was; one that is not ours is refused before any write.
    Whether it was one of an older version."""
    inspect(db, path)
    mode = "delete" if path is not None and on_network_mount(path) else "wal"
    patience = _Patience(timeout_ms)
    for tries in count():
        try:
            db.execute(f"PRAGMA journal_mode = {mode}").fetchall()
            break
        except apsw.BusyError:  # this pragma alone does not ask the busy handler
            if not patience(tries):
                raise
    version = inspect(db, path)
    if version == current_version():
        return False
    if version and path is not None:
        copy_to(db, free_name(path.parent / "backups", f"before-v{current_version()}"))
    db.execute("BEGIN EXCLUSIVE")
    try:
        version = inspect(db, path)  # another process may have been first
        if version == 0:
            build(db)
            db.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        else:
            drops = [migration(db) for migration in MIGRATIONS[version - 1 :]]
            if any(drops):
                reindex()
        db.execute(f"PRAGMA user_version = {current_version()}")
        db.execute("COMMIT")
    except BaseException:
        if db.in_transaction:
            db.execute("ROLLBACK")
        raise
    return version > 0


def copy_to(db: apsw.Connection, target: Path) -> None:
    """A compact, consistent copy, which gets its final name only when it is whole and checked."""
    unfinished = target.with_name(target.name + ".unfinished")
    try:
        for missing in reversed(
            [p for p in (target.parent, *target.parent.parents) if not p.exists()]
        ):
            make_private_folder(missing)
        unfinished.unlink(missing_ok=True)
        _create_private(unfinished)
        seen = db.pragma("data_version")
        db.execute("VACUUM INTO ?", (str(unfinished),))
        with closing(apsw.Connection(str(unfinished), flags=apsw.SQLITE_OPEN_READONLY)) as copy:
            if copy.execute("PRAGMA integrity_check(1)").fetchall()[0][0] != "ok":
                raise StoreDamaged(
                    "The backup is damaged.", hint="`recollect verify` looks closer."
                )
            # A database that is about to be migrated may lack some tables.
            tables = {
                name
                for (name,) in db.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")
            }
            counts = [f"SELECT count(*) FROM {table}" for table in rows.COLUMNS.keys() & tables]  # noqa: S608
            is_whole = all(
                copy.execute(sql).fetchall() == db.execute(sql).fetchall() for sql in counts
            )
        if not is_whole and db.pragma("data_version") == seen:  # nobody wrote meanwhile
            problem = "The backup does not hold what the database holds."
            raise StoreDamaged(problem, hint="`recollect verify` looks closer.")
        with unfinished.open("r+b") as written:
            os.fsync(written.fileno())
        unfinished.rename(target)
    except OSError as problem:
        raise _os_error(target, problem) from None
    except apsw.FullError:
        raise StoreFull(
            f"No space left for the backup {target}.", hint="Nothing else was changed."
        ) from None
    finally:
        unfinished.unlink(missing_ok=True)


def free_name(folder: Path, label: str) -> Path:
    """`memory-<label>.db`, with a number behind it where that is taken."""
    names = (f"memory-{label}{f'-{number}' if number > 1 else ''}.db" for number in count(1))
    return next(folder / name for name in names if not (folder / name).exists())
