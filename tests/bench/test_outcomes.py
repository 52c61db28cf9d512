"""The benchmarks of lessons measure what they say they do."""

from __future__ import annotations

from itertools import islice
from pathlib import Path

from bench.injections import run_injections
from bench.pairs import Script, run_pairs
from bench.payloads import payloads
from recollect.store.database import silent


def test_pairs_are_scored_by_what_was_told_beside_the_simple_way(tmp_path: Path):
    run = {"do": "run", "out": "ok", "failed": False}
    steps = (
        {**run, "what": "npm test", "out": 'Missing script: "test"', "failed": True},
        {**run, "what": "ls"},
        {**run, "what": "pnpm test"},
    )
    wanted = (("npm test", ("pnpm test",)), ("make", ("make all",)))

    [figures] = run_pairs(tmp_path, [Script("one", "tune", steps, wanted)], silent).figures

    ours, simple = figures.scores
    assert (ours.told, ours.precision, ours.recall) == (1, 1.0, 0.5)
    assert (simple.told, simple.precision, simple.recall) == (1, 0.0, 0.0)
    assert figures.missed == ("one: make",)


def test_a_few_payloads_neither_become_rules_nor_leave_the_fence(tmp_path: Path):
    some = list(islice(payloads(), 5, 9))

    report = run_injections(tmp_path, some, silent)

    assert (report.rules_with_payload, report.outside_fence, report.broken_fences) == (0, 0, 0)
    assert report.recalled > 0
    assert report.rules > 0, "lessons are made all the same"
