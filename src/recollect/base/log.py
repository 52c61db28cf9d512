"""The log: one line per decision, `2026-11-15T09:00:00Z pin id=thread_… change=… chars=52`.

One private file, rotated when it is full. Nothing is written that the redactor, which is handed in, has not seen. A log
that cannot be written is no reason to fail. Reading goes across the rotated files, oldest line first."""

from __future__ import annotations

import os
import re
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import suppress
from itertools import pairwise
from pathlib import Path

from recollect.base.clock import Clock
from recollect.base.text import one_line, visible

FILE = "recollect.log"
_GENERATIONS = 4
_MAX_VALUE_CHARS = 200
_PAIR = r'([\w-]+)=("[^"]*"|\S*)'


class Log:
    def __init__(
        self,
        folder: Path,
        clock: Clock,
        *,
        max_bytes: int,
        redact: Callable[[str], str],
        file: str = FILE,
    ) -> None:
        self._path = folder / file
        self._clock = clock
        self._max_bytes = max_bytes // _GENERATIONS
        self._redact = redact

    def line(self, event: str, **values: object) -> None:
        pairs = " ".join(f"{name}={self._format(value)}" for name, value in values.items())
        text = self._redact(visible(f"{self._clock.now().iso()} {event} {pairs}"))
        with suppress(OSError):
            is_full = self._path.exists() and self._path.stat().st_size >= self._max_bytes
            for older, newer in pairwise(_generations(self._path) if is_full else ()):
                if newer.exists():
                    newer.replace(older)
            flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0)
            with open(os.open(self._path, flags, 0o600), "a", encoding="utf-8") as file:
                file.write(text + "\n")

    def _format(self, value: object) -> str:
        """Redacted before it is cut: half a secret has no shape that could be known."""
        text = one_line(str(value)[:4_000])
        if len(text) > _MAX_VALUE_CHARS:
            text = self._redact(text)[:_MAX_VALUE_CHARS]
        return f'"{text}"' if " " in text or not text else text


def read_last(folder: Path, *, limit: int, session: str = "") -> list[str]:
    """The newest lines of a session, or of all. `session` may be the beginning of its id."""
    kept: deque[str] = deque(maxlen=limit)
    mark = f" session={session}" if session else ""
    for path in _generations(folder / FILE):
        with suppress(OSError), path.open(encoding="utf-8", errors="replace") as file:
            kept.extend(line.rstrip("\n") for line in file if mark in line)
    return list(kept)


def _generations(path: Path) -> list[Path]:
    """The log, and before it those that were rotated, the oldest first."""
    return [
        *(path.with_name(f"{path.name}.{number}") for number in range(_GENERATIONS - 1, 0, -1)),
        path,
    ]


def parse_line(line: str) -> dict[str, str]:
    at, _, rest = line.partition(" ")
    event, _, pairs = rest.partition(" ")
    return {
        "at": at,
        "event": event,
        **{name: value.strip('"') for name, value in re.findall(_PAIR, pairs)},
    }


class LogFollower:
    """New lines from now on, forever: across rotations, and even before there is a file."""

    def __init__(self, folder: Path, session: str = "") -> None:
        self._path = folder / FILE
        self._mark = f" session={session}" if session else ""
        self._inode, self._offset = self._stat()

    def __iter__(self) -> Iterator[str]:
        while True:
            lines = self.read_new()
            yield from lines
            if not lines:
                time.sleep(0.25)

    def read_new(self) -> list[str]:
        inode, size = self._stat()
        if inode != self._inode or size < self._offset:
            self._inode, self._offset = inode, 0
        if not inode or size == self._offset:
            return []
        with self._path.open("rb") as log:
            log.seek(self._offset)
            *lines, rest = log.read(1_000_000).split(b"\n")
            self._offset = log.tell() - len(rest)  # of a line that is not whole yet
        return [
            line for line in (one.decode("utf-8", "replace") for one in lines) if self._mark in line
        ]

    def _stat(self) -> tuple[int, int]:
        try:
            found = os.stat(self._path)
        except OSError:
            return 0, 0
        return found.st_ino, found.st_size
