"""From a tool and its arguments to what is asked of the operations. Pure."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from typing import Any, NamedTuple

from recollect.mcp.tools import BY_NAME, Tool

_MOST_HITS = 20
_TYPES: Mapping[str, tuple[type, ...]] = {
    "string": (str,), "boolean": (bool,), "integer": (int,), "number": (int, float), "array": (list,),
    "null": (type(None),),
}  # fmt: skip
_SAID = {"string": "a text", "boolean": "true or false", "integer": "a whole number", "number": "a number",
         "array": "a list of texts"}  # fmt: skip


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
    values = _checked(tool, given)
    if name == "ai_recall":
        values["query"] = [values["query"]]
        if "limit" in values:
            values["limit"] = min(_MOST_HITS, max(1, values["limit"]))
    dry_run = bool(values.pop("dry_run", False))
    if name == "ai_rate_context":
        values["useful"] = "useful" if values["useful"] else "not-useful"
    named = {tool.renamed.get(key, key): value for key, value in values.items() if value is not None}
    return Request({"op": tool.op, "values": named, "dry_run": dry_run}, tool.long)


def _checked(tool: Tool, given: Mapping[str, Any]) -> dict[str, Any]:
    unknown = [name for name in given if name not in tool.arguments]
    if unknown:
        takes = ", ".join(tool.arguments) or "no arguments"
        raise BadCall(f"{tool.name} takes no {unknown[0][:80]!r}. It takes: {takes}.")
    for name in tool.required:
        if given.get(name) is None:
            raise BadCall(f"{tool.name} needs {name!r}: {tool.arguments[name]['description']}.")
    for name, value in given.items():
        _check(tool, name, value)
    return dict(given)


def _check(tool: Tool, name: str, value: Any) -> None:
    schema = tool.arguments[name]
    kinds = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
    is_flag = isinstance(value, bool)
    fits = any(isinstance(value, _TYPES[kind]) and (not is_flag or kind == "boolean") for kind in kinds)
    if fits and isinstance(value, list):
        fits = all(isinstance(part, str) for part in value)
    if not fits:
        raise BadCall(f"{tool.name}: {name!r} has to be {_SAID[kinds[0]]}. {schema['description']}.")
