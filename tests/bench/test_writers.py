"""Many writers on one file, and a report that fails when one of them lost."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from recollect.bench.writers import WritersReport, run_writers

GOOD = WritersReport(
    processes=2,
    writes=3,
    acknowledged=6,
    lost=0,
    duplicates=0,
    busy=0,
    ids_taken=0,
    verify_findings=0,
    per_s=1.0,
    slowest_ms=1.0,
)


def test_three_writers_at_once_lose_nothing(tmp_path: Path):
    seen: list[tuple[int, int]] = []

    report = run_writers(tmp_path, processes=3, writes=30, progress=lambda *at: seen.append(at))

    assert report.passed, report
    assert report.acknowledged == 90
    assert seen == sorted(seen)
    assert seen[-1] == (90, 90)


@pytest.mark.parametrize(
    "spoilt",
    [
        replace(GOOD, acknowledged=5),
        replace(GOOD, lost=1),
        replace(GOOD, duplicates=1),
        replace(GOOD, busy=1),
        replace(GOOD, verify_findings=1),
    ],
)
def test_a_spoilt_report_does_not_pass(spoilt: WritersReport):
    assert GOOD.passed
    assert not spoilt.passed
