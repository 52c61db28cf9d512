"""Front matter: the lines between two `---` at the head of a note.

Read line by line, not as whole YAML: the fields we know are single values and lists of them, which is what editors of
notes write; every other line is kept and never looked at. So nothing in a file can be expanded, constructed or run,
and a line that is broken costs that line alone. A field is changed by replacing its own lines.

Does not know what fields mean (page.py).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import NamedTuple

Value = str | tuple[str, ...]
BOM = "\ufeff"
MAX_CHARS = 100_000  # of front matter. What is longer is taken for text that begins with a line.
_FENCE = re.compile(r"---[ \t]*\r?\n")
_END = re.compile(r"^(?:---|\.\.\.)[ \t]*(?:\r?\n|\Z)", re.MULTILINE)
_LINE = re.compile(r"[^\n]*\n|[^\n]+")
_FOLDED = re.compile(r"[|>][+-]?\Z")
_FIELD = re.compile(r"([A-Za-z_][\w-]*)[ \t]*:(?:[ \t]+(.*)|)$", re.DOTALL)
_ELEMENT = re.compile(r"[ \t]*-(?:[ \t]+(.*)|)$", re.DOTALL)
_COMMENT = re.compile(r"(?:^|[ \t])#.*$")
# What a plain YAML value may be without quotes; anything else is quoted.
_PLAIN = re.compile(r"(?!(?:true|false|null|yes|no|on|off|~)\Z)[A-Za-z_/][\w ./+@-]*(?<! )\Z", re.IGNORECASE)
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "0": "\0", '"': '"', "\\": "\\", "/": "/"}


class Field(NamedTuple):
    value: Value
    start: int
    end: int  # of its lines, in the text


@dataclass(frozen=True, slots=True)
class Front:
    """Where it stands, and what of it can be read."""

    start: int  # of the first line after the opening fence
    end: int  # of the last line before the closing fence
    after: int  # where the note's own text begins
    fields: dict[str, Field]
    broken: tuple[str, ...] = ()  # lines that are neither a field nor part of one


def find(text: str) -> Front | None:
    """None: the text has none."""
    opening = _FENCE.match(text, len(BOM) if text.startswith(BOM) else 0)
    if opening is None:
        return None
    closing = _END.search(text, opening.end(), opening.end() + MAX_CHARS)
    if closing is None:
        return None
    fields, broken = _read(text, opening.end(), closing.start())
    return Front(opening.end(), closing.start(), closing.end(), fields, broken)


def with_field(text: str, name: str, value: Value) -> str:
    """The text with this field; the rest of it as it was. Without front matter, it is given one."""
    front = find(text)
    newline = newline_of(text)
    line = f"{name}: {shown(value)}{newline}"
    if front is None:
        at = len(BOM) if text.startswith(BOM) else 0
        return f"{text[:at]}---{newline}{line}---{newline}{text[at:]}"
    found = front.fields.get(name)
    if found is None:
        return text[: front.end] + line + text[front.end :]
    if found.value == value:
        return text
    return text[: found.start] + line + text[found.end :]


def newline_of(text: str) -> str:
    """As the text's first line ends."""
    first = re.search(r"\r?\n", text)
    return first.group() if first else "\n"


def is_utf8(text: str) -> bool:
    """False: it holds half a character."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def shown(value: Value) -> str:
    """As YAML, on one line."""
    if isinstance(value, tuple):
        return f"[{', '.join(_scalar(part) for part in value)}]"
    return _scalar(value)


def _scalar(text: str) -> str:
    if _PLAIN.match(text):
        return text
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    escaped = escaped.replace("\n", "\\n").replace("\r", "\\r").replace("\t", "\\t").replace("\0", "\\0")
    # What some readers take for the end of a line.
    escaped = re.sub("[\x01-\x1f\x7f-\x9f\u2028\u2029]", lambda m: f"\\u{ord(m.group()):04x}", escaped)
    return f'"{escaped}"'


@dataclass(slots=True)
class _Reading:
    """A field whose lines are still coming."""

    name: str
    given: str
    start: int
    end: int
    elements: list[str]
    folded: list[str]

    def field(self) -> Field:
        value: Value
        if _FOLDED.match(self.given):
            value = " ".join(self.folded)
        else:
            value = tuple(self.elements) if self.elements and not self.given else _value(self.given)
        return Field(value, self.start, self.end)


def _read(text: str, start: int, end: int) -> tuple[dict[str, Field], tuple[str, ...]]:
    read: list[_Reading] = []
    broken: list[str] = []
    is_inside = False
    for line in _LINE.finditer(text, start, end):
        content = line.group().rstrip("\r\n")
        field, element = _FIELD.match(content), _ELEMENT.match(content)
        if field:
            read.append(_Reading(field[1], (field[2] or "").strip(), line.start(), line.end(), [], []))
            is_inside = True
        elif is_inside and (element or (content[:1].isspace() and content.strip())):
            read[-1].end = line.end()
            read[-1].elements += [_one(element[1] or "")] if element else []
            read[-1].folded.append(content.strip())
        elif content.strip() and not content.startswith("#"):
            is_inside = False
            broken.append(content)
    return {one.name: one.field() for one in reversed(read)}, tuple(broken)


def _value(given: str) -> Value:
    if given.startswith("[") and not given.startswith("[["):
        inner = given[1:].rsplit("]", 1)[0]
        return tuple(part for part in (_one(part) for part in _parts(inner)) if part)
    return _one(given)


def _parts(inner: str) -> list[str]:
    """At commas that stand outside quotes and brackets."""
    parts, quote, depth, begun, at = [], "", 0, 0, 0
    while at < len(inner):
        char = inner[at]
        if quote:
            if char == "\\" and quote == '"':
                at += 1
            elif char == quote:
                quote = ""
        elif char in "\"'" and not inner[begun:at].strip():
            quote = char
        elif char in "[]":
            depth += 1 if char == "[" else -1
        elif char == "," and depth <= 0:
            parts.append(inner[begun:at])
            begun = at + 1
        at += 1
    return [*parts, inner[begun:]]


def _one(given: str) -> str:
    given = given.strip()
    if given[:1] == '"':
        return _unescaped(given)
    if given[:1] == "'":
        closing = re.match(r"'((?:[^']|'')*)'", given)
        return closing[1].replace("''", "'") if closing else given
    return _COMMENT.sub("", given).strip()


def _unescaped(given: str) -> str:
    closing = re.match(r'"((?:[^"\\]|\\.)*)"', given, re.DOTALL)
    if closing is None:
        return given
    return re.sub(r"\\(?:u([0-9a-fA-F]{4})|(.))", _character, closing[1], flags=re.DOTALL)


def _character(escape: re.Match[str]) -> str:
    if escape[1]:
        return chr(int(escape[1], 16))
    return _ESCAPES.get(escape[2], escape[0])
