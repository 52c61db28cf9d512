"""Reading the log: what was decided, one line a decision, oldest first, across the files it is turned over to."""

from __future__ import annotations

import os
import re
import time
from collections import deque
from collections.abc import Iterator
from pathlib import Path

from recollect.base.log import FILE
from recollect.model.codec import Json

_GENERATIONS = (3, 2, 1)
_LOOK_S = 0.25
_READ_BYTES = 1_000_000
_PAIR = re.compile(r'([\w-]+)=("[^"]*"|\S*)')


def last(folder: Path, *, limit: int, session: str = "") -> list[str]:
    """The newest lines of a session, or of all. `session` may be the beginning of its id."""
    kept: deque[str] = deque(maxlen=limit)
    for path in (*(folder / f"{FILE}.{number}" for number in _GENERATIONS), folder / FILE):
        try:
            with path.open(encoding="utf-8", errors="replace") as file:
                kept.extend(line.rstrip("\n") for line in file if is_of(line, session))
        except OSError:
            continue
    return list(kept)


class Follower:
    """Lines as they come, for ever: through turning over, and from before there is a file. Begins where the log
    ends when it is made."""

    def __init__(self, folder: Path, session: str = "") -> None:
        self._path = folder / FILE
        self._session = session
        self._file, self._offset = _place(self._path) or (0, 0)
        self._rest = b""

    def __iter__(self) -> Iterator[str]:
        while True:
            lines = self.new()
            yield from lines
            if not lines:
                time.sleep(_LOOK_S)

    def new(self) -> list[str]:
        """What came since the last look."""
        place = _place(self._path)
        if place is None:
            return []
        file, size = place
        if file != self._file or size < self._offset:
            self._file, self._offset, self._rest = file, 0, b""
        with self._path.open("rb") as log:
            log.seek(self._offset)
            text = log.read(_READ_BYTES)
        self._offset += len(text)
        *lines, rest = (self._rest + text).split(b"\n")
        self._rest = rest[-_READ_BYTES:]
        spelt = (line.decode("utf-8", "replace") for line in lines)
        return [line for line in spelt if is_of(line, self._session)]


def is_of(line: str, session: str) -> bool:
    return not session or f" session={session}" in line


def parsed(line: str) -> dict[str, Json]:
    at, _, rest = line.partition(" ")
    event, _, pairs = rest.partition(" ")
    return {"at": at, "event": event, **{name: value.strip('"') for name, value in _PAIR.findall(pairs)}}


def _place(path: Path) -> tuple[int, int] | None:
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_ino, found.st_size
