"""From a tool and its arguments to what is asked of the operations. Pure."""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from recollect.mcp.tools import BY_NAME, Tool

_ID = re.compile(r"\s*(?P<id>[a-z]{2,12}_\d{8}_\d{6}_[0-9a-f]{6})\s*(?:\+\s*(?P<offset>\d{1,9}))?\s*")
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


def request(name: str, given: Mapping[str, Any]) -> tuple[Request, ...]:
    """What is to be asked, in order; the last answer is the answer."""
    tool = BY_NAME.get(name)
    if tool is None:
        near = difflib.get_close_matches(name, BY_NAME, n=1)
        meant = f" Did you mean {near[0]}?" if near else ""
        raise BadCall(f"There is no tool {name[:80]!r}.{meant} There are: {', '.join(BY_NAME)}.")
    values = _checked(tool, given)
    if name == "ai_recall":
        return _recall(values)
    dry_run = bool(values.pop("dry_run", False))
    if name == "ai_rate_context":
        values["useful"] = "useful" if values["useful"] else "not-useful"
    named = {tool.renamed.get(key, key): value for key, value in values.items() if value is not None}
    return (Request({"op": tool.op, "values": named, "dry_run": dry_run}, tool.long),)


def _recall(values: dict[str, Any]) -> tuple[Request, ...]:
    """An id is looked up whole: recalled, so that it counts and wakes, then shown."""
    if "limit" in values:
        values["limit"] = min(_MOST_HITS, max(1, values["limit"]))
    found = _ID.fullmatch(values["query"])
    query = found["id"] if found else values["query"]
    recall = Request({"op": "recall", "values": {**values, "query": [query]}})
    if found is None:
        return (recall,)
    offset = int(found["offset"] or 0)
    show = Request({"op": "show", "values": {"id": found["id"]}, "offset": offset})
    return (show,) if offset else (recall, show)


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
