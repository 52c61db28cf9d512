"""Reads what can still be read of a damaged file: only rows whose hash holds. Writes nothing to it."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import apsw

from recollect.base.errors import StoreDamaged
from recollect.model.memory import Bridge, Memory, Message
from recollect.store import rows

_MAGIC = b"SQLite format 3\x00"


class Salvaged(NamedTuple):
    memories: tuple[Memory, ...] = ()
    messages: tuple[Message, ...] = ()
    bridges: tuple[Bridge, ...] = ()
    aliases: tuple[tuple[str, str], ...] = ()
    removed: frozenset[str] = frozenset()  # deliberately, by the journal: not to be brought back


def salvage(path: Path) -> Salvaged:
    """Works on a copy with its log beside it, so that the evidence stays as it is."""
    import shutil
    import tempfile

    with tempfile.TemporaryDirectory(prefix="recollect-") as folder:
        copy = Path(folder) / "memory.db"
        for suffix in ("", "-wal"):
            source = path.with_name(path.name + suffix)
            if source.is_file():
                shutil.copyfile(source, copy.with_name(copy.name + suffix))
        with copy.open("r+b") as file:
            file.write(_MAGIC)  # SQLite refuses a file without it, although what follows may be sound
        try:
            db = apsw.Connection(str(copy))
        except apsw.Error:
            return Salvaged()
        with closing(db):
            return Salvaged(
                tuple(_read(db, "memory", rows.to_memory)),
                tuple(_read(db, "message", partial(rows.to_value, Message))),
                tuple(_read(db, "bridge", partial(rows.to_value, Bridge))),
                tuple(_read(db, "alias", tuple)),
                _removed(db),
            )


def _read(db: apsw.Connection, table: str, value_of: Callable[[Any], Any]) -> list[Any]:
    """From both ends: a bad page in the middle hides only what is on it."""
    order = {"bridge": "source", "alias": "old"}.get(table, "seq")
    found: dict[bytes, Any] = {}
    for direction in ("ASC", "DESC"):
        sql = f"SELECT {rows.select(table)}, hash FROM {table} NOT INDEXED ORDER BY {order} {direction}"  # noqa: S608
        try:
            for *cells, seal in db.execute(sql):
                if seal not in found and rows.seal(cells) == seal:
                    found[seal] = value_of(cells)
        except (apsw.Error, StoreDamaged, ValueError, TypeError):
            continue
    return list(found.values())


def _removed(db: apsw.Connection) -> frozenset[str]:
    gone: set[str] = set()
    for cells in sorted(_read(db, "journal", tuple), key=lambda cells: int(cells[1])):
        for change in json.loads(cells[5] or "[]"):
            if change["do"] == "create":
                gone.discard(change["id"])
            elif change["do"] == "remove":
                gone.add(change["memory"]["id"])
    return frozenset(gone)
