"""`logs/validation-<session>.log`: what was looked at and what was found, a line each.

Whole and redacted at every write. Two stores may count to the same session, so a file is added to; the oldest go.
An erased memory is erased here too: every line on a memory begins with its id.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from recollect.base.errors import HomeRefused
from recollect.base.files import read_limited, write_private
from recollect.base.text import clip, one_line, visible
from recollect.ops.app import App

KEPT = 20
_MAX_BYTES = 500_000
_LINE_CHARS = 500
_NAME = re.compile(r"validation-\d+\.log")


class ValidationLog:
    def __init__(self, app: App, session: int) -> None:
        self.path = app.home.logs / f"validation-{session}.log"
        self._app = app
        self._lines = _lines(self.path)

    def line(self, text: str) -> None:
        """A log that cannot be written is no reason to fail."""
        said = self._app.redactor.clean(visible(clip(one_line(text), _LINE_CHARS))).text
        self._lines.append(f"{self._app.clock.now().iso()} {said}")
        with suppress(OSError, HomeRefused):
            write_private(self.path, "\n".join(self._lines)[-_MAX_BYTES // 2 :] + "\n")

    def tidy(self) -> None:
        found = sorted(_files(self._app), key=lambda path: path.stat().st_mtime_ns)
        for path in found[:-KEPT]:
            with suppress(OSError):
                path.unlink()


def forget(app: App, ids: Iterable[str]) -> None:
    """Lines that speak of these."""
    gone = tuple(ids)
    for path in _files(app):
        lines = _lines(path)
        kept = [line for line in lines if not any(id in line for id in gone)]
        if len(kept) < len(lines):
            with suppress(OSError, HomeRefused):
                write_private(path, "\n".join(kept) + "\n")


def _files(app: App) -> list[Path]:
    try:
        return [path for path in app.home.logs.iterdir() if _NAME.fullmatch(path.name)]
    except OSError:
        return []


def _lines(path: Path) -> list[str]:
    try:
        return read_limited(path, _MAX_BYTES).decode("utf-8", "replace").splitlines()
    except OSError:
        return []
