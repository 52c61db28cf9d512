"""An App for what happened long ago: its clock stands where the acts stand, what it writes is one change of today.

So a taker that asks for the time gets that of the session, a memory of last spring was last active then, and `undo`
takes the whole of an import back at once. Only fading begins today, or all that is imported would be asleep at once.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from recollect.base.clock import Clock
from recollect.base.moment import Moment
from recollect.base.project import Project
from recollect.base.settings import Settings
from recollect.base.text import one_line
from recollect.lifecycle.strength import fades
from recollect.model.memory import Anchor, Memory
from recollect.model.plan import Change, Create, Plan, Update
from recollect.model.result import Done, Scope
from recollect.ops.anchors import COMMIT
from recollect.ops.app import IMPORT_ACTOR, App

if TYPE_CHECKING:
    from recollect.base.log import Log
    from recollect.store import Act, Store

OP = "import"


class PastClock:
    """Never later than the real one."""

    def __init__(self, real: Clock) -> None:
        self.real = real
        self.at = real.now()

    def now(self) -> Moment:
        return self.at

    def stand(self, at: Moment) -> None:
        self.at = min(at, self.real.now())


class PastApp(App):
    fills_on_the_way = False  # nearly all of an import's time; words find everything at once

    def __init__(self, app: App, project: Project, settings: Settings, summary: str) -> None:
        self.past = PastClock(app.clock)
        super().__init__(
            home=app.home, project=project, settings=settings, clock=self.past, actor=app.actor, dry_run=app.dry_run
        )
        # Two stores, two changes: an undo is of one store.
        self.changes = {scope: app.mint.draw("change") for scope in Scope}
        self._summary = summary
        self._scope = Scope.PROJECT
        self._embedder = app._embedder
        self.turn_vectors = {}
        self._paths: dict[Scope, Path] = {}

    def store_path(self, scope: Scope) -> Path | None:
        """Looked up once: an import asks for it a hundred times per megabyte, and each look reads a folder."""
        found = self._paths.get(scope) or super().store_path(scope)
        if found is not None:
            self._paths[scope] = found
        return found

    def commit(
        self, scope: Scope, op: str, make: Callable[[Store], Plan], say: Callable[[Plan], str], *, actor: str = ""
    ) -> Done:
        before, self._scope = self._scope, scope
        try:
            return super().commit(scope, op, lambda store: self._fading_from_today(make(store)), say, actor=actor)
        finally:
            self._scope = before

    def _fading_from_today(self, plan: Plan) -> Plan:
        today = self.past.real.now()
        return Plan(tuple(_reinforced(change, today) for change in plan.changes))

    def act(self, op: str, summary: str, *, undoes: str | None = None, change: str = "", actor: str = "") -> Act:
        """`log` shows an import as one line; what it did is in its plans."""
        from recollect.store import Act

        change = change or self.changes[self._scope]
        return Act(change, OP, IMPORT_ACTOR, one_line(self._summary), self.past.real.now(), undoes)

    @property
    def log(self) -> Log:
        from recollect.base.log import Log

        size = self.settings.count("MEMORY_LOG_MAX_MB") * 1_000_000
        clean = self.redactor.clean
        return Log(self.home.logs, self.past.real, max_bytes=size, redact=lambda text: clean(text).text)

    def _anchored(self, scope: Scope, plan: Plan) -> Plan:
        if scope is not Scope.PROJECT:
            return plan
        found = super()._anchored(scope, plan)
        root = self.project_here().root
        both = zip(plan.changes, found.changes, strict=True)
        return Plan(tuple(_as_it_was(was, change, root) for was, change in both))


def _reinforced(change: Change, at: Moment) -> Change:
    match change:
        case Create(memory) if fades(memory):
            return replace(change, memory=replace(memory, reinforced_at=at))
        case Update(_, _, after) if "reinforced_at" in after:
            return replace(change, after={**after, "reinforced_at": at.iso()})
    return change


def _as_it_was(was: Change, change: Change, root: Path) -> Change:
    """A file that was written since is no longer what the memory spoke of, and nobody knows what it was then."""
    if not isinstance(change, Create) or not change.memory.anchors:
        return was
    files = (anchor for anchor in change.memory.anchors if anchor.path != COMMIT)
    anchors = tuple(_known_then(anchor, change.memory, root) for anchor in files)
    return Create(replace(change.memory, anchors=anchors), change.messages)


def _known_then(anchor: Anchor, memory: Memory, root: Path) -> Anchor:
    try:
        written = os.stat(root / anchor.path).st_mtime_ns // 1_000
    except (OSError, ValueError):
        return replace(anchor, hash="")
    return anchor if written <= memory.created_at.micros else replace(anchor, hash="")
