"""What a journalled change did to memories, field by field, for a person to read. The counts of use are left out."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping
from typing import Any

from recollect.base.text import clip, counted
from recollect.model.codec import USAGE
from recollect.model.result import Difference

_LABELS = {
    "body": "text", "lane": "source", "superseded_by": "replaced by", "rule_type": "type", "anchors": "files",
    "path": "file", "drift": "topics over time", "seen": "times said",
}  # fmt: skip
_SHORT_CHARS = 80
_LINE_CHARS = 300
_COMPARED_LINES = 400
_MAX_LINES = 60


def differences(change: Mapping[str, Any], of: str = "") -> Iterator[Difference]:
    """`change`: as the journal keeps it. `of`: to this memory alone."""
    match change:
        case {"do": "create", "id": id, "messages": messages}:
            more = f" with {counted(len(messages), 'message')}" if messages else ""
            yield Difference(id, f"created{more}")
        case {"do": "remove", "memory": memory, "messages": messages}:
            more = f" with {counted(len(messages), 'message')}" if messages else ""
            yield _texts(memory["id"], f"deleted{more}", memory["body"], "")
        case {"do": "update", "id": id, "before": before, "after": after}:
            for name in after:
                if name == "ratings":
                    yield _ratings(id, before[name], after[name])
                elif name not in USAGE:
                    yield _texts(
                        id, _LABELS.get(name, name), _plain(before[name]), _plain(after[name])
                    )
        case {"do": "say" | "unsay" as do, "id": id, "messages": messages}:
            done = "added" if do == "say" else "removed"
            yield Difference(id, f"{counted(len(messages), 'message')} {done}")
        case {"do": "move", "ids": ids, "source": source, "target": target}:
            many = counted(len(ids), "message")
            yield from _each(
                of,
                (source, f"{many} moved to {target}"),
                (target, f"{many} moved here from {source}"),
            )
        case {
            "do": "link" | "unlink" as do,
            "bridge": {"source": source, "target": target, "type": type},
        }:
            done = "linked" if do == "link" else "link removed"
            yield from _each(
                of,
                (source, f"{done} to {target} ({type})"),
                (target, f"{done} from {source} ({type})"),
            )
        case {"do": "alias" | "unalias" as do, "old": old, "new": new}:
            no = "" if do == "alias" else "no longer "
            yield from _each(of, (old, f"{no}merged into {new}"), (new, f"{no}holds {old}"))
        case {
            "do": "file",
            "id": id,
            "old_path": old_path,
            "new_path": new_path,
            "old": old,
            "new": new,
        }:
            if old_path != new_path:
                yield Difference(id, "file", old_path, new_path)
            if not change.get("is_kept", True):
                yield Difference(id, "text, which held a secret and was not kept")
            elif old or new:
                yield _texts(id, "text", old, new)
        case _:
            return


def _each(of: str, *ends: tuple[str, str]) -> Iterator[Difference]:
    return (Difference(id, what) for id, what in ends if of in ("", id))


def _texts(id: str, what: str, before: str, after: str) -> Difference:
    if max(len(before), len(after)) <= _SHORT_CHARS and "\n" not in before + after:
        return Difference(id, what, before, after)
    old, new = before.splitlines()[:_COMPARED_LINES], after.splitlines()[:_COMPARED_LINES]
    lines = list(difflib.unified_diff(old, new, lineterm="", n=2))[3:]  # without its head
    shown = [
        " …" if line.startswith("@@") else clip(line, _LINE_CHARS) for line in lines[:_MAX_LINES]
    ]
    return Difference(id, what, lines=(*shown, *([" …"] if len(lines) > _MAX_LINES else [])))


def _ratings(id: str, before: list[Any], after: list[Any]) -> Difference:
    if len(after) < len(before):
        return Difference(id, "ratings", str(len(before)), str(len(after)))
    last = after[-1]
    said = (
        "never to be shown again"
        if last.get("never")
        else "useful"
        if last["useful"]
        else "not useful"
    )
    return Difference(id, "rated", after=f"{said}: {last['reason']}" if last["reason"] else said)


def _plain(value: Any) -> str:
    match value:
        case None:
            return ""
        case list():
            return ", ".join(
                str(one.get("path", one)) if isinstance(one, dict) else str(one) for one in value
            )
        case bool():
            return "yes" if value else "no"
        case _:
            return str(value)
