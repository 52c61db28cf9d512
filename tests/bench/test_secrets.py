"""The benchmark finds a secret where one is: with a redactor that lets everything through, every sink shows it."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench import secret_cost, secrets
from bench.secret_samples import TEMPLATES
from bench.secrets import SecretsReport, run_secrets
from recollect.redact import Cleaned, Redactor
from recollect.redact.secret_table import ROWS

SINKS = ("database", "full_text", "vector_texts", "journal", "logs", "exports")


def run(folder: Path, count: int = 60) -> SecretsReport:
    return run_secrets(folder, secrets=count, keys=2, lines=300, hostile=3, progress=lambda *_: None)


def test_no_secret_is_found_in_any_sink(tmp_path: Path):
    report = run(tmp_path)

    assert report.stored.secrets == 60
    assert report.stored.memories > 0
    assert report.stored.in_clear == 0
    assert {one.name: one.in_clear for one in report.spelt if one.name not in secrets._REPORTED} == {
        name: 0 for name in secrets._SPELT if name not in secrets._REPORTED
    }
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
