"""Every operation, in one list (`operations.json`). The command line, MCP, docs/operations.md and the man page are made
from it. A new operation is one function, one test and one row there. Functions are named, not imported: reading the
table loads no other room.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple

from recollect.base.shipped import load_table

if TYPE_CHECKING:
    from recollect.model.result import Result


class Effect(StrEnum):
    READ = "reads"
    WRITE = "writes, can be undone"
    KEEP = "changes files, not memories"


class Group(StrEnum):
    """Under which heading `recollect help` lists it; the value says what the group is for."""

    MEMORIES = "Look at memories, and change them."
    NOTES = "Notes: Markdown files in your own folder or in the project's."
    MAINTENANCE = "Check, tidy, back up, move."
    AGENTS = "Connect coding agents, and see what they are told."
    DEVELOPERS = "Measure and debug Recollect itself."


class Arg(NamedTuple):
    """Stands in a parameter's annotation: what it means, for help texts and schemas."""

    help: str
    metavar: str = ""
    many: bool = False  # a positional argument that may be given several times
    stdin: bool = False  # `-` stands for standard input


class Op(NamedTuple):
    name: str
    target: str  # `module:function`, in `ops` where it names no room
    effect: Effect
    group: Group
    summary: str
    example: str
    cli_only: str = ""  # why no other door offers it
    everyday: bool = False  # listed by `recollect --help`
    aliases: tuple[str, ...] = ()
    """Older names that still work and are listed nowhere; options that a name implies follow it."""
    erases: tuple[str, ...] = ()  # the parameters that make it impossible to undo: a person is asked first

    @property
    def function(self) -> Callable[..., Result]:
        module, name = self.target.split(":")
        room = "recollect" if "." in module else "recollect.ops"
        found: Callable[..., Result] = getattr(import_module(f"{room}.{module}"), name)
        return found


def _read_row(row: dict[str, Any]) -> Op:
    enums = {"effect": Effect[row["effect"].upper()], "group": Group[row["group"].upper()]}
    lists = {name: tuple(row.get(name, ())) for name in ("aliases", "erases")}
    return Op(**(row | enums | lists))


OPS = tuple(_read_row(row) for row in load_table("recollect.ops", "operations.json"))
