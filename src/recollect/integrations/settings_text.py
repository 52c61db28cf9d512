"""Edits the text of a settings file that belongs to others, touching no other byte. Text in, text out.

Adding only ever inserts, so that it can be taken back exactly. If the text was changed in between, our entries are
found by their content and cut out. What to add is a tree: nested objects whose missing members are added, and lists
that are appended to. A text that is not plain, or has a key of the tree twice, is refused: a guess could lose settings.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, NoReturn

from recollect.agents import Form

_BOM = "\ufeff"
_SPACE = " \t\r\n"
_INDENT = "  "
_COMMENT = re.compile(r'"(?:[^"\\\n]|\\.)*"|//[^\n]*|/\*.*?\*/', re.DOTALL)
_TRAILING_COMMA = re.compile(r'("(?:[^"\\\n]|\\.)*")|,(?=\s*[}\]])')
_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")

KeyPath = tuple[str | int, ...]  # the keys, and the indexes in lists, that lead to a value
Tree = Mapping[str, Any]


class NotPlain(ValueError):
    def __init__(self, problem: str, line: int = 1) -> None:
        super().__init__(f"line {line}: {problem}")


class Insertion(NamedTuple):
    at: int  # in the text before
    text: str


def value_at(settings: Any, way: KeyPath) -> Any:
    """None where there is nothing."""
    try:
        for key in way:
            settings = settings[key]
    except (LookupError, TypeError):
        return None
    return settings


def load(form: Form, text: str, tree: Tree | None = None) -> dict[str, Any]:
    """The settings as values. NotPlain where they cannot be read, or have a key of the tree twice in one place."""
    if form is Form.TOML:
        return _load_toml(text)
    text = _plain(form, text)
    return _parse(text, tree or {}) if text.strip(_SPACE) else {}


def insertions(form: Form, text: str, tree: Tree) -> tuple[Insertion, ...]:
    """What makes each part of the tree the last entry where it belongs."""
    if form is Form.TOML:
        return _toml_insertions(text, tree)
    text = _plain(form, text)
    if not text.strip(_SPACE):
        return (Insertion(len(text), json.dumps(tree, indent=_INDENT, ensure_ascii=False) + "\n"),)
    _parse(text, tree)
    root = _walk(text, _skip(text, 0))
    lead = _space_before(text, root.children[0].start) if root.children else "\n" + _INDENT
    unit = (lead.rpartition("\n")[2] or _INDENT) if "\n" in lead else ""
    return tuple(sorted(_merge(text, root, tree, unit)))


def without(
    form: Form, text: str, ways: Collection[KeyPath], keep: Collection[KeyPath] = ()
) -> str:
    """The text without these entries, and without the objects and lists that they leave empty, except those to keep."""
    if form is Form.TOML:
        return _without_tables(text, ways)
    for start, end in sorted(
        _json_cuts(_plain(form, text), ways, keep) if ways else (), reverse=True
    ):
        text = text[:start] + text[end:]
    return text


def insert(text: str, what: Sequence[Insertion]) -> str:
    for at, new in sorted(what, reverse=True):
        text = text[:at] + new + text[at:]
    return text


def take_back(text: str, what: Sequence[Insertion]) -> str | None:
    """The text before; None where what was inserted no longer stands there."""
    for at, new in sorted(what):
        if not text.startswith(new, at):
            return None
        text = text[:at] + text[at + len(new) :]
    return text


# Where the members of a JSON object or list stand


class _Child(NamedTuple):
    key: str | int
    start: int  # of its key, if it has one
    value: int
    end: int


class _Container(NamedTuple):
    open: int
    close: int
    children: tuple[_Child, ...]


def _blank_comment(found: re.Match[str]) -> str:
    """A comment as blanks; the pattern finds strings, too, so that none inside a string is taken for one."""
    said = found[0]
    return said if said.startswith('"') else re.sub(r"\S", " ", said)


def _plain(form: Form, text: str) -> str:
    """A text of the same length and meaning, without a byte order mark, comments and trailing commas."""
    if text.startswith(_BOM):
        text = " " + text[1:]
    if form is Form.COMMENTED:
        text = _COMMENT.sub(_blank_comment, text)
        text = _TRAILING_COMMA.sub(lambda found: found[1] or " ", text)
    return text


# Long numbers stay text: one of ten thousand digits is valid JSON, and none of our business.
def _int(digits: str) -> int | str:
    return int(digits) if len(digits) < 16 else digits


_DECODER = json.JSONDecoder(parse_int=_int, parse_float=str)


def _parse(text: str, tree: Tree) -> dict[str, Any]:
    """NotPlain also where a key of the tree is written twice in one object."""
    names = _names(tree)

    def members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        keys = [key for key, _ in pairs]
        for name in names:
            if keys.count(name) > 1:
                raise NotPlain(
                    f"{name!r} is written twice", _line(text, text.rfind(json.dumps(name)))
                )
        return dict(pairs)

    def refuse(name: str) -> NoReturn:
        raise NotPlain(f"not plain JSON ({name})")

    try:
        settings = json.loads(
            text, object_pairs_hook=members, parse_constant=refuse, parse_int=_int, parse_float=str
        )
    except json.JSONDecodeError as error:
        raise NotPlain(f"not plain JSON ({error.msg})", error.lineno) from None
    except RecursionError:
        raise NotPlain("nested too deeply") from None
    if not isinstance(settings, dict):
        raise NotPlain("not a JSON object", _line(text, _skip(text, 0)))
    return settings


def _names(tree: Tree) -> set[str]:
    return set(tree).union(*(_names(inner) for inner in tree.values() if isinstance(inner, dict)))


def _walk(text: str, start: int) -> _Container:
    """The children of the object or list at `start`, in a text that is known to be JSON."""
    is_object = text[start] == "{"
    children: list[_Child] = []
    at = _skip(text, start + 1)
    while text[at] not in "}]":
        begin, key = at, len(children)
        if is_object:
            key, at = _DECODER.raw_decode(text, at)
            at = _skip(text, _skip(text, at) + 1)
        value = at
        _, at = _DECODER.raw_decode(text, at)
        children.append(_Child(key, begin, value, at))
        at = _skip(text, at)
        if text[at] == ",":
            at = _skip(text, at + 1)
    return _Container(start, at, tuple(children))


def _skip(text: str, at: int) -> int:
    while at < len(text) and text[at] in _SPACE:
        at += 1
    return at


def _line(text: str, at: int) -> int:
    return text.count("\n", 0, max(at, 0)) + 1


def _space_before(text: str, at: int) -> str:
    return text[len(text[:at].rstrip(_SPACE)) : at]


# Adding to JSON, and cutting out of it


def _merge(text: str, container: _Container, new: Any, unit: str) -> Iterator[Insertion]:
    """`new`: a tree or a list. `unit`: one level of indentation; empty in a text without lines."""
    missing: list[tuple[str, object]] = []
    present = {child.key: child.value for child in container.children}
    for key, value in [("", one) for one in new] if isinstance(new, list) else new.items():
        if key not in present:
            missing.append((key, value))
            continue
        is_list = isinstance(value, list)
        if text[present[key]] != ("[" if is_list else "{"):
            raise NotPlain(
                f"{key!r} is not {'a list' if is_list else 'an object'}", _line(text, present[key])
            )
        yield from _merge(text, _walk(text, present[key]), value, unit)
    if not missing:
        return
    # After the last member, indented as it is.
    newline = "\r\n" if "\r\n" in text else "\n"
    line = text[text.rfind("\n", 0, container.open) + 1 : container.open]
    outer = line[: len(line) - len(line.lstrip(" \t"))]
    last = container.children[-1] if container.children else None
    lead = _space_before(text, last.start) if last else f"\n{outer}{unit}" if unit else ""
    _, line_end, indent = lead.rpartition("\n")  # empty in a text without lines
    comma, depth = (",\n", unit or _INDENT) if line_end else (", ", None)
    values = [
        (f"{json.dumps(key)}: " if key else "", json.dumps(one, indent=depth, ensure_ascii=False))
        for key, one in missing
    ]
    body = (comma if last else line_end) + comma.join(map("".join, values))
    is_closed = last or not line_end or "\n" in text[container.open : container.close]
    added = body.replace("\n", newline + indent) + ("" if is_closed else newline + outer)
    yield Insertion(last.end if last else container.open + 1, added)


def _json_cuts(
    text: str, ways: Collection[KeyPath], keep: Collection[KeyPath]
) -> Iterator[tuple[int, int]]:
    def at(way: KeyPath) -> _Container:
        found = _walk(text, _skip(text, 0))
        for key in way:
            found = _walk(text, next(child.value for child in found.children if child.key == key))
        return found

    gone = set(ways)
    for way in sorted(ways, key=len, reverse=True):
        up = way[:-1]
        while up and up not in keep and all((*up, one.key) in gone for one in at(up).children):
            gone.add(up)
            up = up[:-1]
    for parent in {way[:-1] for way in gone} - gone:
        opened, close, children = at(parent)
        kept = [index for index, child in enumerate(children) if (*parent, child.key) not in gone]
        if not kept:
            yield opened + 1, close
            continue
        for index in set(range(len(children))) - set(kept):  # each with one comma
            if index < kept[0]:
                yield children[index].start, children[index + 1].start
            else:
                yield children[index - 1].end, children[index].end


# TOML: the tree is one table, which is added at the end. After every change the text is read again, and refused if
# anything else has changed its meaning.


def _load_toml(text: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        found = re.search(r"at line (\d+)", str(error))
        raise NotPlain(
            f"not TOML ({str(error).partition(' (at')[0]})", int(found[1]) if found else 1
        ) from None
    except RecursionError:
        raise NotPlain("nested too deeply") from None


def _toml_insertions(text: str, tree: Tree) -> tuple[Insertion, ...]:
    newline = "\r\n" if "\r\n" in text else "\n"
    way, table = [], tree
    while isinstance(inner := next(iter(table.values())), dict):
        way.append(next(iter(table)))
        table = inner
    lines = [
        f"[{_toml_name(way)}]",
        *(f"{key} = {json.dumps(one, ensure_ascii=False)}" for key, one in table.items()),
    ]
    gap = "" if not text else newline if text.endswith("\n") else newline * 2
    new = Insertion(len(text), gap + newline.join(lines) + newline)
    if value_at(_load_toml(text + new.text), tuple(way)) != table:
        raise NotPlain(f"{_toml_name(way[:-1])} is written in a way that nothing can be added to")
    return (new,)


def _without_tables(text: str, ways: Collection[KeyPath]) -> str:
    """Without the lines of our tables and of the tables below them."""
    heads, is_ours, kept = tuple(f"{_toml_name(way)}." for way in ways), False, list[str]()
    for line in text.splitlines(keepends=True):
        if line.lstrip().startswith("["):
            was_ours, is_ours = is_ours, f"{line.strip()[1:].partition(']')[0]}.".startswith(heads)
            if is_ours and not was_ours and kept and not kept[-1].strip():
                kept.pop()  # the blank line that was added with it
        # A comment between two tables more likely belongs to the next one.
        if not is_ours or not line.strip() or line.lstrip().startswith("#"):
            kept.append(line)
    before, after = _load_toml(text), _load_toml("".join(kept))
    for way in ways:
        if value_at(after, way) is not None:
            raise NotPlain(f"{_toml_name(way)} is not written as a table of its own")
        value_at(before, way[:-1]).pop(way[-1])
    if _without_empty(before) != _without_empty(after):
        raise NotPlain("other tables depend on ours")
    return "".join(kept)


def _without_empty(tables: Mapping[str, Any]) -> dict[str, Any]:
    found = {
        key: _without_empty(one) if isinstance(one, dict) else one for key, one in tables.items()
    }
    return {key: one for key, one in found.items() if one != {}}


def _toml_name(way: Sequence[str | int]) -> str:
    keys = map(str, way)
    return ".".join(
        key if _BARE_KEY.fullmatch(key) else json.dumps(key, ensure_ascii=False) for key in keys
    )
