"""The chore that keeps rules and skills written where agents read by themselves: a few seconds after they changed, and
at most once a minute a project. What is not switched on costs a few looks at files."""

from __future__ import annotations

import time
from dataclasses import dataclass, field

from recollect.base.errors import RecollectError
from recollect.base.log import Log
from recollect.daemon.apps import Apps

EVERY_S = 5.0
AT_MOST_EVERY_S = 60.0


@dataclass(slots=True)
class _Seen:
    stamp: tuple[object, ...] = ()
    digest: str = ""
    looked_s: float = field(default=float("-inf"))


class Mirroring:
    def __init__(self, apps: Apps, log: Log, *, at_most_every_s: float = AT_MOST_EVERY_S) -> None:
        self._apps = apps
        self._log = log
        self._at_most_every_s = at_most_every_s
        self._seen: dict[str, _Seen] = {}

    def look(self) -> bool:
        roots = self._apps.roots()
        self._seen = {root: self._seen.get(root, _Seen()) for root in roots}
        for root in roots:
            try:
                self._look_at(root)
            except RecollectError as problem:  # tried again when something changed
                self._log.line("mirror-failed", problem=problem.message)
        return False

    def _look_at(self, root: str) -> None:
        seen, now_s = self._seen[root], time.monotonic()
        if now_s - seen.looked_s < self._at_most_every_s:
            return
        from recollect.ops import mirrors  # not before the first answer: a hook waits for it

        with self._apps.own(root, root, {}) as app:
            stamp = mirrors.stamp(app)
            if stamp == seen.stamp:
                return
            seen.looked_s, seen.stamp = now_s, stamp
            digest = mirrors.digest(app)
            if digest == seen.digest:
                return
            mirrors.refresh(app)
            # As it is after our own writing, which is no reason to look again.
            seen.stamp, seen.digest = mirrors.stamp(app), mirrors.digest(app)
