"""Anchors: a memory remembers the files that it names, as hashes of what they were then. Where it is shown, files that
have changed since are named. Only files of the project's own tree are looked at."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from recollect.base.files import read_limited
from recollect.model.codec import decode, encode
from recollect.model.memory import Anchor, Memory
from recollect.model.plan import Change, Create, Plan, Update

if TYPE_CHECKING:
    from recollect.app.core import App

MOST_FILES = 8
_COMMIT = ".git"  # memories of older versions hold the commit, too, under this path
_MAX_BYTES = 1_000_000
_LOOKED_AT_CHARS = 20_000
_MOST_TRIED = 40
# A name with a folder before it or an ending: `src/app.py`, `README.md`, `Makefile` only with a folder.
_NAMED = re.compile(r"(?<![\w./~-])(?:[\w@.-]+/)*[\w@-][\w@.-]*(?:/[\w@-]+|\.[A-Za-z]\w{0,7})(?![\w/])")


def add_anchors(app: App, plan: Plan) -> Plan:
    """New memories of a project get the files that their words name."""
    return plan if app.project is None else Plan(tuple([_with_anchors(app, change) for change in plan.changes]))


def _with_anchors(app: App, change: Change) -> Change:
    match change:
        case Create(memory, messages):
            if memory.anchors:
                found = _hashed(app, memory.anchors)
            else:
                words = "\n".join((memory.body, *(message.content for message in messages)))[:_LOOKED_AT_CHARS]
                found = anchors_for(app, dict.fromkeys(match.group() for match in _NAMED.finditer(words)))
            return Create(replace(memory, anchors=found), messages) if found else change
        case Update(id, before, {"anchors": list(listed), **rest}):
            return Update(id, before, {**rest, "anchors": encode(_hashed(app, decode(tuple[Anchor, ...], listed)))})
        case _:
            return change


def _hashed(app: App, anchors: tuple[Anchor, ...]) -> tuple[Anchor, ...]:
    """Adds hashes to the anchors that have none, from the files as they are now."""
    found = anchors_for(app, [one.path for one in anchors if not one.hash])
    return tuple({one.path: one for one in (*anchors, *found)}.values())


def anchors_for(app: App, files: Iterable[str]) -> tuple[Anchor, ...]:
    """Anchors for the files that are in the project's tree, as they are now."""
    if app.project is None:
        return ()
    root = os.path.realpath(app.project.root)
    found: dict[str, str] = {}
    for name in list(files)[:_MOST_TRIED]:
        with suppress(OSError, ValueError):
            path = os.path.realpath(os.path.join(root, name))  # a link may lead out
            if path.startswith(root + os.sep) and len(found) < MOST_FILES and (hash := _hash_now(path)):
                found[os.path.relpath(path, root).replace(os.sep, "/")] = hash
    return tuple(Anchor(*one) for one in found.items())


def changed_files(app: App, memory: Memory) -> tuple[str, ...]:
    """The files that are no longer as the memory knew them, by their paths in the project."""
    if app.project is None:
        return ()
    known = [one for one in memory.anchors if one.hash and one.path != _COMMIT][:MOST_FILES]
    return tuple(one.path for one in known if _hash_now(str(app.project.root / one.path)) != one.hash)


def _hash_now(path: str) -> str:
    """Empty: it is gone, too large, or no file."""
    try:
        found = os.stat(path)
        return _hash(path, found.st_mtime_ns, found.st_size, found.st_ino) if found.st_size <= _MAX_BYTES else ""
    except (OSError, ValueError):
        return ""


@lru_cache(maxsize=2_000)
def _hash(path: str, _mtime_ns: int, _size: int, _inode: int) -> str:
    return hashlib.blake2b(read_limited(Path(path), _MAX_BYTES), digest_size=8).hexdigest()
