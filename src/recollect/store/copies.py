"""Copies of a database: whole, compact, checked, and under their final name only then."""

from __future__ import annotations

import os
from pathlib import Path

import apsw

from recollect.base.errors import StoreDamaged, StoreFull
from recollect.base.files import make_private_folder
from recollect.store import rows
from recollect.store.connect import os_trouble


def copy_to(db: apsw.Connection, target: Path) -> None:
    """A compact, consistent copy under its final name only when it is whole and checked."""
    unfinished = target.with_name(target.name + ".unfinished")
    try:
        for missing in reversed([p for p in (target.parent, *target.parent.parents) if not p.exists()]):
            make_private_folder(missing)
        unfinished.unlink(missing_ok=True)
        os.close(os.open(unfinished, os.O_CREAT | os.O_EXCL | os.O_RDWR | getattr(os, "O_NOFOLLOW", 0), 0o600))
        seen = db.pragma("data_version")
        db.execute("VACUUM INTO ?", (str(unfinished),))
        _check_copy(db, unfinished, seen)
        with unfinished.open("r+b") as written:
            os.fsync(written.fileno())
        unfinished.rename(target)
    except OSError as problem:
        raise os_trouble(target, problem) from None
    except apsw.FullError:
        raise StoreFull(f"No space left for the backup {target}.", hint="Nothing else was changed.") from None
    finally:
        unfinished.unlink(missing_ok=True)


def _check_copy(db: apsw.Connection, copy: Path, seen: object) -> None:
    """`seen` is the database's version before: where others have written since, counts may differ."""
    twin = apsw.Connection(str(copy), flags=apsw.SQLITE_OPEN_READONLY)
    try:
        sound = twin.execute("PRAGMA integrity_check(1)").fetchall()[0][0] == "ok"
        # One that is about to be migrated has not yet every table.
        there = {name for (name,) in db.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")}
        same = all(_count(twin, table) == _count(db, table) for table in rows.COLUMNS.keys() & there)
        same = same or db.pragma("data_version") != seen
    finally:
        twin.close()
    if not (sound and same):
        raise StoreDamaged("The backup does not hold what the database holds.", hint="`recollect verify` looks closer.")


def _count(db: apsw.Connection, table: str) -> object:
    return db.execute(f"SELECT count(*) FROM {table}").fetchall()  # noqa: S608


def free_name(folder: Path, label: str) -> Path:
    """`memory-<label>.db`, with a number behind it where that is taken."""
    path = folder / f"memory-{label}.db"
    number = 2
    while path.exists():
        path = folder / f"memory-{label}-{number}.db"
        number += 1
    return path
