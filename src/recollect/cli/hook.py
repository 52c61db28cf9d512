"""`recollect hook EVENT`: one event from standard input, answered in this process. Agents call `<home>/bin/hook`, which
asks the daemon; this is for looking closely."""

from __future__ import annotations

import sys
import time

import click

from recollect.base.errors import NotFound
from recollect.base.settings import environment

_WITHIN_S = 10.0  # the model is loaded first


def _waits(seconds: float) -> float:
    """Nobody is kept waiting but who called it."""
    return time.monotonic() + seconds


@click.command()
@click.argument("event", default="")
@click.option("--host", default="", metavar="NAME", help="The agent that the event is of.")
@click.option("--keep/--look", default=True, help="Count what is printed as shown, or not.")
@click.option("--prepare", is_flag=True, help="Only write what agents call (<home>/bin), and change no settings.")
def hook(event: str, host: str, keep: bool, prepare: bool) -> None:
    """Answer one event from standard input, as an agent would get it."""
    import os

    if prepare:
        _prepare()
        return
    if not event:
        raise click.UsageError("Missing argument 'EVENT'.")

    from recollect.hooks import Hooks
    from recollect.hooks.alone import Alone

    try:
        cwd = os.getcwd()
    except FileNotFoundError:
        raise NotFound("The current folder no longer exists.", hint="Go to one that does.") from None
    body = sys.stdin.buffer.read()
    answer = Hooks(Alone(), own=Alone().app).answer(
        host, event, body, environment(), cwd, time.monotonic() + _WITHIN_S, _waits
    )
    if answer.stdout:
        click.echo(answer.stdout)
    answer.after(keep)


def _prepare() -> None:
    """For a plugin that finds the program and nothing to call yet."""
    from recollect.base.paths import Home, home
    from recollect.wire import stub

    at = Home(home())
    at.prepare()
    if not stub.is_current(str(at.root), sys.executable):
        stub.write_hook(str(at.root), sys.executable)
