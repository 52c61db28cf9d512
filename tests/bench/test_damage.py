"""Nothing acknowledged is lost, and flipped bits are found; and the benchmarks that say so can tell."""

from pathlib import Path

import apsw
import pytest

from bench import dump, specimen
from bench.flips import run_flips
from bench.pins import Kept, Pinner, kept
from bench.powercut import run_cuts
from recollect.store import SqliteStore, Tuning
from recollect.store.engine import silent


def harm_database(path: Path, statement: str) -> None:
    db = apsw.Connection(str(path))
    db.execute("PRAGMA foreign_keys = OFF").fetchall()
    db.execute(statement).fetchall()
    db.close()


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
def test_a_write_that_is_there_in_part_or_twice_is_noticed(
    harm: str, expected: Kept, tmp_path: Path
):
    store, pinner = SqliteStore(tmp_path / "pins.db", Tuning(synchronous="OFF")), Pinner(1, 10)
    pins = [pinner.draw() for _ in range(2)]
    for pin in pins:
        store.apply(pin.plan(), pin.act())
    ids = [pin.id for pin in pins]
    harm_database(tmp_path / "pins.db", harm)
    assert kept(store, ids) == expected
    assert kept(store, [*ids, "thread_20260201_083000_abcdef"]).lost == expected.lost + 1
    store.close()


def test_flips_that_change_a_value_are_found(tmp_path: Path):
    report = run_flips(tmp_path, flips=25, seed=1, progress=silent)
    assert report.passed, report
    assert 0 < report.changed_a_value < report.flips
    assert report.integrity_check_share < report.share
    assert sum(place.changed_a_value for place in report.places) == report.changed_a_value


def test_the_specimen_has_some_of_everything(tmp_path: Path):
    specimen.make(tmp_path / "some.db")
    found = dump.Reader().read(tmp_path / "some.db")
    assert [name for name, rows in found.items() if not rows] == []
    assert [name for name, rows in found.items() if any("Error:" in row for row in rows)] == []


@pytest.mark.parametrize(
    ("harm", "seen_in"),
    [
        ("UPDATE memory SET seen = 1.0", {"memory"}),
        ("UPDATE memory SET \"group\" = 'x' WHERE seq = 1", {"memory", "memory_by_group"}),
        (
            "DELETE FROM vector WHERE passage_seq = (SELECT max(seq) FROM passage)",
            {"vector", "vector_count"},
        ),
        ("UPDATE term SET passages = passages + 1", {"term"}),
        ("DELETE FROM words_docsize WHERE id = (SELECT max(seq) FROM passage)", {"words: sizes"}),
        ("DROP INDEX alias_by_new", {"schema", "alias_by_new"}),
        ("PRAGMA user_version = 7", {"version"}),
    ],
)
def test_a_change_anywhere_is_seen_where_it_is(harm: str, seen_in: set[str], tmp_path: Path):
    path = tmp_path / "some.db"
    specimen.make(path)
    sound = dump.Reader().read(path)
    harm_database(path, harm)
    now = dump.Reader().read(path)
    assert {name for name in sound if sound[name] != now[name]} == seen_in
