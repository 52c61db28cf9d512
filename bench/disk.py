"""A disk that loses what was not synced.

Remembers for every file what has certainly reached it and what is still on its way. At a power cut each
write on its way arrives whole, in part (sector by sector) or not at all, in no particular order; a new name
may not be there yet, a deleted one may still be. A model, without files: powercut.py feeds it.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field

SECTOR = 512
_LOST, _TORN = 0.4, 0.2


@dataclass(slots=True)
class _File:
    durable: bytes = b""
    is_named: bool = False
    """Its name has reached the disk."""
    pending: list[tuple[int, bytes | None]] = field(default_factory=list)
    """Writes (offset, bytes) and truncations (size, None), oldest first."""


class Disk:
    def __init__(self) -> None:
        self._files: dict[str, _File] = {}
        self._deleted: dict[str, _File] = {}

    def found(self, name: str, content: bytes) -> None:
        """A file that was there before we looked."""
        self._files.setdefault(name, _File(content, is_named=True))

    def write(self, name: str, offset: int, data: bytes) -> None:
        self._files.setdefault(name, _File()).pending.append((offset, data))

    def truncate(self, name: str, size: int) -> None:
        self._files.setdefault(name, _File()).pending.append((size, None))

    def sync(self, name: str) -> None:
        file = self._files.setdefault(name, _File())
        image = bytearray(file.durable)
        for place, data in file.pending:
            _put(image, place, data)
        file.durable, file.pending = bytes(image), []
        if not file.is_named:
            # As SQLite does it: the first sync of a new journal or log syncs the folder too.
            self._sync_folder()

    def delete(self, name: str, *, at_once: bool) -> None:
        file = self._files.pop(name, None)
        if file is not None and file.is_named:
            self._deleted[name] = file
        if at_once:
            self._sync_folder()

    def _sync_folder(self) -> None:
        for file in self._files.values():
            file.is_named = True
        self._deleted.clear()

    def after_cut(self, chance: random.Random) -> dict[str, bytes]:
        """The files as they are found when the power is back."""
        left: dict[str, bytes] = {}
        for name in self._files.keys() | self._deleted.keys():
            file = self._survivor(name, chance)
            if file is not None:
                left[name] = _torn(file, chance)
        return left

    def _survivor(self, name: str, chance: random.Random) -> _File | None:
        file = self._files.get(name)
        if file is not None and file.is_named:
            return file
        return chance.choice([file, self._deleted.get(name)])


def _torn(file: _File, chance: random.Random) -> bytes:
    image = bytearray(file.durable)
    for place, data in file.pending:
        luck = chance.random()
        if luck < _LOST:
            continue
        if data is None or luck >= _LOST + _TORN:
            _put(image, place, data)
            continue
        for start in range(0, len(data), SECTOR):
            if chance.random() < 0.5:
                _put(image, place + start, data[start : start + SECTOR])
    return bytes(image)


def _put(image: bytearray, place: int, data: bytes | None) -> None:
    """A hole that nothing has reached yet reads as zeros."""
    if data is None:
        del image[place:]
        return
    if len(image) < place:
        image.extend(bytes(place - len(image)))
    image[place : place + len(data)] = data
