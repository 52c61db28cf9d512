"""How things stand: what is remembered, how it is set, and whether the installation is sound."""

from __future__ import annotations

import os
import shlex
import shutil
import stat
import sys
from pathlib import Path

from recollect import __version__
from recollect.base.errors import ModelBroken, ModelMissing, RecollectError
from recollect.base.settings import environment
from recollect.base.text import counted
from recollect.model.report import Counts
from recollect.model.result import Check, Checkup, Configured, Mark, Overview, Scope, SettingLine
from recollect.ops import budget, embedding
from recollect.ops.ageing import as_aged
from recollect.ops.app import App
from recollect.ops.focus import as_listed, focused
from recollect.ops.memories import quiet_ones
from recollect.ops.recovery import set_aside_files
from recollect.ops.tally import counts
from recollect.ops.upkeep import backups_of
from recollect.wire.place import expected_runtime, find_place, is_usable

_REINSTALL = "pip install --force-reinstall recollect"
_LOW_SPACE_BYTES = 100_000_000
_SOUND_SQLITE = (3, 51, 3)  # before it, a write-ahead log could be reset under a reader and corrupt the file


def status(app: App) -> Overview:
    from recollect.ops import mirrors  # what they write with is no business of the others here

    stores: list[tuple[Scope, str, Counts]] = []
    backups = 0
    for scope, store in app.scopes():
        stores.append((scope, str(store.path), as_aged(app, store)))
        backups += len(backups_of(store.path))
    return Overview(
        version=__version__,
        home=str(app.home.root),
        project=app.project.name if app.project else None,
        root=str(app.project.root) if app.project else None,
        stores=tuple(stores),
        backups=backups,
        set_aside=tuple(str(file) for file in set_aside_files(app)),
        problems=len(app.settings.problems),
        captured=counts(app),
        quiet=len(quiet_ones(app)),
        mirrors=mirrors.told(app),
        focus=as_listed(focused(app)),
        llm=budget.told(app),
        embedding=embedding.standing(app),
    )


def config(app: App) -> Configured:
    lines = tuple(SettingLine(v.name, v.value, v.source, v.reason) for v in app.settings.values)
    return Configured(lines, tuple(str(problem) for problem in app.settings.problems))


def doctor(app: App) -> Checkup:
    from recollect.ops import asks, mirrors, vaults, wiring  # their rooms are no business of `status`

    checks = [_python(), _sqlite(), _model(app), _home(app), _runtime(app), _space(app), _settings(app), _project(app)]
    for scope in Scope:
        if app.store_path(scope) is not None:
            checks.append(_store(app, scope))
    checks += [_backups(app), _aside(app), *mirrors.checks(app), *vaults.checks(app), asks.check(app)]
    checks += wiring.checks(app)
    return Checkup(tuple(checks))


def _python() -> Check:
    version = ".".join(map(str, sys.version_info[:3]))
    return Check("Python", Mark.GOOD, f"{version} at {sys.executable}")


def _sqlite() -> Check:
    from recollect.store import sqlite_version

    version = sqlite_version()
    sound = tuple(int(part) for part in version.split(".")) >= _SOUND_SQLITE
    return Check("SQLite", Mark.GOOD if sound else Mark.BAD, version, "" if sound else "pip install --upgrade apsw")


def _model(app: App) -> Check:
    try:
        return Check("model", Mark.GOOD, app.embedder.id + embedding.sent_to(app))
    except RecollectError as problem:
        # A setting, a folder or a server is not mended by pip.
        repair = _REINSTALL if isinstance(problem, ModelMissing | ModelBroken) else problem.hint
        return Check("model", Mark.WARN, f"{problem.message} Recall goes on with words alone.", repair)


def _home(app: App) -> Check:
    try:
        if not app.home.check():
            return Check("home", Mark.GOOD, f"{app.home.root} (made with the first memory)")
    except RecollectError as problem:
        return Check("home", Mark.BAD, problem.message, problem.hint)
    mode = stat.S_IMODE(app.home.root.stat().st_mode)
    if sys.platform != "win32" and mode & 0o077:
        return Check("home", Mark.BAD, f"{app.home.root} can be seen by others", f"chmod 700 {app.home.root}")
    if not os.access(app.home.root, os.W_OK):
        return Check("home", Mark.BAD, f"{app.home.root} cannot be written", f"chmod u+w {app.home.root}")
    return Check("home", Mark.GOOD, str(app.home.root))


def _runtime(app: App) -> Check:
    """Where hooks meet the daemon. Its name can be foreseen, so another user may have been there first."""
    home = str(app.home.root)
    expected, used = expected_runtime(home, environment()), find_place(home, environment()).runtime
    if used == expected:
        return Check("runtime", Mark.GOOD, used)
    if os.path.lexists(used) and not is_usable(used):
        what, repair = _obstacle(used)
        return Check("runtime", Mark.BAD, f"{used} {what}, so hooks cannot meet the daemon", repair)
    what, repair = _obstacle(expected)
    return Check("runtime", Mark.WARN, f"{expected} {what}; {used} is used instead", repair)


def _obstacle(folder: str) -> tuple[str, str]:
    """What is wrong with it, and what mends it."""
    quoted = shlex.quote(folder)
    try:
        found = os.lstat(folder)
    except OSError:
        return "cannot be made", "set TMPDIR to a folder that you can write to"
    if sys.platform != "win32" and found.st_uid != os.geteuid():
        return f"belongs to user {found.st_uid}", f"sudo mv {quoted} {quoted}.not-ours"
    if not stat.S_ISDIR(found.st_mode):
        return "is not a folder", f"rm {quoted}"
    return "can be seen by others", f"chmod 700 {quoted}"


def _space(app: App) -> Check:
    place = next(path for path in (app.home.root, *app.home.root.parents) if path.exists())
    free = shutil.disk_usage(place).free
    low = free < _LOW_SPACE_BYTES
    return Check("disk", Mark.WARN if low else Mark.GOOD, f"{free / 1e9:.1f} GB free", "free some space" if low else "")


def _settings(app: App) -> Check:
    problems = app.settings.problems
    if not problems:
        return Check("settings", Mark.GOOD, str(app.home.conf) if app.home.conf.exists() else "defaults")
    return Check("settings", Mark.WARN, "; ".join(str(p) for p in problems[:3]), "recollect config")


def _project(app: App) -> Check:
    if app.project is None:
        return Check("project", Mark.WARN, "none: the home folder is never one", "cd into a project")
    return Check("project", Mark.GOOD, f"{app.project.name} at {app.project.root}")


def _store(app: App, scope: Scope) -> Check:
    name = f"{scope} store"
    try:
        store = app.reading(scope)
        counts = store.counts()
    except RecollectError as problem:
        return Check(name, Mark.BAD, problem.message, problem.hint)
    mode = stat.S_IMODE(Path(str(store.path)).stat().st_mode)
    if sys.platform != "win32" and mode & 0o077:
        return Check(name, Mark.BAD, f"{store.path} can be read by others", f"chmod 600 {store.path}")
    held = sum(count for _, _, count in counts.by_kind_and_status)
    return Check(name, Mark.GOOD, f"{counted(held, 'memory', 'memories')}, {counts.bytes / 1e6:.1f} MB, {store.path}")


def _backups(app: App) -> Check:
    present = [scope for scope in Scope if app.store_path(scope) is not None]
    bare = [scope for scope in present if not backups_of(app.store_path(scope))]
    if not bare:
        return Check("backups", Mark.GOOD, "every store has one" if present else "nothing to back up yet")
    return Check("backups", Mark.WARN, f"none of the {' and '.join(bare)} store", "recollect backup")


def _aside(app: App) -> Check:
    files = set_aside_files(app)
    if not files:
        return Check("damage", Mark.GOOD, "no damaged file was set aside")
    return Check(
        "damage", Mark.WARN, f"{counted(len(files), 'damaged file')} set aside, newest {files[-1]}", "recollect recover"
    )
