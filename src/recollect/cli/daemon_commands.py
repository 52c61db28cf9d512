"""`recollect daemon …`: the process that answers hooks. It starts and ends by itself; this is for who looks at it."""

from __future__ import annotations

import sys
import time
from typing import Any

import click

from recollect.base.errors import NotFound, RecollectError
from recollect.base.paths import Home, home
from recollect.base.settings import environment
from recollect.cli.output import print_blocks, print_json
from recollect.render.blocks import Block, Line, Tone
from recollect.wire.place import Place, find_place

_START_WITHIN_S = 10.0
_as_json = click.option("--json", "as_json", is_flag=True, help="Print JSON.")


@click.group()
def daemon() -> None:
    """The process that answers hooks: one to a user, started by the first hook, ended when nobody needs it."""


@daemon.command()
@_as_json
def start(as_json: bool) -> int:
    """Start it now, rather than at the next hook, and without the pause that follows repeated failures."""
    from recollect.daemon import control
    from recollect.wire import spawn, stub

    Home(home()).prepare()
    place = _place()
    spawn.forget_starts(place)
    until = time.monotonic() + _START_WITHIN_S
    if not spawn.ensure_daemon(place, sys.executable, stub.PACKAGE, until):
        why = spawn.read_starts(place).why
        message = f"The daemon did not start: {why}" if why else "The daemon did not start."
        raise RecollectError(message, hint="`recollect daemon run` shows more; so may the log.")
    _show(control.status(place), as_json)
    return 0


@daemon.command()
@_as_json
def stop(as_json: bool) -> int:
    """Stop it; the next hook starts a new one."""
    from recollect.daemon import control

    ended = control.stop(_place())
    if ended is control.Ended.ALIVE:
        raise RecollectError("The daemon does not answer and was not ended.", hint="End the process by hand.")
    if as_json:
        print_json({"daemon": str(ended)})
    else:
        print_blocks(
            [Line(f"The daemon is {ended}." if ended is control.Ended.NOT_RUNNING else f"The daemon was {ended}.")]
        )
    return 0


@daemon.command()
@_as_json
def status(as_json: bool) -> int:
    """What it holds and what it did; exit code 3 where none is running."""
    from recollect.daemon import control
    from recollect.wire import spawn

    found = control.status(_place())
    slow = spawn.explain_starts(_place())
    if found is None and slow:
        raise NotFound(f"No daemon is running; {slow}.", hint="`recollect daemon start` starts one at once.")
    if found is None:
        raise NotFound("No daemon is running.", hint="The next hook starts one; so does `recollect daemon start`.")
    _show(found | ({"restarts": slow} if slow else {}), as_json)
    return 0


@daemon.command()
def run() -> int:
    """Be the daemon, in the foreground, until Ctrl-C."""
    from recollect.daemon.startup import run_daemon

    return run_daemon(environment())


def _place() -> Place:
    return find_place(str(home()), environment())


def _show(found: dict[str, Any] | None, as_json: bool) -> None:
    if found is None:
        raise RecollectError("The daemon does not answer.", hint="`recollect daemon stop` ends it.")
    if as_json:
        print_json(found)
    else:
        print_blocks(_lines(found))


def _value(value: object) -> object:
    return "; ".join(f"{why} ({count})" for why, count in value.items()) if isinstance(value, dict) else value


def _lines(found: dict[str, Any]) -> list[Block]:
    projects = found.pop("projects", [])
    names = [f"{one['name'] or 'no project'}{'' if one['warm'] else ' (words alone so far)'}" for one in projects]
    lines: list[Block] = [Line(f"The daemon is running, process {found.pop('pid')}.", Tone.TITLE)]
    lines += [Line(f"{name.replace('_', ' '):<16} {_value(value)}") for name, value in found.items() if value != {}]
    return [*lines, Line(f"{'projects':<16} {', '.join(names) or 'none open'}")]
