"""Every kind of secret is found, whatever stands around it, in the forms in which people and programs write it."""

from __future__ import annotations

import json

import pytest

from bench.secret_forms import PASSWORD_FORMS, draw_forms
from recollect.redact.secret_table import ROWS, compiled
from tests.redact.samples import REDACTOR, SAMPLES, TEMPLATES, Sample, draw, read_texts

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
    cleaned = REDACTOR.clean(json.dumps({"output": f"first line\n{sample.text}\nlast line"}, ensure_ascii=False))
    assert json.dumps(sample.secret, ensure_ascii=False)[1:-1] not in cleaned.text
    assert cleaned.found


def test_every_kind_of_at_least_fifty_has_a_sample():
    assert {sample.kind for sample in SAMPLES} == KINDS
    assert len(KINDS) >= 50


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.kind)
def test_a_row_of_the_table_is_well_formed(row):
    assert row.keywords
    assert all(keyword and keyword == keyword.lower() for keyword in row.keywords)
    assert compiled(row.regex).groups >= (3 if row.found_as == "assignment" else row.group)


@pytest.mark.parametrize("template", read_texts("everyday_forms.json"))
def test_a_secret_is_taken_out_of_everyday_text(template):
    for seed in range(10):
        sample = draw("form", template, seed)
        assert sample.secret not in REDACTOR.clean(sample.text).text, sample.text


def test_hardly_a_key_without_a_shape_survives_in_any_form():
    """Of the first keys of the table, which are known only by what stands around them. A draw may be like a word."""
    samples = [sample for sample in draw_forms(10, held=False, seed=5) if sample.kind not in PASSWORD_FORMS]
    survivors = [sample.text for sample in samples if sample.secret in REDACTOR.clean(sample.text).text]

    assert len(survivors) <= len(samples) // 500, survivors


def test_only_the_column_of_secrets_is_taken_out():
    sample = draw("form", "name,api_key,note\nfirst,«{a32}»,a note\nsecond,,another\n")

    cleaned = REDACTOR.clean(sample.text).text

    assert cleaned.startswith("name,api_key,note\nfirst,[redacted:secret:")
    assert cleaned.endswith("],a note\nsecond,,another\n")


def test_a_checksum_after_a_plain_key_is_one_only_beside_a_service():
    checksum = draw("form", "{h40}").secret

    assert REDACTOR.clean(f"key: {checksum}").found == ()
    assert REDACTOR.clean(f"datadog:\n  key: {checksum}").found == (("secret", 1),)
