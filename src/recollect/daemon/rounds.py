"""Chore: what is done every so many sessions, in every open project and for the user, a piece at a time.

On the thread that may wait for language models, and on connections of its own. A piece that is cut off by the daemon's
end is found by the next daemon (ops/rounds.py).
"""

from __future__ import annotations

import time
from collections.abc import Generator
from contextlib import ExitStack
from typing import TYPE_CHECKING

from recollect.base.errors import RecollectError
from recollect.daemon.apps import Apps

if TYPE_CHECKING:
    from recollect.ops.app import App

EVERY_S = 5.0
LOOK_S = 600.0
"""How often a project is asked whether anything is due."""


class Rounds:
    def __init__(self, apps: Apps, *, look_s: float = LOOK_S) -> None:
        self._apps = apps
        self._look_s = look_s
        self._looked_s: dict[str, float] = {}
        self._opened = ExitStack()
        self._going: Generator[None] | None = None

    def go_some(self) -> bool:
        """True: there is more to do at once, here or in the next project."""
        try:
            if self._going is None:
                return self._begin()
            next(self._going)
        except StopIteration:
            self.close()
        except BaseException:
            self.close()
            raise
        return True

    def _begin(self) -> bool:
        now_s = time.monotonic()
        roots = self._apps.roots()
        self._looked_s = {root: at_s for root, at_s in self._looked_s.items() if root in roots}
        for root in roots:
            if now_s - self._looked_s.get(root, float("-inf")) >= self._look_s:
                self._looked_s[root] = now_s
                app = self._opened.enter_context(self._apps.own(root, root, {}))
                app.actor = "daemon"
                self._going = _all_due(app)
                return True
        return False

    def close(self) -> None:
        if self._going is not None:
            self._going.close()
            self._going = None
        self._opened.close()


def _all_due(app: App) -> Generator[None]:
    from recollect.ops import rounds  # not before the first answer: a hook waits for it

    for due in rounds.due(app):
        try:
            for line in rounds.run(app, due):
                if line:
                    app.log.line(due.round.name, scope=due.scope, said=line)
                yield
        except RecollectError as problem:  # the others go on; this one is tried again when it is next looked at
            app.log.line("round-failed", round=due.round.name, scope=due.scope, problem=problem.message)
