"""`recollect mcp`: the server that agents start. For a person: it waits for JSON on standard input."""

from __future__ import annotations

import click


@click.command()
def mcp() -> None:
    """Serve memory to an agent over MCP, on standard input and output."""
    from recollect.mcp.server import main

    main()
