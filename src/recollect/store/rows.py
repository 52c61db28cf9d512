"""Values to rows and back, each row with a hash of its values.

Columns have the names of the values' fields, and a cell follows from the field's type: times become integers so that
they can be compared, lists become JSON. Fields of one kind of memory, and those that most memories lack, go into `own`.
"""

import json
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, TypeVar, cast, get_origin, get_type_hints

from recollect.base.errors import StoreDamaged
from recollect.base.moment import Moment
from recollect.base.text import blake2b
from recollect.model.codec import FIELDS, FIELDS_OF, canonical, decoder, encode
from recollect.model.memory import KINDS, Bridge, Count, Kind, Memory, Message
from recollect.model.plan import Alias
from recollect.model.session import (
    Outcome,
    Pointer,
    ReadAct,
    RecallRecord,
    Session,
    ShownMemory,
    StateRecord,
)

EARLIEST, LATEST = (
    -62_135_596_800_000_000,
    253_402_300_799_999_999,
)  # years 1 to 9999, in microseconds
Cell = str | int | float | bytes | None
T = TypeVar("T")

_SHARED = [one.name for one in FIELDS_OF[Kind.THREAD] if one.column]
COLUMNS: dict[str, tuple[str, ...]] = {
    "recall": ("id", "at", "answer"),
    "memory": ("id", "kind", *_SHARED[1:], "own"),
    "message": ("id", "thread_id", "at", "source", "content"),
    "bridge": ("source", "target", "type", "weight", "created_at", "origin"),
    "alias": ("old", "new"),
    "journal": ("change", "at", "op", "actor", "summary", "plan", "undoes"),
    "session": ("id", "agent", "host", "started_at", "last_at", "number", "epoch"),
    "shown": ("session", "agent", "epoch", "way", "memory", "at", "call"),
    "state": ("name", "value"),
    "event": (
        "key", "name", "host", "session", "agent", "prompt", "calls", "source", "transcript", "size", "cwd", "at",
    ),
    "act": ("key", "change"),
    "vector": ("model", "data"),
    "outcome": ("key", "kind", "at", "session", "act", "agent", "actor", "action", "next_state", "tags", "shown"),
}  # fmt: skip
KEYS: dict[str, tuple[str, ...]] = {
    "recall": ("id",), "memory": ("id",), "message": ("id",), "bridge": ("source", "target", "type"),
    "alias": ("old",), "journal": ("seq",), "session": ("id", "agent"), "shown": COLUMNS["shown"][:5],
    "state": ("name",), "event": ("key",), "act": ("key",), "outcome": ("key",), "vector": ("passage_seq",),
}  # fmt: skip
TABLES: dict[type[Any], str] = {
    Message: "message", Bridge: "bridge", Alias: "alias", Pointer: "event", Outcome: "outcome", Session: "session",
    ShownMemory: "shown", RecallRecord: "recall", ReadAct: "act", StateRecord: "state",
    **dict.fromkeys((Memory, *KINDS.values()), "memory"),
}  # fmt: skip


def key_of(value: Any) -> tuple[str, ...]:
    return tuple([str(getattr(value, name)) for name in KEYS[TABLES[type(value)]]])


def select(table: str, *, prefix: str = "") -> str:
    return ", ".join(f'{prefix}"{name}"' for name in COLUMNS[table])


@cache
def insert_sql(table: str, *, replace: bool = False) -> str:
    verb, places = (
        "INSERT OR REPLACE" if replace else "INSERT",
        ", ".join("?" * len(COLUMNS[table])),
    )
    return f"{verb} INTO {table} ({select(table)}, hash) VALUES ({places}, ?)"


def where(table: str) -> str:
    return "WHERE " + " AND ".join(f'"{name}" = ?' for name in KEYS[table])


@cache
def update_sql(table: str) -> str:
    """All cells and the hash, then the key. The key is not set: others refer to it, and in a transaction with parts
    SQLite would take milliseconds to be ready to take each row back."""
    cells = enumerate((*COLUMNS[table], "hash"), 1)
    changed = ", ".join(f'"{name}" = ?{place}' for place, name in cells if name not in KEYS[table])
    return f"UPDATE {table} SET {changed} {where(table)}"  # noqa: S608


@cache
def update_plain_sql(names: tuple[str, ...]) -> str:
    """New cells of these columns, then what they must be now, then the memories' ids as JSON; gives the ids of those
    that were so. `seal` is a function of the connection."""
    new = {name: f"?{place}" for place, name in enumerate(names, 1)}
    changed = ", ".join(f'"{name}" = {value}' for name, value in new.items())
    sealed = ", ".join(new.get(name, f'"{name}"') for name in COLUMNS["memory"])
    as_before = " AND ".join(
        f'"{name}" IS ?{place}' for place, name in enumerate(names, len(names) + 1)
    )
    return f"""UPDATE memory SET {changed}, hash = seal({sealed})
               WHERE id IN (SELECT value FROM json_each(?{2 * len(names) + 1})) AND {as_before} RETURNING id"""  # noqa: S608


def seal(cells: Sequence[Cell]) -> bytes:
    """Every cell with its length before it, so that no two rows are spelt alike."""
    spelt = [cell if isinstance(cell, bytes) else repr(cell).encode() for cell in cells]
    whole = b"".join([b"%d:%b" % (len(one), one) for one in spelt])
    return blake2b(whole, digest_size=8).digest()


def sealed(cells: Sequence[Cell]) -> tuple[Cell, ...]:
    return (*cells, seal(cells))


@cache
def _converters(kind: Any) -> tuple[Callable[[Any], Cell], Callable[[Any], Any]]:
    """How a value of this type is written into a cell and read from it. Lenient and direct: this runs for every hit of
    every question. What a person or a file gives goes through the strict codec instead."""
    if kind is Moment:
        return lambda value: int(value.micros), _moment
    if get_origin(kind) is tuple:
        parse = decoder(kind)
        return lambda value: canonical(
            encode(value)
        ), lambda cell: () if cell == "[]" else parse(json.loads(cell))
    if not isinstance(kind, type):  # a count, or a text or None
        return (int, int) if kind is Count else (lambda value: value, lambda cell: cell)
    if kind is str:
        return str, _text
    write: Any = int if kind is bool else str if issubclass(kind, str) else kind
    return write, kind


def _text(cell: Any) -> str:
    if not isinstance(cell, str):
        raise TypeError(f"expected a text, not {type(cell).__name__}")
    return cell


def _moment(cell: int) -> Moment:
    if not EARLIEST <= cell <= LATEST:
        raise ValueError(f"{cell} is not a time")
    return Moment(cell)


WRITERS = {name: _converters(one.type)[0] for name, one in FIELDS.items()}
READERS = {name: _converters(one.type)[1] for name, one in FIELDS.items()}
_OWN = {name: decoder(one.type) for name, one in FIELDS.items() if not one.column}


@cache
def _columns(kind: Any) -> tuple[tuple[str, Callable[[Any], Cell], Callable[[Any], Any]], ...]:
    hints = get_type_hints(kind)
    names = [
        "mark" if kind is ShownMemory and name == "memory" else name
        for name in COLUMNS[TABLES[kind]]
    ]
    return tuple((name, *_converters(hints.get(name, str))) for name in names)


def cells_of(value: Any) -> tuple[Cell, ...]:
    if not isinstance(value, Memory):
        return tuple(
            [write(getattr(value, name)) for name, write, _ in _columns(cast(Any, type(value)))]
        )
    fields = FIELDS_OF[value.kind]
    own = {one.name: getattr(value, one.name) for one in fields if not one.column}
    sparse = {one.name for one in fields if one.used or one.optional}
    kept = canonical(
        {name: encode(held) for name, held in own.items() if held or name not in sparse}
    )
    cells = [WRITERS[one.name](getattr(value, one.name)) for one in fields if one.column]
    return (cells[0], str(value.kind), *cells[1:], kept)


def to_value(kind: type[T], cells: Sequence[Any]) -> T:
    if TABLES[kind] != "memory":
        values = {
            name: read(cell)
            for (name, _, read), cell in zip(_columns(cast(Any, kind)), cells, strict=True)
        }
        if kind is not ReadAct:
            values.pop("key", None)  # made of the others
        return kind(**values)
    try:
        id, made, *others, own = cells
        read = {name: READERS[name](cell) for name, cell in zip(_SHARED[1:], others, strict=True)}
        more = {name: _OWN[name](value) for name, value in json.loads(own).items()}
        return cast(T, KINDS[Kind(made)](id=_text(id), **read, **more))
    except (ValueError, AttributeError, TypeError, KeyError, OverflowError) as problem:
        hint = "`recollect verify` names what is damaged."
        raise StoreDamaged(
            f"The memory {cells[0]!r} cannot be read: {problem}", hint=hint
        ) from None
