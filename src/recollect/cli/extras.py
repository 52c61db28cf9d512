"""Commands that are no operations: completion, mcp, hook, logs, bench."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import click

from recollect.base.errors import NotFound, RecollectError
from recollect.base.paths import Home, home
from recollect.base.settings import environment
from recollect.base.text import json_visible, visible

_HOOK_WITHIN_S = 10.0  # loading the model takes most of it
_CLONE = Path(__file__).resolve().parents[3]


@click.command()
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def completion(shell: str) -> None:
    """Print the completion script for a shell.

    \b
    bash   eval "$(recollect completion bash)"   in ~/.bashrc
    zsh    eval "$(recollect completion zsh)"    in ~/.zshrc
    fish   recollect completion fish | source    in config.fish
    """
    from click.shell_completion import get_completion_class

    from recollect.cli.main import program

    found = get_completion_class(shell)
    if found is None:
        raise click.UsageError(f"No completion is known for {shell!r}.")
    click.echo(found(program, {}, "recollect", "_RECOLLECT_COMPLETE").source())


@click.command()
def mcp() -> None:
    """Serve memory to an agent over MCP, on standard input and output. Agents start this themselves."""
    from recollect.mcp.server import main

    main()


@click.command()
@click.option("-f", "--follow", is_flag=True, help="Go on with new lines until stopped.")
@click.option("--session", default="", metavar="ID", help="Only this session; the beginning of its id is enough.")
@click.option(
    "-n", "--limit", default=50, show_default=True, type=click.IntRange(1, 1_000_000), help="Lines to begin with."
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON, one object per line.")
def logs(follow: bool, session: str, limit: int, as_json: bool) -> None:
    """What was decided, one line per decision, the newest last."""
    from recollect.base import log

    folder = Home(home()).logs

    def lines() -> Iterator[str]:
        coming = log.LogFollower(folder, session)  # first, so that no line is lost while the rest is printed
        yield from log.read_last(folder, limit=limit, session=session)
        if follow:
            yield from coming

    for line in lines():
        click.echo(json_visible(json.dumps(log.parse_line(line), ensure_ascii=False)) if as_json else visible(line))


@click.command()
@click.argument("event", default="")
@click.option("--host", default="", metavar="NAME", help="The agent that the event comes from.")
@click.option("--keep/--look", default=True, help="Whether what is printed counts as shown.")
@click.option(
    "--prepare", is_flag=True, help="Only write the program that agents call (<home>/bin); change no settings."
)
def hook(event: str, host: str, keep: bool, prepare: bool) -> None:
    """Answer one event from standard input in this process. Agents call `<home>/bin/hook`, which asks the daemon."""
    if prepare:
        _prepare_hook()
        return
    if not event:
        raise click.UsageError("Missing argument 'EVENT'.")

    from recollect.hooks import Hooks, open_once

    try:
        cwd = os.getcwd()
    except FileNotFoundError:
        raise NotFound("The current folder no longer exists.", hint="Go to one that does.") from None
    deadline = time.monotonic() + _HOOK_WITHIN_S
    answer = Hooks(open_once).answer(
        host, event, sys.stdin.buffer.read(), environment(), cwd, deadline, lambda seconds: time.monotonic() + seconds
    )
    if answer.stdout:
        click.echo(answer.stdout)
    answer.after(keep)


def _prepare_hook() -> None:
    """For a plugin that finds the program and no hook to call yet."""
    from recollect.wire import stub

    at = Home(home())
    at.prepare()
    if not stub.is_current(str(at.root), sys.executable):
        stub.write_hook(str(at.root), sys.executable)


def bench() -> click.Command:
    """The benchmarks stand beside the package in a clone, and are not installed with it."""
    if not (_CLONE / "bench" / "cli.py").is_file():
        raise RecollectError(
            "The benchmarks are not part of an installed Recollect.",
            hint="Clone the repository and run `./recollect bench` there.",
        )
    if str(_CLONE) not in sys.path:
        sys.path.append(str(_CLONE))
    from bench.cli import bench as commands

    return commands
