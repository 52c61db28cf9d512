"""One table in a TOML file, put in at its end and cut out again, touching no other byte. Text in, text out.

    [mcp_servers.recollect]
    command = "…"

The same questions as splice.py answers for a member of a JSON object. A table is known by its header; tables below it
(`[mcp_servers.recollect.env]`) are part of it. After every cut the text is read again: where anything else came to mean
something else, or the table is written in another way (dotted keys, braces), the text is refused.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Mapping, Sequence
from typing import Any

from recollect.agents import splice
from recollect.agents.splice import Insertion
from recollect.base.errors import NotPlain

inserted = splice.inserted
taken_back = splice.taken_back

_BARE = re.compile(r"[A-Za-z0-9_-]+")
_HEADER = re.compile(r"[ \t]*\[(?!\[)(?P<name>[^\]\n]+)\][ \t]*(?:#.*)?")
_ANY_HEADER = re.compile(r"[ \t]*\[")
_PART = re.compile(r"""\s*(?:"((?:[^"\\]|\\.)*)"|'([^']*)'|([A-Za-z0-9_-]+))\s*(?:\.|$)""")


def member(text: str, keys: Sequence[str], name: str) -> object:
    return _at(_read(text), (*keys, name))


def member_insertion(text: str, keys: Sequence[str], name: str, value: object) -> Insertion:
    if not isinstance(value, Mapping):
        raise TypeError("only a table can be put in")
    newline = "\r\n" if "\r\n" in text else "\n"
    head = ".".join(_key(part) for part in (*keys, name))
    lines = [f"[{head}]", *(f"{_key(key)} = {_value(one)}" for key, one in value.items())]
    lead = "" if not text else newline if text.endswith("\n") else newline * 2
    new = Insertion(len(text), lead + newline.join(lines) + newline)
    after = splice.inserted(text, (new,))
    if _at(_read(after), (*keys, name)) != value:
        raise NotPlain(f"{'.'.join(keys)} is written in a way that nothing can be added to", 1)
    return new


def standing_keys(text: str, keys: Sequence[str]) -> int:
    tables = _read(text)
    return sum(isinstance(_at(tables, keys[: many + 1]), dict) for many in range(len(keys)))


def without_member(text: str, keys: Sequence[str], name: str, *, keep: int = 0) -> str:
    """`keep` means nothing here: the tables on the way have no header of their own."""
    path = (*keys, name)
    before = _read(text)
    if _at(before, path) is None:
        return text
    lines, kept, ours = text.splitlines(keepends=True), list[str](), False
    for at, line in enumerate(lines):
        if _is_header(lines, at):
            was_ours, ours = ours, _path(line)[: len(path)] == path
            if ours and not was_ours and kept and not kept[-1].strip():
                kept.pop()  # the blank line that was put in with it
        # What stands between two tables is as likely the next one's.
        if not ours or not line.strip() or line.lstrip().startswith("#"):
            kept.append(line)
    after = "".join(kept)
    if _lacking(_read(after), path) != _lacking(before, path) or _at(_read(after), path) is not None:
        raise NotPlain(f"{'.'.join(path)} is not written as a table of its own", 1)
    return after


def _is_header(lines: Sequence[str], at: int) -> bool:
    """A line of a string over several lines, or of a list, may look like one: then what precedes it is not whole."""
    if not _ANY_HEADER.match(lines[at]):
        return False
    try:
        tomllib.loads("".join(lines[:at]))
    except tomllib.TOMLDecodeError:
        return False
    return True


def _path(line: str) -> tuple[str, ...]:
    found = _HEADER.fullmatch(line.rstrip("\r\n"))
    if found is None:
        return ()
    parts, rest = [], found["name"]
    while rest:
        part = _PART.match(rest)
        if part is None:
            return ()
        parts.append(next(one for one in part.groups() if one is not None))
        rest = rest[part.end() :]
    return tuple(parts)


def _read(text: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        found = re.search(r"at line (\d+)", str(error))
        raise NotPlain(f"not TOML ({str(error).partition(' (at')[0]})", int(found[1]) if found else 1) from None
    except RecursionError:
        raise NotPlain("nested too deeply", 1) from None


def _at(tables: object, path: Sequence[str]) -> object:
    for key in path:
        tables = tables.get(key) if isinstance(tables, dict) else None
    return tables


def _lacking(tables: Mapping[str, Any], path: Sequence[str]) -> dict[str, Any]:
    """The same without what the path leads to, and without the tables on the way that are empty then."""
    first, *rest = path
    inner = tables.get(first)
    left = _lacking(inner, rest) if rest and isinstance(inner, dict) else {}
    others = {key: one for key, one in tables.items() if key != first}
    return {**others, first: left} if left else others


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
