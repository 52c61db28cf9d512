"""What the redactor leaves in place of a secret, what it says about it, and what a text costs, counted in work."""

from __future__ import annotations

import random
import re

import pytest

from recollect.redact import Cleaned, Redactor
from tests.cases import cases
from tests.redact.samples import REDACTOR, draw

TOKEN = draw("github-token", "ghp_{a36}").secret
OTHER = draw("github-token", "ghp_{a36}", seed=1).secret


def test_the_placeholder_names_the_kind_and_equal_secrets_stay_equal_in_one_home():
    cleaned = REDACTOR.clean(f"push with {TOKEN} please")
    assert re.fullmatch(r"push with \[redacted:github-token:[0-9a-f]{4}\] please", cleaned.text)
    assert cleaned.found == (("github-token", 1),)
    first, again, other = REDACTOR.clean(f"{TOKEN} {TOKEN} {OTHER}").text.split()
    assert first == again == REDACTOR.clean(TOKEN).text != other
    assert Redactor(b"another key").clean(TOKEN).text != first


@pytest.mark.parametrize("key", [b"", b"x" * 65])
def test_a_key_that_cannot_key_is_refused(key):
    with pytest.raises(ValueError, match="1 to 64 bytes"):
        Redactor(key)


def test_a_secret_known_by_its_context_is_also_taken_out_without_it():
    secret = draw("password", "{a20}").secret
    cleaned = REDACTOR.clean(f"password={secret}\nlogin failed for {secret}")
    assert secret not in cleaned.text
    assert cleaned.found == (("password", 2),)


def test_the_kinds_found_are_counted_and_sorted_and_what_explains_a_secret_stays():
    cleaned = REDACTOR.clean(f"password=hunter22 <private>a</private> {TOKEN} {OTHER}")
    assert cleaned.found == (("github-token", 2), ("password", 1), ("private", 1))
    url = REDACTOR.clean("postgres://app:s3cr3tw0rd@db.test:5432/app?sslmode=require").text
    assert re.fullmatch(r"postgres://app:\[redacted:url-password:.{4}\]@db\.test:5432/app\?sslmode=require", url)


@pytest.mark.parametrize(("text", "clean"), cases("redactor", "private", "redact"))
def test_a_private_block_is_taken_out(text, clean):
    assert REDACTOR.clean(text).text == clean


def test_text_without_a_secret_is_the_same_text():
    text = "nothing to see: \ud800 \x00 \U0001f512"
    assert REDACTOR.clean(text) == Cleaned(text, ())


def test_a_secret_of_a_million_characters_and_thousands_side_by_side_are_taken_out_whole():
    cleaned = REDACTOR.clean(f'api_key = "{"aB3$kX9_qZ" * 100_000}" # end')
    assert re.fullmatch(r'api_key = "\[redacted:secret:[0-9a-f]{4}\]" # end', cleaned.text)
    many = REDACTOR.clean(f"{TOKEN}." * 2_000)
    assert TOKEN not in many.text
    assert many.found == (("github-token", 2_000),)


# What a text costs

BYTES = 50_000
HOSTILE = (
    "pwd={} ", "password: {}\n", "token={} ", "api_key='{}' ", "password is {} ", "jira={} ", "token=$a{} ",
    "pwd=f({}) ", "auth=({} ", "secret={}-", "pwd%3D{} ", 'token\\": \\"{}\\" ',
)  # fmt: skip


def _hostile(unit: str, size: int, repeats: int) -> str:
    chance = random.Random(f"{unit}{size}")
    return "".join(unit.format("".join(chance.choices("abcdefghij0123456789XYZ", k=size))) for _ in range(repeats))


@pytest.mark.parametrize("size", [3, 8, 16, 60])
@pytest.mark.parametrize("unit", HOSTILE)
def test_no_value_is_judged_again_however_often_the_text_is_read(unit, size):
    names = BYTES // (len(unit) + size)

    judged = REDACTOR.clean(_hostile(unit, size, names)).judged

    # By its name and by its sentence; as it stands and with its escapes undone.
    assert judged <= 2 * names * (2 if "%" in unit or "\\" in unit else 1)


@pytest.mark.parametrize(
    ("text", "judged"),
    [
        ("token=a1b2c3d4e5 " * 3_000, 1),  # equal ones once
        ("token=\nsecret: \npassword=\n" * 2_000, 0),  # a name without a value
        ("The pass over the token stream is documented in notes.md.\n" * 500, 0),
    ],
)
def test_what_need_not_be_judged_is_not(text: str, judged: int):
    assert REDACTOR.clean(text).judged == judged


def test_twice_the_text_is_at_most_twice_the_work():
    once = REDACTOR.clean(_hostile("token={} ", 8, 1_000)).judged
    assert REDACTOR.clean(_hostile("token={} ", 8, 2_000)).judged <= 2 * once + 50
