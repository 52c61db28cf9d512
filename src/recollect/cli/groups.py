"""The tree of commands, made from OPS. Help is printed from the table alone; a command is built when called."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import click

from recollect.ops.table import OPS, Op

_EXTRA = {
    "bench": "Measure it: speed, crashes, damage.",
    "completion": "Print the completion script of a shell.",
    "daemon": "The process that answers hooks: start, stop, status, run.",
    "hook": "Answer one event from standard input, in this process, to see what an agent would get.",
    "mcp": "Serve memory to an agent over MCP, on standard input and output.",
    "logs": "Watch what it decides, one line a decision.",
}


class Tree(click.Group):
    """One level of the tree; `path` holds the words that lead to it."""

    path: tuple[str, ...] = ()

    def make_context(
        self, info_name: str | None, args: list[str], parent: click.Context | None = None, **extra: Any
    ) -> click.Context:
        with _reader_may_leave():
            return super().make_context(info_name, args, parent, **extra)

    def invoke(self, ctx: click.Context) -> Any:
        with _reader_may_leave():
            return super().invoke(ctx)

    def list_commands(self, ctx: click.Context) -> list[str]:
        names = dict.fromkeys(_word(op, self.path) for op in OPS if _under(op, self.path))
        return [*names, *_EXTRA] if not self.path else [*names]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if not self.path and cmd_name in _EXTRA:
            return _extra(cmd_name)
        here = (*self.path, cmd_name)
        for op in OPS:
            if tuple(op.name.split()) == here:
                from recollect.cli.command import command_of

                return command_of(op)
        below = [op for op in OPS if _under(op, here)]
        return _group(here, below) if below else None

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        rows = [(name, self._summary(name)) for name in self.list_commands(ctx)]
        with formatter.section("Commands"):
            formatter.write_dl(rows)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name = args[0]
        if self.get_command(ctx, name) is None and not name.startswith("-"):
            import difflib

            near = difflib.get_close_matches(name, self.list_commands(ctx), n=2)
            meant = f" Did you mean {' or '.join(repr(n) for n in near)}?" if near else ""
            raise click.UsageError(f"There is no command {name!r}.{meant}", ctx)
        return super().resolve_command(ctx, args)

    def _summary(self, name: str) -> str:
        here = (*self.path, name)
        for op in OPS:
            if tuple(op.name.split()) == here:
                return op.summary
        below = [_word(op, here) for op in OPS if _under(op, here)]
        return f"{', '.join(below)}." if below else _EXTRA[name]


@contextmanager
def _reader_may_leave() -> Iterator[None]:
    """`recollect log | head -1` is no failure; click would make exit code 1 of it."""
    try:
        yield
    except BrokenPipeError:
        # What is still buffered goes nowhere, or Python complains of it at the end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        raise click.exceptions.Exit(0) from None


def _under(op: Op, path: tuple[str, ...]) -> bool:
    words = tuple(op.name.split())
    return len(words) > len(path) and words[: len(path)] == path


def _word(op: Op, path: tuple[str, ...]) -> str:
    return op.name.split()[len(path)]


def _group(path: tuple[str, ...], below: list[Op]) -> Tree:
    group = Tree(name=path[-1], help=f"{', '.join(_word(op, path) for op in below)}.")
    group.path = path
    if path == ("inbox",):
        from recollect.cli.inbox import as_command

        as_command(group)
    return group


def _extra(name: str) -> click.Command:
    if name == "bench":
        from recollect.cli.bench import bench

        return bench
    if name == "daemon":
        from recollect.cli.daemon import daemon

        return daemon
    if name == "hook":
        from recollect.cli.hook import hook

        return hook
    if name == "mcp":
        from recollect.cli.mcp import mcp

        return mcp
    if name == "logs":
        from recollect.cli.logs import logs

        return logs
    from recollect.cli.completion import completion

    return completion
