"""Faults of the disk and of files on it: no space left, no permission to write, a locked or damaged database."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path

import apsw

from bench import child
from bench.child import Child
from bench.fault import Call, Unable, plain
from bench.house import House
from recollect.wire import stub

_FULL_SIZE = "8m"


@contextmanager
def locks_unusable(house: House) -> Iterator[Call]:
    for path in (house.place.lock, house.place.spawn_lock):
        Path(path).unlink(missing_ok=True)
        Path(path).mkdir()
    yield plain(house)


@contextmanager
def home_replaced(house: House) -> Iterator[Call]:
    """As by a network mount that went and came back: what a daemon has open is of the home that was. Of such mounts
    this and `locks_unusable` are simulated; that they are slow, and what their servers lose, is not."""
    house.start()
    root = house.home.root

    def before(number: int) -> None:
        spare = Path(house.root, f"spare{number}")
        shutil.copytree(root, spare)
        _exchange(root, spare)
        shutil.rmtree(spare, ignore_errors=True)  # a daemon may still write there

    yield replace(plain(house), before=before)


@contextmanager
def read_only(house: House) -> Iterator[Call]:
    root = str(house.home.root)
    if os.geteuid() == 0:
        with _mounted("--bind", root, root):
            _mount("-o", "remount,bind,ro", root)
            yield plain(house)
        return
    os.chmod(root, 0o500)
    try:
        yield plain(house)
    finally:
        os.chmod(root, 0o700)


@contextmanager
def full(house: House) -> Iterator[Call]:
    """The home and the runtime folder, so that not even a pointer finds room."""
    if os.geteuid() != 0:
        raise Unable("only root can mount a small disk")
    small = Path(house.root, "small")
    small.mkdir()
    with _mounted("-t", "tmpfs", "-o", f"size={_FULL_SIZE},mode=700", "tmpfs", str(small)):
        small_house = House(str(small), str(small), house.project)
        small_house.user.mkdir()
        shutil.copytree(house.home.root, small_house.home.root)
        stub.write_hook(str(small_house.home.root), sys.executable)
        with suppress(OSError), open(small / "filler", "wb", buffering=0) as file:
            while file.write(bytes(4096)):
                pass
        try:
            yield replace(plain(small_house), house=small_house)
        finally:
            small_house.clear()


@contextmanager
def locked(house: House) -> Iterator[Call]:
    house.start()
    with Child(hold, str(house.store)) as holder:
        holder.answer()
        yield plain(house)


@contextmanager
def corrupt(house: House) -> Iterator[Call]:
    path = house.store
    with open(path, "r+b") as file:
        for page in range(1, path.stat().st_size // 4096):
            file.seek(page * 4096)
            file.write(b"\xa5" * 2048)
    yield plain(house)


@contextmanager
def not_a_database(house: House) -> Iterator[Call]:
    house.store.write_bytes(b"not a database" * 1_000)
    yield plain(house)


def _exchange(one: Path, other: Path) -> None:
    """In one step: were there no home for a moment, a daemon or a hook could make one."""
    import ctypes

    here, swap = -100, 2  # AT_FDCWD, RENAME_EXCHANGE
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.renameat2(here, os.fsencode(one), here, os.fsencode(other), swap):
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()), str(one))


# Mounts


@contextmanager
def _mounted(*words: str) -> Iterator[None]:
    _mount(*words)
    try:
        yield
    finally:
        # Lazily: a daemon that is just ending may still stand in it.
        subprocess.run(["/bin/umount", "-l", words[-1]], check=False, capture_output=True)


def _mount(*words: str) -> None:
    try:
        subprocess.run(["/bin/mount", *words], check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError) as problem:
        raise Unable("nothing can be mounted here") from problem


# In a process of its own


def hold(path: str) -> None:
    """Writes, and does not finish."""
    db = apsw.Connection(path)
    db.set_busy_timeout(5_000)
    db.execute("BEGIN IMMEDIATE")
    child.say("held")
    child.told()
