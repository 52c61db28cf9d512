"""Runs the server: `python -m recollect.mcp`."""

from recollect.mcp.server import main

main()
