"""Cuts the power, in simulation, while the real store writes.

An apsw VFS passes everything on to the real files and tells a Disk (disk.py) what was written and what was
synced. A cut is a copy of what that disk would hold at that instant; the program runs on, unaware, and what
it does later does not count. The copy is then opened as any file is, and what was acknowledged before the cut
must be in it.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from itertools import count, cycle
from pathlib import Path
from shutil import rmtree

import apsw

from bench.disk import Disk
from bench.pins import Pinner, kept
from recollect.base.errors import RecollectError
from recollect.store import Progress, SqliteStore, Tuning

_VFS = "recollect-powercut"
_SESSIONS = 4
_PINS_A_SESSION = 5
_PIN_WORDS = 30
# A pin is some twenty steps: about one cut a pin. A new file's first steps are few and its own, so they are
# cut more often.
_STEPS_A_CUT = 20
_FIRST_STEPS = 12
_FIRST_STEPS_A_CUT = 4


@dataclass(frozen=True, slots=True)
class Cuts:
    """Over all cuts: what was promised before each, and what of it the disk did not hold after."""

    synchronous: str
    cuts: int = 0
    acknowledged: int = 0
    lost: int = 0
    duplicates: int = 0
    corrupt: int = 0
    """Copies that could not be opened, or in which `verify` found something."""


def run_cuts(folder: Path, *, synchronous: str, cuts: int, seed: int, progress: Progress) -> Cuts:
    chance = random.Random(seed)
    total = Cuts(synchronous)
    pinner = Pinner(seed, _PIN_WORDS)
    # Every second life folds its log back into the file at almost every write: a moment of its own kind.
    for pages in cycle([Tuning().checkpoint_pages, 8]):
        if total.cuts >= cuts:
            break
        tuning = Tuning(synchronous=synchronous, vfs=_VFS, checkpoint_pages=pages)
        for disk, promised in _one_life(folder / "life", tuning, pinner, chance, cuts - total.cuts):
            total = _add(total, disk, promised, folder / "after")
            progress(total.cuts, cuts)
    return total


Moment = tuple[dict[str, bytes], tuple[str, ...]]


def _one_life(
    folder: Path, tuning: Tuning, pinner: Pinner, chance: random.Random, most: int
) -> list[Moment]:
    """A new database written to in a few sessions, and the disk as it was at some instants."""
    folder.mkdir(parents=True)
    promised: list[str] = []
    moments: list[Moment] = []
    disk = Disk()
    steps = count()

    def step() -> None:
        steps_a_cut = _FIRST_STEPS_A_CUT if next(steps) < _FIRST_STEPS else _STEPS_A_CUT
        if len(moments) < most and chance.randrange(steps_a_cut) == 0:
            moments.append((disk.after_cut(chance), tuple(promised)))

    try:
        with _watched(disk, step):
            for _ in range(_SESSIONS):
                store = SqliteStore(folder / "memory.db", tuning)
                for _ in range(_PINS_A_SESSION):
                    pin = pinner.draw()
                    store.apply(pin.plan(), pin.act())
                    promised.append(pin.id)
                store.close()
    finally:
        rmtree(folder)
    return moments


def _add(total: Cuts, left: dict[str, bytes], promised: tuple[str, ...], folder: Path) -> Cuts:
    folder.mkdir(parents=True)
    for name, content in left.items():
        (folder / name).write_bytes(content)
    total = replace(total, cuts=total.cuts + 1, acknowledged=total.acknowledged + len(promised))
    store = None
    try:
        store = SqliteStore(folder / "memory.db", Tuning(synchronous="OFF"))
        found = kept(store, promised)
        damaged = bool(store.verify())
    except RecollectError:
        return replace(total, lost=total.lost + len(promised), corrupt=total.corrupt + 1)
    finally:
        if store is not None:
            with suppress(RecollectError):
                store.close()
        rmtree(folder)
    return replace(
        total,
        lost=total.lost + found.lost,
        duplicates=total.duplicates + found.duplicates,
        corrupt=total.corrupt + damaged,
    )


@contextmanager
def _watched(disk: Disk, step: Callable[[], None]) -> Iterator[None]:
    vfs = _Watcher(disk, step)
    try:
        yield
    finally:
        vfs.unregister()


class _Watcher(apsw.VFS):
    def __init__(self, disk: Disk, step: Callable[[], None]) -> None:
        self._disk = disk
        self._step = step
        super().__init__(_VFS, "")

    def xOpen(self, name: str | apsw.URIFilename | None, flags: list[int]) -> apsw.VFSFile:
        # Without a name it is a temporary file: gone with the power in any case.
        if name is None:
            return apsw.VFSFile("", name, flags)
        path = Path(name if isinstance(name, str) else name.filename())
        if path.exists():
            self._disk.found(path.name, path.read_bytes())
        return _File(name, flags, path.name, self._disk, self._step)

    def xDelete(self, filename: str, syncdir: bool) -> None:
        super().xDelete(filename, syncdir)
        self._disk.delete(Path(filename).name, at_once=syncdir)
        self._step()


class _File(apsw.VFSFile):
    def __init__(
        self,
        given: str | apsw.URIFilename,
        flags: list[int],
        name: str,
        disk: Disk,
        step: Callable[[], None],
    ) -> None:
        self._name, self._disk, self._step = name, disk, step
        super().__init__("", given, flags)

    def xLock(self, level: int) -> None:
        """A read-only connection tries, when it closes, for a lock that it cannot have; SQLite takes that from
        its own VFS without a word, and from ours only as "busy"."""
        try:
            super().xLock(level)
        except apsw.IOError:
            raise apsw.BusyError from None

    def xWrite(self, data: bytes, offset: int) -> None:
        super().xWrite(data, offset)
        self._disk.write(self._name, offset, bytes(data))
        self._step()

    def xTruncate(self, newsize: int) -> None:
        super().xTruncate(newsize)
        self._disk.truncate(self._name, newsize)
        self._step()

    def xSync(self, flags: int) -> None:
        """The model alone: a real sync would only cost time."""
        self._disk.sync(self._name)
        self._step()
