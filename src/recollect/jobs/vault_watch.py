"""Job: reads the files of a vault that changed, within a second while it is quiet.

It looks at names and stamps. A look that takes long is made less often, so that looking never costs more than a tenth
of the time; in between it only checks folders and the files that were saved last, which is how nearly every save is
noticed at once. The store is opened only when something changed, and many files are read a few at a time.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field

from recollect.app.core import App
from recollect.app.note_files import vault_of
from recollect.base.errors import RecollectError
from recollect.jobs import vault_sync
from recollect.jobs.job_table import Memo
from recollect.vault import note_folder
from recollect.vault.note_folder import Scan

FEW_FILES = 400
NEWEST = 500
_SHARE = 10
_SHARE_SOON = 2
"""For a look that follows a change: where files come and go all the time, looking takes a third of the time at most."""
_SETTLED_S = 2.5  # a file saved just now is read again after this: two saves at one moment look like one
_AFTER_FAILURE_S = 30.0


@dataclass(slots=True)
class _Seen:
    scan: Scan | None = None
    newest: list[str] = field(default_factory=list)
    due_s: float = 0.0
    soon_s: float = 0.0
    again_s: float = 0.0


def work(app: App, memo: Memo) -> bool:
    """Looks at the project's vault; where there is no project, at the user's. True: there is more to read."""
    app.actor = "daemon"
    vault = vault_of(app, app.scope)
    seen, began_s = memo.get(_Seen), time.monotonic()
    if began_s < seen.due_s and (
        began_s < seen.soon_s or seen.scan is None or not note_folder.has_changed(vault, seen.scan, seen.newest)
    ):
        return False
    scan = note_folder.scan(vault)
    now_s = time.monotonic()
    seen.due_s, seen.soon_s = now_s + _SHARE * (now_s - began_s), now_s + _SHARE_SOON * (now_s - began_s)
    if scan == seen.scan and (not seen.again_s or began_s < seen.again_s):
        seen.scan = scan  # its folders may be others
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
    seen.scan, seen.newest = scan, scan.newest(NEWEST)
    seen.again_s = time.monotonic() + _SETTLED_S if report.total else 0.0
    return False
