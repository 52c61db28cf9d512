"""Flips single bits of a database and asks which of them `verify` finds.

A flip counts when it changes something that can be read: a value of any table or index, an entry of the
full-text index, the schema. One that falls into unused space changes nothing, and finding it proves nothing.
SQLite's own integrity_check stands beside for comparison.
"""

from __future__ import annotations

import random
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import apsw

from bench import dump, specimen
from bench.report import Report, share
from recollect.base.errors import RecollectError
from recollect.store import Progress, SqliteStore, Tuning

GOAL = 0.9


@dataclass(frozen=True, slots=True)
class Place:
    """One table or index of the file, by the page that was hit."""

    name: str
    changed_a_value: int
    missed: int


@dataclass(frozen=True, slots=True)
class FlipsReport(Report):
    flips: int
    database_bytes: int
    changed_a_value: int
    found_of_those: int
    share: float
    integrity_check_share: float
    """Of those that changed a value, what SQLite finds by itself."""
    false_alarms: int
    """Found although nothing that can be read has changed: harmless, and counted for honesty."""
    crashes: tuple[str, ...]
    """Errors that `verify` did not foresee: they count as not found."""
    places: tuple[Place, ...]

    @property
    def passed(self) -> bool:
        return self.share >= GOAL and not self.crashes


def run_flips(folder: Path, *, flips: int = 1_000, seed: int, progress: Progress) -> FlipsReport:
    folder.mkdir(parents=True, exist_ok=True)
    whole = specimen.make(folder / "specimen.db")
    reader = dump.Reader()
    sound = reader.read(folder / "specimen.db")
    chance = random.Random(seed)
    changed: Counter[str] = Counter()
    missed: Counter[str] = Counter()
    found = by_sqlite = false_alarms = 0
    crashes: set[str] = set()
    for number in range(flips):
        bit = chance.randrange(len(whole.content) * 8)
        flipped = _Flipped(folder / "flipped.db", whole.content, bit)
        try:
            is_found = flipped.verify_finds()
        except Exception as problem:  # noqa: BLE001 - what verify did not foresee is what we are after
            crashes.add(repr(problem))
            is_found = False
        if reader.read(flipped.anew()) == sound:
            false_alarms += is_found
        else:
            place = whole.owner(bit // 8)
            changed[place] += 1
            missed[place] += not is_found
            found += is_found
            by_sqlite += flipped.integrity_check_finds()
        progress(number + 1, flips)
    total = changed.total()
    return FlipsReport(
        flips,
        len(whole.content),
        total,
        found,
        share(found, total),
        share(by_sqlite, total),
        false_alarms,
        tuple(sorted(crashes)),
        tuple(Place(name, count, missed[name]) for name, count in changed.most_common()),
    )


class _Flipped:
    """A copy with one bit turned; made anew for every reader, because opening a file may write to it."""

    def __init__(self, path: Path, content: bytes, bit: int) -> None:
        self._path = path
        turned = bytearray(content)
        turned[bit // 8] ^= 1 << bit % 8
        self._content = bytes(turned)

    def anew(self) -> Path:
        for left in self._path.parent.glob(f"{self._path.name}*"):
            left.unlink()
        self._path.write_bytes(self._content)
        return self._path

    def verify_finds(self) -> bool:
        """To be refused at the door is to be found."""
        try:
            store = SqliteStore(self.anew(), Tuning(synchronous="OFF"))
        except RecollectError:
            return True
        try:
            return bool(store.verify())
        except RecollectError:
            return True
        finally:
            with suppress(RecollectError):
                store.close()

    def integrity_check_finds(self) -> bool:
        try:
            db = apsw.Connection(str(self.anew()))
            try:
                return db.execute("PRAGMA integrity_check(1)").fetchall() != [("ok",)]
            finally:
                db.close()
        except apsw.Error:
            return True
