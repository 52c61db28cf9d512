"""Values as plain JSON, and back, by their types alone; a class whose JSON has another shape has an `as_json`. Decoding
is strict, because imported files come this way: ValueError names the field, unknown fields are refused, and those with
a default may be missing."""

import json
import math
from collections.abc import Callable, Mapping, Set
from enum import StrEnum
from functools import cache
from types import NoneType, UnionType
from typing import Any, NamedTuple, TypeVar, Union, cast, get_args, get_origin, get_type_hints

from recollect.base.moment import Moment
from recollect.base.structs import MISSING, fields
from recollect.base.text import blake2b
from recollect.model.memory import KINDS, Count, Kind, Marks, Memory

Json = str | int | float | bool | None | list["Json"] | dict[str, "Json"]
Decoder = Callable[[Any], Any]
T = TypeVar("T")
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
    if hasattr(kind, "__dataclass_fields__"):
        if hasattr(kind, "as_json"):
            return kind.as_json(value)
        data = {"kind": str(value.kind)} if isinstance(value, Memory) else {}
        left_out = {name for name in _OPTIONAL if not getattr(value, name, True)} if data else ()
        return data | {
            name: encode_field(value, name) for name in _names(kind) if name not in left_out
        }
    if isinstance(value, Mapping):
        return {str(key): encode(one) for key, one in value.items()}
    raise TypeError(f"{kind.__name__} has no JSON form")


def encode_field(value: Any, name: str) -> Any:
    one = getattr(value, name)
    return one if type(one) in _KEEP else encode(one)


def decode(kind: type[T], data: Any) -> T:
    value: T = decoder(cast(Any, kind))(data)
    return value


def canonical(value: Json) -> str:
    """One spelling for one value: what hashes are made of."""
    return json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"))


def read_field(data: Any, name: str, parse: Decoder) -> Any:
    if name not in _object(data):
        raise ValueError(f"{name}: missing")
    try:
        return parse(data[name])
    except (ValueError, TypeError, OverflowError, KeyError) as problem:
        raise ValueError(f"{name}: {problem}") from None


@cache
def decoder(kind: Any) -> Decoder:
    origin, parts = get_origin(kind), get_args(kind)
    if kind in _SIMPLE:
        return _SIMPLE[kind]
    if origin is Mapping:  # JSON itself
        return _object
    if origin in (Union, UnionType):
        [only] = [part for part in parts if part is not NoneType]
        inner = decoder(only)
        return lambda data: None if data is None else inner(data)
    if origin is tuple and parts[-1] is not ...:
        return _row(tuple, parts)
    if origin in (tuple, list, frozenset):
        one = decoder(parts[0])
        return lambda data: origin([one(part) for part in _list(data)])
    if origin is dict:
        key, inner = decoder(parts[0]), decoder(parts[1])
        return lambda data: {key(name): inner(part) for name, part in _object(data).items()}
    if isinstance(kind, type) and issubclass(kind, StrEnum):
        return kind
    hints = get_type_hints(kind, include_extras=True)
    if isinstance(kind, type) and issubclass(kind, tuple):
        return _row(lambda cells: kind(*cells), tuple(hints.values()))
    known = {one.name: decoder(hints[one.name]) for one in fields(kind)}
    needed = [
        one.name
        for one in fields(kind)
        if one.default is MISSING and one.default_factory is MISSING
    ]

    def read(data: Any) -> Any:
        for name in (*needed, *_object(data).keys()):
            if name not in data:
                raise ValueError(f"{name}: missing")
            if name not in known:
                raise ValueError(f"{name}: no such field of a {kind.__name__.lower()}")
        return kind(**{name: read_field(data, name, known[name]) for name in data})

    return read


def _row(make: Decoder, kinds: tuple[Any, ...]) -> Decoder:
    cells = tuple(map(decoder, kinds))

    def read(data: Any) -> Any:
        if len(_list(data)) != len(cells):
            raise ValueError(f"expected a list of {len(cells)}")
        return make([cell(part) for cell, part in zip(cells, data, strict=True)])

    return read


@cache
def _names(kind: Any) -> tuple[str, ...]:
    return tuple(one.name for one in fields(kind))


def _checked(wanted: str, is_wanted: Callable[[Any], bool], make: Decoder | None = None) -> Decoder:
    def read(value: Any) -> Any:
        if not is_wanted(value):
            raise ValueError(f"expected {wanted}, not {repr(value)[:60]}")
        return make(value) if make else value

    return read


def _moment(value: Any) -> Moment:
    moment = Moment.parse(_text(value))
    moment.iso()  # an offset can push the last day of the calendar past its end
    return moment


_text = _checked("a text", lambda value: isinstance(value, str))
_list = _checked("a list", lambda value: isinstance(value, list))
_object = _checked("an object", lambda value: isinstance(value, Mapping))
_SIMPLE: dict[Any, Decoder] = {
    str: _text,
    bool: _checked("true or false", lambda value: isinstance(value, bool)),
    int: _checked("a whole number", lambda value: type(value) is int and -(2**63) <= value < 2**63),
    Count: _checked(
        "a whole number from 0", lambda value: type(value) is int and 0 <= value < 2**53
    ),
    Marks: _checked(
        "a text of + and -", lambda value: isinstance(value, str) and not set(value) - {"+", "-"}
    ),
    float: _checked(
        "a finite number", lambda value: type(value) in (int, float) and math.isfinite(value), float
    ),
    Moment: _moment,
    Memory: lambda data: decode_memory(data),
}


class Field(NamedTuple):  # one field of a memory
    name: str
    type: Any
    used: bool  # counted as memories are used: no part of the content's hash
    made: bool  # never anyone's words: not redacted
    column: bool  # it has a column of its own
    optional: bool  # left out where it is empty


def _fields_of(kind: type[Memory]) -> tuple[Field, ...]:
    hints = get_type_hints(kind, include_extras=True)
    shared = {one.name for one in fields(Memory)}
    return tuple(
        Field(one.name, hints[one.name], "used" in meta, "made" in meta, one.name in shared and "rare" not in meta,
              "optional" in meta)
        for one in fields(kind)
        for meta in (one.metadata,)
    )  # fmt: skip


FIELDS_OF: dict[Kind, tuple[Field, ...]] = {kind: _fields_of(made) for kind, made in KINDS.items()}
FIELDS: dict[str, Field] = {one.name: one for of_kind in FIELDS_OF.values() for one in of_kind}
USAGE = frozenset(one.name for one in FIELDS.values() if one.used)
_OPTIONAL = frozenset(one.name for one in FIELDS.values() if one.optional)


def decode_memory(data: Mapping[str, Any]) -> Memory:
    kind: Kind = read_field(data, "kind", Kind)
    read = {name: value for name, value in data.items() if name != "kind"}
    if "created_at" in read:
        read.setdefault("reinforced_at", read["created_at"])
        read.setdefault("last_active_at", read["reinforced_at"])
    return decode(KINDS[kind], read)


def content_hash(memory: Memory) -> str:
    """What was data, apart from how often it was used."""
    data = {name: value for name, value in encode(memory).items() if name not in USAGE}
    return blake2b(canonical(data).encode(), digest_size=16).hexdigest()


def version_of(memory: Memory) -> str:
    """What a person reads and edits of it; the rest may change while somebody is editing."""
    words = canonical([memory.title, memory.body, list(memory.topics)])
    return blake2b(words.encode(errors="replace"), digest_size=8).hexdigest()
