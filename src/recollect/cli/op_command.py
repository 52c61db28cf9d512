"""One operation as one command: its parameters from the function's signature, its help from the table."""

from __future__ import annotations

import sys
import typing
from enum import Enum
from pathlib import Path
from typing import Any

import click

from recollect.app.core import App
from recollect.app.lookup import find_like
from recollect.base.errors import BadInput, NotFound, RecollectError
from recollect.base.text import one_line, visible
from recollect.cli import interactive
from recollect.cli.output import Bar, print_result
from recollect.model.result import Checkup, Verified
from recollect.ops.table import Effect, Op, Parameter

_MAX_STDIN_BYTES = 20_000_000
_NAMES_A_MEMORY = frozenset({"ID", "[ID]", "NAME", "FROM", "TO", "KEPT", "OTHER"})


def command_of(op: Op, name: str = "") -> click.Command:
    """`name`: how it was called, where that is an alias."""
    wanted = op.parameters
    inputs: list[click.Parameter] = [_argument(p) if p.positional else _option(p) for p in wanted]
    inputs.append(click.Option(["--json", "as_json"], is_flag=True, help="Print JSON."))
    if op.effect is not Effect.READ:
        inputs.append(click.Option(["--dry-run"], is_flag=True, help="Show what would be done; write nothing."))
    if op.erases:
        inputs.append(click.Option(["--yes", "-y"], is_flag=True, help="Do not ask."))

    def run(as_json: bool, dry_run: bool = False, yes: bool = False, **given: Any) -> int:
        return _run(op, values_from(wanted, given), as_json=as_json, dry_run=dry_run, yes=yes)

    # \b keeps click from wrapping: columns stay columns, and an example can be copied.
    positional = "\n".join(f"  {p.arg.metavar:<10} {p.arg.help}" for p in wanted if p.positional)
    described = f"{op.summary}\n\n\b\n{positional}" if positional else op.summary
    epilog = f"\b\nExample: recollect {op.example}"
    return click.Command(name or op.name.split()[-1], callback=run, params=inputs, help=described, epilog=epilog)


def _run(op: Op, values: dict[str, Any], *, as_json: bool, dry_run: bool, yes: bool) -> int:
    app = App.open(current_folder(), dry_run=dry_run, progress=Bar())
    try:
        if op.name == "edit":
            values = interactive.edit_in_editor(app, values)
        if op.name == "install" and not as_json:
            values = interactive.choose_agents(app, values)
        if any(values[name] for name in op.erases) and not (yes or dry_run):
            _ask_before_erasing(op, app, values)
        result = op.function(app, **values)
        print_result(app, result, as_json=as_json)
    finally:
        app.close()
    if isinstance(result, Verified) and not result.clean:
        return 5
    return 1 if isinstance(result, Checkup) and not result.healthy else 0


def values_from(wanted: list[Parameter], given: dict[str, Any]) -> dict[str, Any]:
    """What click parsed, as the function takes it."""
    return {p.name: _value(p, given[p.name]) for p in wanted}


def current_folder() -> Path:
    try:
        return Path.cwd()
    except FileNotFoundError:
        raise NotFound("The current folder no longer exists.", hint="Go to one that does.") from None


def _ask_before_erasing(op: Op, app: App, values: dict[str, Any]) -> None:
    if not sys.stdin.isatty():
        raise BadInput(
            f"`{op.name} --{op.erases[0]}` cannot be undone, and nobody is there to ask.",
            hint="Add --yes, or --dry-run to look.",
        )
    for name in values["names"]:
        found = app.find(name)[1]
        click.echo(visible(f"  {found.id[-6:]}  {one_line(found.title)}"), err=True)
    click.confirm("This cannot be undone. Go on?", abort=True, err=True)


def _argument(p: Parameter) -> click.Argument:
    shown = p.arg.metavar or p.name.upper()
    return click.Argument(
        [p.name], required=p.required, nargs=-1 if p.arg.many else 1,
        metavar=shown if not p.arg.many else f"{shown}..." if p.required else f"[{shown}]...",
        shell_complete=_complete_ids if shown in _NAMES_A_MEMORY else None,
    )  # fmt: skip


def flags_of(p: Parameter) -> str:
    """How an option is spelt. A switch that is on by default has a second name that turns it off."""
    flag = p.name.replace("_", "-")
    return f"--{flag}/--no-{flag}" if p.default is True else f"--{flag}"


def _option(p: Parameter) -> click.Option:
    names = [flags_of(p), p.name]
    if p.type is bool:
        return click.Option(names, is_flag=True, default=p.default, help=p.arg.help, show_default=p.default)
    if p.arg.many:
        return click.Option(names, multiple=True, default=p.default, help=p.arg.help, metavar=p.arg.metavar or None)
    choices = [str(member) for member in _members(p.type)]
    kind: Any = click.Choice(choices, case_sensitive=False) if choices else p.type if p.type in (int, float) else str
    default = ",".join(p.default) if isinstance(p.default, tuple) else p.default
    return click.Option(
        names, type=kind, default=str(default) if isinstance(default, Enum) else default, required=p.required,
        help=p.arg.help, metavar=p.arg.metavar or None, show_default=default not in (None, ""),
    )  # fmt: skip


def _value(p: Parameter, given: Any) -> Any:
    given = p.default if given is None else given
    if p.arg.stdin and given == "-":
        return _from_stdin()
    for member in _members(p.type):
        if str(member).lower() == str(given).lower():
            return member
    if typing.get_origin(p.type) is tuple and isinstance(given, str):
        return tuple(part.strip() for part in given.split(",") if part.strip())
    return given


def _from_stdin() -> str:
    raw = sys.stdin.buffer.read(_MAX_STDIN_BYTES + 1)
    if len(raw) > _MAX_STDIN_BYTES:
        raise BadInput(f"Standard input has more than {_MAX_STDIN_BYTES:,} bytes.", hint="Keep the part that matters.")
    return raw.decode("utf-8", errors="replace")


def _members(kind: Any) -> list[Any]:
    return list(kind) if isinstance(kind, type) and issubclass(kind, Enum) else []


def _complete_ids(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    try:
        app = App.open(Path.cwd(), dry_run=True)
        known = [memory.id for memory in find_like(app, incomplete)]
        app.close()
    except (RecollectError, OSError):
        return []
    short = [id[-6:] for id in known if incomplete]
    return [id for id in (*known, *short) if id.startswith(incomplete)]
