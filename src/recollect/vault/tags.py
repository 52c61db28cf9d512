"""The tag dialect: `<memory-metadata>`, `<conditional>`, `<fuzzy-match>` and `<memory>`, each on lines of its own, in
any order. A file is changed by replacing what stands in a block; what is in `<memory>` is never touched. What the
blocks mean is page.py's."""

from __future__ import annotations

import json
import re
from enum import StrEnum
from typing import NamedTuple

from recollect.base.text import storable
from recollect.vault import front

METADATA, CONDITION, FUZZY, MEMORY = BLOCKS = ("memory-metadata", "conditional", "fuzzy-match", "memory")
DEFAULTS: dict[str, object] = {
    "frequency": 0, "last_accessed_session": 0, "created_session": 0, "appreciation": 0, "pinned": False,
}  # fmt: skip
_OPENING = re.compile(rf"^{front.BOM}?[ \t]*<({'|'.join(BLOCKS)})>[ \t]*(?:\r?\n|\Z)", re.MULTILINE)
_FIRST_LINE = re.compile(rf"{front.BOM}?(?:[ \t]*\r?\n)*([^\n]*\n?)")


class Form(StrEnum):
    """What the background may write into a file."""

    OTHER = ""  # nothing
    TAGGED = "tagged"  # how it was used
    LACKING = "lacking"  # the tags that it lacks


class Block(NamedTuple):
    start: int  # of the line with its opening tag
    inner: int
    inner_end: int
    end: int


def find(text: str) -> dict[str, Block]:
    """The blocks by name; empty: the text is not of this dialect. A memory that is not closed goes on to the end."""
    found: dict[str, Block] = {}
    tried: set[str] = set()  # what is not closed after its first opening is closed after none
    opening = _OPENING.search(text)
    while opening is not None:
        name = opening[1]
        block = _close(text, name, opening) if name not in tried else None
        tried.add(name)
        if block is not None:
            found[name] = block
        opening = _OPENING.search(text, block.end if block else opening.end())
    return found


def _close(text: str, name: str, opening: re.Match[str]) -> Block | None:
    closing = re.compile(rf"^[ \t]*</{name}>[ \t]*(?:\r?\n|\Z)", re.MULTILINE)
    ends = [(one.start(), one.end()) for one in closing.finditer(text, opening.end())]
    if name == MEMORY:  # it may quote its own tags, so its last closing tag counts; the small blocks end at the first
        ends = ends[-1:] or [(len(text), len(text))]
    return Block(opening.start(), opening.end(), *ends[0]) if ends else None


def begins_with_tag(text: str) -> bool:
    """Whether its first line is one of the tags. A note that only quotes them somewhere is never changed."""
    first = _FIRST_LINE.match(text)
    return first is not None and _OPENING.match(first[1]) is not None


def form_of(text: str) -> Form:
    if not begins_with_tag(text) or not find(text):
        return Form.OTHER
    return Form.TAGGED if complete(text, session=0) == text else Form.LACKING


def inner(text: str, block: Block | None) -> str:
    return text[block.inner : block.inner_end].strip("\r\n") if block else ""


def metadata(text: str) -> dict[str, object] | None:
    """None if it is there and cannot be read."""
    try:
        held = json.loads(inner(text, find(text).get(METADATA)) or "{}", object_pairs_hook=_unique)
    except (ValueError, RecursionError):
        return None
    return held if isinstance(held, dict) else None


def _unique(pairs: list[tuple[str, object]]) -> dict[str, object]:
    held = dict(pairs)
    if len(held) < len(pairs):
        raise ValueError("a duplicate key, one of which would be lost")
    return held


def with_metadata(text: str, values: dict[str, object]) -> str:
    """The text with these values in its metadata, the others as they were. Unreadable metadata is left alone."""
    held = metadata(text)
    whole = {name: int(one) for name, one in values.items() if isinstance(one, float) and one.is_integer()}
    new = {**(held or {}), **values, **whole}  # as people write it: whole numbers without a point
    if held is None or (new == held and METADATA in find(text)):
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
    return _with_block(text, CONDITION, condition) if MEMORY in find(text) else text


def complete(text: str, *, session: int) -> str:
    """With the tags and figures that it lacks. A note that is broken, or of another dialect, stays as it is."""
    blocks = find(text)
    opened = {one[1] for one in _OPENING.finditer(text)}
    is_open = MEMORY in blocks and blocks[MEMORY].inner_end == blocks[MEMORY].end
    if not begins_with_tag(text) or metadata(text) is None or not opened <= set(blocks) or is_open:
        return text
    if MEMORY not in blocks:
        text = _with_memory(text, max(block.end for block in blocks.values()))
    text = with_metadata(text, {**DEFAULTS, "created_session": session, **(metadata(text) or {})})
    for name in (CONDITION, FUZZY):  # for a person to fill in
        text = text if name in find(text) else _with_block(text, name, "")
    return text


def _with_block(text: str, name: str, content: str) -> str:
    """With this content in the block, which is added before the blocks that should follow it."""
    blocks, newline = find(text), front.newline_of(text)
    content = content.replace("\n", newline) + newline if content else ""
    if name in blocks:
        return text[: blocks[name].inner] + content + text[blocks[name].inner_end :]
    if name == METADATA:
        found = front.find(text)
        at = found.after if found else front.head_start(text)
    else:
        at = min(blocks[other].start for other in BLOCKS[BLOCKS.index(name) :] if other in blocks)
        at += front.head_start(text[at:])
    return f"{text[:at]}<{name}>{newline}{content}</{name}>{newline}{newline}{text[at:]}"


def _with_memory(text: str, at: int) -> str:
    """Around all that follows the last block."""
    newline = front.newline_of(text)
    before = "" if text[:at].endswith("\n") else newline
    rest = text[at:].lstrip("\r\n")
    space = text[at : len(text) - len(rest)]
    after = "" if not rest or rest.endswith("\n") else newline
    return f"{text[:at]}{before}{space}<{MEMORY}>{newline}{rest}{after}</{MEMORY}>{newline}"
