"""Memories as Markdown files for note programs."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence

from recollect.base.text import clip, one_line
from recollect.model.memory import Bridge, Memory, Message

_NO_NAME = re.compile(r"[^\w]+")
_NAME_CHARS = 60


def file_name(memory: Memory) -> str:
    """Made from the title, and from the id so that no two are the same."""
    slug = clip(_NO_NAME.sub("-", one_line(memory.title).lower()).strip("-"), _NAME_CHARS).rstrip("…-")
    return f"{slug or memory.kind}-{memory.id[-6:]}"


def page(memory: Memory, messages: Sequence[Message], bridges: Sequence[Bridge], names: Mapping[str, str]) -> str:
    """`names`: the files of the memories that it is linked to, by id."""
    tags = dict.fromkeys(_NO_NAME.sub("-", word).strip("-") for word in (*memory.topics, *memory.tags))
    fields: dict[str, object] = {
        "id": memory.id, "kind": str(memory.kind), "status": str(memory.status), "tags": [tag for tag in tags if tag],
        "group": memory.group, "lane": str(memory.lane), "origin": memory.origin, "pinned": memory.pinned,
        "created": memory.created_at.iso(), "last_active": memory.last_active_at.iso(),
        "superseded_by": memory.superseded_by or "",
    }  # fmt: skip
    head = [f"{name}: {json.dumps(value, ensure_ascii=False)}" for name, value in fields.items() if value]
    parts = ["\n".join(("---", *head, "---")), f"# {one_line(memory.title)}", memory.body.strip()]
    said = [f"> {one.at.iso()} {one.source}\n\n{one.content.strip()}" for one in messages if one.content != memory.body]
    if said:
        parts += ["## Messages", *said]
    links = [
        f"- {bridge.type} [[{names[other]}]]"
        for bridge in bridges
        if (other := bridge.target if bridge.source == memory.id else bridge.source) in names
    ]
    if links:
        parts += ["## Related", "\n".join(links)]
    return "\n\n".join(part for part in parts if part) + "\n"
