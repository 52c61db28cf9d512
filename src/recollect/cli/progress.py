"""A progress bar on standard error, only where a person looks and only for work that takes a while."""

from __future__ import annotations

import sys
import time

_QUIET_SECONDS = 0.5
_STEP_SECONDS = 0.1
_WIDTH = 30


class Bar:
    def __init__(self) -> None:
        self._begun = self._drawn = time.monotonic()

    def __call__(self, done: int, total: int) -> None:
        now = time.monotonic()
        finished = done >= total
        if now - self._begun < _QUIET_SECONDS or (now - self._drawn < _STEP_SECONDS and not finished):
            return
        if not sys.stderr.isatty():
            return
        self._drawn = now
        filled = _WIDTH * done // max(1, total)
        bar = "#" * filled + "-" * (_WIDTH - filled)
        sys.stderr.write("\r\033[K" if finished else f"\r[{bar}] {done:,}/{total:,}")
        sys.stderr.flush()
