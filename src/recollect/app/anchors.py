"""Anchors: a memory remembers the files that it names, as hashes of what they were then, and the commit. Where it is
shown, files that changed since are named. Only files of the project's own tree are looked at."""

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

COMMIT = ".git"  # stands for the repository: its anchor's hash is the commit
MOST_FILES = 8
_MAX_BYTES = 1_000_000
_LOOKED_AT_CHARS = 20_000
_MOST_TRIED = 40
# A name with a folder before it or an ending: `src/app.py`, `README.md`, `Makefile` only with a folder.
_NAMED = re.compile(r"(?<![\w./~-])(?:[\w@.-]+/)*[\w@-][\w@.-]*(?:/[\w@-]+|\.[A-Za-z]\w{0,7})(?![\w/])")
_HEX = re.compile(r"[0-9a-f]{40,64}")


def add_anchors(app: App, plan: Plan) -> Plan:
    """New memories of a project get the files that their words name."""
    if app.project is None:
        return plan
    return Plan(tuple([_with_anchors(app, change) for change in plan.changes]))


def anchors_for(app: App, files: Iterable[str]) -> tuple[Anchor, ...]:
    """Those of the files that stand in the project's tree, as they are now, and the commit."""
    if app.project is None:
        return ()
    found: dict[str, str] = {}
    for name in list(files)[:_MOST_TRIED]:
        path = _inside(app.project.root, name)
        if path is not None and path not in found and len(found) < MOST_FILES:
            hash = _hash_now(app.project.root / path)
            if hash:
                found[path] = hash
    commit = _commit(app.project.root) if found else ""
    return (*(Anchor(*one) for one in found.items()), *([Anchor(COMMIT, commit)] if commit else []))


def changed_files(app: App, memory: Memory) -> tuple[str, ...]:
    """The files that are no longer as the memory knew them, by their paths in the project."""
    if app.project is None:
        return ()
    known = [one for one in memory.anchors if one.hash and one.path != COMMIT][:MOST_FILES]
    return tuple(one.path for one in known if _hash_now(app.project.root / one.path) != one.hash)


def _with_anchors(app: App, change: Change) -> Change:
    match change:
        case Create(memory, messages):
            if memory.anchors:
                found = _as_now(app, memory.anchors)
            else:
                words = "\n".join((memory.body, *(message.content for message in messages)))[:_LOOKED_AT_CHARS]
                found = anchors_for(app, dict.fromkeys(match.group() for match in _NAMED.finditer(words)))
            return Create(replace(memory, anchors=found), messages) if found else change
        case Update(id, before, {"anchors": list(listed), **rest}):
            known = _as_now(app, decode(tuple[Anchor, ...], listed))
            return Update(id, before, {**rest, "anchors": encode(known)})
        case _:
            return change


def _as_now(app: App, anchors: tuple[Anchor, ...]) -> tuple[Anchor, ...]:
    """Those that nobody has looked at yet, as they are now."""
    if all(one.hash for one in anchors):
        return anchors
    found = {one.path: one for one in anchors_for(app, (one.path for one in anchors if not one.hash))}
    old = {one.path: one for one in anchors if one.path != COMMIT or COMMIT not in found}
    return tuple({**old, **found}.values())


def _inside(root: Path, name: str) -> str | None:
    """The path below the root, links followed; None for what leads out of it."""
    with suppress(OSError, ValueError):
        top = os.path.realpath(root)
        path = os.path.realpath(os.path.join(top, name))
        if path.startswith(top + os.sep) and os.path.isfile(path):
            return os.path.relpath(path, top).replace(os.sep, "/")
    return None


def _hash_now(path: Path) -> str:
    """Empty: it is gone, or too large to look at."""
    try:
        found = os.stat(path)
    except (OSError, ValueError):
        return ""
    return _hash(str(path), found.st_mtime_ns, found.st_size, found.st_ino)


@lru_cache(maxsize=2_000)
def _hash(path: str, _mtime_ns: int, size: int, _inode: int) -> str:
    if size > _MAX_BYTES:
        return ""
    try:
        return hashlib.blake2b(read_limited(Path(path), _MAX_BYTES), digest_size=8).hexdigest()
    except OSError:
        return ""


def _commit(root: Path) -> str:
    """As the repository's own files say it; no program is run. Empty where they do not."""
    git = root / COMMIT
    try:
        if git.is_file():  # a worktree
            git = (root / read_limited(git, 4_096).decode().removeprefix("gitdir:").strip()).resolve()
        head = read_limited(git / "HEAD", 4_096).decode().strip()
        if not head.startswith("ref: "):
            return head if _HEX.fullmatch(head) else ""
        common = git
        with suppress(OSError):
            common = (git / read_limited(git / "commondir", 4_096).decode().strip()).resolve()
        for place in (git, common):
            with suppress(OSError):
                found = read_limited(place / head[5:], 4_096).decode().strip()
                return found if _HEX.fullmatch(found) else ""
        packed = read_limited(common / "packed-refs", 4_000_000).decode()
        line = next((line for line in packed.splitlines() if line.endswith(" " + head[5:])), "")
        return line.partition(" ")[0] if _HEX.fullmatch(line.partition(" ")[0]) else ""
    except (OSError, ValueError):
        return ""
