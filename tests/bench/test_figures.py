"""Every benchmark runs, small, and passes; each measures what it says it does, and a report passes only where what must
hold did hold."""

import json
import math
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

from bench import secret_cost, secrets, threads
from bench.capture import run_capture
from bench.capture_cost import run_capture_cost
from bench.corpus import Corpus
from bench.crash import CrashReport, run_crash
from bench.echo import run_echo
from bench.engine import run_engine
from bench.flips import FlipsReport
from bench.history import run_history
from bench.hook_crowd import Crowd, Soak
from bench.hook_pace import Bulk, First, Pace, Spread, Warm
from bench.hook_trials import Trial
from bench.hooks import HooksReport
from bench.injections import InjectionReport, run_injections
from bench.pairs import Script, run_pairs
from bench.payloads import payloads
from bench.powercut import Cuts
from bench.processes import Body
from bench.report import Report, blocks, percentile
from bench.scores import MEASURES, difference, score
from bench.secret_samples import TEMPLATES
from bench.secrets import SecretsReport, run_secrets
from bench.start import MOST_RATIO, StartReport
from bench.steer import run_steer
from bench.store import run_store
from bench.vault import run_vault
from bench.writers import WritersReport, run_writers
from recollect.redact import Cleaned, Redactor
from recollect.redact.secret_table import ROWS
from recollect.render.blocks import Table
from recollect.store.engine import silent

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
        assert not isinstance(block, Table) or all(
            len(row) == len(block.columns) for row in block.rows
        )


def test_the_same_seed_tells_the_same_story():
    assert Corpus(3).text() == Corpus(3).text() != Corpus(4).text()


@pytest.mark.parametrize(("percent", "value"), [(50, 2.0), (95, 4.0), (100, 4.0), (1, 1.0)])
def test_a_percentile_is_a_value_that_was_measured(percent: int, value: float):
    assert percentile([4.0, 1.0, 3.0, 2.0], percent) == value


CRASH = CrashReport(
    cycles=1, acknowledged=1, lost=0, duplicates=0, verify_findings=0, tried_again=0,
    power_cut=Cuts("FULL", cuts=1, acknowledged=1), normal=Cuts("NORMAL", cuts=1, acknowledged=1),
    control=Cuts("OFF", cuts=1, acknowledged=1, lost=1, corrupt=1),
)  # fmt: skip
WRITERS = WritersReport(
    processes=2, writes=3, acknowledged=6, lost=0, duplicates=0, busy=0, ids_taken=0, verify_findings=0, per_s=1.0,
    slowest_ms=1.0,
)  # fmt: skip
FLIPS = FlipsReport(
    flips=10, database_bytes=1, changed_a_value=10, found_of_those=9, share=0.9, integrity_check_share=0.1,
    false_alarms=0, crashes=(), places=(),
)  # fmt: skip
INJECTIONS = InjectionReport(
    payloads=500, sessions=1, rules=1, rules_with_payload=0, texts=1, recalled=1, outside_fence=0, broken_fences=0,
    notices_with_payload=0,
)  # fmt: skip
SPREAD = Spread(1, 2, 3, 4)
BODY = Body(memory_mb=90.0, descriptors=16, threads=6, children=0)
WARM = Warm(1, "words alone", 1, SPREAD, 12.0, 9.0, 10.0, 1.2, SPREAD, 8.0, 90.0, past_deadline=0)
PACE = Pace(
    memories=9,
    database_mb=0.5,
    warm=WARM,
    first=First(1, SPREAD, answered=1, spooled=0, past_deadline=0),
)
CROWD: Any = Crowd(2, 3, 0, 6, 0, 0, SPREAD, 20.0, non_zero_exits=0, malformed=0, past_deadline=0)
SOAK = Soak(9, 0, 50.0, BODY, BODY, 0.1, 1.0, 2.0)
FAULTS: tuple[Any, ...] = (Trial("payload empty", 3),)
HOOKS = HooksReport(
    memories=9,
    pace=(PACE,),
    bulk=Bulk(WARM, vectors_given=2),
    crowd=CROWD,
    faults=FAULTS,
    soak=SOAK,
)
START = StartReport(runs=1, help_ms=1.0, click_ms=1.0, ratio=MOST_RATIO)
HARMS: tuple[dict[str, Any], ...] = ({"lost": 1}, {"corrupt": 1}, {"duplicates": 1})
SPOILT: list[tuple[Any, dict[str, Any]]] = [
    *((CRASH, {name: 1}) for name in ("lost", "duplicates", "verify_findings")),
    *((CRASH, {"power_cut": Cuts("FULL", cuts=1, acknowledged=1, **harm)}) for harm in HARMS),
    (CRASH, {"control": replace(CRASH.control, lost=0)}),
    (WRITERS, {"acknowledged": 5}),
    *((WRITERS, {name: 1}) for name in ("lost", "duplicates", "busy", "verify_findings")),
    (FLIPS, {"share": 0.8999}),
    (FLIPS, {"crashes": ("OverflowError()",)}),
    (INJECTIONS, {"payloads": 499}),
    *(
        (INJECTIONS, {name: 1})
        for name in ("rules_with_payload", "outside_fence", "broken_fences", "notices_with_payload")
    ),
    *((HOOKS, {"crowd": replace(CROWD, **{name: 1})}) for name in ("lost", "malformed")),
    (HOOKS, {"soak": replace(SOAK, not_taken=1)}),
    (HOOKS, {"pace": (replace(PACE, first=First(1, SPREAD, 1, 0, past_deadline=1)),)}),
    (HOOKS, {"pace": (replace(PACE, warm=replace(WARM, past_deadline=1)),)}),
    *(
        (HOOKS, {"faults": (replace(FAULTS[0], **{name: 1}),)})
        for name in ("non_zero_exits", "malformed", "past_deadline", "left_behind")
    ),
    (START, {"ratio": MOST_RATIO + 0.01}),
]


@pytest.mark.parametrize(("good", "harm"), SPOILT)
def test_a_spoilt_report_does_not_pass(good: Any, harm: dict[str, Any]):
    assert good.passed
    assert not replace(good, **harm).passed


@pytest.mark.parametrize(
    ("ranked", "gold", "expected"),
    [
        (
            "abcdef",
            "a",
            {"any@1": 1, "any@5": 1, "all@5": 1, "recall@5": 1, "ndcg@10": 1, "mrr": 1},
        ),
        (
            "xxa",
            "a",
            {"any@1": 0, "any@5": 1, "all@5": 1, "recall@5": 1, "ndcg@10": 0.5, "mrr": 1 / 3},
        ),
        ("axxxxb", "ab", {"any@5": 1, "all@5": 0, "recall@5": 0.5, "all@10": 1, "recall@10": 1}),
        ("0123456789a", "a", {"any@10": 0, "recall@10": 0, "ndcg@10": 0, "mrr": 0}),
        ("", "a", dict.fromkeys(MEASURES, 0)),
        ("abcdefghijkl", "abcdefghijkl", {"ndcg@10": 1, "recall@10": 10 / 12, "all@10": 0}),
    ],
)
def test_a_measure_is_what_its_name_says(ranked: str, gold: str, expected: dict[str, float]):
    found = score(ranked, frozenset(gold))
    assert {name: found[name] for name in expected} == pytest.approx(expected)


def test_a_clear_difference_has_an_interval_clear_of_zero():
    ours, theirs = [1.0] * 90 + [0.0] * 10, [1.0] * 50 + [0.0] * 50
    found = difference("fts5", ours, theirs)
    assert found.mean == pytest.approx(0.4)
    assert 0.25 < found.low < found.mean < found.high < 0.55


def test_figures_are_of_the_file_and_stand_beside_simple_patterns(tmp_path: Path):
    said = (("we use tabs here", "preference"), ("should we use tabs?", "none"), ("hm", "devops"))
    rows = [
        {"id": str(n), "prompt": text, "kind": kind, "scope": "project", "rule": "Use tabs."}
        for n, (text, kind) in enumerate(said)
    ]
    file = tmp_path / "p.jsonl"
    file.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")

    (figures,) = run_capture([file]).figures

    ours, simple = figures.score("stored or inbox"), figures.score("simple patterns")
    assert (ours.heard, ours.precision, ours.recall) == (1, 1.0, 0.5)
    assert simple.precision < 1.0
    assert figures.recall_by_class == {"preference": 1.0, "correction": 0.0, "devops": 0.0}


def test_threads_figures_stand_beside_never_grouping_and_grouping_by_session(tmp_path: Path):
    some = [
        session for session in threads.read(threads.SHIPPED) if session.id in ("shop-1", "shop-2")
    ]
    (figures,) = threads.run_threads(tmp_path, some).figures
    ours, never, by_session = (
        figures.score(name) for name in ("words and files", "never grouped", "by session")
    )
    assert ours.f1 > max(never.f1, by_session.f1)
    assert never.purity == 1.0
    assert figures.junk_kept == 0
    assert figures.kept == 1.0


def test_scores_are_those_of_a_small_example():
    keys = [("p", "s", n) for n in range(4)]
    topics = dict(zip(keys, "aabb", strict=True))
    half = threads.score("x", topics, dict(zip(keys, "1112", strict=True)))
    assert (half.purity, half.coverage) == (0.75, 0.75)
    assert half.precision == round((2 / 3 + 2 / 3 + 1 / 3 + 1) / 4, 4)
    assert half.recall == 0.75
    assert threads.score("x", topics, dict(zip(keys, "1122", strict=True))).f1 == 1.0


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


SINKS = ("database", "full_text", "vector_texts", "journal", "logs", "exports")


def run(folder: Path, count: int = 60) -> SecretsReport:
    return run_secrets(folder, secrets=count, keys=2, lines=300, hostile=3, progress=silent)


def test_no_secret_is_found_in_any_sink(tmp_path: Path):
    report = run(tmp_path)

    assert report.stored.secrets == 60
    assert report.stored.memories > 0
    assert report.stored.in_clear == 0
    assert {
        one.name: one.in_clear for one in report.spelt if one.name not in secrets._REPORTED
    } == {name: 0 for name in secrets._SPELT if name not in secrets._REPORTED}
    assert report.ordinary.lines == 300
    assert report.cost.ms_a_mb > 0
    assert report.passed


def test_without_redaction_every_sink_shows_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(Redactor, "clean", lambda _, text: Cleaned(text, ()))
    report = run(tmp_path)
    assert all(getattr(report.stored, sink) > 0 for sink in SINKS), report.stored
    assert report.stored.spool == 0, "the spool holds pointers"
    assert all(one.in_clear == one.secrets for one in report.spelt)
    assert not report.passed


def test_every_row_of_the_table_has_its_samples():
    assert {row.kind for row in ROWS} == {kind for kind, _ in TEMPLATES}


@pytest.mark.parametrize(
    ("ms_a_mb", "row_ms", "in_time"),
    [
        (secret_cost.MOST_MS_A_MB, secret_cost.MOST_MS_HOSTILE, True),
        (secret_cost.MOST_MS_A_MB + 1, 1.0, False),
        (1.0, secret_cost.MOST_MS_HOSTILE + 1, False),
    ],
)
def test_the_cost_has_limits(ms_a_mb: float, row_ms: float, in_time: bool):
    assert secret_cost.Cost(ms_a_mb, 1, row_ms, "jwt", 1.0).in_time is in_time
