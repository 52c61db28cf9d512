"""What the redactor leaves in place of a secret, what it says about it, and what a text costs, counted in work."""

from __future__ import annotations

import random
import re

import pytest

from recollect.redact import Cleaned, Redactor
from tests.redact.samples import REDACTOR, draw

TOKEN = draw("github-token", "ghp_{a36}").secret
OTHER = draw("github-token", "ghp_{a36}", seed=1).secret


def test_the_placeholder_names_the_kind_and_nothing_else():
    cleaned = REDACTOR.clean(f"push with {TOKEN} please")

    assert re.fullmatch(r"push with \[redacted:github-token:[0-9a-f]{4}\] please", cleaned.text)
    assert cleaned.found == (("github-token", 1),)


def test_equal_secrets_stay_equal_and_different_ones_different():
    first, again, other = REDACTOR.clean(f"{TOKEN} {TOKEN} {OTHER}").text.split()

    assert first == again == REDACTOR.clean(TOKEN).text
    assert first != other


def test_another_home_marks_the_same_secret_differently():
    assert Redactor(b"another key").clean(TOKEN).text != REDACTOR.clean(TOKEN).text


@pytest.mark.parametrize("key", [b"", b"x" * 65])
def test_a_key_that_cannot_key_is_refused(key):
    with pytest.raises(ValueError, match="1 to 64 bytes"):
        Redactor(key)


def test_a_secret_known_by_its_context_is_also_taken_out_without_it():
    secret = draw("password", "{a20}").secret

    cleaned = REDACTOR.clean(f"password={secret}\nlogin failed for {secret}")

    assert secret not in cleaned.text
    assert cleaned.found == (("password", 2),)


def test_the_kinds_found_are_counted_and_sorted():
    cleaned = REDACTOR.clean(f"password=hunter22 <private>a</private> {TOKEN} {OTHER}")

    assert cleaned.found == (("github-token", 2), ("password", 1), ("private", 1))


def test_only_the_secret_goes_and_what_explains_it_stays():
    cleaned = REDACTOR.clean("postgres://app:s3cr3tw0rd@db.test:5432/app?sslmode=require")

    assert cleaned.text.startswith("postgres://app:[redacted:url-password:")
    assert cleaned.text.endswith("]@db.test:5432/app?sslmode=require")


@pytest.mark.parametrize(
    ("text", "clean"),
    [
        ("a <private>b</private> c", "a [private] c"),
        ("a <PRIVATE>b</Private> c", "a [private] c"),
        ("a <private>b\nc", "a [private]"),
        ("<private>a<private>b</private>c</private>d", "[private]d"),
        ('<private why="x">a</private>b', "[private]b"),
        ("<private></private>", "[private]"),
        ("a </private> b", "a </private> b"),
        ("<privately>a</privately>", "<privately>a</privately>"),
        ("<private>[redacted:jwt:0a1b]</private> [redacted:jwt:0a1b]", "[private] [redacted:jwt:0a1b]"),
    ],
)
def test_a_private_block_is_taken_out(text, clean):
    assert REDACTOR.clean(text).text == clean


def test_text_without_a_secret_is_the_same_text():
    text = "nothing to see: \ud800 \x00 \U0001f512"

    assert REDACTOR.clean(text) == Cleaned(text, ())


def test_a_secret_of_a_million_characters_is_taken_out_whole():
    secret = "aB3$kX9_qZ" * 100_000

    cleaned = REDACTOR.clean(f'api_key = "{secret}" # end')

    assert re.fullmatch(r'api_key = "\[redacted:secret:[0-9a-f]{4}\]" # end', cleaned.text)


def test_many_secrets_side_by_side_are_all_taken_out():
    cleaned = REDACTOR.clean(f"{TOKEN}." * 2_000)

    assert TOKEN not in cleaned.text
    assert cleaned.found == (("github-token", 2_000),)


# What a text costs

BYTES = 50_000
HOSTILE = (
    "pwd={} ",
    "password: {}\n",
    "token={} ",
    "api_key='{}' ",
    "password is {} ",
    "jira={} ",
    "token=$a{} ",
    "pwd=f({}) ",
    "auth=({} ",
    "secret={}-",
    "pwd%3D{} ",
    'token\\": \\"{}\\" ',
)


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


def test_equal_assignments_are_judged_once():
    assert REDACTOR.clean("token=a1b2c3d4e5 " * 3_000).judged == 1


def test_a_name_without_a_value_is_not_judged():
    assert REDACTOR.clean("token=\nsecret: \npassword=\n" * 2_000).judged == 0


def test_twice_the_text_is_at_most_twice_the_work():
    once = REDACTOR.clean(_hostile("token={} ", 8, 1_000)).judged

    assert REDACTOR.clean(_hostile("token={} ", 8, 2_000)).judged <= 2 * once + 50


def test_ordinary_text_is_hardly_judged():
    assert REDACTOR.clean("The pass over the token stream is documented in notes.md.\n" * 500).judged == 0
