"""The tree of commands, made from OPS. Help is printed from the table alone; a command is built when it is called.

`recollect --help` shows the everyday commands and names the groups of the rest, which `recollect help GROUP` lists.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any, NamedTuple

import click

from recollect.ops.table import OPS, Group, Op


class Extra(NamedTuple):
    """A command that is no operation: it runs a process, or shows how Recollect works."""

    name: str
    target: str
    group: Group
    summary: str


EXTRAS = (
    Extra(
        "daemon", "daemon_commands:daemon", Group.AGENTS, "The process that answers hooks: start, stop, status, run."
    ),
    Extra("mcp", "extras:mcp", Group.AGENTS, "Serve memory to an agent over MCP; agents start this themselves."),
    Extra("logs", "extras:logs", Group.AGENTS, "What was decided and when, one line per decision; -f follows."),
    Extra("hook", "extras:hook", Group.DEVELOPERS, "Answer one event from standard input, as an agent would get it."),
    Extra("bench", "extras:bench", Group.DEVELOPERS, "Measure speed, recall, crashes and damage (in a clone only)."),
    Extra("completion", "extras:completion", Group.DEVELOPERS, "Print the completion script for a shell."),
)
PARENTS = {
    "import": "Read past sessions, or what another memory kept.",
    "inbox": "Decide on rules that were heard and wait for you.",
    "note": "Write, show and put away notes.",
    "rule": "Add a rule; `recollect rules` lists them.",
}
"""Commands that have commands below them."""
_PLURALS = {"rules": "rule", "notes": "note"}
_HELP = "help"


class Tree(click.Group):
    """One level of the tree; `path` holds the words that lead to it."""

    path: tuple[str, ...] = ()

    def make_context(
        self, info_name: str | None, args: list[str], parent: click.Context | None = None, **extra: Any
    ) -> click.Context:
        with _closed_pipe_is_no_error():
            return super().make_context(info_name, args, parent, **extra)

    def invoke(self, ctx: click.Context) -> Any:
        with _closed_pipe_is_no_error():
            return super().invoke(ctx)

    def list_commands(self, ctx: click.Context) -> list[str]:
        names = dict.fromkeys(op.name.split()[len(self.path)] for op in _below(self.path))
        return [*names, *(extra.name for extra in EXTRAS), _HELP] if not self.path else [*names]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        here = " ".join((*self.path, cmd_name))
        for op in OPS:
            for name, *implied in [[op.name], *(_alias(alias) for alias in op.aliases)]:
                if name == here:
                    from recollect.cli.op_command import command_of

                    return command_of(op, name=name, implied=implied)
        below = _below((*self.path, cmd_name))
        if below:
            return _parent((*self.path, cmd_name), below)
        extra = next((one for one in EXTRAS if one.name == here), None)
        if extra is not None:
            module, name = extra.target.split(":")
            found: click.Command | Callable[[], click.Command] = getattr(import_module(f"recollect.cli.{module}"), name)
            return found if isinstance(found, click.Command) else found()
        return _help_command() if here == _HELP else None

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        if self.path:
            with formatter.section("Commands"):
                formatter.write_dl([(op.name.split()[-1], op.summary) for op in _below(self.path)])
            return
        with formatter.section("Everyday commands"):
            formatter.write_dl([_shown(op) for op in OPS if op.everyday])
        with formatter.section("The rest, by group (recollect help GROUP)"):
            formatter.write_dl([(group.name.lower(), group.value) for group in Group])

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name = args[0]
        singular = _PLURALS.get(name)
        if singular and args[1:] and any(op.name == f"{singular} {args[1]}" for op in OPS):
            name, args = singular, [singular, *args[1:]]
        if self.get_command(ctx, name) is None and not name.startswith("-"):
            import difflib

            near = difflib.get_close_matches(name, self.list_commands(ctx), n=2)
            meant = f" Did you mean {' or '.join(repr(n) for n in near)}?" if near else ""
            raise click.UsageError(f"There is no command {name!r}.{meant}", ctx)
        return super().resolve_command(ctx, args)


def group_rows(group: Group) -> list[tuple[str, str]]:
    """The commands of a group with their summaries."""
    return [(op.name, op.summary) for op in OPS if op.group is group] + [
        (extra.name, extra.summary) for extra in EXTRAS if extra.group is group
    ]


def _help_command() -> click.Command:
    @click.command(_HELP, short_help="List the commands of a group.")
    @click.argument("group", required=False, type=click.Choice([group.name.lower() for group in Group]))
    @click.pass_context
    def help(ctx: click.Context, group: str | None) -> None:
        """List the commands of a group, each with what it does."""
        if group is None:
            click.echo(ctx.find_root().get_help())
            return
        chosen = Group[group.upper()]
        formatter = click.HelpFormatter(width=min(100, ctx.make_formatter().width))
        formatter.write_text(chosen.value)
        formatter.write_paragraph()
        with formatter.indentation():
            formatter.write_dl(group_rows(chosen))
        formatter.write_paragraph()
        formatter.write_text("`recollect COMMAND --help` shows a command's options and an example.")
        click.echo(formatter.getvalue(), nl=False)

    return help


@contextmanager
def _closed_pipe_is_no_error() -> Iterator[None]:
    """`recollect log | head -1` ends well; click would make exit code 1 of it."""
    try:
        yield
    except BrokenPipeError:
        # What is still buffered goes nowhere, or Python complains of it at the end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        raise click.exceptions.Exit(0) from None


def _alias(alias: str) -> list[str]:
    """`delete --delete`: the name, then the options that it implies."""
    name, *implied = alias.split(" --")
    return [name, *(f"--{option}" for option in implied)]


def _below(path: tuple[str, ...]) -> list[Op]:
    return [op for op in OPS if tuple(op.name.split())[: len(path)] == path and len(op.name.split()) > len(path)]


def _shown(op: Op) -> tuple[str, str]:
    first, *rest = op.name.split()
    return (first, PARENTS[first]) if rest else (first, op.summary)


def _parent(path: tuple[str, ...], below: list[Op]) -> Tree:
    parent = Tree(name=path[-1], help=PARENTS[path[0]])
    parent.path = path
    if path == ("inbox",):
        from recollect.cli.interactive import add_review

        add_review(parent)
    return parent
