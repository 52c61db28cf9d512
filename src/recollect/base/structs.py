"""Values with named fields, as `dataclasses` makes them, for as much of that as is used here.

A first prompt waits for a daemon that defines a hundred of these. `dataclasses` loads `inspect` and compiles six
methods per class; here the methods are shared, and `__init__` is compiled when a class is first called. To a type
checker both are the same."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from operator import attrgetter
from typing import TYPE_CHECKING, Any, ClassVar, dataclass_transform

__all__ = ["MISSING", "Struct", "field", "fields", "replace"]

if TYPE_CHECKING:
    from dataclasses import MISSING, Field, field, fields, replace
else:
    MISSING = object()

    class Field:
        __slots__ = "compare", "default", "default_factory", "kw_only", "metadata", "name"
        init = True

        @property
        def _field_type(self):  # by which the functions of `dataclasses` know it
            from dataclasses import _FIELD

            return _FIELD

    def field(
        *,
        default=MISSING,
        default_factory=MISSING,
        compare=True,
        metadata: Mapping[str, Any] | None = None,
    ):
        made = Field()
        made.default, made.default_factory = default, default_factory
        made.compare, made.metadata = compare, metadata or {}
        return made

    def fields(kind):
        return tuple(kind.__dataclass_fields__.values())

    def replace(struct, /, **changes):
        for name in struct.__dataclass_fields__:
            if name not in changes:
                changes[name] = getattr(struct, name)
        return type(struct)(**changes)


def _make_init(self: Any, /, *given: object, **named: object) -> None:
    """The `__init__` of a class that was never called; afterwards it has its own."""
    kind = type(self)
    space: dict[str, Any] = {"_missing": MISSING, "_put": object.__setattr__}
    first, last, body = ["self"], list[str](), ["pass"]
    for name, one in kind.__dataclass_fields__.items():
        value, default = name, ""
        if one.default_factory is not MISSING:
            space["_make_" + name] = one.default_factory
            value, default = f"_make_{name}() if {name} is _missing else {name}", "=_missing"
        elif one.default is not MISSING:
            space["_default_" + name] = one.default
            default = f"=_default_{name}"
        (last if one.kw_only else first).append(name + default)
        body.append(f"_put(self, {name!r}, {value})")
    text = f"def __init__({', '.join([*first, *(['*'] if last else []), *last])}):\n " + "\n ".join(
        body
    )
    exec(text, space)  # noqa: S102 - made of the names of fields
    space["__init__"].__qualname__ = f"{kind.__qualname__}.__init__"  # errors name it
    kind.__init__ = space["__init__"]
    kind.__init__(self, *given, **named)


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
class _StructType(type):
    def __new__(
        cls,
        name: str,
        bases: tuple[type, ...],
        space: dict[str, Any],
        *,
        frozen: bool = True,
        kw_only: bool = False,
    ) -> _StructType:
        found: dict[str, Any] = {}
        for base in reversed(bases):
            found |= getattr(base, "__dataclass_fields__", {})
        # Types are texts here: a module of these has `from __future__ import annotations`.
        own = [
            one
            for one, kind in space.get("__annotations__", {}).items()
            if not kind.startswith("ClassVar")
        ]
        space["__slots__"] = tuple(one for one in own if one not in found)
        for one in own:
            value: Any = space.pop(one, MISSING)
            found[one] = made = value if isinstance(value, Field) else field(default=value)
            made.name, made.kw_only = one, kw_only
        space["__dataclass_fields__"] = found
        space["__match_args__"] = tuple(one.name for one in found.values() if not one.kw_only)
        compared = [one.name for one in found.values() if one.compare]
        space["_compared"] = attrgetter(*compared) if compared else bool
        space.setdefault("__init__", _make_init)
        if not frozen:
            space |= {"__setattr__": object.__setattr__, "__hash__": None}
        return super().__new__(cls, name, bases, space)


class Struct(metaclass=_StructType):
    """A class of these names its fields with their types. Frozen and compared by value, unless it says otherwise."""

    _compared: ClassVar[Callable[[object], object]]
    if TYPE_CHECKING:
        __dataclass_fields__: ClassVar[dict[str, Field[Any]]]

    def __eq__(self, other: object) -> bool:
        kind = type(self)
        return (
            kind._compared(self) == kind._compared(other) if type(other) is kind else NotImplemented
        )

    def __hash__(self) -> int:
        return hash(type(self)._compared(self))

    def __repr__(self) -> str:
        return f"{type(self).__qualname__}({', '.join(f'{n}={getattr(self, n)!r}' for n in self.__dataclass_fields__)})"

    def __setattr__(self, name: str, _value: object) -> None:
        raise AttributeError(f"cannot assign to field {name!r}")
