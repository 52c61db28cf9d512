"""The tools, as tool_list.json lists them (made from OPS by tools/mcp_tools.py), and what a call asks of the
operations, which check its values.

The list and the instructions lead every prompt: they never change within a version.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from recollect.base.shipped import load_table

_MAX_HITS = 20


class Tool(NamedTuple):
    op: str
    renamed: Mapping[str, str]  # arguments that the operation calls otherwise
    long: bool  # goes through all memories
    tool: Mapping[str, Any]  # as the protocol lists it

    @property
    def name(self) -> str:
        return str(self.tool["name"])

    @property
    def arguments(self) -> dict[str, dict[str, Any]]:
        return dict(self.tool["inputSchema"]["properties"])


TOOLS = tuple(Tool(**entry) for entry in load_table("recollect.mcp", "tool_list.json")["tools"])
BY_NAME = {tool.name: tool for tool in TOOLS}


def instructions() -> str:
    return Path(__file__).with_name("instructions.md").read_text(encoding="utf-8")


def make_call(tool: Tool, arguments: Mapping[str, Any]) -> dict[str, object]:
    values = {name: value for name, value in arguments.items() if value is not None}
    dry_run = values.pop("dry_run", False)
    if isinstance(query := values.get("query"), str):
        values["query"] = [query]
    if isinstance(limit := values.get("limit"), int):
        values["limit"] = min(_MAX_HITS, max(1, limit))
    if isinstance(useful := values.get("useful"), bool):
        values["useful"] = "useful" if useful else "not-useful"
    renamed = {tool.renamed.get(name, name): value for name, value in values.items()}
    return {"op": tool.op, "values": renamed, "dry_run": dry_run}


def name_arguments(tool: Tool, message: str) -> str:
    """A message of the operation, with the names that the tool gives its arguments."""
    for argument, name in tool.renamed.items():
        message = message.replace(repr(name), repr(argument))
    return message
