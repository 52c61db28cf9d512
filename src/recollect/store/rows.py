"""Values to rows and back, each row with a hash of its values.

The JSON form of model.codec is the shape; times become integers so that they can be compared, lists
stay JSON. What only one kind has goes into `own`.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any

from recollect.base.errors import StoreDamaged
from recollect.base.moment import Moment
from recollect.model.bridge import Bridge
from recollect.model.codec import (
    Json,
    canonical,
    decode_bridge,
    decode_memory,
    decode_message,
    encode_bridge,
    encode_memory,
    encode_message,
)
from recollect.model.memory import Memory, Message

_TIMES = frozenset({"created_at", "reinforced_at", "last_active_at", "at"})
_REALS = frozenset({"weight", "boost"})
_LISTS = frozenset({"topics", "tags", "ratings", "anchors"})
MEMORY = (
    "id", "kind", "title", "body", "topics", "tags", "status", "weight", "pinned", "boost", "seen", "frequency",
    "last_session", "activations", "ratings", "origin", "lane", "superseded_by", "group", "anchors", "created_at",
    "reinforced_at", "last_active_at", "own",
)  # fmt: skip
MESSAGE = ("id", "thread_id", "at", "source", "content")
BRIDGE = ("source", "target", "type", "weight", "created_at", "origin")
ALIAS = ("old", "new")
JOURNAL = ("change", "at", "op", "actor", "summary", "plan", "undoes")
COLUMNS = {"memory": MEMORY, "message": MESSAGE, "bridge": BRIDGE, "alias": ALIAS, "journal": JOURNAL}
KEYS = {"memory": ("id",), "message": ("id",), "bridge": ("source", "target", "type"), "alias": ("old",),
        "journal": ("seq",)}  # fmt: skip

Cell = str | int | float | bytes | None


def select(table: str, *, prefix: str = "") -> str:
    dot = f"{prefix}." if prefix else ""
    return ", ".join(f'{dot}"{name}"' for name in COLUMNS[table])


def insert_sql(table: str) -> str:
    names = COLUMNS[table]
    listed = ", ".join(f'"{n}"' for n in names)
    return f"INSERT INTO {table} ({listed}, hash) VALUES ({', '.join('?' * (len(names) + 1))})"  # noqa: S608


def update_sql(table: str) -> str:
    names = ", ".join(f'"{n}" = ?' for n in COLUMNS[table])
    where = " AND ".join(f'"{k}" = ?' for k in KEYS[table])
    return f"UPDATE {table} SET {names}, hash = ? WHERE {where}"  # noqa: S608


def seal(cells: Sequence[Cell]) -> bytes:
    """Every cell with its length before it, so that no two rows are spelt alike."""
    digest = hashlib.blake2b(digest_size=8)
    for cell in cells:
        spelt = cell if isinstance(cell, bytes) else repr(cell).encode()
        digest.update(b"%d:" % len(spelt))
        digest.update(spelt)
    return digest.digest()


def sealed(cells: Sequence[Cell]) -> tuple[Cell, ...]:
    return (*cells, seal(cells))


def memory_cells(memory: Memory) -> tuple[Cell, ...]:
    return cells_of(encode_memory(memory))


def cells_of(data: Mapping[str, Json]) -> tuple[Cell, ...]:
    own = {name: value for name, value in data.items() if name not in MEMORY}
    return tuple(canonical(own) if name == "own" else _cell(name, data[name]) for name in MEMORY)


def memory_json(cells: Sequence[Any]) -> dict[str, Json]:
    data = {name: _json(name, cell) for name, cell in zip(MEMORY, cells, strict=True)}
    own: dict[str, Json] = json.loads(str(data.pop("own")))
    data["pinned"] = bool(data["pinned"])
    return data | own


def to_memory(cells: Sequence[Any]) -> Memory:
    try:
        return decode_memory(memory_json(cells))
    except (ValueError, AttributeError, TypeError, OverflowError) as problem:
        raise StoreDamaged(
            f"The memory {cells[0]!r} cannot be read: {problem}",
            hint="`recollect verify` names what is damaged.",
        ) from None


def message_cells(message: Message) -> tuple[Cell, ...]:
    return tuple(_cell(name, encode_message(message)[name]) for name in MESSAGE)


def to_message(cells: Sequence[Any]) -> Message:
    return decode_message({n: _json(n, c) for n, c in zip(MESSAGE, cells, strict=True)})


def bridge_cells(bridge: Bridge) -> tuple[Cell, ...]:
    return tuple(_cell(name, encode_bridge(bridge)[name]) for name in BRIDGE)


def to_bridge(cells: Sequence[Any]) -> Bridge:
    return decode_bridge({n: _json(n, c) for n, c in zip(BRIDGE, cells, strict=True)})


def _cell(name: str, value: Json) -> Cell:
    if name in _TIMES:
        return Moment.parse(str(value)).micros
    if name in _LISTS:
        return canonical(value)
    if name in _REALS and isinstance(value, int | float):
        return float(value)
    if isinstance(value, bool):
        return int(value)
    if isinstance(value, list | dict):
        raise TypeError(f"{name} is no list")
    return value


def _json(name: str, cell: Any) -> Json:
    if name in _TIMES:
        return Moment(int(cell)).iso()
    if name in _LISTS:
        parsed: Json = json.loads(cell)
        return parsed
    return cell  # type: ignore[no-any-return]
