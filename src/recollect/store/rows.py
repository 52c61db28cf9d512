"""Values to rows and back, each row with a hash of its values.

The JSON form of model.codec is the shape; times become integers so that they can be compared, lists
stay JSON. What only one kind has goes into `own`, and so does what came later and most memories lack.
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
    encode_bridge,
    encode_memory,
    encode_message,
)
from recollect.model.memory import KINDS, Anchor, Kind, Lane, Memory, Message, Rating, RuleType, Status

EARLIEST, LATEST = -62_135_596_800_000_000, 253_402_300_799_999_999  # years 1 to 9999, in microseconds
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
RECALL = ("id", "at", "answer")
SESSION = ("id", "agent", "host", "started_at", "last_at", "number", "epoch")
SHOWN = ("session", "agent", "epoch", "way", "memory", "at", "call")
STATE = ("name", "value")
EVENT = ("key", "name", "host", "session", "agent", "prompt", "calls", "source", "transcript", "size", "cwd", "at")
ACT = ("key", "change")
OUTCOME = ("key", "kind", "at", "session", "act", "agent", "actor", "action", "next_state", "tags", "shown")
COLUMNS = {"recall": RECALL, "memory": MEMORY, "message": MESSAGE, "bridge": BRIDGE, "alias": ALIAS, "journal": JOURNAL,
           "session": SESSION, "shown": SHOWN, "state": STATE, "event": EVENT, "act": ACT,
           "outcome": OUTCOME}  # fmt: skip
KEYS = {"memory": ("id",), "message": ("id",), "bridge": ("source", "target", "type"), "alias": ("old",),
        "journal": ("seq",), "recall": ("id",), "session": ("id", "agent"), "shown": SHOWN[:5], "state": ("name",),
        "event": ("key",), "act": ("key",),
        "outcome": ("key",)}  # fmt: skip

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


def update_some_sql(table: str, names: Sequence[str]) -> str:
    """By the row's number."""
    listed = ", ".join(f'"{n}" = ?' for n in names)
    return f"UPDATE {table} SET {listed}, hash = ? WHERE seq = ?"  # noqa: S608


def seal(cells: Sequence[Cell]) -> bytes:
    """Every cell with its length before it, so that no two rows are spelt alike."""
    if bytes in map(type, cells):
        spelt = [cell if isinstance(cell, bytes) else repr(cell).encode() for cell in cells]
        whole = b"".join([b"%d:%b" % (len(one), one) for one in spelt])
    else:  # most rows: spelt as text and encoded once
        said = map(repr, cells)
        whole = "".join([f"{len(one) if one.isascii() else len(one.encode())}:{one}" for one in said]).encode()
    return hashlib.blake2b(whole, digest_size=8).digest()


def sealed(cells: Sequence[Cell]) -> tuple[Cell, ...]:
    return (*cells, seal(cells))


_UNJUDGED: dict[str, Json] = {"outcomes": "", "appreciation": 0.0}
"""Left out of a row where they say nothing, as of most memories; `reads.judged` looks for those that have them."""


def memory_cells(memory: Memory) -> tuple[Cell, ...]:
    return cells_of(encode_memory(memory))


def cells_of(data: Mapping[str, Json]) -> tuple[Cell, ...]:
    own = {name: value for name, value in data.items() if name not in MEMORY and (name not in _UNJUDGED or value)}
    return tuple(canonical(own) if name == "own" else field_cell(name, data[name]) for name in MEMORY)


def memory_json(cells: Sequence[Any]) -> dict[str, Json]:
    data = {name: field_json(name, cell) for name, cell in zip(MEMORY, cells, strict=True)}
    own: dict[str, Json] = json.loads(str(data.pop("own")))
    return {**_UNJUDGED, **data, **own}


def to_memory(cells: Sequence[Any]) -> Memory:
    """Straight from the cells: this runs for every hit of every question. What a person or a file gives goes
    through the strict codec instead."""
    try:
        return _memory(*cells)
    except (ValueError, AttributeError, TypeError, KeyError, OverflowError) as problem:
        raise StoreDamaged(
            f"The memory {cells[0]!r} cannot be read: {problem}", hint="`recollect verify` names what is damaged."
        ) from None


def _memory(
    id: str, kind: str, title: str, body: str, topics: str, tags: str, status: str, weight: float, pinned: int,
    boost: float, seen: int, frequency: int, last_session: int, activations: int, ratings: str, origin: str,
    lane: str, superseded_by: str | None, group: str, anchors: str, created_at: int, reinforced_at: int,
    last_active_at: int, own: str,
) -> Memory:  # fmt: skip
    which = Kind(kind)
    only: dict[str, Any] = json.loads(own)
    if "drift" in only:
        only["drift"] = tuple(only["drift"])
    if "rule_type" in only:
        only["rule_type"] = RuleType(only["rule_type"])
    return KINDS[which](
        id=_text(id), title=_text(title), body=_text(body), topics=_texts(topics), tags=_texts(tags),
        status=Status(status), weight=float(weight), pinned=bool(pinned), boost=float(boost), seen=int(seen),
        frequency=int(frequency), last_session=int(last_session), activations=int(activations),
        ratings=_ratings(ratings), origin=_text(origin), lane=Lane(lane), superseded_by=superseded_by,
        group=_text(group), anchors=_anchors(anchors), created_at=_moment(created_at),
        reinforced_at=_moment(reinforced_at), last_active_at=_moment(last_active_at), **only,
    )  # fmt: skip


def _text(cell: Any) -> str:
    if not isinstance(cell, str):
        raise TypeError(f"a text is wanted, not {type(cell).__name__}")
    return cell


def _texts(cell: str) -> tuple[str, ...]:
    return () if cell == "[]" else tuple(_text(part) for part in json.loads(cell))


def _ratings(cell: str) -> tuple[Rating, ...]:
    if cell == "[]":
        return ()
    return tuple(Rating(bool(r["useful"]), Moment.parse(r["timestamp"]), r["reason"]) for r in json.loads(cell))


def _anchors(cell: str) -> tuple[Anchor, ...]:
    return () if cell == "[]" else tuple(Anchor(a["path"], a["hash"]) for a in json.loads(cell))


def _moment(cell: int) -> Moment:
    if not EARLIEST <= cell <= LATEST:
        raise ValueError(f"{cell} is no time")
    return Moment(cell)


def message_cells(message: Message) -> tuple[Cell, ...]:
    return tuple(field_cell(name, encode_message(message)[name]) for name in MESSAGE)


def to_message(cells: Sequence[Any]) -> Message:
    """Straight from the cells, as `to_memory`: a turn that goes on reads every message of its thread."""
    id, thread_id, at, source, content = cells
    for cell in (id, thread_id, source, content):
        if not isinstance(cell, str):
            raise ValueError(f"{cell!r} is no text")
    return Message(id, thread_id, _moment(at), source, content)


def bridge_cells(bridge: Bridge) -> tuple[Cell, ...]:
    return tuple(field_cell(name, encode_bridge(bridge)[name]) for name in BRIDGE)


def to_bridge(cells: Sequence[Any]) -> Bridge:
    return decode_bridge({n: _json(n, c) for n, c in zip(BRIDGE, cells, strict=True)})


def field_json(name: str, cell: Any) -> Json:
    """One field of a memory."""
    return bool(cell) if name == "pinned" else _json(name, cell)


def field_cell(name: str, value: Json) -> Cell:
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
