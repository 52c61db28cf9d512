"""Every benchmark runs, small, passes, and every figure of it has a place in a table."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from bench.capture_cost import run_capture_cost
from bench.corpus import Corpus
from bench.crash import run_crash
from bench.echo import run_echo
from bench.engine import run_engine
from bench.history import run_history
from bench.report import Report, blocks, percentile
from bench.steer import run_steer
from bench.store import run_store
from bench.vault import run_vault
from bench.writers import run_writers
from recollect.render.blocks import Table

RUNS: dict[str, Callable[..., Report]] = {
    "store": lambda at, bar: run_store(at, sizes=(20, 60), questions=5, progress=bar),
    "engine": lambda at, bar: run_engine(at, sizes=(20, 60), questions=3, progress=bar),
    "crash": lambda at, bar: run_crash(at, cycles=6, cuts=25, seed=1, progress=bar),
    "writers": lambda at, bar: run_writers(at, processes=3, writes=30, progress=bar),
    "vault": lambda at, bar: run_vault(at, sizes=(3, 60), seed=1, progress=bar),
    "history": lambda at, bar: run_history(at, mb=1, seed=1, progress=bar),
    "echo": lambda at, bar: run_echo(at, turns=40, progress=bar),
    "cost": lambda at, bar: run_capture_cost(at, sizes=(20, 40), turns=8, progress=bar),
    "steer": lambda at, bar: run_steer(at, sizes=(200,), calls=2, runs=1, progress=bar),
}


def numbers(figures: Any) -> Iterator[float]:
    if isinstance(figures, dict | list | tuple):
        for one in figures.values() if isinstance(figures, dict) else figures:
            yield from numbers(one)
    elif isinstance(figures, int | float):
        yield figures


@pytest.mark.skipif(sys.platform != "linux", reason="/proc says what some of them measure")
@pytest.mark.parametrize("name", RUNS)
def test_a_small_run_passes_with_every_figure_measured(name: str, tmp_path: Path):
    steps: list[tuple[float, float]] = []

    report = RUNS[name](tmp_path, lambda done, total, what="": steps.append((done, total)))

    assert report.passed or name == "history", report  # how fast it reads is the machine's, too
    assert 0 < steps[-1][0] <= steps[-1][1]
    found = list(numbers(report.to_json()))
    assert len(found) > 5
    assert all(math.isfinite(one) for one in found)
    for block in blocks(report.to_json()):
        assert not isinstance(block, Table) or all(len(row) == len(block.columns) for row in block.rows)


def test_the_same_seed_tells_the_same_story():
    assert Corpus(3).text() == Corpus(3).text() != Corpus(4).text()


@pytest.mark.parametrize(("percent", "value"), [(50, 2.0), (95, 4.0), (100, 4.0), (1, 1.0)])
def test_a_percentile_is_a_value_that_was_measured(percent: int, value: float):
    assert percentile([4.0, 1.0, 3.0, 2.0], percent) == value
