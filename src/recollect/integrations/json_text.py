"""Finds the places in a JSON text where entries are added and cut out (settings_text.py).

Indentation, line ends and the way of writing follow what is there. A text that is not plain JSON, and one in which the
place is not clear (a key written twice), is refused: a guess could lose a person's settings.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Sequence
from typing import Any, NamedTuple, NoReturn

from recollect.base.errors import NotPlain

_BOM = "\ufeff"
_SPACE = " \t\r\n"
_INDENT = "  "
_COMMENT = re.compile(r'"(?:[^"\\\n]|\\.)*"|//[^\n]*|/\*.*?\*/', re.DOTALL)
_TRAILING_COMMA = re.compile(r'("(?:[^"\\\n]|\\.)*")|,(?=\s*[}\]])')


Way = tuple[str | int, ...]  # the keys, and the indexes in lists, that lead to a value


class Addition(NamedTuple):
    keys: tuple[str, ...]  # the way to the object or list that it is added to; what is missing of it is made
    name: str  # empty: it becomes the last element of a list
    value: object


class Insertion(NamedTuple):
    at: int  # in the text before
    text: str


class _Child(NamedTuple):
    """A member of an object, or an element of a list."""

    key: str | int
    start: int  # of its key, if it has one
    value: int
    end: int


class _Container(NamedTuple):
    open: int
    close: int
    children: tuple[_Child, ...]


# Long numbers stay text: one of ten thousand digits is valid JSON, and none of our business.
def _int(digits: str) -> int | str:
    return int(digits) if len(digits) < 16 else digits


_DECODER = json.JSONDecoder(parse_int=_int, parse_float=str)


def value_at(settings: object, way: Way) -> Any:
    """None where there is nothing."""
    for key in way:
        match settings:
            case dict() if key in settings:
                settings = settings[key]
            case list() if isinstance(key, int) and key < len(settings):
                settings = settings[key]
            case _:
                return None
    return settings


def load(text: str, additions: Sequence[Addition]) -> dict[str, Any]:
    if _is_blank(text):
        return {}
    settings, root = _parse(text)
    for addition in additions:
        within: _Container | None = root
        for key in (*addition.keys, addition.name):
            child = _only(text, within, key) if within else None
            within = _walk(text, child.value) if child and text[child.value] == "{" else None
    return settings


def insertions(text: str, additions: Sequence[Addition]) -> tuple[Insertion, ...]:
    if _is_blank(text):
        settings: dict[str, Any] = {}
        for keys, name, value in additions:
            _nest(settings, keys, name, value)
        written = json.dumps(settings, indent=_INDENT, ensure_ascii=False)
        return (Insertion(text.startswith(_BOM), written + "\n"),) if additions else ()
    _, root = _parse(text)
    members: dict[_Container, dict[str, Any]] = {}
    elements: dict[_Container, list[object]] = {}
    for addition in additions:
        container, missing = _place(text, root, addition)
        if missing or addition.name:
            _nest(members.setdefault(container, {}), missing, addition.name, addition.value)
        else:
            elements.setdefault(container, []).append(addition.value)
    style = _Style.of(text, root)
    made = [style.append(container, list(new.items())) for container, new in members.items()]
    made += [style.append(container, [("", one) for one in new]) for container, new in elements.items()]
    return tuple(sorted(made))


def cuts(text: str, ways: Collection[Way], keep: Collection[Way]) -> list[tuple[int, int]]:
    _, root = _parse(text)
    gone = set(ways)
    for way in sorted(ways, key=len, reverse=True):
        up = way[:-1]
        while up and up not in keep and all((*up, one.key) in gone for one in _at(text, root, up).children):
            gone.add(up)
            up = up[:-1]
    found = []
    for parent in {way[:-1] for way in gone} - gone:
        container = _at(text, root, parent)
        found += _ranges(container, [one for one in container.children if (*parent, one.key) in gone])
    return found


def blank_comments(text: str) -> str:
    """Comments, and commas before a closing bracket, are spaces."""
    bare = _COMMENT.sub(lambda found: found[0] if found[0][0] == '"' else re.sub(r"\S", " ", found[0]), text)
    return _TRAILING_COMMA.sub(lambda found: found[1] or " ", bare)


# Reading


def _is_blank(text: str) -> bool:
    return not text.removeprefix(_BOM).strip(_SPACE)


def _parse(text: str) -> tuple[dict[str, Any], _Container]:
    begin = len(_BOM) if text.startswith(_BOM) else 0
    try:
        settings = json.loads(text[begin:], parse_constant=_refuse_constant, parse_int=_int, parse_float=str)
    except json.JSONDecodeError as error:
        raise NotPlain(f"not plain JSON ({error.msg})", error.lineno) from None
    except RecursionError:
        raise NotPlain("nested too deeply", 1) from None
    except ValueError as error:
        raise NotPlain(str(error), 1) from None
    start = _skip(text, begin)
    if not isinstance(settings, dict):
        raise NotPlain("not a JSON object", _line(text, start))
    return settings, _walk(text, start)


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"not plain JSON ({name})")


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
    return text.count("\n", 0, at) + 1


def _only(text: str, container: _Container, key: str) -> _Child | None:
    found = [child for child in container.children if child.key == key]
    if len(found) > 1:
        raise NotPlain(f"{key!r} is written twice", _line(text, found[1].start))
    return found[0] if found else None


def _at(text: str, root: _Container, way: Way) -> _Container:
    """The container that a way leads to, which is there."""
    for key in way:
        root = _walk(text, next(child.value for child in root.children if child.key == key))
    return root


def _place(text: str, root: _Container, addition: Addition) -> tuple[_Container, tuple[str, ...]]:
    """The innermost container on its way that is there, and the keys that are missing."""
    for depth, key in enumerate(addition.keys, start=1):
        child = _only(text, root, key)
        if child is None:
            return root, addition.keys[depth - 1 :]
        is_list = depth == len(addition.keys) and not addition.name
        if text[child.value] != ("[" if is_list else "{"):
            raise NotPlain(f"{key!r} is not {'a list' if is_list else 'an object'}", _line(text, child.value))
        root = _walk(text, child.value)
    return root, ()


# Writing


def _nest(settings: dict[str, Any], keys: Sequence[str], name: str, value: object) -> None:
    for key in keys if name else keys[:-1]:
        settings = settings.setdefault(key, {})
    if name:
        settings[name] = value
    else:
        settings.setdefault(keys[-1], []).append(value)


def _ranges(container: _Container, doomed: Sequence[_Child]) -> list[tuple[int, int]]:
    """What to cut so that these children go, each with one comma."""
    children = container.children
    if len(doomed) == len(children):
        return [(container.open + 1, container.close)]
    found, kept_before = [], False
    for index, child in enumerate(children):
        if child not in doomed:
            kept_before = True
        elif kept_before:
            found.append((children[index - 1].end, child.end))
        else:
            found.append((child.start, children[index + 1].start))
    return found


class _Style(NamedTuple):
    """How a text is written."""

    text: str
    newline: str
    indent: str
    has_lines: bool  # members stand on lines of their own
    is_spaced: bool

    @classmethod
    def of(cls, text: str, root: _Container) -> _Style:
        lead = _space_before(text, root.children[0].start) if root.children else "\n" + _INDENT
        indent = lead.rpartition("\n")[2] if "\n" in lead else ""
        newline = "\r\n" if "\r\n" in text else "\n"
        return cls(text, newline, indent or _INDENT, "\n" in lead, '": ' in text or ", " in text)

    def append(self, container: _Container, new: Sequence[tuple[str, object]]) -> Insertion:
        comma = ", " if self.is_spaced else ","
        if container.children:
            last = container.children[-1]
            lead = _space_before(self.text, last.start)
            if "\n" in lead:
                indent = lead.rpartition("\n")[2]
                between = f",{self.newline}{indent}"
                return Insertion(last.end, "".join(between + self._on_lines(k, v, indent) for k, v in new))
            between = "," + lead if len(container.children) > 1 else comma
            return Insertion(last.end, "".join(between + self._in_line(k, v) for k, v in new))
        if not self.has_lines:
            return Insertion(container.open + 1, comma.join(self._in_line(k, v) for k, v in new))
        line = self.text[self.text.rfind("\n", 0, container.open) + 1 : container.open]
        outer = line[: len(line) - len(line.lstrip(" \t"))]
        indent = outer + self.indent
        body = f",{self.newline}{indent}".join(self._on_lines(k, v, indent) for k, v in new)
        closing = "" if "\n" in self.text[container.open : container.close] else self.newline + outer
        return Insertion(container.open + 1, f"{self.newline}{indent}{body}{closing}")

    def _on_lines(self, key: str, value: object, indent: str) -> str:
        written = json.dumps(value, indent=self.indent, ensure_ascii=False).replace("\n", self.newline + indent)
        return f"{json.dumps(key)}: {written}" if key else written

    def _in_line(self, key: str, value: object) -> str:
        colon, comma = (": ", ", ") if self.is_spaced else (":", ",")
        written = json.dumps(value, separators=(comma, colon), ensure_ascii=False)
        return f"{json.dumps(key)}{colon}{written}" if key else written


def _space_before(text: str, at: int) -> str:
    return text[len(text[:at].rstrip(_SPACE)) : at]
