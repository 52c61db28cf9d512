"""Which file knows how a settings file is written: splice.py, commented.py or toml_table.py."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Protocol, cast

from recollect.agents import Form
from recollect.agents.splice import Insertion, Ours, Standing

_MODULES = {Form.JSON: "splice", Form.COMMENTED: "commented", Form.TOML: "toml_table"}


class Members(Protocol):
    """One member of an object, or one table."""

    def member(self, text: str, keys: Sequence[str], name: str) -> object: ...

    def member_insertion(self, text: str, keys: Sequence[str], name: str, value: object) -> Insertion: ...

    def standing_keys(self, text: str, keys: Sequence[str]) -> int: ...

    def without_member(self, text: str, keys: Sequence[str], name: str, *, keep: int = 0) -> str: ...


class Hooked(Protocol):
    """Lists of hooks; no agent keeps them in TOML alone."""

    def insertions(self, text: str, hooks: Sequence[tuple[str, Mapping[str, object]]]) -> tuple[Insertion, ...]: ...

    def containers(self, text: str) -> frozenset[str]: ...

    def standing(self, text: str, ours: Ours) -> tuple[Standing, ...]: ...

    def without(self, text: str, ours: Ours, *, keep: frozenset[str] = frozenset()) -> str: ...

    def is_on(self, text: str, key: str) -> bool: ...


def members(form: Form) -> Members:
    return cast(Members, import_module(f"recollect.agents.{_MODULES[form]}"))


def hooked(form: Form) -> Hooked:
    return cast(Hooked, import_module(f"recollect.agents.{_MODULES[form]}"))
