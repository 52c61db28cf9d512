"""Finds the places in a TOML text where a table is added and cut out (settings_text.py).

    [mcp_servers.recollect]
    command = "…"

A table is known by its header; tables below it (`[mcp_servers.recollect.env]`) are part of it. After every cut the text
is read again: where anything else changed its meaning, or the table is written in another way (dotted keys, braces),
the text is refused.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Collection, Mapping, Sequence
from itertools import accumulate
from typing import Any

from recollect.base.errors import NotPlain
from recollect.integrations.json_text import Addition, Insertion, Way, value_at

_BARE = re.compile(r"[A-Za-z0-9_-]+")
_HEADER = re.compile(r"[ \t]*\[(?!\[)(?P<name>[^\]\n]+)\][ \t]*(?:#.*)?")
_ANY_HEADER = re.compile(r"[ \t]*\[")
_PART = re.compile(r"""\s*(?:"((?:[^"\\]|\\.)*)"|'([^']*)'|([A-Za-z0-9_-]+))\s*(?:\.|$)""")


def load(text: str, additions: Sequence[Addition] = ()) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        found = re.search(r"at line (\d+)", str(error))
        raise NotPlain(f"not TOML ({str(error).partition(' (at')[0]})", int(found[1]) if found else 1) from None
    except RecursionError:
        raise NotPlain("nested too deeply", 1) from None


def insertions(text: str, additions: Sequence[Addition]) -> tuple[Insertion, ...]:
    """Each a table of its own, at the end."""
    newline = "\r\n" if "\r\n" in text else "\n"
    new = "" if not text else newline if text.endswith("\n") else newline * 2
    for keys, name, value in additions:
        if not isinstance(value, Mapping):
            raise TypeError("only a table can be added")
        head = ".".join(_key(part) for part in (*keys, name))
        lines = [f"[{head}]", *(f"{_key(key)} = {_value(one)}" for key, one in value.items())]
        new += newline.join(lines) + newline
    after = load(text + new)
    for keys, name, value in additions:
        if value_at(after, (*keys, name)) != value:
            raise NotPlain(f"{'.'.join(keys)} is written in a way that nothing can be added to", 1)
    return (Insertion(len(text), new),)


def cuts(text: str, ways: Collection[Way], keep: Collection[Way]) -> list[tuple[int, int]]:
    """Lines. `keep` means nothing here: the tables on the way have no header of their own."""
    lines = text.splitlines(keepends=True)
    ends = list(accumulate(map(len, lines)))
    gone: list[int] = []
    is_ours = False
    for at, line in enumerate(lines):
        if _is_header(lines, at):
            was_ours, is_ours = is_ours, any(_path(line)[: len(way)] == way for way in ways)
            if is_ours and not was_ours and at and not lines[at - 1].strip() and at - 1 not in gone:
                gone.append(at - 1)  # the blank line that was added with it
        # A comment between two tables more likely belongs to the next one.
        if is_ours and line.strip() and not line.lstrip().startswith("#"):
            gone.append(at)
    before, after = load(text), load("".join(line for at, line in enumerate(lines) if at not in gone))
    for way in ways:
        if value_at(after, way) is not None:
            raise NotPlain(f"{'.'.join(map(str, way))} is not written as a table of its own", 1)
        before, after = _lacking(before, way), _lacking(after, way)
    if after != before:
        raise NotPlain("other tables depend on ours", 1)
    return [(ends[at] - len(lines[at]), ends[at]) for at in gone]


def _is_header(lines: Sequence[str], at: int) -> bool:
    """A line of a string over several lines, or of a list, may look like one: then what precedes it is incomplete."""
    if not _ANY_HEADER.match(lines[at]):
        return False
    try:
        tomllib.loads("".join(lines[:at]))
    except tomllib.TOMLDecodeError:
        return False
    return True


def _path(line: str) -> Way:
    found = _HEADER.fullmatch(line.rstrip("\r\n"))
    parts, rest = list[str](), found["name"] if found else ""
    while rest:
        part = _PART.match(rest)
        if part is None:
            return ()
        parts.append(next(one for one in part.groups() if one is not None))
        rest = rest[part.end() :]
    return tuple(parts)


def _lacking(tables: Mapping[str, Any], way: Way) -> dict[str, Any]:
    """The same without what the way leads to, and without the tables on the way that are empty then."""
    first, *rest = way
    inner = tables.get(str(first))
    left = _lacking(inner, tuple(rest)) if rest and isinstance(inner, dict) else {}
    others = {key: one for key, one in tables.items() if key != first}
    return {**others, str(first): left} if left else others


def _key(name: str) -> str:
    return name if _BARE.fullmatch(name) else json.dumps(name, ensure_ascii=False)


def _value(value: object) -> str:
    match value:
        case bool():
            return "true" if value else "false"
        case str() | int():
            return json.dumps(value, ensure_ascii=False)
        case list() | tuple():
            return "[" + ", ".join(_value(one) for one in value) + "]"
        case _:
            raise TypeError(f"{type(value).__name__} is not written here")
