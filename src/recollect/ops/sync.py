"""Keeps copies of the rules in force where agents read by themselves: `sync`, `skills`, and the daemon's job for both.

What is written, and how it is taken away again: integrations/rule_copies.py.
"""

from __future__ import annotations

import hashlib
import json
import os
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from recollect.agents import agent, hosts
from recollect.app.agent_places import places
from recollect.app.core import App
from recollect.base.errors import NoProject, RecollectError
from recollect.integrations import rule_copies
from recollect.integrations.receipts import Receipt, Receipts
from recollect.integrations.rule_copies import KINDS, RULES_SYNC, SKILLS, Copies
from recollect.jobs.job_table import Memo
from recollect.model.result import Check, Mark, Scope, Summary
from recollect.ops.table import Arg

Off = Annotated[bool, Arg("Take away what was written here, and write nothing more until this is called again.")]


def sync(app: App, *, off: Off = False) -> Summary:
    return _write_or_withdraw(app, RULES_SYNC, off)


def skills(app: App, *, off: Off = False) -> Summary:
    return _write_or_withdraw(app, SKILLS, off)


def _write_or_withdraw(app: App, copies: Copies, off: bool) -> Summary:
    receipts = [rule_copies.receipt_for(app, copies, host) for host in hosts(copies.ability)]
    is_on = app.settings.switch(copies.setting) and not off
    told = [rule_copies.write(app, one) if is_on else rule_copies.withdraw(app, one, off=off) for one in receipts]
    notes = tuple(note for one in told for note in one.notes)
    return Summary("\n".join(one.summary for one in told), told[0].facts, notes)


def status(app: App) -> dict[str, str]:
    """Whether each is on, and when it was last written here."""
    root = app.project.root if app.project else Path()
    found = {}
    for copies in KINDS.values():
        kept = Receipts(app).of(copies.kind, root=root)
        last = max((one.at for one in kept), default="")
        state = "on" if app.settings.switch(copies.setting) else "off"
        state = "on, but taken away here" if state == "on" and kept and all(one.off for one in kept) else state
        found[copies.title.lower()] = f"{state}, last written {last}" if last else state
    return found


def checks(app: App) -> list[Check]:
    """For `doctor`."""
    found = [Check(name, Mark.GOOD, state) for name, state in status(app).items()]
    if app.settings.switch(RULES_SYNC.setting) and app.project is not None:
        found += [
            Check("rules sync", Mark.WARN, f"{agent(host).TITLE} does not read what is written: {memory.unread}")
            for host in hosts(RULES_SYNC.ability)
            if (memory := agent(host).own_memory(places(app))).unread
        ]
    return found


# The daemon's job

_AT_MOST_EVERY_S = 60.0


@dataclass(slots=True)
class _Seen:
    stamp: tuple[object, ...] = ()
    digest: str = ""
    looked_s: float = float("-inf")


def work(app: App, memo: Memo) -> bool:
    """Keeps the copies current: a few seconds after rules changed, and at most once a minute. While nothing is
    switched on, that costs a few looks at files."""
    seen, now_s = memo.get(_Seen), time.monotonic()
    stamp = _stamp(app) if now_s - seen.looked_s >= _AT_MOST_EVERY_S else seen.stamp
    if stamp == seen.stamp:
        return False
    seen.looked_s, seen.stamp = now_s, stamp
    if _digest(app) == seen.digest:
        return False
    try:
        refresh(app)
    except RecollectError as problem:  # tried again when something changed
        app.log.line("rule-copies-failed", problem=problem.message)
        return False
    # As it is after our own writing, which is no reason to look again.
    seen.stamp, seen.digest = _stamp(app), _digest(app)
    return False


def _stamp(app: App) -> tuple[object, ...]:
    """Changes when a store, a setting or an index was written to. Empty where there is nothing to do."""
    if app.project is None or not (_switches(app) or Receipts(app).of(*KINDS, root=app.project.root)):
        return ()
    stores = [path for scope in Scope if (path := app.store_path(scope)) is not None]
    logs = [path.with_name(path.name + "-wal") for path in stores]
    files = [*stores, *logs, app.home.conf, app.project.conf, *_index_files(app)]
    return tuple(_version(path) for path in files)


def _digest(app: App) -> str:
    """Of all that would be written."""
    indexes = [_version(path) for path in _index_files(app)]
    wanted = [_switches(app), indexes, rule_copies.synced_rules(app), list(rule_copies.skill_rules(app).values())]
    return hashlib.sha256(json.dumps(wanted, default=str).encode()).hexdigest()


def refresh(app: App) -> None:
    """Both as they should be. One that fails does not keep the other from being written."""
    problem: RecollectError | None = None
    for copies in KINDS.values():
        try:
            _refresh(app, copies)
        except RecollectError as refused:
            problem = refused
    if problem is not None:
        raise problem


def _refresh(app: App, copies: Copies) -> None:
    """Every folder of this project that a person had us write to, or the usual one."""
    if app.project is None:
        return
    known, is_on = Receipts(app).of(copies.kind, root=app.project.root), app.settings.switch(copies.setting)
    usual = [rule_copies.receipt_for(app, copies, host) for host in hosts(copies.ability)] if not known else []
    for one in (*known, *usual):
        if one.off or (one in usual and not (is_on and _is_used(app, one))):
            continue
        rule_copies.write(app, one) if is_on else rule_copies.withdraw(app, one, off=False)


def _is_used(app: App, receipt: Receipt) -> bool:
    """Whether the agent was ever used here."""
    return receipt.kind != RULES_SYNC.kind or rule_copies.own_memory_of(app, receipt).base.is_dir()


def _switches(app: App) -> list[bool]:
    switches = [app.settings.switch(copies.setting) for copies in KINDS.values()]
    return switches if any(switches) else []


def _version(path: Path) -> tuple[int, int, int] | None:
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino


def _index_files(app: App) -> list[Path]:
    found = []
    for host in hosts(RULES_SYNC.ability):
        try:
            memory = agent(host).own_memory(places(app))
        except NoProject:
            continue
        found.append(memory.folder / memory.index_file)
    return found
