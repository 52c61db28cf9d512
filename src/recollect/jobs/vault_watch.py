"""Job: reads the files of a vault that changed, within a second or so.

It compares names and stamps. A look that takes long is made less often, so that looking never costs more than a tenth
of the time. The store is opened only when something changed, and many files are read a few at a time.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

from recollect.app.core import App
from recollect.app.note_files import vault_of
from recollect.base.errors import RecollectError
from recollect.jobs import vault_sync
from recollect.jobs.job_table import Memo
from recollect.vault import note_folder
from recollect.vault.note_folder import Scan

FEW_FILES = 400
_SHARE = 10
_SETTLED_S = 2.5  # a file saved just now is read again after this: two saves at one moment look like one
_AFTER_FAILURE_S = 30.0


@dataclass(slots=True)
class _Seen:
    scan: Scan | None = None
    due_s: float = 0.0
    again_s: float = 0.0  # when to read again what was saved just before it was read; 0: never


def work(app: App, memo: Memo) -> bool:
    """Looks at the project's vault; where there is no project, at the user's. True: there is more to read."""
    app.actor = "daemon"
    seen, began_s = memo.of(_Seen), time.monotonic()
    if began_s < seen.due_s:
        return False
    scan = note_folder.scan(vault_of(app, app.scope))
    now_s = time.monotonic()
    seen.due_s = now_s + _SHARE * (now_s - began_s)
    if scan == seen.scan and not 0 < seen.again_s <= began_s:
        return False
    try:
        report = vault_sync.refresh(app, app.scope, first=FEW_FILES, seen=scan)
    except RecollectError as problem:
        app.log.line("vault-failed", problem=problem.message)
        seen.due_s = time.monotonic() + _AFTER_FAILURE_S
        return False
    if report.waiting:
        seen.due_s = 0.0
        return True
    seen.scan = scan
    seen.again_s = time.monotonic() + _SETTLED_S if any(report.counts().values()) else 0.0
    return False
