"""Makes src/recollect/mcp/tool_list.json: the tool list from OPS, in the words of mcp_tools.toml.

Run it after changing either: `python tools/mcp_tools.py`. A test fails while the file is out of date. The server loads
the file alone: the list leads every prompt, so it must not differ by a byte from one start to the next, and making it
would load every room.
"""

from __future__ import annotations

import inspect
import json
import tomllib
import types
import typing
from collections.abc import Callable
from enum import Enum
from pathlib import Path
from typing import Any

from recollect.ops.table import OPS

WORDS = Path(__file__).with_suffix(".toml")
FILE = Path(__file__).parent.parent / "src" / "recollect" / "mcp" / "tool_list.json"
_TYPES = {str: "string", bool: "boolean", int: "integer", float: "number"}
Schema = dict[str, Any]


def tools_file() -> str:
    words = tomllib.loads(WORDS.read_text(encoding="utf-8"))
    made = [_entry(name, said) for name, said in words.items()]
    return (
        json.dumps({"made_by": "tools/mcp_tools.py", "tools": made}, indent=1, ensure_ascii=False)
        + "\n"
    )


def _entry(name: str, said: dict[str, Any]) -> Schema:
    op = next(op for op in OPS if op.name == said["op"] and not op.cli_only)
    renamed, forced, hints = said.get("renamed", {}), said.get("as", {}), said.get("hints", [])
    arguments = {
        argument: {
            **_argument(op.function, renamed.get(argument, argument), forced.get(argument)),
            "description": text,
        }
        for argument, text in said["arguments"].items()
    }
    tool: Schema = {
        "name": name,
        "title": name.removeprefix("ai_").replace("_", " ").capitalize(),
        "description": said["description"],
        "inputSchema": {
            "type": "object",
            "properties": arguments,
            "required": [
                argument for argument, schema in arguments.items() if "default" not in schema
            ],
            "additionalProperties": False,
        },
    }
    if "output" in said:
        tool["outputSchema"] = _shape(said["output"])
    tool["annotations"] = {
        "readOnlyHint": "read_only" in hints,
        "destructiveHint": "destructive" in hints,
        "idempotentHint": "idempotent" in hints,
        "openWorldHint": False,
    }
    return {"op": op.name, "renamed": renamed, "long": said.get("long", False), "tool": tool}


def _argument(function: Callable[..., object], name: str, forced: str | None) -> Schema:
    """The schema of a parameter: type, and default where there is one. No minimum and maximum: a value out of range is
    taken as the nearest end, and the answer says so."""
    if name == "dry_run":  # a mode of every operation that writes
        return {"type": "boolean", "default": False}
    if forced:
        return {"type": forced}
    parameter, wanted = (
        inspect.signature(function).parameters[name],
        typing.get_type_hints(function)[name],
    )
    default: Schema = (
        {} if parameter.default is inspect.Parameter.empty else {"default": parameter.default}
    )
    if typing.get_origin(wanted) is tuple:
        return {"type": ["array", "null"], "items": {"type": "string"}, "default": None}
    if isinstance(wanted, types.UnionType):
        inner = next(part for part in typing.get_args(wanted) if part is not type(None))
        return {"type": [_TYPES[inner], "null"], **default}
    if issubclass(wanted, Enum):
        return {
            "type": "string",
            "enum": [str(member) for member in wanted],
            "default": str(parameter.default),
        }
    return {"type": _TYPES[wanted], **default}


def _shape(said: Any) -> Schema:
    match said:
        case list():
            return {"type": "array", "items": _shape(said[0])}
        case dict():
            return {
                "type": "object",
                "properties": {name: _shape(one) for name, one in said.items()},
            }
        case _:
            return {"type": [said.removesuffix("?"), "null"] if said.endswith("?") else said}


if __name__ == "__main__":
    FILE.write_text(tools_file(), encoding="utf-8")
