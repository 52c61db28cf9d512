"""What a vault costs as it grows: to scan it, to read all of it, to notice one save.

Words alone: vectors follow in the background and have their own figures (engine.py).
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from bench.corpus import Corpus
from bench.report import Report, digits, percentile
from recollect.app.core import App, Progress
from recollect.app.note_files import vault_of
from recollect.base.clock import SystemClock
from recollect.base.paths import Home
from recollect.base.settings import load
from recollect.jobs import vault_sync
from recollect.model.result import Scope
from recollect.ops import notes as note_ops
from recollect.vault import note_folder as files

_NOTE_WORDS = 120
_FOLDERS = 50
_LOOKS = 5
_LONG_AGO_S = 1_700_000_000


@dataclass(frozen=True, slots=True)
class VaultFigures:
    notes: int
    scan_ms: float
    """Names and stamps of all files: what the daemon does again and again."""
    first_seconds: float
    """Until all are found by their words."""
    notes_a_second: float
    unchanged_ms: float
    """A look that finds nothing new."""
    one_edit_ms: float
    """A look that finds one save, until it is indexed."""
    sync_seconds: float
    """Every file read and compared."""


@dataclass(frozen=True, slots=True)
class VaultReport(Report):
    figures: tuple[VaultFigures, ...]


def run_vault(
    folder: Path, *, sizes: tuple[int, ...], seed: int, progress: Progress
) -> VaultReport:
    return VaultReport(tuple(_measured(folder / str(size), size, seed, progress) for size in sizes))


def _measured(folder: Path, notes: int, seed: int, progress: Progress) -> VaultFigures:
    folder.mkdir()
    home = Home(folder / "home")
    home.prepare()
    _write(home.vault, notes, seed)
    app = App(
        home=home,
        project=None,
        settings=load(home.conf, None, {}),
        clock=SystemClock(),
        progress=progress,
    )
    try:
        scan_ms = percentile(
            [_ms(lambda: files.scan(vault_of(app, Scope.USER))) for _ in range(_LOOKS)], 50
        )
        first_ms = _ms(lambda: vault_sync.refresh(app, Scope.USER))
        unchanged_ms = percentile(
            [_ms(lambda: vault_sync.refresh(app, Scope.USER)) for _ in range(_LOOKS)], 50
        )
        (home.vault / "0" / "0.md").write_text("# Changed\n\nOne save.\n", encoding="utf-8")
        one_edit_ms = _ms(lambda: vault_sync.refresh(app, Scope.USER))
        sync_ms = _ms(lambda: note_ops.sync(app))
    finally:
        app.close()
    return VaultFigures(
        notes,
        digits(scan_ms),
        round(first_ms / 1e3, 2),
        digits(notes / first_ms * 1e3),
        digits(unchanged_ms),
        digits(one_edit_ms),
        round(sync_ms / 1e3, 2),
    )


def _write(vault: Path, notes: int, seed: int) -> None:
    corpus = Corpus(seed)
    for number in range(notes):
        path = vault / str(number % _FOLDERS) / f"{number}.md"
        path.parent.mkdir(parents=True, exist_ok=True)
        tags = ", ".join(corpus.topics())
        path.write_text(
            f"---\ntags: [{tags}]\n---\n# Note {number}\n\n{corpus.text(_NOTE_WORDS)}\n",
            encoding="utf-8",
        )
        os.utime(path, (_LONG_AGO_S, _LONG_AGO_S))  # not as if it had been saved just now


def _ms(work: Callable[[], object]) -> float:
    began_s = time.perf_counter()
    work()
    return (time.perf_counter() - began_s) * 1e3
