from __future__ import annotations

from pathlib import Path

from bench.vault import run_vault


def test_every_figure_of_a_vault_is_measured(tmp_path: Path):
    report = run_vault(tmp_path, sizes=(3, 60), seed=1, progress=lambda done, total, what="": None)

    assert [one.notes for one in report.figures] == [3, 60]
    for one in report.figures:
        assert min(one.scan_ms, one.notes_a_second, one.unchanged_ms, one.one_edit_ms) > 0
    assert report.passed
