"""Anchors: a memory remembers the files that it speaks of, as they were then, and the commit; what changed since is
said where the memory is shown. Only files of the project's own tree are looked at, and their words are not kept."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import replace
from functools import lru_cache
from pathlib import Path

from recollect.base.files import read_limited
from recollect.model.codec import Json
from recollect.model.memory import Anchor, Memory
from recollect.model.plan import Change, Create, Plan, Update
from recollect.ops.app import App

COMMIT = ".git"
"""Stands for the repository: its anchor's hash is the commit."""
MOST_FILES = 8
_MAX_BYTES = 1_000_000
_LOOKED_AT_CHARS = 20_000
_MOST_TRIED = 40
# A name with a folder before it or an ending: `src/app.py`, `README.md`, `Makefile` only with a folder.
_NAMED = re.compile(r"(?<![\w./~-])(?:[\w@.-]+/)*[\w@-][\w@.-]*(?:/[\w@-]+|\.[A-Za-z]\w{0,7})(?![\w/])")
_HEX = re.compile(r"[0-9a-f]{40,64}")


def anchored(app: App, plan: Plan) -> Plan:
    """New memories of a project with the files that their words name."""
    if app.project is None:
        return plan
    return Plan(tuple([_anchored(app, one) if _names_files(one) else one for one in plan.changes]))


def _names_files(change: Change) -> bool:
    """Not so an update of anything else: of a compaction there may be a hundred thousand."""
    return not isinstance(change, Update) or "anchors" in change.after


def of(app: App, files: Iterable[str]) -> tuple[Anchor, ...]:
    """The files that are there and the project's own, as they are now, and the commit."""
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
    files_found = tuple(Anchor(path, hash) for path, hash in found.items())
    return (*files_found, Anchor(COMMIT, commit)) if commit else files_found


def changed(app: App, memory: Memory) -> tuple[str, ...]:
    """The files that are no longer as the memory knew them, by their paths in the project."""
    if app.project is None:
        return ()
    known = [one for one in memory.anchors if one.hash and one.path != COMMIT][:MOST_FILES]
    return tuple(one.path for one in known if _hash_now(app.project.root / one.path) != one.hash)


def named(text: str) -> Iterator[str]:
    """What looks like the name of a file."""
    yield from dict.fromkeys(match.group() for match in _NAMED.finditer(text[:_LOOKED_AT_CHARS]))


def _anchored(app: App, change: Change) -> Change:
    match change:
        case Create(memory, messages):
            if memory.anchors:
                found = _as_now(app, memory.anchors)
            else:
                words = "\n".join((memory.body, *(message.content for message in messages)))
                found = of(app, named(words))
            return Create(replace(memory, anchors=found), messages) if found else change
        case Update(id, before, {"anchors": list(spelt), **rest}):
            known = tuple(Anchor(str(one["path"]), str(one["hash"])) for one in spelt if isinstance(one, dict))
            now: list[Json] = [{"path": one.path, "hash": one.hash} for one in _as_now(app, known)]
            return Update(id, before, {**rest, "anchors": now})
        case _:
            return change


def _as_now(app: App, anchors: tuple[Anchor, ...]) -> tuple[Anchor, ...]:
    """Those that nobody has looked at yet, as they are now."""
    if all(one.hash for one in anchors):
        return anchors
    found = {one.path: one for one in of(app, (one.path for one in anchors if not one.hash))}
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
