"""The tag dialect: `<memory-metadata>`, `<conditional>`, `<fuzzy-match>` and `<memory>`, each on lines of its own.

A block begins where its tag stands alone on a line and ends at the last such closing tag, so that a memory may speak
of these tags. Changed by replacing what stands in a block. What is in `<memory>` is never touched.

Does not know what the blocks mean (page.py).
"""

from __future__ import annotations

import json
import re
from typing import NamedTuple

from recollect.vault.front import BOM, newline_of

METADATA, CONDITION, FUZZY, MEMORY = "memory-metadata", "conditional", "fuzzy-match", "memory"
BLOCKS = (METADATA, CONDITION, FUZZY, MEMORY)
DEFAULTS: dict[str, object] = {
    "frequency": 0, "last_accessed_session": 0, "created_session": 0, "appreciation": 0, "pinned": False,
}  # fmt: skip


class Block(NamedTuple):
    start: int
    """Of the line with its opening tag."""
    inner: int
    inner_end: int
    end: int


def find(text: str) -> dict[str, Block]:
    """The blocks by name; empty: the text is not of this dialect. One that is not closed goes on to the end."""
    found: dict[str, Block] = {}
    at = 0
    for name in BLOCKS:
        opening = re.compile(rf"^{BOM}?[ \t]*<{name}>[ \t]*(?:\r?\n|\Z)", re.MULTILINE).search(text, at)
        if opening is None:
            continue
        block = _closed(text, name, opening)
        if block is not None:
            found[name] = block
            at = block.end
    return found


def inner(text: str, block: Block | None) -> str:
    return text[block.inner : block.inner_end].strip("\r\n") if block else ""


def metadata(text: str, block: Block | None) -> dict[str, object] | None:
    """None: it stands there and cannot be read."""
    if block is None:
        return {}
    try:
        held = json.loads(inner(text, block) or "{}")
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
    shown = json.dumps(new, indent=2, ensure_ascii=False).replace("\n", newline)
    if block is not None:
        return text[: block.inner] + shown + newline + text[block.inner_end :]
    at = len(BOM) if text.startswith(BOM) else 0
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
    """With the tags that a note of this dialect lacks. What it says stays word for word; a text of neither dialect
    stays as it is."""
    blocks = find(text)
    if not blocks:
        return text
    if MEMORY not in blocks:
        text = _with_memory(text, max(block.end for block in blocks.values()))
    if METADATA not in blocks:
        text = with_metadata(text, {**DEFAULTS, "created_session": session})
    return text


def _with_memory(text: str, at: int) -> str:
    """Around all that follows the last block."""
    newline = newline_of(text)
    said = text[at:]
    before = "" if text[:at].endswith("\n") else newline
    lead = re.match(r"[\r\n]*", said)
    space = lead.group() if lead else ""
    rest = said[len(space) :]
    after = "" if not rest or rest.endswith("\n") else newline
    return f"{text[:at]}{before}{space}<{MEMORY}>{newline}{rest}{after}</{MEMORY}>{newline}"


def _closed(text: str, name: str, opening: re.Match[str]) -> Block | None:
    closing = re.compile(rf"^[ \t]*</{name}>[ \t]*(?:\r?\n|\Z)", re.MULTILINE)
    ends = closing.finditer(text, opening.end())
    # A memory may quote its own tags, so its last closing tag counts; the small blocks end at the first.
    if name == MEMORY:
        end = max(ends, key=lambda one: one.start(), default=None)
    else:
        end = next(ends, None)
    if end is None:
        return Block(opening.start(), opening.end(), len(text), len(text)) if name == MEMORY else None
    return Block(opening.start(), opening.end(), end.start(), end.end())
