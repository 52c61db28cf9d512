"""All that we write where agents read by themselves, rules and skills: kept as it should be, and told of.

A look is cheap where nothing changed: stamps of files first, then a hash of what would be written.
"""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path

from recollect.agents import Ability, agent, hosts
from recollect.base.errors import NoProject, RecollectError
from recollect.model.result import Check, Mark, Scope
from recollect.ops import mirror, skills, sync
from recollect.ops.app import App
from recollect.ops.install import places

Stamp = tuple[object, ...]
_NAMES = ((sync.WHAT, "rules sync", sync.SETTING), (skills.WHAT, "skills", skills.SETTING))


def stamp(app: App) -> Stamp:
    """Other than before once a store, a setting or an index was written to. Empty where there is nothing to do."""
    if app.project is None or not (_on(app) or any(mirror.receipts(app, root=app.project.root))):
        return ()
    stores = [path for scope in Scope if (path := app.store_path(scope)) is not None]
    logs = [path.with_name(path.name + "-wal") for path in stores]
    files = [*stores, *logs, app.home.conf, app.project.conf, *_indexes(app)]
    return tuple(_version(path) for path in files)


def digest(app: App) -> str:
    """Of all that would be written."""
    rules = [list(one) for one in sync.wanted(app)]
    topics = [[rule.id, rule.body] for rules in skills.wanted(app).values() for rule in rules]
    told = [_on(app), [_version(path) for path in _indexes(app)], rules, topics]
    return hashlib.sha256(json.dumps(told, default=str).encode()).hexdigest()


def refresh(app: App) -> None:
    """Both as they should be. One that fails does not keep the other."""
    problem: RecollectError | None = None
    for one in (sync.refresh, skills.refresh):
        try:
            one(app)
        except RecollectError as refused:
            problem = refused
    if problem is not None:
        raise problem


def erase(app: App, is_bad: mirror.Judges) -> mirror.Work:
    """What holds such words goes, in every project; it can be made again without them."""
    done = mirror.Work(app.dry_run)
    for receipt in mirror.receipts(app):
        work = (sync if receipt.what == sync.WHAT else skills).erase(app, receipt, is_bad)
        done.removed += work.removed
        done.left += work.left
    return done


def told(app: App) -> dict[str, str]:
    """For `status`: whether each is on, and when it was last written here."""
    root = app.project.root if app.project else Path()
    found = {}
    for what, name, setting in _NAMES:
        kept = list(mirror.receipts(app, what, root))
        last = max((one.at for one in kept), default="")
        state = "on" if app.settings.switch(setting) else "off"
        state = "on, but taken away here" if state == "on" and kept and all(one.off for one in kept) else state
        found[name] = f"{state}, last written {last}" if last else state
    return found


def checks(app: App) -> list[Check]:
    """For `doctor`."""
    found = [Check(name, Mark.GOOD, state) for name, state in told(app).items()]
    if app.settings.switch(sync.SETTING) and app.project is not None:
        found += [
            Check("rules sync", Mark.WARN, f"{agent(host).TITLE} does not read what is written: {shelf.unread}")
            for host in hosts(Ability.SHELF)
            if (shelf := agent(host).shelf(places(app))).unread
        ]
    return found


def _on(app: App) -> list[bool]:
    return on if any(on := [app.settings.switch(setting) for _, _, setting in _NAMES]) else []


def _indexes(app: App) -> list[Path]:
    found = []
    for host in hosts(Ability.SHELF):
        try:
            shelf = agent(host).shelf(places(app))
        except NoProject:
            continue
        found.append(shelf.folder / shelf.index_file)
    return found


def _version(path: Path) -> tuple[int, int, int] | None:
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino
