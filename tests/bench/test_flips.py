"""Flipped bits are told apart (does it change a value?) and found."""

from __future__ import annotations

from pathlib import Path

import apsw
import pytest

from bench import dump, specimen
from bench.flips import run_flips


def test_flips_that_change_a_value_are_found(tmp_path: Path):
    report = run_flips(tmp_path, flips=25, seed=1, progress=lambda *_: None)

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
        ("DELETE FROM vector WHERE passage_seq = (SELECT max(seq) FROM passage)", {"vector", "vector_count"}),
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
    db = apsw.Connection(str(path))
    db.execute(harm).fetchall()
    db.close()

    now = dump.Reader().read(path)

    assert {name for name in sound if sound[name] != now[name]} == seen_in
