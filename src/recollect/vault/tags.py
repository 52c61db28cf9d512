"""The tag dialect: `<memory-metadata>`, `<conditional>`, `<fuzzy-match>` and `<memory>`, each on lines of its own.

A block begins where its tag stands alone on a line, in any order. A memory ends at the last such closing tag, so that
it may speak of these tags. Changed by replacing what stands in a block. What is in `<memory>` is never touched.

Does not know what the blocks mean (page.py).
"""

from __future__ import annotations

import json
import re
from typing import NamedTuple

from recollect.vault.front import BOM, is_utf8, newline_of
from recollect.vault.front import find as front_matter

METADATA, CONDITION, FUZZY, MEMORY = "memory-metadata", "conditional", "fuzzy-match", "memory"
BLOCKS = (METADATA, CONDITION, FUZZY, MEMORY)
DEFAULTS: dict[str, object] = {
    "frequency": 0, "last_accessed_session": 0, "created_session": 0, "appreciation": 0, "pinned": False,
}  # fmt: skip
_OPENING = re.compile(rf"^{BOM}?[ \t]*<({'|'.join(BLOCKS)})>[ \t]*(?:\r?\n|\Z)", re.MULTILINE)
_FIRST = re.compile(rf"{BOM}?(?:[ \t]*\r?\n)*([^\n]*\n?)")


class Block(NamedTuple):
    start: int  # of the line with its opening tag
    inner: int
    inner_end: int
    end: int


def find(text: str) -> dict[str, Block]:
    """The blocks by name; empty: the text is not of this dialect. A memory that is not closed goes on to the end."""
    found: dict[str, Block] = {}
    looked: set[str] = set()  # what is not closed after its first opening is closed after none
    opening = _OPENING.search(text)
    while opening is not None:
        name = opening[1]
        block = _closed(text, name, opening) if name not in looked else None
        looked.add(name)
        if block is not None:
            found[name] = block
        opening = _OPENING.search(text, block.end if block else opening.end())
    return found


def begins_with_tag(text: str) -> bool:
    """Whether its first line is one of the tags. A note that only quotes them somewhere is never changed."""
    first = _FIRST.match(text)
    return first is not None and _OPENING.match(first[1]) is not None


def inner(text: str, block: Block | None) -> str:
    return text[block.inner : block.inner_end].strip("\r\n") if block else ""


def metadata(text: str, block: Block | None) -> dict[str, object] | None:
    """None: it stands there and cannot be read."""
    if block is None:
        return {}
    try:
        held = json.loads(inner(text, block) or "{}", object_pairs_hook=_once)
    except (ValueError, RecursionError):
        return None
    return held if isinstance(held, dict) else None


def with_metadata(text: str, values: dict[str, object]) -> str:
    """The text with these in its metadata, the others as they were. What cannot be read is left alone."""
    block = find(text).get(METADATA)
    held = metadata(text, block)
    if held is None:
        return text
    new = {**held, **values}
    if new == held and block is not None:
        return text
    newline = newline_of(text)
    shown = _shown(new).replace("\n", newline)
    if not shown:
        return text
    if block is not None:
        return text[: block.inner] + shown + newline + text[block.inner_end :]
    front = front_matter(text)
    at = front.after if front else len(BOM) if text.startswith(BOM) else 0
    head = f"<{METADATA}>{newline}{shown}{newline}</{METADATA}>{newline}{newline}"
    return text[:at] + head + text[at:]


def with_condition(text: str, said: str) -> str:
    """The text with this as its condition. One without a memory of this dialect stays as it is."""
    blocks = find(text)
    if MEMORY not in blocks:
        return text
    newline = newline_of(text)
    block = blocks.get(CONDITION)
    if block is not None:
        return text[: block.inner] + said + newline + text[block.inner_end :]
    at = blocks.get(FUZZY, blocks[MEMORY]).start
    at += len(BOM) if text.startswith(BOM, at) else 0
    return f"{text[:at]}<{CONDITION}>{newline}{said}{newline}</{CONDITION}>{newline}{newline}{text[at:]}"


def completed(text: str, *, session: int) -> str:
    """With the tags that a note of this dialect lacks, and with every figure that its metadata should hold. What it
    says stays word for word; what is broken, or of another dialect, stays as it is."""
    blocks = find(text)
    if not begins_with_tag(text) or _is_broken(text, blocks):
        return text
    if MEMORY not in blocks:
        text = _with_memory(text, max(block.end for block in blocks.values()))
    held = metadata(text, find(text).get(METADATA)) or {}
    text = with_metadata(text, {**DEFAULTS, "created_session": session, **held})
    for name, before in ((CONDITION, METADATA), (FUZZY, CONDITION)):
        text = _with_slot(text, name, before)
    return text


def _is_broken(text: str, blocks: dict[str, Block]) -> bool:
    """Something in it cannot be read, so that nothing can be said of what it lacks."""
    if metadata(text, blocks.get(METADATA)) is None:
        return True
    opened = {one[1] for one in _OPENING.finditer(text)}
    return not opened <= set(blocks) or (MEMORY in blocks and blocks[MEMORY].inner_end == blocks[MEMORY].end)


def _with_slot(text: str, name: str, before: str) -> str:
    """An empty block behind that one, for a person to fill in."""
    blocks = find(text)
    if name in blocks or before not in blocks:
        return text
    at, newline = blocks[before].end, newline_of(text)
    lead = "" if text[:at].endswith("\n") else newline
    return f"{text[:at]}{lead}{newline}<{name}>{newline}</{name}>{newline}{text[at:]}"


def _once(pairs: list[tuple[str, object]]) -> dict[str, object]:
    """Of a name that stands twice, one would be lost."""
    held = dict(pairs)
    if len(held) < len(pairs):
        raise ValueError("a duplicate key")
    return held


def _shown(values: dict[str, object]) -> str:
    """As JSON; empty where it holds what JSON cannot say again."""
    try:
        shown = json.dumps(values, indent=2, ensure_ascii=False, allow_nan=False)
        return shown if is_utf8(shown) else json.dumps(values, indent=2)
    except (ValueError, RecursionError):
        return ""


def _with_memory(text: str, at: int) -> str:
    """Around all that follows the last block."""
    newline = newline_of(text)
    said = text[at:]
    before = "" if text[:at].endswith("\n") else newline
    rest = said.lstrip("\r\n")
    space = said[: len(said) - len(rest)]
    after = "" if not rest or rest.endswith("\n") else newline
    return f"{text[:at]}{before}{space}<{MEMORY}>{newline}{rest}{after}</{MEMORY}>{newline}"


def _closed(text: str, name: str, opening: re.Match[str]) -> Block | None:
    closing = re.compile(rf"^[ \t]*</{name}>[ \t]*(?:\r?\n|\Z)", re.MULTILINE)
    ends = closing.finditer(text, opening.end())
    # A memory may quote its own tags, so its last closing tag counts; the small blocks end at the first.
    end = max(ends, key=lambda one: one.start(), default=None) if name == MEMORY else next(ends, None)
    if end is None:
        return Block(opening.start(), opening.end(), len(text), len(text)) if name == MEMORY else None
    return Block(opening.start(), opening.end(), end.start(), end.end())
