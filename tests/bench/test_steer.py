"""The benchmark of steering runs, small, and says what it measured."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from bench.steer import run_steer
from tests.daemon.real import FORKS

pytestmark = [FORKS, pytest.mark.skipif(sys.platform != "linux", reason="/proc tells what it measures")]


def test_every_figure_is_of_something_that_was_done(tmp_path: Path):
    steps: list[tuple[int, int]] = []

    report = run_steer(
        tmp_path, sizes=(200,), calls=2, runs=1, progress=lambda done, total: steps.append((done, total))
    )

    (size,) = report.sizes
    assert report.start.cpu_ms > 0
    assert report.start.empty_memory_mb > 0
    assert {one.tool for one in size.calls} >= {"ai_pin", "ai_recall", "ai_merge", "ai_undo", "ai_status"}
    assert [plan.what for plan in size.plans] == ["suggestions", "compaction, dry run", "compaction, done"]
    assert all(plan.merges >= 2 for plan in size.plans)
    assert steps[-1] == (steps[-1][1], steps[-1][1])
    assert report.prompt.tools == 11
