"""Nothing acknowledged is lost; and the benchmark that says so can tell."""

from __future__ import annotations

from pathlib import Path

import apsw
import pytest

from bench.pins import Kept, Pinner, kept
from bench.powercut import run_cuts
from recollect.store import SqliteStore, Store, Tuning
from recollect.store.database import silent


def test_a_program_that_does_not_wait_for_the_disk_loses_in_a_power_cut(tmp_path: Path):
    """NORMAL syncs only when the log is folded back, so the last writes are not on the disk yet."""
    found = run_cuts(tmp_path, synchronous="NORMAL", cuts=40, seed=2, progress=silent)
    assert found.lost > 0


@pytest.mark.parametrize(
    ("harm", "expected"),
    [
        ("SELECT 1", Kept(lost=0, duplicates=0)),
        ("DELETE FROM journal_memory", Kept(lost=2, duplicates=0)),
        ("DELETE FROM message", Kept(lost=2, duplicates=0)),
        ("UPDATE memory SET body = 'the same'", Kept(lost=0, duplicates=1)),
    ],
)
def test_a_write_that_is_there_in_part_or_twice_is_noticed(harm: str, expected: Kept, tmp_path: Path):
    store, ids = store_with_pins(tmp_path, 2)
    db = apsw.Connection(str(tmp_path / "pins.db"))
    db.execute("PRAGMA foreign_keys = OFF").fetchall()
    db.execute(harm)
    db.close()

    assert kept(store, ids) == expected
    assert kept(store, [*ids, "thread_20260201_083000_abcdef"]).lost == expected.lost + 1
    store.close()


def store_with_pins(folder: Path, count: int) -> tuple[Store, list[str]]:
    store = SqliteStore(folder / "pins.db", Tuning(synchronous="OFF"))
    pinner = Pinner(1, 10)
    pins = [pinner.draw() for _ in range(count)]
    for pin in pins:
        store.apply(pin.plan(), pin.act())
    return store, [pin.id for pin in pins]
