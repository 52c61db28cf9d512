"""Asks a person which of the agents on this machine are to call us. Without a terminal nobody is asked."""

from __future__ import annotations

import sys
from typing import Any

import click

from recollect.ops.app import App


def chosen(app: App, taken: dict[str, Any]) -> dict[str, Any]:
    """The values of `install`, with the agents in it where they were not named and somebody is there to ask."""
    if taken["agent"] or not (sys.stdin.isatty() and sys.stderr.isatty()):
        return taken
    from recollect.agents import DEFAULT_HOST, agent
    from recollect.ops import choosing

    found = choosing.here(app)
    if not set(found) - {DEFAULT_HOST}:
        return taken
    wanted = [
        host
        for host in found
        if click.confirm(f"{agent(host).TITLE} is here. Shall it call Recollect?", default=True, err=True)
    ]
    if not wanted:
        raise click.Abort
    return {**taken, "agent": tuple(wanted)}
