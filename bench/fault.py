"""What a fault is: something wrong around a hook, put in place and taken away again, and how the hook is called
meanwhile. The faults themselves: hook_faults.py and disk_faults.py."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import NamedTuple

from bench.house import PROMPT, House, payload


class Unable(Exception):
    """Why this fault cannot be tried here."""


def nothing(_number: int) -> None:
    pass


@dataclass(frozen=True, slots=True)
class Call:
    body: Callable[[int], bytes]
    """Of each run; in sessions of their own, or what was told once would not be told again."""
    event: str = PROMPT
    environ: Mapping[str, str] | None = None
    cwd: str | None = None
    shell_line: str = ""
    before: Callable[[int], None] = field(default=nothing)
    house: House | None = None
    """Where another one than was given is asked."""


Arrange = Callable[[House], AbstractContextManager[Call]]


class Fault(NamedTuple):
    name: str
    arrange: Arrange


def plain(house: House) -> Call:
    return Call(lambda number: prompt(house, number))


def prompt(house: House, number: int, **more: object) -> bytes:
    return payload(house, PROMPT, f"fault-{number}", number, **more)
