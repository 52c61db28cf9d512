"""Front matter: the lines between two `---` at the head of a note. What its fields mean is page.py's.

Read line by line, not as whole YAML: nothing in a file can be expanded, constructed or run, and a broken line costs
that line alone. A field is changed by replacing its own lines; every line that we do not know is kept."""

from __future__ import annotations

import json
import re
from typing import NamedTuple

Value = str | tuple[str, ...]
BOM = "\ufeff"
MAX_CHARS = 100_000  # of front matter; anything longer is text that happens to begin with a line
_FENCE = re.compile(r"---[ \t]*\r?\n")
_END = re.compile(r"^(?:---|\.\.\.)[ \t]*(?:\r?\n|\Z)", re.MULTILINE)
_LINE = re.compile(r"[^\n]*\n|[^\n]+")
_FOLDED = re.compile(r"[|>][+-]?\Z")
_FIELD = re.compile(r"([A-Za-z_][\w-]*)[ \t]*:(?:[ \t]+(.*)|)$", re.DOTALL)
_ELEMENT = re.compile(r"[ \t]*-(?:[ \t]+(.*)|)$", re.DOTALL)
_COMMENT = re.compile(r"(?:^|[ \t])#.*$")
_QUOTED = re.compile(r'"(?:[^"\\]|\\.)*"|' r"'(?:[^']|'')*'", re.DOTALL)
_ITEM = re.compile(rf"\s*(?:{_QUOTED.pattern}|(?:\[[^\]]*\]*|[^,\[])*)[^,]*", re.DOTALL)  # of a list on one line
# What a plain YAML value may be without quotes; anything else is quoted.
_PLAIN = re.compile(r"(?!(?:true|false|null|yes|no|on|off|~)\Z)[A-Za-z_/][\w ./+@-]*(?<! )\Z", re.IGNORECASE)
_LINE_ENDS = re.compile("[\x7f-\x9f\u2028\u2029]")  # what some readers take for the end of a line, beyond JSON's


class Field(NamedTuple):
    value: Value
    start: int
    end: int  # of its lines, in the text


class Front(NamedTuple):
    end: int  # of the last line before the closing fence
    after: int  # where the note's own text begins
    fields: dict[str, Field]
    broken: list[str]  # lines that are neither a field nor part of one

    def one(self, name: str) -> str:
        value = self.fields[name].value if name in self.fields else ""
        return value if isinstance(value, str) else ", ".join(value)

    def many(self, name: str) -> tuple[str, ...]:
        """A list, or one value divided by commas."""
        value = self.fields[name].value if name in self.fields else ()
        return value if isinstance(value, tuple) else tuple(filter(None, map(str.strip, value.split(","))))


def find(text: str) -> Front | None:
    opening = _FENCE.match(text, head_start(text))
    closing = _END.search(text, opening.end(), opening.end() + MAX_CHARS) if opening else None
    if opening is None or closing is None:
        return None
    return Front(closing.start(), closing.end(), *_read(text, opening.end(), closing.start()))


def with_field(text: str, name: str, value: Value) -> str:
    """The text with this field and the rest as it was. Front matter is added where there is none."""
    front = find(text)
    newline = newline_of(text)
    line = f"{name}: {to_yaml(value)}{newline}"
    if front is None:
        at = head_start(text)
        return f"{text[:at]}---{newline}{line}---{newline}{text[at:]}"
    found = front.fields.get(name, Field((), front.end, front.end))
    return text if name in front.fields and found.value == value else text[: found.start] + line + text[found.end :]


def head_start(text: str) -> int:
    return len(BOM) if text.startswith(BOM) else 0


def newline_of(text: str) -> str:
    """The line ending of the text's first line."""
    first = re.search(r"\r?\n", text)
    return first.group() if first else "\n"


def to_yaml(value: Value) -> str:
    """On one line."""
    if isinstance(value, tuple):
        return f"[{', '.join(map(to_yaml, value))}]"
    if _PLAIN.match(value):
        return value
    return _LINE_ENDS.sub(lambda m: f"\\u{ord(m.group()):04x}", json.dumps(value, ensure_ascii=False))


def _read(text: str, start: int, end: int) -> tuple[dict[str, Field], list[str]]:
    found: list[tuple[str, str, int, list[str]]] = []  # name, the value on its own line, start, further lines
    ends: list[int] = []
    broken: list[str] = []
    is_inside = False
    for line in _LINE.finditer(text, start, end):
        content = line.group().rstrip("\r\n")
        if field := _FIELD.match(content):
            found.append((field[1], (field[2] or "").strip(), line.start(), []))
            ends.append(line.end())
            is_inside = True
        elif is_inside and (_ELEMENT.match(content) or (content[:1].isspace() and content.strip())):
            found[-1][3].append(content.strip())
            ends[-1] = line.end()
        elif content.strip() and not content.startswith("#"):
            is_inside = False
            broken.append(content)
    fields = zip(found, ends, strict=True)
    # Of a name that stands twice the first counts.
    return {name: Field(_value(given, more), at, to) for (name, given, at, more), to in reversed([*fields])}, broken


def _value(given: str, more: list[str]) -> Value:
    """`more`: the lines that follow the field's own."""
    elements = [element[1] or "" for element in map(_ELEMENT.match, more) if element]
    if _FOLDED.match(given):
        return " ".join(more)
    if elements and not given:
        return tuple(map(_scalar, elements))
    if given.startswith("[") and not given.startswith("[["):
        items = _ITEM.findall(given[1:].rsplit("]", 1)[0])
        return tuple(filter(None, map(_scalar, items)))
    return _scalar(given)


def _scalar(given: str) -> str:
    given = given.strip()
    quoted = _QUOTED.match(given)
    if quoted is None:
        return given if given[:1] in ("'", '"') else _COMMENT.sub("", given).strip()
    if given[0] == "'":
        return quoted.group()[1:-1].replace("''", "'")
    try:
        return str(json.loads(quoted.group(), strict=False))
    except ValueError:  # an escape that JSON does not know
        return quoted.group()[1:-1]
