"""A file of ours that an agent loads, put in its place and taken away again.

It is written whole. One that somebody else wrote there, or edited since, is left alone and told of. Folders that had to
be made for it go with it, if they are empty then.
"""

from __future__ import annotations

import difflib
import json
import os
from contextlib import suppress
from enum import Enum, auto
from pathlib import Path

from recollect.agents import Level, Plugin, agent
from recollect.base.errors import BadInput
from recollect.base.swap import digest
from recollect.model.codec import Json
from recollect.model.result import Told
from recollect.ops.app import App
from recollect.ops.install import Receipts, check_level, places, ready_script

_DIGEST, _FOLDERS = "digest", "folders"


def plugin(app: App, host: str, level: Level) -> Plugin:
    """NoProject where the level needs one and there is none."""
    check_level(host, level)
    return agent(host).plugin(level, places(app), app.home.root)


class State(Enum):
    ABSENT = auto()
    CURRENT = auto()
    OLDER = auto()
    """Of another version of ours."""
    EDITED = auto()
    """Ours once."""
    FOREIGN = auto()


def state(app: App, host: str, level: Level) -> State:
    wanted, receipts = plugin(app, host, level), Receipts.read(app)
    standing = _read(wanted.path)
    if standing is None:
        return State.ABSENT
    if standing == wanted.text.encode("utf-8"):
        return State.CURRENT
    if _is_ours(receipts, wanted, standing):
        return State.OLDER
    return State.EDITED if str(wanted.path) in receipts.plugins else State.FOREIGN


def plug(app: App, host: str, level: Level) -> Told:
    wanted, receipts = plugin(app, host, level), Receipts.read(app)
    standing, text = _read(wanted.path), wanted.text.encode("utf-8")
    if standing is not None and not _is_ours(receipts, wanted, standing):
        raise BadInput(
            f"{wanted.path} is not what Recollect wrote. It was left as it is.", hint="Move it away, and try again."
        )
    if app.dry_run:
        return _would(host, wanted, standing, wanted.text)
    ready_script(app)
    if standing == text and str(wanted.path) in receipts.plugins:
        return _told(host, wanted, "already calls Recollect", changed=False)
    made = _make_folders(wanted.path.parent)
    before = receipts.plugins.get(str(wanted.path), {}).get(_FOLDERS, "[]")
    kept = {_DIGEST: digest(text), _FOLDERS: json.dumps(made) if made else before}
    receipts._replace(plugins={**receipts.plugins, str(wanted.path): kept}).write(app)
    _write(wanted.path, text)
    app.log.line("install", host=host, level=level, plugin=True)
    return _told(host, wanted, "now calls Recollect", changed=True)


def unplug(app: App, host: str, level: Level) -> Told:
    wanted, receipts = plugin(app, host, level), Receipts.read(app)
    standing, receipt = _read(wanted.path), receipts.plugins.get(str(wanted.path))
    is_ours = standing is not None and _is_ours(receipts, wanted, standing)
    if app.dry_run:
        return _would(host, wanted, standing, "" if is_ours else (standing or b"").decode("utf-8", "replace"))
    if is_ours:
        wanted.path.unlink(missing_ok=True)
        for folder in reversed(json.loads((receipt or {}).get(_FOLDERS, "[]"))):
            with suppress(OSError):
                os.rmdir(folder)
    if receipt is not None:
        receipts._replace(plugins={p: r for p, r in receipts.plugins.items() if p != str(wanted.path)}).write(app)
    if standing is not None and not is_ours:
        return _told(host, wanted, "was left alone: its plugin is not what Recollect wrote", changed=False)
    if is_ours:
        app.log.line("uninstall", host=host, level=level, plugin=True)
    return _told(host, wanted, "no longer calls Recollect" if is_ours else "does not call Recollect", changed=is_ours)


def _is_ours(receipts: Receipts, wanted: Plugin, standing: bytes) -> bool:
    known = receipts.plugins.get(str(wanted.path), {}).get(_DIGEST)
    return standing == wanted.text.encode("utf-8") or digest(standing) == known


def _read(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise BadInput(f"{path} cannot be read: {error.strerror}.") from error


def _make_folders(folder: Path) -> list[str]:
    """Those that were not there, the outermost first."""
    lacking: list[str] = []
    while not folder.is_dir():
        lacking.insert(0, str(folder))
        folder = folder.parent
    for one in lacking:
        try:
            os.mkdir(one, 0o755)
        except OSError as error:
            raise BadInput(f"{one} cannot be made: {error.strerror}.") from error
    return lacking


def _write(path: Path, text: bytes) -> None:
    """Whole or not at all: an agent may be loading it."""
    spare = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        spare.write_bytes(text)
        os.replace(spare, path)
    except OSError as error:
        spare.unlink(missing_ok=True)
        raise BadInput(f"{path} cannot be written: {error.strerror}.") from error


def _told(host: str, wanted: Plugin, what: str, *, changed: bool) -> Told:
    facts: dict[str, Json] = {"host": host, "path": str(wanted.path), "changed": changed, "dry_run": False}
    return Told(f"{agent(host).TITLE} {what} ({wanted.path}).", facts)


def _would(host: str, wanted: Plugin, standing: bytes | None, after: str) -> Told:
    before = (standing or b"").decode("utf-8", "replace")
    lines = difflib.unified_diff(
        before.splitlines(), after.splitlines(), str(wanted.path), f"{wanted.path} (after)", lineterm="", n=2
    )
    diff = "\n".join(lines)
    facts: dict[str, Json] = {
        "host": host, "path": str(wanted.path), "changed": before != after, "dry_run": True, "diff": diff,
    }  # fmt: skip
    return Told(diff or f"Nothing to change in {wanted.path}.", facts)
