"""Keeps copies of the rules in force where an agent reads by itself: `sync`, `skills`, and the daemon's job for both.

What is written, and how it is taken away again: integrations/rule_copies.py.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from recollect.agents import default_agent
from recollect.app.core import App
from recollect.app.states import Memo
from recollect.base.errors import RecollectError
from recollect.base.files import stamp
from recollect.integrations import rule_copies
from recollect.integrations.pieces import Receipt, Receipts
from recollect.integrations.rule_copies import KINDS, RULES_SYNC, SKILLS, Copies
from recollect.model.result import Scope, Summary
from recollect.ops.table import Arg

Off = Annotated[bool, Arg("Remove what was written here, and write nothing more until this is called again.")]


def sync(app: App, *, off: Off = False) -> Summary:
    return _update(app, RULES_SYNC, off)


def skills(app: App, *, off: Off = False) -> Summary:
    return _update(app, SKILLS, off)


def _update(app: App, copies: Copies, off: bool) -> Summary:
    is_on = app.settings.switch(copies.setting) and not off
    return rule_copies.update(app, rule_copies.receipt_for(app, copies), is_on=is_on, off=off)


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


# The daemon's job


def work(app: App, memo: Memo) -> bool:
    """Keeps the copies current. While nothing has changed, that costs a few looks at files."""
    if _stamp(app) == memo.get(tuple, ()):
        return False
    for copies in KINDS.values():
        is_on = app.settings.switch(copies.setting)
        for receipt in _folders(app, copies, is_on):
            try:
                rule_copies.update(app, receipt, is_on=is_on)
            except RecollectError as problem:  # tried again when something changed
                app.log.line("rule-copies-failed", problem=problem.message)
    memo[tuple] = _stamp(app)  # our own writing is no reason to look again
    return False


def _stamp(app: App) -> tuple[object, ...]:
    """Changes when a store, a setting or the index was written to. Empty where there is nothing to do."""
    is_on = any(app.settings.switch(copies.setting) for copies in KINDS.values())
    if app.project is None or not (is_on or Receipts(app).of(*KINDS, root=app.project.root)):
        return ()
    stores = [path for scope in Scope if (path := app.store_path(scope)) is not None]
    logs = [path.with_name(path.name + "-wal") for path in stores]
    index = default_agent().own_memory(app.places)[1] / default_agent().INDEX_FILE
    return tuple(map(stamp, [*stores, *logs, app.home.conf, app.project.conf, index]))


def _folders(app: App, copies: Copies, is_on: bool) -> list[Receipt]:
    """Every folder of this project that was written to before, or the usual one if the agent was ever used here."""
    known = Receipts(app).of(copies.kind, root=app.project.root) if app.project else []
    if app.project is None or known or not is_on:
        return [one for one in known if not one.off]
    usual = rule_copies.receipt_for(app, copies)
    is_used = copies is SKILLS or rule_copies.memory_base(app, usual).is_dir()
    return [usual] if is_used else []
