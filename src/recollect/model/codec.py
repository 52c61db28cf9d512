"""Values as plain JSON, and back, by their types alone: dataclasses, NamedTuples, enums, moments, and lists, dicts and
sets of them. One mechanism for the database, the journal, exports, session state and answers.

A memory's fields are described once, in model/memory.py; FIELDS is that description as a table.

A dataclass becomes an object, a NamedTuple a list; one whose JSON has another shape says so itself (`as_json`).
Decoding is strict, because imported files come this way: it raises ValueError, naming the field. What a dataclass has a
default for may be missing; what it does not know may not be there.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable, Mapping, Set
from dataclasses import MISSING, fields, is_dataclass
from enum import StrEnum
from functools import cache
from types import NoneType, UnionType
from typing import Any, NamedTuple, TypeVar, Union, cast, get_args, get_origin, get_type_hints

from recollect.base.moment import Moment
from recollect.model.memory import KINDS, Count, Kind, Marks, Memory

Json = str | int | float | bool | None | list["Json"] | dict[str, "Json"]
Decoder = Callable[[Any], Any]
T = TypeVar("T")
_MOST = 2**53  # what every reader of JSON can hold
_KEEP = frozenset({str, int, float, bool, NoneType})


def encode(value: Any) -> Any:
    kind: Any = type(value)
    if kind in _KEEP:
        return value
    if kind is Moment:
        return value.iso()
    if isinstance(value, str):
        return str(value)
    if isinstance(value, tuple | list | Set):
        return [encode(one) for one in value]
    if is_dataclass(value):
        if hasattr(kind, "as_json"):
            return kind.as_json(value)
        said = {"kind": str(value.kind)} if isinstance(value, Memory) else {}
        return said | {name: encode_field(value, name) for name in _names(kind)}
    if isinstance(value, Mapping):
        return {str(key): encode(one) for key, one in value.items()}
    raise TypeError(f"{kind.__name__} has no JSON form")


def encode_field(value: Any, name: str) -> Any:
    one = getattr(value, name)
    return one if type(one) in _KEEP else encode(one)


def decode(kind: type[T], data: Any) -> T:
    read: Callable[[Any], T] = decoder(cast(Any, kind))
    return read(data)


def canonical(value: Json) -> str:
    """One spelling for one value: what hashes are made of."""
    return json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"))


def take(data: Any, name: str, parse: Decoder) -> Any:
    """One field of an object."""
    if not isinstance(data, Mapping):
        raise ValueError(f"an object is wanted, not {type(data).__name__}")
    if name not in data:
        raise ValueError(f"{name}: missing")
    try:
        return parse(data[name])
    except (ValueError, TypeError, OverflowError, KeyError) as problem:
        raise ValueError(f"{name}: {problem}") from None


@cache
def decoder(kind: Any) -> Decoder:
    """What reads this type out of JSON."""
    origin, parts = get_origin(kind), get_args(kind)
    if kind in _SIMPLE:
        return _SIMPLE[kind]
    if kind is Memory:
        return decode_memory
    if origin is Mapping:  # JSON itself
        return _object
    if origin in (Union, UnionType):
        [only] = [part for part in parts if part is not NoneType]
        inner = decoder(only)
        return lambda data: None if data is None else inner(data)
    if origin is tuple and parts[-1] is not ...:
        return _row(tuple, tuple(map(decoder, parts)))
    if origin in (tuple, list, frozenset):
        one = decoder(parts[0])
        return lambda data: origin([one(part) for part in _list(data)])
    if origin is dict:
        key, inner = decoder(parts[0]), decoder(parts[1])
        return lambda data: {key(name): inner(part) for name, part in _object(data).items()}
    if isinstance(kind, type) and issubclass(kind, StrEnum):
        return kind
    if isinstance(kind, type) and issubclass(kind, tuple):
        hints = get_type_hints(kind, include_extras=True)
        return _row(lambda cells: kind(*cells), tuple(decoder(hint) for hint in hints.values()))
    if is_dataclass(kind):
        return _dataclass(kind)
    raise TypeError(f"{kind} has no JSON form")


def _dataclass(kind: Any) -> Decoder:
    hints = get_type_hints(kind, include_extras=True)
    known = {one.name: decoder(hints[one.name]) for one in fields(kind)}
    needed = [one.name for one in fields(kind) if one.default is MISSING and one.default_factory is MISSING]

    def read(data: Any) -> Any:
        for name in (*needed, *_object(data).keys()):
            if name not in data:
                raise ValueError(f"{name}: missing")
            if name not in known:
                raise ValueError(f"{name}: no such field")
        return kind(**{name: take(data, name, known[name]) for name in data})

    return read


def _row(make: Decoder, cells: tuple[Decoder, ...]) -> Decoder:
    def read(data: Any) -> Any:
        if len(_list(data)) != len(cells):
            raise ValueError(f"a list of {len(cells)} is wanted")
        return make([cell(part) for cell, part in zip(cells, data, strict=True)])

    return read


@cache
def _names(kind: Any) -> tuple[str, ...]:
    return tuple(one.name for one in fields(kind))


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError(f"a text is wanted, not {type(value).__name__}")
    return value


def _flag(value: Any) -> bool:
    if not isinstance(value, bool):
        raise ValueError(f"true or false is wanted, not {value!r}")
    return value


def _whole(value: Any) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not -(2**63) <= value < 2**63:
        raise ValueError(f"a whole number is wanted, not {value!r}")
    return value


def _count(value: Any) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < _MOST:
        raise ValueError(f"a whole number from 0 is wanted, not {value!r}")
    return value


def _marks(value: Any) -> str:
    if set(_text(value)) - {"+", "-"}:
        raise ValueError(f"only + and - are wanted, not {value!r}")
    return str(value)


def _figure(value: Any) -> float:
    if not isinstance(value, int | float) or isinstance(value, bool) or not math.isfinite(value):
        raise ValueError(f"a finite number is wanted, not {value!r}")
    return float(value)


def _moment(value: Any) -> Moment:
    moment = Moment.parse(_text(value))
    moment.iso()  # an offset can push the last day of the calendar past its end
    return moment


def _list(value: Any) -> list[Any]:
    if not isinstance(value, list):
        raise ValueError(f"a list is wanted, not {type(value).__name__}")
    return value


def _object(value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise ValueError(f"an object is wanted, not {type(value).__name__}")
    return value


_SIMPLE: dict[Any, Decoder] = {
    str: _text, bool: _flag, int: _whole, Count: _count, Marks: _marks, float: _figure, Moment: _moment,
}  # fmt: skip


class Field(NamedTuple):
    """One field of a memory."""

    name: str
    type: Any
    decode: Decoder
    used: bool  # counted as memories are used: no part of the content's hash
    made: bool  # never anyone's words: not redacted
    column: bool  # it has a column of its own


def _fields_of(kind: type[Memory]) -> tuple[Field, ...]:
    hints = get_type_hints(kind, include_extras=True)
    shared = {one.name for one in fields(Memory)}
    return tuple(
        Field(
            one.name, hints[one.name], decoder(hints[one.name]), "used" in one.metadata, "made" in one.metadata,
            one.name in shared and "rare" not in one.metadata,
        )
        for one in fields(kind)
    )  # fmt: skip


FIELDS_OF: dict[Kind, tuple[Field, ...]] = {kind: _fields_of(made) for kind, made in KINDS.items()}
FIELDS: dict[str, Field] = {one.name: one for of_kind in FIELDS_OF.values() for one in of_kind}
USAGE = frozenset(one.name for one in FIELDS.values() if one.used)


def decode_memory(data: Mapping[str, Any]) -> Memory:
    kind: Kind = take(data, "kind", Kind)
    known = {one.name: one.decode for one in FIELDS_OF[kind]}
    unknown = sorted(data.keys() - known.keys() - {"kind"})
    if unknown:
        raise ValueError(f"{unknown[0]}: no such field of a {kind}")
    read: dict[str, Any] = {name: take(data, name, parse) for name, parse in known.items() if name in data}
    for name in ("id", "title", "body", "created_at"):
        if name not in read:
            raise ValueError(f"{name}: missing")
    read.setdefault("reinforced_at", read["created_at"])
    read.setdefault("last_active_at", read["reinforced_at"])
    return KINDS[kind](**read)


def content_hash(memory: Memory) -> str:
    """What was said, apart from how often it was used."""
    said = {name: value for name, value in encode(memory).items() if name not in USAGE}
    return hashlib.blake2b(canonical(said).encode(), digest_size=16).hexdigest()
