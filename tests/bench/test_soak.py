"""A daemon that was asked many times holds no more than one that was asked a few times."""

import sys
from pathlib import Path

import pytest

from bench.hooks import open_house
from bench.soak import LOOKS, PROJECTS, soak

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="processes are looked up in /proc")


def test_descriptors_threads_and_files_level_off(tmp_path: Path):
    """Sessions end, projects take turns; the first half has opened all that is held open."""
    with open_house(tmp_path / "soak") as place:
        report = soak(place, 25 * 2 * PROJECTS, lambda *_: None)

    middle, last = report.looks[LOOKS // 2], report.looks[-1]
    assert report.not_taken == 0
    assert last.threads <= middle.threads + 4
    assert last.descriptors <= middle.descriptors + 20
    assert last.runtime_files <= middle.runtime_files + 2
    assert last.home_files <= middle.home_files + 2 * PROJECTS, "two files beside each open store"
