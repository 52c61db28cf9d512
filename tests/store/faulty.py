"""A disk that runs full or breaks: an apsw VFS that passes everything on until it is told not to."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import apsw

NAME = "recollect-faulty"


class Disk:
    """`room` is how many bytes may still be written; None is without end."""

    def __init__(self) -> None:
        self.room: int | None = None
        self.error: type[apsw.Error] = apsw.FullError
        self.written = 0

    def take(self, size: int) -> None:
        if self.room is not None:
            if size > self.room:
                raise self.error("refused by the test")
            self.room -= size
        self.written += size


@contextmanager
def faulty_disk() -> Iterator[Disk]:
    disk = Disk()
    vfs = _Vfs(disk)
    try:
        yield disk
    finally:
        vfs.unregister()


class _Vfs(apsw.VFS):
    def __init__(self, disk: Disk) -> None:
        self._disk = disk
        super().__init__(NAME, "")

    def xOpen(self, name: str | apsw.URIFilename | None, flags: list[int]) -> apsw.VFSFile:
        return _File(name, flags, self._disk)


class _File(apsw.VFSFile):
    def __init__(self, name: str | apsw.URIFilename | None, flags: list[int], disk: Disk) -> None:
        super().__init__("", name, flags)
        self._disk = disk

    def xWrite(self, data: bytes, offset: int) -> None:
        self._disk.take(len(data))
        super().xWrite(data, offset)
