"""`status`, `config`, `doctor` and `figures`: what is remembered, how it is set up, whether the installation works, and
what happened day by day."""

from __future__ import annotations

import os
import shlex
import shutil
import stat
import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Annotated

from recollect import __version__
from recollect.app import embedding
from recollect.app.core import App, backups_of, set_aside_files
from recollect.app.memory_search import load_focus
from recollect.app.offered_memory import offer_lines
from recollect.app.states import CAPTURED, DAYS, HOOK_TIMES, SET_ASIDE, SPENT, DayCounts
from recollect.base import settings
from recollect.base.errors import BadInput, ModelBroken, ModelMissing, NotFound, RecollectError
from recollect.base.files import read_snapshot
from recollect.base.files import replace as replace_file
from recollect.base.local_time import day_start, local_day, local_minute
from recollect.base.moment import Moment
from recollect.base.structs import replace
from recollect.base.text import clip, counted, estimate_tokens
from recollect.lifecycle.strength import status_at
from recollect.model.memory import Kind
from recollect.model.query import REACHED, Query
from recollect.model.report import Day, Figures, StoreSize
from recollect.model.result import Check, Checkup, Configured, Mark, Overview, Scope
from recollect.ops.library import list_memories
from recollect.ops.memories import clamp
from recollect.ops.steering import list_focus
from recollect.ops.table import Arg
from recollect.wire.place import expected_runtime, find_place, is_usable

_REINSTALL = "pip install --force-reinstall recollect"
_UPGRADE = "pip install --upgrade apsw"
_MAX_DAYS = 30
_HANGS_TOLD_DAYS = 7
_LOW_SPACE_BYTES = 100_000_000
_SOUND_SQLITE = (
    3,
    51,
    3,
)  # before it, a write-ahead log could be reset under a reader and corrupt the file


def status(app: App) -> Overview:
    from recollect.app import language_model  # hooks that load this room need neither
    from recollect.ops import install

    stores, now = [], app.clock.now()
    fading = {(str(Kind.THREAD), str(status)) for status in REACHED}
    for (
        scope,
        store,
    ) in app.scopes():  # each thread under the status that its age gives, which is never written
        counts = store.counts()
        by = Counter(
            {
                (kind, state): n
                for kind, state, n in counts.by_kind_and_status
                if (kind, state) not in fading
            }
        )
        by.update(
            (str(Kind.THREAD), str(status_at(one, now=now, rules=app.age_rules)))
            for one in store.sketches()
        )
        by_status = tuple((*pair, number) for pair, number in sorted(by.items()))
        stores.append((scope, str(store.path), replace(counts, by_kind_and_status=by_status)))
    project = app.project
    return Overview(
        version=__version__, home=str(app.home.root), project=project.name if project else None,
        root=str(project.root) if project else None, stores=tuple(stores),
        backups=sum(len(backups_of(store.path)) for _, store in app.scopes()),
        set_aside=tuple(str(file) for file in set_aside_files(app)), settings_problems=len(app.settings.problems),
        captured=CAPTURED.read(app.reader(app.scope)), quiet=list_memories(app, Query(), 1, "", muted=True).total,
        mirrors=install.copies_status(app), focus=tuple(list_focus(load_focus(app))),
        llm=language_model.summarize_spending(app), embedding=embedding.read_vector_status(app),
        # Not for agents: the names of other projects are no business of a folder that looks like one of them.
        offers=offer_lines(app) if app.actor == "user" else (),
        agents=install.connected_agents(app),
    )  # fmt: skip


def config(
    app: App,
    name: Annotated[str | None, Arg("Show only this setting.", metavar="[NAME]")] = None,
    value: Annotated[str | None, Arg("Set it, in your own agent.conf.", metavar="[VALUE]")] = None,
    *,
    unset: Annotated[bool, Arg("Take it out of your agent.conf: the default holds again.")] = False,
) -> Configured:
    if not name:
        return _configured(app)
    if (setting := settings.find_setting(name)) is None:
        near = settings.nearest_name(name)
        hint = f"Did you mean {near}?" if near else "`recollect config` lists them."
        raise NotFound(f"There is no setting {clip(name, 80)!r}.", hint=hint)
    if value is None and not unset:
        return _configured(app, setting.name)
    wanted = None if unset else settings.canonical(setting, value or "")
    if wanted is None and not unset:
        raise BadInput(f"{setting.name} must be {settings.expected(setting)}.", hint=setting.reason)
    own = settings.load(app.home.conf, None, {})
    before = None if own.source(setting.name) == settings.DEFAULT else own.text(setting.name)
    if not app.dry_run:
        app.home.prepare()
        file = read_snapshot(app.home.conf)
        replace_file(file, settings.change_text(file.text, setting.name, wanted).encode())
        app.settings = settings.load(
            app.home.conf, app.project.conf if app.project else None, settings.environment()
        )
        app.log.line("config", name=setting.name, value=app.settings.text(setting.name))
    found = _configured(app, setting.name)
    if not app.dry_run and wanted not in (None, app.settings.text(setting.name)):
        source = app.settings.source(setting.name)
        found = replace(
            found, problems=(f"Written, but not in force here: {source} says otherwise.",)
        )
    return replace(found, is_change=True, before=before, dry_run=app.dry_run)


def _configured(app: App, name: str = "") -> Configured:
    shown = [
        {"name": v.name, "value": v.value, "source": v.source, "reason": v.reason}
        for v in app.settings.values
    ]
    problems = app.settings.problems if not name else ()
    return Configured(tuple(one for one in shown if name in ("", one["name"])), problems)


def _lines_set_aside(app: App, scope: Scope) -> list[Check]:
    """Their places alone: what they say ended the daemon, and may be anything."""
    try:
        lines = SET_ASIDE.read(app.reader(scope))
    except RecollectError:
        return []  # the check of the store itself says why
    if not lines:
        return []
    last = lines[-1]
    said = counted(len(lines), "line")
    detail = f"{said} of transcripts set aside: reading them ended the daemon; last {last.path} at byte {last.offset}"
    repair = (
        "everything else is read; to try them again, after an upgrade: recollect catch-up --again"
    )
    return [Check("transcripts", Mark.WARN, detail, repair)]


def _hangs(app: App) -> list[Check]:
    """Of a daemon that hung and was ended, the watchdog's report is left (daemon/watchdog.py)."""
    report = app.home.hang_report
    try:
        known = report.stat()
    except OSError:
        return []
    last = Moment.of(datetime.fromtimestamp(known.st_mtime, UTC))
    if not known.st_size or app.clock.now().days_since(last) > _HANGS_TOLD_DAYS:
        return []
    repair = (
        "a line of a transcript that does it is set aside by itself; "
        f"if it comes again, move away the note that changed last, and report what {report} says"
    )
    return [
        Check("hangs", Mark.WARN, f"a daemon hung and was ended, last {local_minute(last)}", repair)
    ]


def doctor(app: App) -> Checkup:
    from recollect.app import language_model
    from recollect.integrations import agent_pieces
    from recollect.ops import install, notes, purge, team  # `status` needs none of these
    from recollect.store import sqlite_lib_version

    present = [scope for scope in Scope if app.store_path(scope) is not None]
    ours = [scope for scope in present if scope is not Scope.TEAM]  # the rest is a server's copy
    version = ".".join(map(str, sys.version_info[:3]))
    checks = [
        Check("Python", Mark.GOOD, f"{version} at {sys.executable}"),
        _sqlite(sqlite_lib_version()),
        _model(app),
        _home(app),
        _runtime(app),
        _disk(app),
        _settings(app),
        _project(app),
        *(_store(app, scope) for scope in present),
        *(check for scope in ours for check in _lines_set_aside(app, scope)),
        *_hangs(app),
        _backups(app, ours),
        _damage(app),
    ]
    checks += _offers(app)
    checks += [Check(name, Mark.GOOD, state) for name, state in install.copies_status(app).items()]
    checks += [
        *purge.checks(app),
        *notes.checks(app),
        language_model.check(app),
        *team.checks(app),
        *agent_pieces.checks(app),
    ]
    return Checkup(tuple(checks))


def _sqlite(version: str) -> Check:
    if tuple(int(part) for part in version.split(".")) < _SOUND_SQLITE:
        return Check("SQLite", Mark.BAD, version, _UPGRADE)
    return Check("SQLite", Mark.GOOD, version)


def _disk(app: App) -> Check:
    place = next(path for path in (app.home.root, *app.home.root.parents) if path.exists())
    free = shutil.disk_usage(place).free
    is_low = free < _LOW_SPACE_BYTES
    return _warn_if(is_low, "disk", f"{free / 1e9:.1f} GB free", repair="free some space")


def _settings(app: App) -> Check:
    conf = str(app.home.conf) if app.home.conf.exists() else "defaults"
    problems = app.settings.problems[:3]
    return _warn_if(problems, "settings", conf, "; ".join(map(str, problems)), "recollect config")


def _project(app: App) -> Check:
    project = f"{app.project.name} at {app.project.root}" if app.project else ""
    missing = "none: the home folder is never one"
    return _warn_if(not project, "project", project, missing, "cd into a project")


def _backups(app: App, scopes: Sequence[Scope]) -> Check:
    unsaved = " and ".join(scope for scope in scopes if not backups_of(app.store_path(scope)))
    missing = f"none for the {unsaved} database"
    good = "every database has one" if scopes else "there is no database yet"
    return _warn_if(unsaved, "backups", good, missing, "recollect backup")


def _damage(app: App) -> Check:
    damaged = len(set_aside_files(app))
    found = f"{counted(damaged, 'damaged file')} set aside"
    return _warn_if(damaged, "damage", "none found", found, "recollect recover")


def _offers(app: App) -> list[Check]:
    return [Check("memory", Mark.WARN, *line.split("; ", 1)) for line in offer_lines(app)]


def _warn_if(is_wrong: object, name: str, good: str, bad: str = "", repair: str = "") -> Check:
    return Check(name, Mark.WARN, bad or good, repair) if is_wrong else Check(name, Mark.GOOD, good)


def _model(app: App) -> Check:
    try:
        return Check("model", Mark.GOOD, app.embedder.id + embedding.vector_destination(app))
    except RecollectError as problem:
        # pip cannot repair a setting, a folder or a server.
        repair = _REINSTALL if isinstance(problem, ModelMissing | ModelBroken) else problem.hint
        return Check(
            "model", Mark.WARN, f"{problem.message} Recall goes on with words alone.", repair
        )


def _home(app: App) -> Check:
    root = app.home.root
    try:
        if not app.home.check():
            return Check("home", Mark.GOOD, f"{root} (made with the first memory)")
    except RecollectError as problem:
        return Check("home", Mark.BAD, problem.message, problem.hint)
    if _is_exposed(root):
        return Check("home", Mark.BAD, f"{root} can be seen by others", f"chmod 700 {root}")
    if not os.access(root, os.W_OK):
        return Check("home", Mark.BAD, f"{root} cannot be written", f"chmod u+w {root}")
    return Check("home", Mark.GOOD, str(root))


def _is_exposed(path: Path) -> bool:
    return sys.platform != "win32" and bool(stat.S_IMODE(path.stat().st_mode) & 0o077)


def _runtime(app: App) -> Check:
    """Where hooks meet the daemon. Its name can be guessed, so another user may have made it first."""
    home = str(app.home.root)
    expected, used = (
        expected_runtime(home, settings.environment()),
        find_place(home, settings.environment()).runtime,
    )
    if used == expected:
        return Check("runtime", Mark.GOOD, used)
    is_blocked = os.path.lexists(used) and not is_usable(used)
    folder = used if is_blocked else expected
    quoted = shlex.quote(folder)
    problem, repair = "can be seen by others", f"chmod 700 {quoted}"
    try:
        found = os.lstat(folder)
    except OSError:
        problem, repair = "cannot be created", "set TMPDIR to a folder that you can write to"
    else:
        if sys.platform != "win32" and found.st_uid != os.geteuid():
            problem, repair = (
                f"belongs to user {found.st_uid}",
                f"sudo mv {quoted} {quoted}.not-ours",
            )
        elif not stat.S_ISDIR(found.st_mode):
            problem, repair = "is not a folder", f"rm {quoted}"
    if is_blocked:
        return Check(
            "runtime", Mark.BAD, f"{used} {problem}, so hooks cannot reach the daemon", repair
        )
    return Check("runtime", Mark.WARN, f"{expected} {problem}; {used} is used instead", repair)


def _store(app: App, scope: Scope) -> Check:
    name = f"{scope} store"
    try:
        store = app.reader(scope)
        counts = store.counts()
    except RecollectError as problem:
        return Check(name, Mark.BAD, problem.message, problem.hint)
    if _is_exposed(Path(str(store.path))):
        return Check(
            name, Mark.BAD, f"{store.path} can be read by others", f"chmod 600 {store.path}"
        )
    held = sum(count for _, _, count in counts.by_kind_and_status)
    return Check(
        name, Mark.GOOD, f"{counted(held, 'memory', 'memories')}, {counts.bytes / 1e6:.1f} MB"
    )


def figures(
    app: App,
    *,
    days: Annotated[int, Arg(f"How many days back, 1 to {_MAX_DAYS}.", metavar="N")] = _MAX_DAYS,
) -> Figures:
    """By local time; how quick hooks were, and what memory holds and costs."""
    most = int(clamp("days", days, 1, _MAX_DAYS)[0])
    names = _last_days(app.clock.now(), most)
    kinds, sources, kept = Counter[str](), Counter[str](), Counter[str]()
    for _, store in app.scopes():
        own_kinds, own_sources, minutes = store.tally(day_start(names[0]))
        kinds.update(own_kinds)
        sources.update(own_sources)
        for minute, made in minutes.items():
            kept[local_day(Moment.of_stamp(minute))] += made
    store = app.reader(app.scope)
    counts = DAYS.read(store)
    times = HOOK_TIMES.read(store)
    spent = SPENT.read(app.reader(Scope.USER))
    return Figures(
        tuple(_day(name, counts.get(name, DayCounts()), kept[name]) for name in names),
        dict(kinds),
        dict(sources),
        {event: _percentiles(own) for event, own in sorted(times.items()) if own},
        {name: spent[name] for name in names if name in spent},
        tuple(_size(app, scope) for scope, _ in app.scopes()),
    )


def _last_days(now: Moment, most: int) -> list[str]:
    """The names of the last days here, oldest first, whatever summer time does to their length."""
    today = date.fromisoformat(local_day(now))
    return [str(today - timedelta(days=back)) for back in reversed(range(most))]


def _day(name: str, counts: DayCounts, kept: int) -> Day:
    tokens = estimate_tokens(counts.chars)
    return Day(name, counts.prompts, counts.answered, counts.told, tokens, kept)


def _percentiles(times: Iterable[int]) -> dict[str, int]:
    """Of the latest times, in milliseconds."""
    own = sorted(times)
    return {"times": len(own), "p50": own[len(own) // 2], "p95": own[len(own) * 95 // 100]}


def _size(app: App, scope: Scope) -> StoreSize:
    path = app.store_path(scope)
    files = [path, *(path.with_name(path.name + end) for end in ("-wal", "-shm"))] if path else []
    backups = backups_of(path)
    made_at = Moment(backups[0].stat().st_mtime_ns // 1_000) if backups else None
    return StoreSize(scope, sum(file.stat().st_size for file in files if file.exists()), made_at)
