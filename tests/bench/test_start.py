"""The start's cost is a ratio of two medians, and has a limit."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from recollect.bench.start import MOST_RATIO, StartReport, run_start


@pytest.mark.skipif(sys.platform == "win32", reason="a child's CPU time cannot be read there")
def test_both_are_measured(tmp_path: Path):
    report = run_start(tmp_path, runs=1, progress=lambda *_: None)

    assert report.help_ms > 0
    assert report.click_ms > 0
    assert report.ratio == pytest.approx(report.help_ms / report.click_ms, abs=0.05)


@pytest.mark.parametrize(("ratio", "passed"), [(MOST_RATIO, True), (MOST_RATIO + 0.01, False)])
def test_a_report_passes_up_to_the_limit(ratio: float, passed: bool):
    assert StartReport(runs=1, help_ms=1.0, click_ms=1.0, ratio=ratio).passed is passed
