"""Which version a database has, and how an older one becomes current.

An older program refuses a newer database and writes nothing, checked when it opens and again inside every
write transaction (servers live for days). A newer program takes a backup first, then applies each numbered
migration, all in one exclusive transaction: killed at any point, the file is as it was.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import apsw

from recollect.base.errors import Conflict, StoreForeign, StoreTooNew
from recollect.store import care
from recollect.store.connect import APPLICATION_ID
from recollect.store.protocol import silent
from recollect.store.tokenizer import Analyse

Migration = Callable[[apsw.Connection, Analyse], None]

_DERIVED = "-- Derived from here on."
_OUTCOMES = "-- Outcomes, since version 3."


def _to_2(db: apsw.Connection, analyse: Analyse) -> None:
    """Sessions are new, and passages are cut smaller: what is derived is made anew. These parts of the schema as they
    stand; when they are changed, what version 2 had is to be kept here."""
    db.execute("DROP TABLE words; DROP VIEW passage_text; DROP TABLE vector; DROP TABLE IF EXISTS vector_count")
    db.execute("DROP TABLE term; DROP TABLE passage")
    db.execute(schema().partition(_DERIVED)[2].partition("\n")[2].partition(_OUTCOMES)[0])
    care.reindex(db, analyse, silent)


def _to_3(db: apsw.Connection, _analyse: Analyse) -> None:
    db.execute(schema().partition(_OUTCOMES)[2].partition("\n")[2])


def _to_4(_db: apsw.Connection, _analyse: Analyse) -> None:
    """The tables stay. A memory may carry an appreciation now, which an older program would take for damage."""


# MIGRATIONS[n] brings version n + 1 to n + 2. schema.sql is always the newest. What is derived may be rebuilt; to the
# rest a migration only adds.
MIGRATIONS: tuple[Migration, ...] = (_to_2, _to_3, _to_4)


def current_version() -> int:
    return 1 + len(MIGRATIONS)


def schema() -> str:
    # Not by importlib.resources: that loads tempfile, shutil and lzma, and a daemon that starts is waited for.
    return Path(__file__).with_name("schema.sql").read_text(encoding="utf-8")


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
            f"{path} is a database of another program.",
            hint="Move it away, or set RECOLLECT_HOME; it was not touched.",
        )
    if version > current_version():
        raise StoreTooNew(
            f"{path} was written by a newer Recollect (schema {version}, this one knows {current_version()}).",
            hint="Upgrade this Recollect. Nothing was written.",
        )
    return version


def bring_up(db: apsw.Connection, path: Path | None, analyse: Analyse) -> None:
    """Creates or migrates as needed."""
    version = inspect(db, path)
    if version == current_version():
        return
    if version and path is not None:
        care.copy_to(db, care.free_name(path.parent / "backups", f"before-v{current_version()}"))
    db.execute("BEGIN EXCLUSIVE")
    try:
        version = inspect(db, path)  # another process may have been first
        if version == 0:
            db.execute(schema())
            db.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        else:
            for migration in MIGRATIONS[version - 1 :]:
                migration(db, analyse)
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
