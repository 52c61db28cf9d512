"""Versions of a database, and whole copies of it.

schema.sql is the first version. Every later one is a migration: its own text, independent of schema.sql and the rest of
today's program, so that it does in ten years what it does today. A new database is made the same way an old one is
brought up, so both have the same schema to the letter and `verify` can compare them.

An older program refuses a newer database, checked when it opens and again inside every write transaction (servers live
for days). A newer program takes a backup first, then applies all migrations in one exclusive transaction: killed at any
point, the file is as it was.
"""

import os
from collections.abc import Callable
from contextlib import closing
from itertools import count
from pathlib import Path

import apsw

from recollect.base.errors import StoreDamaged, StoreForeign, StoreFull, StoreTooNew
from recollect.base.files import make_private_folder
from recollect.store import rows
from recollect.store.connect import APPLICATION_ID, create_private, os_error

# MIGRATIONS[n] brings version n + 1 to n + 2. It may drop what is derived, which is rebuilt after the last one; to the
# rest it only adds.
MIGRATIONS: tuple[Callable[[apsw.Connection], object], ...] = ()


def current_version() -> int:
    return 1 + len(MIGRATIONS)


def build(db: apsw.Connection) -> None:
    """The current schema in an empty database."""
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
        raise StoreTooNew(
            f"{path} has schema version {version}; this Recollect knows no version after {current_version()}.",
            hint="Upgrade this Recollect; a file from before the first release cannot be used. Nothing was written.",
        )
    return version


def bring_up(db: apsw.Connection, path: Path | None, reindex: Callable[[], object]) -> None:
    """Creates or migrates as needed."""
    version = inspect(db, path)
    if version == current_version():
        return
    if version and path is not None:
        copy_to(db, free_name(path.parent / "backups", f"before-v{current_version()}"))
    db.execute("BEGIN EXCLUSIVE")
    try:
        version = inspect(db, path)  # another process may have been first
        if version == 0:
            build(db)
            db.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        else:
            for migration in MIGRATIONS[version - 1 :]:
                migration(db)
            reindex()
        db.execute(f"PRAGMA user_version = {current_version()}")
        db.execute("COMMIT")
    except BaseException:
        if db.in_transaction:
            db.execute("ROLLBACK")
        raise


def copy_to(db: apsw.Connection, target: Path) -> None:
    """A compact, consistent copy, which gets its final name only when it is whole and checked."""
    unfinished = target.with_name(target.name + ".unfinished")
    try:
        for missing in reversed([p for p in (target.parent, *target.parent.parents) if not p.exists()]):
            make_private_folder(missing)
        unfinished.unlink(missing_ok=True)
        create_private(unfinished)
        seen = db.pragma("data_version")
        db.execute("VACUUM INTO ?", (str(unfinished),))
        if not _is_whole_copy(db, unfinished) and db.pragma("data_version") == seen:  # nobody wrote meanwhile
            problem = "The backup does not hold what the database holds."
            raise StoreDamaged(problem, hint="`recollect verify` looks closer.")
        with unfinished.open("r+b") as written:
            os.fsync(written.fileno())
        unfinished.rename(target)
    except OSError as problem:
        raise os_error(target, problem) from None
    except apsw.FullError:
        raise StoreFull(f"No space left for the backup {target}.", hint="Nothing else was changed.") from None
    finally:
        unfinished.unlink(missing_ok=True)


def _is_whole_copy(db: apsw.Connection, copy: Path) -> bool:
    with closing(apsw.Connection(str(copy), flags=apsw.SQLITE_OPEN_READONLY)) as twin:
        if twin.execute("PRAGMA integrity_check(1)").fetchall()[0][0] != "ok":
            raise StoreDamaged("The backup is damaged.", hint="`recollect verify` looks closer.")
        # A database that is about to be migrated may lack some tables.
        tables = {name for (name,) in db.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")}
        counts = [f"SELECT count(*) FROM {table}" for table in rows.COLUMNS.keys() & tables]  # noqa: S608
        return all(twin.execute(sql).fetchall() == db.execute(sql).fetchall() for sql in counts)


def free_name(folder: Path, label: str) -> Path:
    """`memory-<label>.db`, with a number behind it where that is taken."""
    names = (f"memory-{label}{f'-{number}' if number > 1 else ''}.db" for number in count(1))
    return next(folder / name for name in names if not (folder / name).exists())
