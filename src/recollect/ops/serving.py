"""Tells agents of the server of tools, and takes it back; and the file that teaches them to use it.

As with hooks (install.py), a file is only ever inserted into, and what was inserted is kept, so that taking it back
leaves it byte for byte; where it was edited since, and the agent itself writes it all the time, our member alone goes.
"""

from __future__ import annotations

import difflib
import os
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from recollect.agents import Level, agent, splice
from recollect.agents.forms import Members, members
from recollect.base import swap
from recollect.base.errors import BadInput, Conflict, NotPlain
from recollect.base.swap import Found, digest
from recollect.model.codec import Json
from recollect.model.result import Told
from recollect.ops.app import App
from recollect.ops.install import Receipt, Receipts, check_level, make_folder, places
from recollect.wire import stub

NAME = "recollect"
_TRIES = 5


class Spot(NamedTuple):
    """Where one agent is told of our server."""

    host: str
    level: Level
    path: Path
    keys: tuple[str, ...]
    within: Path | None
    form: Members

    @property
    def receipt(self) -> str:
        return f"{self.level}:{self.path}"

    def look(self) -> Found:
        return swap.look(self.path, within=self.within)


def spot(app: App, host: str, level: Level) -> Spot:
    """NoProject where the level needs one and there is none."""
    at = places(app)
    check_level(host, level)
    found = agent(host).server_place(level, at)
    within = at.project if level is Level.PROJECT else None
    return Spot(host, level, found.path, found.keys, within, members(found.form))


def command(app: App) -> str:
    return stub.server_path(str(app.home.root))


def is_registered(app: App, text: str, at: Spot) -> bool:
    standing = at.form.member(text, at.keys, NAME)
    return isinstance(standing, dict) and standing.get("command") in (command(app), [command(app)])


def register(app: App, host: str, level: Level) -> Told:
    at = spot(app, host, level)
    wanted = dict(agent(host).server_json(command(app)))
    for _ in range(_TRIES):
        found, receipts = at.look(), Receipts.read(app)
        try:
            standing = at.form.member(found.text, at.keys, NAME)
            if standing == wanted:
                return _told(at, "already offers its tools", changed=False)
            if standing is not None and not is_registered(app, found.text, at):
                return _told(at, f"has another server named {NAME}: it was left as it is", changed=False)
            bare, existed, kept = _bare(app, at, found, receipts.servers.get(at.receipt))
            inserted = at.form.member_insertion(bare, at.keys, NAME, wanted)
        except NotPlain as problem:
            said = f"{at.path}, line {problem.line}: {problem.problem}. It was left as it is, without the tools"
            return _told(at, said, changed=False)
        after = splice.inserted(bare, (inserted,))
        if app.dry_run:
            return _would(at, found, after)
        before = digest(bare.encode("utf-8") if existed else None)
        old = receipts.servers.get(at.receipt)
        made = make_folder(found, level) or (old is not None and old.made_folder)
        receipt = Receipt(before, digest(after.encode("utf-8")), (inserted,), kept, made)
        try:
            receipts._replace(servers={**receipts.servers, at.receipt: receipt}).write(app)
            swap.replace(found, after.encode("utf-8"), new_mode=0o644 if level is Level.PROJECT else 0o600)
        except Conflict:
            receipts.write(app)
            continue
        except BaseException:
            receipts.write(app)
            raise
        app.log.line("register", host=host, level=level)
        return _told(at, "now offers its tools", changed=True)
    raise _unsettled(at)


def unregister(app: App, host: str, level: Level) -> Told:
    at = spot(app, host, level)
    for _ in range(_TRIES):
        found, receipts = at.look(), Receipts.read(app)
        receipt = receipts.servers.get(at.receipt)
        try:
            bare, existed, _ = _bare(app, at, found, receipt)
        except NotPlain as problem:
            raise BadInput(
                f"{at.path}, line {problem.line}: {problem.problem}. It was left as it is.",
                hint=f"Take out the server {NAME!r} by hand.",
            ) from None
        if app.dry_run:
            return _would(at, found, bare)
        changed = found.content is not None and (bare != found.text or not existed)
        try:
            if changed and not existed:
                swap.remove(found)
                if receipt is not None and receipt.made_folder:
                    with suppress(OSError):
                        found.target.parent.rmdir()
            elif changed:
                swap.replace(found, bare.encode("utf-8"))
        except Conflict:
            continue
        if receipt is not None:
            left = {name: one for name, one in receipts.servers.items() if name != at.receipt}
            receipts._replace(servers=left).write(app)
        return _told(at, "no longer offers its tools" if changed else "does not offer its tools", changed=changed)
    raise _unsettled(at)


def _bare(app: App, at: Spot, found: Found, receipt: Receipt | None) -> tuple[str, bool, frozenset[str]]:
    """The file without us, whether it was there before us, and how much of the way to our member was."""
    if receipt is not None and receipt.after == found.digest:
        text = splice.taken_back(found.text, receipt.inserted)
        existed = receipt.before != ""
        if text is not None and digest(text.encode("utf-8") if existed else None) == receipt.before:
            return text, existed, receipt.kept
    text, existed = found.text, found.content is not None
    if not is_registered(app, text, at):
        return text, existed, frozenset(at.keys[: at.form.standing_keys(text, at.keys)])
    kept = receipt.kept if receipt is not None else frozenset(at.keys)
    return at.form.without_member(text, at.keys, NAME, keep=len(kept)), existed, kept


def _told(at: Spot, what: str, *, changed: bool) -> Told:
    facts: dict[str, Json] = {"path": str(at.path), "changed": changed, "dry_run": False}
    return Told(f"{agent(at.host).TITLE} {what} ({at.path}).", facts)


def _would(at: Spot, found: Found, after: str) -> Told:
    lines = difflib.unified_diff(
        found.text.splitlines(), after.splitlines(), str(at.path), f"{at.path} (after)", lineterm="", n=2
    )
    diff = "\n".join(lines)
    facts: dict[str, Json] = {"path": str(at.path), "changed": bool(diff), "dry_run": True, "diff": diff}
    return Told(diff or f"Nothing to change in {at.path}.", facts)


def _unsettled(at: Spot) -> Conflict:
    return Conflict(
        f"{at.path} changes all the time.", hint="Nothing was written. Close what writes it, and try again."
    )


# The skill


def teach(app: App, host: str, level: Level) -> None:
    """A file of its own; one that somebody else wrote stays."""
    wanted = agent(host).skill(level, places(app))
    if wanted is None or app.dry_run:
        return
    path, text = wanted
    receipts = Receipts.read(app)
    standing = _digest_of(path)
    if standing not in ("", receipts.skills.get(str(path))):
        return
    with suppress(OSError):  # a convenience, not worth a failure
        os.makedirs(path.parent, 0o755, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        receipts._replace(skills={**receipts.skills, str(path): _digest_of(path)}).write(app)


def unteach(app: App, host: str, level: Level) -> None:
    wanted = agent(host).skill(level, places(app))
    receipts = Receipts.read(app)
    if wanted is None or app.dry_run or str(wanted[0]) not in receipts.skills:
        return
    path = wanted[0]
    if _digest_of(path) == receipts.skills[str(path)]:
        with suppress(OSError):
            path.unlink()
            path.parent.rmdir()
            path.parent.parent.rmdir()
    receipts._replace(skills={name: one for name, one in receipts.skills.items() if name != str(path)}).write(app)


def _digest_of(path: Path) -> str:
    try:
        return digest(path.read_bytes())
    except OSError:
        return ""


def joined(told: Told, server: Told) -> Told:
    summary = f"{told.summary}\n{server.summary}"
    return replace(told, summary=summary, facts={**told.facts, "server": dict(server.facts)})
