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
@click.argument("event")
@click.option("--host", default="", metavar="NAME", help="The agent that the event is of.")
@click.option("--keep/--look", default=True, help="Count what is printed as shown, or not.")
def hook(event: str, host: str, keep: bool) -> None:
    """Answer one event from standard input, as an agent would get it."""
    import os

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
    answer.after()
    if answer.stdout and keep:
        answer.confirm()
