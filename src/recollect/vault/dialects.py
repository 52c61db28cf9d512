"""The two dialects of notes as text; page.py says what their fields mean. A field or a block is changed by replacing
its own lines: every other line is kept, and what is in `<memory>` is never touched.

Front matter, between two `---` at the head, is read line by line, not as whole YAML: nothing in a file can be expanded,
constructed or run, and a broken line costs that line alone. The tag dialect is the four BLOCKS, each on lines of its
own, in any order."""

from __future__ import annotations

import json
import re
from enum import StrEnum
from typing import NamedTuple

from recollect.base.text import storable

# Front matter

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
_ITEM = re.compile(
    rf"\s*(?:{_QUOTED.pattern}|(?:\[[^\]]*+\]*+|[^,\[])*+)[^,]*", re.DOTALL
)  # of a list on one line
# What a plain YAML value may be without quotes; anything else is quoted.
_PLAIN = re.compile(
    r"(?!(?:true|false|null|yes|no|on|off|~)\Z)[A-Za-z_/][\w ./+@-]*(?<! )\Z", re.IGNORECASE
)
_LINE_ENDS = re.compile(
    "[\x7f-\x9f\u2028\u2029]"
)  # what some readers take for the end of a line, beyond JSON's


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
        return (
            value
            if isinstance(value, tuple)
            else tuple(filter(None, map(str.strip, value.split(","))))
        )


def find_front(text: str) -> Front | None:
    opening = _FENCE.match(text, head_start(text))
    closing = _END.search(text, opening.end(), opening.end() + MAX_CHARS) if opening else None
    if opening is None or closing is None:
        return None
    found: list[
        tuple[str, str, int, list[str]]
    ] = []  # name, the value on its own line, start, further lines
    ends: list[int] = []
    broken: list[str] = []
    is_inside = False
    for line in _LINE.finditer(text, opening.end(), closing.start()):
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
    # Of a name that stands twice the first counts.
    given = reversed([*zip(found, ends, strict=True)])
    fields = {
        name: Field(_value(value, more), start, end) for (name, value, start, more), end in given
    }
    return Front(closing.start(), closing.end(), fields, broken)


def with_field(text: str, name: str, value: Value) -> str:
    """The text with this field and the rest as it was. Front matter is added where there is none."""
    front, newline = find_front(text), newline_of(text)
    line = f"{name}: {to_yaml(value)}{newline}"
    if front is None:
        at = head_start(text)
        return f"{text[:at]}---{newline}{line}---{newline}{text[at:]}"
    found = front.fields.get(name, Field((), front.end, front.end))
    return (
        text
        if name in front.fields and found.value == value
        else text[: found.start] + line + text[found.end :]
    )


def head_start(text: str) -> int:
    return len(BOM) if text.startswith(BOM) else 0


def newline_of(text: str) -> str:
    first = re.search(r"\r?\n", text)
    return first.group() if first else "\n"


def to_yaml(value: Value) -> str:
    """On one line."""
    if isinstance(value, tuple):
        return f"[{', '.join(map(to_yaml, value))}]"
    if _PLAIN.match(value):
        return value
    return _LINE_ENDS.sub(
        lambda m: f"\\u{ord(m.group()):04x}", json.dumps(value, ensure_ascii=False)
    )


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


# Tags

METADATA, CONDITION, FUZZY, MEMORY = BLOCKS = (
    "memory-metadata",
    "conditional",
    "fuzzy-match",
    "memory",
)
DEFAULTS: dict[str, object] = {
    "frequency": 0, "last_accessed_session": 0, "created_session": 0, "appreciation": 0, "pinned": False,
}  # fmt: skip
_OPENING = re.compile(rf"^{BOM}?[ \t]*<({'|'.join(BLOCKS)})>[ \t]*(?:\r?\n|\Z)", re.MULTILINE)
_BEGINNING = re.compile(rf"{BOM}?(?:[ \t]*\r?\n)*{_OPENING.pattern}", re.MULTILINE)


class Form(StrEnum):  # what the background may write into a file
    OTHER = ""  # nothing
    TAGGED = "tagged"  # how it was used
    LACKING = "lacking"  # the tags that it lacks


class Block(NamedTuple):
    start: int  # of the line with its opening tag
    inner: int
    inner_end: int
    end: int


def find_blocks(text: str) -> dict[str, Block]:
    """The blocks by name; empty: the text is not of this dialect. A memory that is not closed goes on to the end."""
    found: dict[str, Block] = {}
    tried: set[str] = set()  # what is not closed after its first opening is closed after none
    at = 0
    while opening := _OPENING.search(text, at):
        name, at = opening[1], opening.end()
        if name in tried:
            continue
        tried.add(name)
        closing = re.compile(rf"^[ \t]*</{name}>[ \t]*(?:\r?\n|\Z)", re.MULTILINE)
        ends = [(one.start(), one.end()) for one in closing.finditer(text, opening.end())]
        if (
            name == MEMORY
        ):  # it may quote its own tags: its last closing tag counts; the small blocks end at the first
            ends = ends[-1:] or [(len(text), len(text))]
        if ends:
            found[name] = Block(opening.start(), opening.end(), *ends[0])
            at = found[name].end
    return found


def begins_with_tag(text: str) -> bool:
    """Whether its first line is one of the tags. A note that only quotes them somewhere is never changed."""
    return _BEGINNING.match(text) is not None


def form_of(text: str) -> Form:
    if not begins_with_tag(text) or not find_blocks(text):
        return Form.OTHER
    return Form.TAGGED if complete(text, session=0) == text else Form.LACKING


def inner(text: str, block: Block | None) -> str:
    return text[block.inner : block.inner_end].strip("\r\n") if block else ""


def metadata(text: str) -> dict[str, object] | None:
    """None if it is there and cannot be read."""

    def unique(pairs: list[tuple[str, object]]) -> dict[str, object]:
        held = dict(pairs)
        if len(held) < len(pairs):
            raise ValueError("a duplicate key, one of which would be lost")
        return held

    try:
        held = json.loads(
            inner(text, find_blocks(text).get(METADATA)) or "{}", object_pairs_hook=unique
        )
    except (ValueError, RecursionError):
        return None
    return held if isinstance(held, dict) else None


def with_metadata(text: str, values: dict[str, object]) -> str:
    """The text with these values in its metadata, the others as they were. Unreadable metadata is left alone."""
    held = metadata(text)
    whole = {
        name: int(one)
        for name, one in values.items()
        if isinstance(one, float) and one.is_integer()
    }
    new = {**(held or {}), **values, **whole}  # as people write it: whole numbers without a point
    if held is None or (new == held and METADATA in find_blocks(text)):
        return text
    try:
        written = json.dumps(new, indent=2, ensure_ascii=False, allow_nan=False)
        if storable(written) != written:
            written = json.dumps(new, indent=2)
    except (ValueError, RecursionError):  # it holds something that JSON cannot say again
        return text
    return _with_block(text, METADATA, written)


def with_condition(text: str, condition: str) -> str:
    """The text with this condition. One without a memory of this dialect stays as it is."""
    return _with_block(text, CONDITION, condition) if MEMORY in find_blocks(text) else text


def complete(text: str, *, session: int) -> str:
    """With the tags and figures that it lacks. A note that is broken, or of another dialect, stays as it is."""
    blocks = find_blocks(text)
    opened = {one[1] for one in _OPENING.finditer(text)}
    is_open = MEMORY in blocks and blocks[MEMORY].inner_end == blocks[MEMORY].end
    if not begins_with_tag(text) or metadata(text) is None or not opened <= set(blocks) or is_open:
        return text
    if MEMORY not in blocks:  # around all that follows the last block
        at, newline = max(block.end for block in blocks.values()), newline_of(text)
        before = "" if text[:at].endswith("\n") else newline
        rest = text[at:].lstrip("\r\n")
        space = text[at : len(text) - len(rest)]
        after = "" if not rest or rest.endswith("\n") else newline
        text = f"{text[:at]}{before}{space}<{MEMORY}>{newline}{rest}{after}</{MEMORY}>{newline}"
    text = with_metadata(text, {**DEFAULTS, "created_session": session, **(metadata(text) or {})})
    for name in (CONDITION, FUZZY):  # for a person to fill in
        text = text if name in find_blocks(text) else _with_block(text, name, "")
    return text


def _with_block(text: str, name: str, content: str) -> str:
    """With this content in the block, which is added before the blocks that should follow it."""
    blocks, newline = find_blocks(text), newline_of(text)
    content = content.replace("\n", newline) + newline if content else ""
    if name in blocks:
        return text[: blocks[name].inner] + content + text[blocks[name].inner_end :]
    if name == METADATA:
        found = find_front(text)
        at = found.after if found else head_start(text)
    else:
        at = min(blocks[other].start for other in BLOCKS[BLOCKS.index(name) :] if other in blocks)
        at += head_start(text[at:])
    return f"{text[:at]}<{name}>{newline}{content}</{name}>{newline}{newline}{text[at:]}"
