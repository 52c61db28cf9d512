"""The store's figures are complete, and the text they are taken on is what it claims to be."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench.corpus import Corpus
from bench.report import percentile
from bench.store import run_store


def test_every_size_has_its_figures(tmp_path: Path):
    seen: list[tuple[int, int]] = []

    report = run_store(tmp_path, sizes=(20, 60), questions=5, progress=lambda *at: seen.append(at))

    assert report.passed
    assert [figures.memories for figures in report.sizes] == [20, 60]
    for figures in report.sizes:
        assert figures.grown.database_bytes > figures.bare_database_bytes > 0
        assert figures.asked.hits > 0
        assert figures.bare.hits > 0
    assert seen == sorted(seen)
    assert report.to_json()["sizes"][1]["asked"]["hits"] == report.sizes[1].asked.hits


def test_the_same_seed_tells_the_same_story():
    assert Corpus(3).text() == Corpus(3).text() != Corpus(4).text()


@pytest.mark.parametrize(("percent", "value"), [(50, 2.0), (95, 4.0), (100, 4.0), (1, 1.0)])
def test_a_percentile_is_a_value_that_was_measured(percent: int, value: float):
    assert percentile([4.0, 1.0, 3.0, 2.0], percent) == value
