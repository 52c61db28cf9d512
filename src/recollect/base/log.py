"""One line a decision: `2026-11-15T09:00:00Z pin id=thread_… change=… chars=52`.

Appends to one private file, turned over when it is full, so that logs never outgrow their limit. The
redactor is handed in: nothing is written that it has not seen. A log that cannot be written is no reason
to fail: the decision stands.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from recollect.base.clock import Clock
from recollect.base.text import one_line, visible

FILE = "recollect.log"
_GENERATIONS = 4
_MAX_VALUE_CHARS = 200
_MAX_LOOKED_AT = 4_000


class Log:
    def __init__(self, folder: Path, clock: Clock, *, max_bytes: int, redact: Callable[[str], str]) -> None:
        self._path = folder / FILE
        self._clock = clock
        self._max_bytes = max_bytes // _GENERATIONS
        self._redact = redact

    def line(self, event: str, **values: object) -> None:
        pairs = " ".join(f"{name}={self._spelt(value)}" for name, value in values.items())
        text = self._redact(visible(f"{self._clock.now().iso()} {event} {pairs}"))
        with suppress(OSError):
            self._turn_over()
            flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0)
            with open(os.open(self._path, flags, 0o600), "a", encoding="utf-8") as file:
                file.write(text + "\n")

    def _spelt(self, value: object) -> str:
        """Redacted before it is cut: half a secret has no shape that could be known."""
        text = one_line(str(value)[:_MAX_LOOKED_AT])
        if len(text) > _MAX_VALUE_CHARS:
            text = self._redact(text)[:_MAX_VALUE_CHARS]
        return f'"{text}"' if " " in text or not text else text

    def _turn_over(self) -> None:
        if not self._path.exists() or self._path.stat().st_size < self._max_bytes:
            return
        for number in range(_GENERATIONS - 2, 0, -1):
            older = self._path.with_name(f"{FILE}.{number}")
            if older.exists():
                older.replace(self._path.with_name(f"{FILE}.{number + 1}"))
        self._path.replace(self._path.with_name(f"{FILE}.1"))
