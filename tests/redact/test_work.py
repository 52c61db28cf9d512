"""What a text costs, counted in work: the milliseconds are `recollect bench secrets`'."""

from __future__ import annotations

import random

import pytest

from recollect.redact import Redactor

REDACTOR = Redactor(b"a key for tests")
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
