"""Reads what can still be read of a damaged file: only rows whose hash holds. Writes nothing to it."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import apsw

from recollect.base.errors import StoreDamaged
from recollect.model.memory import Bridge, Memory, Message
from recollect.store import rows


@dataclass(frozen=True, slots=True)
class Salvaged:
    memories: tuple[Memory, ...]
    messages: tuple[Message, ...]
    bridges: tuple[Bridge, ...]
    aliases: tuple[tuple[str, str], ...]
    removed: frozenset[str]  # gone on purpose, by the journal: not to be brought back


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
        _mend_first_bytes(copy)
        try:
            db = apsw.Connection(str(copy))
        except apsw.Error:
            return Salvaged((), (), (), (), frozenset())
        try:
            return Salvaged(
                tuple(_read(db, "memory", rows.to_memory)),
                tuple(_read(db, "message", partial(rows.to_value, Message))),
                tuple(_read(db, "bridge", partial(rows.to_value, Bridge))),
                tuple(_read(db, "alias", tuple)),
                _removed(db),
            )
        finally:
            db.close()


def _read(db: apsw.Connection, table: str, value_of: Any) -> list[Any]:
    """From both ends: a bad page in the middle hides only what lies on it."""
    order = {"bridge": "source", "alias": "old"}.get(table, "seq")
    found: dict[bytes, Any] = {}
    for direction in ("ASC", "DESC"):
        sql = f"SELECT {rows.select(table)}, hash FROM {table} NOT INDEXED ORDER BY {order} {direction}"  # noqa: S608
        try:
            for *cells, seal in db.execute(sql):
                if seal in found:
                    continue
                if rows.seal(cells) == seal:
                    found[seal] = value_of(cells)
        except (apsw.Error, StoreDamaged, ValueError, TypeError):
            continue
    return list(found.values())


def _removed(db: apsw.Connection) -> frozenset[str]:
    gone: set[str] = set()
    journal = sorted(_read(db, "journal", tuple), key=lambda cells: int(cells[1]))
    for cells in journal:
        for change in json.loads(cells[5] or "[]"):
            if change["do"] == "create":
                gone.discard(change["id"])
            elif change["do"] == "remove":
                gone.add(change["memory"]["id"])
    return frozenset(gone)


def _mend_first_bytes(copy: Path) -> None:
    """A database is known by its first bytes; what lies behind them may be sound without them."""
    magic = b"SQLite format 3\x00"
    with copy.open("r+b") as file:
        if file.read(len(magic)) != magic:
            file.seek(0)
            file.write(magic)
