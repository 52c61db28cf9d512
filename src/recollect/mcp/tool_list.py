"""The tools, as tool_list.json lists them (made from OPS by tools/mcp_tools.py), and what a call asks of the
operations.

The list and the instructions lead every prompt: they never change within a version.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from recollect.base.shipped import load_table

_MAX_HITS = 20
_TYPES: Mapping[str, tuple[type, ...]] = {
    "string": (str,), "boolean": (bool,), "integer": (int,), "number": (int, float), "array": (list,),
    "null": (type(None),),
}  # fmt: skip
_WORDS = {"string": "a text", "boolean": "true or false", "integer": "a whole number", "number": "a number",
          "array": "a list of texts"}  # fmt: skip


class Tool(NamedTuple):
    op: str
    renamed: Mapping[str, str]  # arguments that the operation calls otherwise
    long: bool  # goes through all memories: it reports progress and can be cancelled
    tool: Mapping[str, Any]  # as the protocol lists it

    @property
    def name(self) -> str:
        return str(self.tool["name"])

    @property
    def description(self) -> str:
        return str(self.tool["description"])

    @property
    def arguments(self) -> Mapping[str, Any]:
        found: Mapping[str, Any] = self.tool["inputSchema"]["properties"]
        return found

    @property
    def required(self) -> list[str]:
        return list(self.tool["inputSchema"]["required"])

    @property
    def only_reads(self) -> bool:
        return bool(self.tool["annotations"]["readOnlyHint"])


TOOLS = tuple(Tool(**entry) for entry in load_table("recollect.mcp", "tool_list.json")["tools"])
BY_NAME = {tool.name: tool for tool in TOOLS}


def instructions() -> str:
    return Path(__file__).with_name("instructions.md").read_text(encoding="utf-8")


class BadCall(ValueError):
    """In words that an agent can act on."""


class Request(NamedTuple):
    call: dict[str, object]
    long: bool = False


def request(name: str, given: Mapping[str, Any]) -> Request:
    tool = BY_NAME.get(name)
    if tool is None:
        near = difflib.get_close_matches(name, BY_NAME, n=1)
        meant = f" Did you mean {near[0]}?" if near else ""
        raise BadCall(f"There is no tool {name[:80]!r}.{meant} There are: {', '.join(BY_NAME)}.")
    _check_all(tool, given)
    values = dict(given)
    if name == "ai_recall":
        values["query"] = [values["query"]]
        if "limit" in values:
            values["limit"] = min(_MAX_HITS, max(1, values["limit"]))
    if name == "ai_rate_context":
        values["useful"] = "useful" if values["useful"] else "not-useful"
    dry_run = bool(values.pop("dry_run", False))
    named = {tool.renamed.get(key, key): value for key, value in values.items() if value is not None}
    return Request({"op": tool.op, "values": named, "dry_run": dry_run}, tool.long)


def _check_all(tool: Tool, given: Mapping[str, Any]) -> None:
    for name in given:
        if name not in tool.arguments:
            takes = ", ".join(tool.arguments) or "no arguments"
            raise BadCall(f"{tool.name} takes no {name[:80]!r}. It takes: {takes}.")
    for name in tool.required:
        if given.get(name) is None:
            raise BadCall(f"{tool.name} needs {name!r}: {tool.arguments[name]['description']}.")
    for name, value in given.items():
        _check(tool, name, value)


def _check(tool: Tool, name: str, value: Any) -> None:
    schema = tool.arguments[name]
    kinds = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
    is_flag = isinstance(value, bool)
    fits = any(isinstance(value, _TYPES[kind]) and (not is_flag or kind == "boolean") for kind in kinds)
    if fits and isinstance(value, list):
        fits = all(isinstance(part, str) for part in value)
    if not fits:
        raise BadCall(f"{tool.name}: {name!r} has to be {_WORDS[kinds[0]]}. {schema['description']}.")
