"""The last gate before a store: new memories get anchors, and every text of a plan is redacted. Anchors are the files
that a memory of a project names, as hashes of them as they were then, so that changes can be told. All that the program
did not make up itself (ids, kinds, times) is text, so a field that is added later is covered."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from recollect.base.files import read_limited
from recollect.base.structs import replace
from recollect.base.text import blake2b
from recollect.model.codec import FIELDS, Json, decode, decode_memory, encode
from recollect.model.memory import Anchor, Memory, Message
from recollect.model.plan import Change, Create, FileChange, Plan, Say, Update, UpdateAll

if TYPE_CHECKING:
    from recollect.app.core import App
    from recollect.redact import Redactor

MOST_FILES = 8
_COMMIT = ".git"  # memories of older versions hold the commit, too, under this path
_MAX_BYTES = 1_000_000
_LOOKED_AT_CHARS = 20_000
_MOST_TRIED = 40
# A name with a folder before it or an ending: `src/app.py`, `README.md`, `Makefile` only with a folder.
# No part of a name is where another begins, or a line of `@` would be read once from each of them.
_NAMED = re.compile(
    r"(?<![\w@./~-])(?:[\w@.-]+/)*[\w@-][\w@.-]*(?:/[\w@-]+|\.[A-Za-z]\w{0,7})(?![\w/])"
)
_SHORT_CHARS = 100
_OURS = frozenset(
    {"kind", "timestamp", "hash", *(name for name, one in FIELDS.items() if one.made)}
)


def add_anchors(app: App, plan: Plan) -> Plan:
    def hashed(anchors: tuple[Anchor, ...]) -> tuple[Anchor, ...]:
        """With hashes for those that have none, from the files as they are now."""
        found = anchors_for(app, [one.path for one in anchors if not one.hash])
        return tuple({one.path: one for one in (*anchors, *found)}.values())

    def anchored(change: Change) -> Change:
        match change:
            case Create(memory, messages):
                words = "\n".join((memory.body, *(message.content for message in messages)))[
                    :_LOOKED_AT_CHARS
                ]
                named = (
                    ()
                    if memory.anchors
                    else dict.fromkeys(match.group() for match in _NAMED.finditer(words))
                )
                found = hashed(memory.anchors) or anchors_for(app, named)
                return Create(replace(memory, anchors=found), messages) if found else change
            case Update(id, before, {"anchors": list(listed), **rest}):
                return Update(
                    id,
                    before,
                    {**rest, "anchors": encode(hashed(decode(tuple[Anchor, ...], listed)))},
                )
            case _:
                return change

    return Plan(tuple(map(anchored, plan.changes)))


def anchors_for(app: App, files: Iterable[str]) -> tuple[Anchor, ...]:
    """Anchors for the files that are in the project's tree, as they are now."""
    if app.project is None:
        return ()
    root = os.path.realpath(app.project.root)
    found: dict[str, str] = {}
    for name in list(files)[:_MOST_TRIED]:
        with suppress(OSError, ValueError):
            path = os.path.realpath(os.path.join(root, name))  # a link may lead out
            if (
                path.startswith(root + os.sep)
                and len(found) < MOST_FILES
                and (hash := _hash_now(path))
            ):
                found[os.path.relpath(path, root).replace(os.sep, "/")] = hash
    return tuple(Anchor(*one) for one in found.items())


def changed_files(app: App, memory: Memory) -> tuple[str, ...]:
    """The files that are no longer as the memory knew them, by their paths in the project."""
    return tuple(path for path, is_changed in files_of(app, memory).items() if is_changed)


def files_of(app: App, memory: Memory) -> dict[str, bool]:
    """The files that a memory of the project is about, and whether each has changed since."""
    if app.project is None:
        return {}
    known = [one for one in memory.anchors if one.hash and one.path != _COMMIT][:MOST_FILES]
    return {one.path: _hash_now(str(app.project.root / one.path)) != one.hash for one in known}


def _hash_now(path: str) -> str:
    """Empty: it is gone, too large, or no file."""
    try:
        found = os.stat(path)
        return (
            _hash(path, found.st_mtime_ns, found.st_size, found.st_ino)
            if found.st_size <= _MAX_BYTES
            else ""
        )
    except (OSError, ValueError):
        return ""


@lru_cache(maxsize=2_000)
def _hash(path: str, _mtime_ns: int, _size: int, _inode: int) -> str:
    return blake2b(read_limited(Path(path), _MAX_BYTES), digest_size=8).hexdigest()


def redact_plan(plan: Plan, redactor: Redactor) -> tuple[Plan, Counter[str]]:
    """What comes out of the store again (before-images, removals) went through here when it went in."""
    found: Counter[str] = Counter()
    harmless: set[str] = set()  # tags, topics and the like come again and again

    def clean(text: str) -> str:
        if text in harmless:
            return text
        cleaned = redactor.clean(text)
        if cleaned.found:
            found.update(dict(cleaned.found))
        elif len(text) <= _SHORT_CHARS:
            harmless.add(text)
        return cleaned.text

    def clean_json(value: Json) -> Json:
        if isinstance(value, str):
            return clean(value)
        if isinstance(value, list):
            return [clean_json(part) for part in value]
        return clean_fields(value) if isinstance(value, dict) else value

    def clean_fields(fields: Mapping[str, Json]) -> dict[str, Json]:
        return {
            name: value if name in _OURS else clean_json(value) for name, value in fields.items()
        }

    def clean_messages(messages: Iterable[Message]) -> tuple[Message, ...]:
        return tuple(
            replace(one, content=clean(one.content), source=clean(one.source)) for one in messages
        )

    def clean_change(change: Change) -> Change:
        match change:
            case Create(memory, messages):
                fields = encode(memory)
                cleaned = clean_fields(fields)
                return Create(
                    memory if cleaned == fields else decode_memory(cleaned),
                    clean_messages(messages),
                )
            case Say(id, messages):
                return Say(id, clean_messages(messages))
            case Update(id, before, after) if not after.keys() <= _OURS:
                return Update(id, before, clean_fields(after))
            case UpdateAll(ids, before, after):
                return UpdateAll(ids, before, clean_fields(after))
            case FileChange(old=old, new=new):
                # A file says what it says. Only what the journal would keep of it is looked at.
                return replace(
                    change, is_kept=change.is_kept and clean(old) == old and clean(new) == new
                )
            case _:
                return change

    return Plan(tuple(map(clean_change, plan.changes))), found
