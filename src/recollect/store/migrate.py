"""Which version a database has, and how an older one becomes current.

schema.sql is the first version. Every later one is a migration: its own text, which reads neither schema.sql nor any
other part of today's program, so that it does in ten years what it does today. A new database is made the same way an
old one is brought up, the first version and then every migration, so both have the same schema to the letter and
`verify` can compare them.

An older program refuses a newer database and writes nothing, checked when it opens and again inside every
write transaction (servers live for days). A newer program takes a backup first, then applies each numbered
migration, all in one exclusive transaction: killed at any point, the file is as it was.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import apsw

from recollect.base.errors import Conflict, StoreForeign, StoreTooNew
from recollect.store import copies
from recollect.store.connect import APPLICATION_ID

# MIGRATIONS[n] brings version n + 1 to n + 2. It may drop what is derived: today's program rebuilds that after the
# last one. To the rest it only adds.
MIGRATIONS: tuple[Callable[[apsw.Connection], object], ...] = ()


def current_version() -> int:
    return 1 + len(MIGRATIONS)


def build(db: apsw.Connection) -> None:
    """The current schema in an empty database."""
    # Not by importlib.resources: that loads tempfile, shutil and lzma, and a daemon that starts is waited for.
    db.execute(Path(__file__).with_name("schema.sql").read_text(encoding="utf-8"))
    for migration in MIGRATIONS:
        migration(db)


def inspect(db: apsw.Connection, path: Path | None) -> int:
    """The file's version; 0 for an empty file. Refuses what is not ours to touch."""
    # In this order: while another process makes the file, what is seen later can only be more than before.
    empty = db.execute("SELECT count(*) FROM sqlite_schema").fetchall()[0][0] == 0
    ours = db.pragma("application_id") == APPLICATION_ID
    version = int(db.pragma("user_version"))
    if empty and not ours:
        return 0
    if not ours:
        raise StoreForeign(
            f"{path} is a database of another program.", hint="Move it away, or set RECOLLECT_HOME; it was not touched."
        )
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
        copies.copy_to(db, copies.free_name(path.parent / "backups", f"before-v{current_version()}"))
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


def refuse_other_version(db: apsw.Connection, path: Path | None) -> None:
    """Inside a write transaction."""
    version = inspect(db, path)
    if version != current_version():
        raise Conflict(
            f"{path} was replaced by an older database (schema {version}) while it was open.",
            hint="Nothing was written. Run the command again.",
        )
