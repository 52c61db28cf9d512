"""A disk that is full or broken: a clear error, and nothing that was acknowledged is lost."""

import sys
from collections.abc import Iterator
from contextlib import ExitStack, closing, suppress
from pathlib import Path

import apsw
import pytest

from recollect.base.errors import StoreError, StoreFull
from recollect.model.memory import Note
from recollect.model.plan import Create
from recollect.store import SqliteStore, Tuning
from tests.store.helpers import do, finished, start
from tests.values import note

NAME = "recollect-faulty"
TUNING = Tuning(vfs=NAME, synchronous="OFF", checkpoint_pages=20)


class Disk(apsw.VFS):
    """Passes everything on until it is told not to: `room` is how many bytes may still be written, None without end."""

    def __init__(self):
        self.room: int | None = None
        self.error: type[apsw.Error] = apsw.FullError
        self.written = 0
        super().__init__(NAME, "")

    def xOpen(self, name: str | apsw.URIFilename | None, flags: list[int]) -> apsw.VFSFile:
        return _File(name, flags, self)


class _File(apsw.VFSFile):
    def __init__(self, name: str | apsw.URIFilename | None, flags: list[int], disk: Disk):
        super().__init__("", name, flags)
        self._disk = disk

    def xWrite(self, data: bytes, offset: int):
        if self._disk.room is not None:
            if len(data) > self._disk.room:
                raise self._disk.error("refused by the test")
            self._disk.room -= len(data)
        self._disk.written += len(data)
        super().xWrite(data, offset)


@pytest.fixture
def disk() -> Iterator[Disk]:
    disk = Disk()
    yield disk
    disk.unregister()


def write_until_refused(
    path: Path, most: int, tuning: Tuning
) -> tuple[list[Note], StoreError | None]:
    """What was acknowledged, and what stopped it."""
    kept: list[Note] = []
    with ExitStack() as stack:
        try:
            store = SqliteStore(path, tuning)
            # A close that cannot fold the log back leaves it for the next to open.
            stack.enter_context(suppress(StoreError))
            stack.callback(store.close)
            for i in range(most):
                new = note(f"Note {i}", body=f"word{i} " * 100)
                do(store, Create(new))
                kept.append(new)
        except StoreError as problem:
            return kept, problem
    return kept, None


def check_whole(path: Path, kept: list[Note]):
    with closing(SqliteStore(path, Tuning())) as store:
        assert store.verify() == []
        found = [memory for memory, _ in store.each()]
        assert found[: len(kept)] == kept
        assert len(found) <= len(kept) + 1, "at most the write that was under way"
        do(store, Create(note("After")))


@pytest.mark.parametrize(
    ("error", "most", "places"),
    [
        (apsw.FullError, 8, 60),
        (apsw.IOError, 4, 16),
        (apsw.NoMemError, 4, 16),
        (apsw.ReadOnlyError, 4, 16),
    ],
)
def test_a_disk_that_fills_or_breaks_at_any_byte_loses_nothing(
    disk: Disk, tmp_path: Path, error: type[apsw.Error], most: int, places: int
):
    disk.error = error
    kept, problem = write_until_refused(tmp_path / "whole.db", most, TUNING)
    assert (len(kept), problem) == (most, None)
    total, refused = disk.written, 0
    for i in range(places):
        path = tmp_path / f"{i}.db"
        disk.room = total * i // places
        kept, problem = write_until_refused(path, most, TUNING)
        disk.room = None
        if problem is not None:
            refused += 1
            assert problem.hint
            assert isinstance(problem, StoreFull) or error is not apsw.FullError, (
                f"at {i}/{places}: {problem!r}"
            )
        check_whole(path, kept)
    assert refused == places or (error is apsw.FullError and refused > places * 5 // 6)


def test_writing_goes_on_in_the_same_store_once_there_is_room(disk: Disk, tmp_path: Path):
    store = SqliteStore(tmp_path / "memory.db", TUNING)
    first, second, third = (note(f"Note {i}", body="words " * 2_000) for i in range(3))
    do(store, Create(first))

    disk.room = 3_000
    with pytest.raises(StoreFull):
        do(store, Create(second))
    assert store.get(first.id) == first
    assert store.get(second.id) is None
    disk.room = None

    do(store, Create(third))
    assert store.verify() == []
    store.close()
    check_whole(tmp_path / "memory.db", [first, third])


def test_no_room_for_a_backup_leaves_no_piece_of_one(disk: Disk, tmp_path: Path):
    store = SqliteStore(tmp_path / "memory.db", TUNING)
    do(store, Create(note("Note")))
    target = tmp_path / "copies" / "one.db"
    disk.room = 10_000
    with pytest.raises(StoreError):
        store.backup(target)
    disk.room = None
    assert list(target.parent.iterdir()) == []
    store.backup(target)
    store.close()
    check_whole(target, [])


# In a process of its own: only there can a file system be mounted for nobody else to see.
_SMALL_DISK = """
import ctypes, os, sys
from pathlib import Path
libc = ctypes.CDLL(None, use_errno=True)
CLONE_NEWNS, MS_REC, MS_PRIVATE = 0x20000, 0x4000, 0x40000
if libc.unshare(CLONE_NEWNS) or libc.mount(None, b"/", None, MS_REC | MS_PRIVATE, None):
    print("no namespace"); sys.exit(0)
if libc.mount(b"tmpfs", sys.argv[1].encode(), b"tmpfs", 0, b"size=" + sys.argv[2].encode()):
    print("no mount"); sys.exit(0)
from tests.store.test_disk import check_whole, write_until_refused
from recollect.base.errors import StoreFull
from recollect.store import Tuning
folder = Path(sys.argv[1])
kept, problem = write_until_refused(folder / "memory.db", 10_000, Tuning(synchronous="OFF"))
assert isinstance(problem, StoreFull), repr(problem)
libc.mount(b"tmpfs", sys.argv[1].encode(), b"tmpfs", 0x20, b"size=16m")
check_whole(folder / "memory.db", kept)
print("kept", len(kept))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="a small file system is mounted on Linux alone")
@pytest.mark.parametrize("size", ["8k", "300k"])
def test_a_small_file_system_that_runs_full_loses_nothing(tmp_path: Path, size: str):
    told = finished(start(_SMALL_DISK, str(tmp_path), size))
    if told.startswith("no "):
        pytest.skip(f"this user may not mount a file system: {told.strip()}")
    assert told.startswith("kept ")
