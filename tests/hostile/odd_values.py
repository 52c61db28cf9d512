"""Values of every odd kind, put in the place of each value of a recorded line or event."""

import copy
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

PAYLOADS = Path(__file__).parent.parent / "agents" / "payloads"
_DEPTH = 600  # what JSON can still be read to, and what is too deep for code that follows it


def _nested(depth: int) -> Any:
    value: Any = "the bottom"
    for _ in range(depth):
        value = [value]
    return value


ODD_VALUES: tuple[Any, ...] = (
    None,
    True,
    -1,
    10**4_000,
    float("inf"),
    float("nan"),
    "",
    "\x00",
    "\ud800",
    "../" * 2_000,
    "0001-01-01T00:00:00+14:00",
    "9999-12-31T23:59:59.999999-14:00",
    [],
    {},
    [None, 3, "x", [], {}],
    {"type": [], "text": 3, "content": {"text": None}},
    _nested(_DEPTH),
)


def places_in(value: Any, here: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The way to every value inside."""
    pairs: Any = ()
    if isinstance(value, dict):
        pairs = value.items()
    elif isinstance(value, list):
        pairs = enumerate(value)
    for key, one in pairs:
        yield (*here, key)
        yield from places_in(one, (*here, key))


def with_odd_values(value: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for way in places_in(value):
        for odd in ODD_VALUES:
            changed = copy.deepcopy(value)
            within: Any = changed
            for key in way[:-1]:
                within = within[key]
            within[way[-1]] = odd
            yield changed


def recorded_lines() -> Iterator[tuple[str, dict[str, Any]]]:
    """Each line of each recorded transcript, with its agent."""
    for path in sorted(PAYLOADS.rglob("*.jsonl")):
        host = path.parent.name if path.parent != PAYLOADS else "claude-code"
        for line in path.read_text(encoding="utf-8").splitlines():
            yield host, json.loads(line)


def recorded_events() -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Each recorded event: agent, the event's name, payload."""
    for path in sorted(PAYLOADS.rglob("*.json")):
        host = path.parent.name if path.parent != PAYLOADS else "claude-code"
        yield host, path.stem.split("-")[0], json.loads(path.read_text(encoding="utf-8"))
