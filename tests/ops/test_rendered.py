"""Rendered recalls go when their session is over, or nobody can say when it was."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from recollect.ops import rendered
from tests.values import NOW


@pytest.mark.parametrize(("days", "stays"), [(-0.9, True), (0.9, True), (-1.1, False), (1.1, False), (3_650, False)])
def test_what_is_of_another_day_goes_on_both_sides_of_now(tmp_path: Path, days: float, stays: bool):
    """On the far side stands what was written before the clock was set back."""
    path = rendered.write(tmp_path / "runtime" / "recalls", "s-1", "words")
    assert path is not None
    at_ns = NOW.plus(days=days).micros * 1_000
    for each in (path, path.parent):
        os.utime(each, ns=(at_ns, at_ns))

    rendered.sweep(path.parent.parent, NOW)

    assert path.exists() is stays
