"""A Struct behaves as a dataclass with the same fields does."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any, ClassVar

import pytest

from recollect.base.structs import Struct, field, fields, replace


class Point(Struct):
    x: int
    y: int = 0
    tags: list[str] = field(default_factory=list, compare=False)
    origin: ClassVar[str] = "here"


class Named(Point, kw_only=True):
    name: str
    y: int = 5

    def label(self) -> str:
        return self.name


class Counter(Struct, frozen=False):
    count: int = 0


@dataclasses.dataclass(frozen=True, slots=True)
class _Point:
    x: int
    y: int = 0
    tags: list[str] = dataclasses.field(default_factory=list, compare=False)


@dataclasses.dataclass(frozen=True, slots=True)
class _Named(_Point):
    name: str = dataclasses.field(kw_only=True)
    y: int = dataclasses.field(default=5, kw_only=True)


ASKED: list[Callable[[Any, Any], Any]] = [
    lambda point, _: point(1),
    lambda point, _: point(x=1, y=2, tags=["a"]),
    lambda point, _: point(1, 2) == point(1, 2, ["other"]),
    lambda point, _: hash(point(1, 2)) == hash(point(1, 2, ["other"])),
    lambda point, _: point(1) == (1, 0, []),
    lambda point, _: point(1).tags is point(1).tags,
    lambda point, named: point(1, 5) == named(1, name="a"),
    lambda _, named: named(1, ["t"], name="a"),
    lambda point, named: (point.__match_args__, named.__match_args__, named.__slots__),
    lambda _, named: [one.name for one in dataclasses.fields(named)],
    lambda _, named: dataclasses.asdict(named(1, name="a")),
    lambda _, named: dataclasses.replace(named(1, name="a"), x=4),
    lambda point, _: point(),
    lambda point, _: point(1, z=3),
    lambda _, named: named(1, [], "a"),
    lambda point, _: setattr(point(1), "x", 2),
]


@pytest.mark.parametrize("ask", ASKED)
def test_it_is_made_compared_shown_and_refused_as_a_dataclass_is(ask: Callable[[Any, Any], Any]):
    def told(*kinds: Any) -> str:
        try:
            return repr(ask(*kinds))
        except (TypeError, AttributeError) as problem:
            return f"{type(problem).__mro__[-4]}: {problem}"

    assert told(Point, Named) == told(_Point, _Named).replace("_Point", "Point").replace(
        "_Named", "Named"
    )


def test_a_copy_has_what_was_changed_and_a_class_keeps_what_is_its_own():
    one = Named(1, name="a")
    assert replace(one, name="b", x=2) == Named(2, name="b")
    assert [made.name for made in fields(Named)] == ["x", "y", "tags", "name"]
    assert one.origin + one.label() == "herea"


def test_one_that_is_not_frozen_can_be_changed_and_has_no_hash():
    one = Counter()
    one.count += 1
    assert one == Counter(1)
    with pytest.raises(TypeError):
        hash(one)
