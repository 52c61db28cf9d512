"""Chore: files of the vaults that changed are taken in, within a second while it is quiet.

What is looked at are names and stamps. A look that takes long is made less often, so that looking never costs more than
a tenth of the time; in between, folders and the files that were saved last are glimpsed at, which is how nearly every
save is noticed at once. Connections of its own are opened only when something changed, and many files are taken in a
few at a time, so that no hook waits for them.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from recollect.base.errors import RecollectError
from recollect.base.log import Log
from recollect.base.paths import Home
from recollect.daemon.apps import Apps

if TYPE_CHECKING:
    from recollect.ops.register import Shelf
    from recollect.vault.folder import Scan

EVERY_S = 0.6
FEW_FILES = 400
NEWEST = 500
_SHARE = 10
_SHARE_SOON = 2
"""Of a look that follows a glimpse: where something comes and goes all the time, a third at most."""
_SETTLED_S = 2.5
"""What was saved just now is read once more after this: two saves at one moment look like one."""
_AFTER_FAILURE_S = 30.0


@dataclass(slots=True)
class _Seen:
    scan: Scan | None = None
    newest: list[str] = field(default_factory=list)
    due_s: float = 0.0
    soon_s: float = 0.0
    again_s: float = 0.0


class Vaulting:
    def __init__(self, apps: Apps, home: Home, log: Log) -> None:
        self._apps = apps
        self._home = home
        self._log = log
        self._seen: dict[Path, _Seen] = {}

    def look(self) -> bool:
        """True: there is more to take in."""
        from recollect.ops import vaults  # not before the first answer: a hook waits for it

        shelves = [("/", vaults.users(self._home))]
        shelves += [(root, vaults.projects(Path(root))) for root in self._apps.roots()]
        self._seen = {shelf.vault.base: self._seen.get(shelf.vault.base, _Seen()) for _, shelf in shelves}
        return sum(self._look_at(root, shelf) for root, shelf in shelves) > 0

    def _look_at(self, root: str, shelf: Shelf) -> bool:
        seen, began_s = self._seen[shelf.vault.base], time.monotonic()
        if began_s < seen.due_s and (began_s < seen.soon_s or not self._has_moved(shelf, seen)):
            return False
        from recollect.ops import vaults

        scan = vaults.scanned(shelf)
        now_s = time.monotonic()
        seen.due_s, seen.soon_s = now_s + _SHARE * (now_s - began_s), now_s + _SHARE_SOON * (now_s - began_s)
        is_settled = not seen.again_s or began_s < seen.again_s
        if scan == seen.scan and is_settled:
            seen.scan = scan  # its folders may be others
            return False
        try:
            return self._taken_in(root, shelf, scan)
        except RecollectError as problem:
            self._log.line("vault-failed", problem=problem.message)
            seen.due_s = time.monotonic() + _AFTER_FAILURE_S
            return False

    def _has_moved(self, shelf: Shelf, seen: _Seen) -> bool:
        """Between two looks at every file: a glimpse at folders, and at the files that were saved last."""
        from recollect.vault import folder

        return seen.scan is not None and folder.has_moved(shelf.vault, seen.scan, seen.newest)

    def _taken_in(self, root: str, shelf: Shelf, scan: Scan) -> bool:
        from recollect.ops import vaults

        seen = self._seen[shelf.vault.base]
        with self._apps.own(root, root, {}) as app:
            app.actor = "daemon"
            report = vaults.refresh(app, shelf, first=FEW_FILES, seen=scan)
        if report.waiting:
            seen.due_s = 0.0
            return True
        seen.scan, seen.newest = scan, scan.newest(NEWEST)
        seen.again_s = time.monotonic() + _SETTLED_S if report.brought else 0.0
        return False
