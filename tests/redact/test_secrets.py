"""Every kind of secret is found, whatever stands around it."""

from __future__ import annotations

import json

import pytest

from recollect.redact import Redactor
from recollect.redact.assign import ASSIGNMENTS, Assignment
from recollect.redact.pattern import Pattern, compiled
from recollect.redact.patterns import PATTERNS
from tests.redact.samples import SAMPLES, TEMPLATES, Sample, draw

REDACTOR = Redactor(b"a key for tests")
ROWS: tuple[Pattern | Assignment, ...] = (*PATTERNS, *ASSIGNMENTS)
KINDS = {row.kind for row in ROWS}
DRAWS = 20
AROUND = (
    "2026-11-15 ERROR request failed: {}\n",
    "+{}\n-something else\n",
    "| {} | next cell |",
    "Nimm bitte diesen hier:\n\n    {}\n\nDanke schön ✓",
    "\x00{}\x00",
    "\ud800{}\udfff",
    "[{}]",
)


def check_redacted(text: str, kind: str, secret: str) -> None:
    cleaned = REDACTOR.clean(text)

    assert secret not in cleaned.text
    assert dict(cleaned.found).get(kind), f"{cleaned.found} instead of {kind} in {text!r}"
    assert f"[redacted:{kind}:" in cleaned.text


def _name(sample: Sample) -> str:
    return f"{sample.kind}-{SAMPLES.index(sample)}"


@pytest.mark.parametrize("sample", SAMPLES, ids=_name)
def test_a_secret_is_taken_out_and_named(sample):
    check_redacted(sample.text, sample.kind, sample.secret)


@pytest.mark.parametrize(("kind", "template"), TEMPLATES)
def test_no_draw_of_a_secret_slips_through(kind, template):
    for seed in range(DRAWS):
        sample = draw(kind, template, seed)

        assert sample.secret not in REDACTOR.clean(f"> {sample.text}\nand so on").text


@pytest.mark.parametrize("sample", SAMPLES, ids=_name)
def test_what_stands_around_a_secret_does_not_hide_it(sample):
    for around in AROUND:
        cleaned = REDACTOR.clean(around.format(sample.text))

        assert sample.secret not in cleaned.text
        assert cleaned.found


@pytest.mark.parametrize("sample", SAMPLES, ids=_name)
def test_a_secret_inside_a_json_text_is_taken_out(sample):
    text = json.dumps({"output": f"first line\n{sample.text}\nlast line"}, ensure_ascii=False)

    cleaned = REDACTOR.clean(text)

    assert json.dumps(sample.secret, ensure_ascii=False)[1:-1] not in cleaned.text
    assert cleaned.found


def test_every_kind_has_a_sample():
    assert {sample.kind for sample in SAMPLES} == KINDS


def test_there_are_at_least_fifty_families():
    assert len(KINDS) >= 50


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.kind)
def test_a_row_of_the_table_is_well_formed(row):
    assert row.keywords
    assert all(keyword and keyword == keyword.lower() for keyword in row.keywords)
    assert compiled(row.regex).groups >= getattr(row, "group", 3)
