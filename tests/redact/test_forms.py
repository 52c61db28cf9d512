"""A secret is taken out in the forms in which people and programs write it."""

from __future__ import annotations

import pytest

from recollect.bench.secret_forms import PASSWORD_FORMS, draw_forms
from recollect.bench.secret_samples import draw
from recollect.redact import Redactor

REDACTOR = Redactor(b"a key for tests")
PLAIN = (
    "the datadog key is «{h32}»",
    "The key for the datadog account is «{h32}».",
    "my token for grafana: «{a40}»",
    "our API key («{a32}») stopped working",
    "use «{a24}» as the key",
    "«{a32}» is my api token",
    "I set the deploy key to «{a32}»",
    "the signing secret we share with them is «{a32}»",
    "nimm «{a32}» als Token",
    "der neue Schlüssel lautet «{a32}»",
    "la clé est «{a32}»",
    "la clave es «{a32}»",
    "トークンは «{a32}» です",
    "密钥是 «{a32}»",
)
NESTED = (
    "payments:\n  key: «{a32}»",
    "datadog:\n  key: «{h32}»",
    "services:\n  datadog:\n    url: https://x.test\n    key: «{h32}»",
    "[datadog]\nsite = eu\nkey = «{h32}»",
    '{"datadog": {"site": "eu", "key": "«{h32}»"}}',
    "key: >-\n  «{a40}»\n",
    "authorization:\n  Bearer «{a40}»",
    '- name: API_TOKEN\n  value: "«{a32}»"',
)
ASSIGNED = (
    "$key .= '«{a32}»';",
    "token += '«{a32}»'",
    "api_key ||= '«{a32}»'",
    "api_token ??= '«{a32}»'",
    "process.env.API_KEY || '«{a32}»'",
    'api_key = (\n    "«{a32}»"\n)',
    "CREATE LOGIN app WITH PASSWORD = N'«{a12}»';",
)
TABLES = (
    "name,api_key,region\nfirst,«{a32}»,eu\n",
    "name,region,api_key\r\nfirst,eu,\r\nsecond,us,«{a32}»\r\n",
    "user;password\nanna;«{a9}!»\n",
    '"id","access_token"\n"1","«{h40}»"\n',
    "| service | key |\n|---|---|\n| acme | «{a32}» |\n",
    " id | email    | secret\n----+----------+-------\n  1 | a@b.test | «{h40}»\n(1 row)\n",
    "datadog,«{h32}»\n",
)


def check_taken_out(template: str) -> None:
    for seed in range(10):
        sample = draw("form", template, seed)

        assert sample.secret not in REDACTOR.clean(sample.text).text, sample.text


@pytest.mark.parametrize("template", [*PLAIN, *NESTED, *ASSIGNED, *TABLES])
def test_a_secret_is_taken_out_of_everyday_text(template):
    check_taken_out(template)


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
