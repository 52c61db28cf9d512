"""A fresh install calls nobody, whatever happens in its sessions; switched on, the same ones keep within the day."""

from __future__ import annotations

from pathlib import Path

from bench.calls import run_calls


def test_a_fresh_install_calls_nobody_and_one_that_is_switched_on_keeps_within_its_budget(tmp_path: Path):
    """That the second calls at all shows that the first could fail."""
    report = run_calls(tmp_path, sessions=4, calls_per_day=2, progress=lambda _done, _total: None)

    off, on = report.figures
    assert (off.models, off.calls, off.booked) == ("off", 0, 0)
    assert (on.models, on.calls, on.booked) == ("on", 2, 2)
    assert report.passed
