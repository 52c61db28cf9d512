"""A person says that it did not do; whatever else he says is none."""

from __future__ import annotations

import pytest

from recollect.capture.reasks import TABLES, is_re_ask


@pytest.mark.parametrize(
    "said",
    [
        "still broken",
        "It's still failing with the same error",
        "No, that didn't work.",
        "Hmm, it doesn't work on my machine",
        "that's not what I meant",
        "Not what I asked for. I wanted a dropdown",
        "wrong file",
        "no, that's the wrong branch",
        "You forgot the tests",
        "you still haven't updated the README",
        "same error",
        "the login page still doesn't load",
        "Sorry, but the build is still failing",
        "that isn't what I wanted",
        "revert that",
        "I said tabs, not spaces",
        "That\u2019s not what I meant",
        "Ok. Still the same problem.",
        "das funktioniert immer noch nicht",
        "Du hast die Tests vergessen",
        "falsche Datei",
        "sigue sin funcionar",
        "no es lo que pedí",
        "ça ne marche toujours pas",
        "tu as oublié les tests",
        "まだ動きません",
        "还是报错",
        "你忘了加测试",
    ],
)
def test_what_did_not_do_is_heard(said: str):
    assert is_re_ask(said)


@pytest.mark.parametrize(
    "said",
    [
        "",
        "thanks, that works",
        "is it still broken?",
        "why does the login still fail in production?",
        "if it still fails, tell me",
        "When that doesn't work, fall back to polling",
        "users report that it didn't work on Safari",
        "add a message that says 'that didn't work'",
        'Show "still broken" in red',
        "write a test for the case that the wrong file is uploaded",
        "explain what you did",
        "you can forget about the tests",
        "the wrong answers should be marked red",
        "please still run the linter",
        "```\nstill broken\n```\nwhat does this print",
        "Refactor the cart so that it does not do the work twice",
        "don't forget the tests",
        "now make the same change in api.py",
        "Error: it still fails\n    at foo (bar.js:3)\nfix this",
    ],
)
def test_what_says_something_else_is_not(said: str):
    assert not is_re_ask(said)


def test_only_the_beginning_counts():
    assert not is_re_ask("Add a page. Then a form. " + "Then more. " * 5 + "It still doesn't work.")


def test_every_language_of_the_classifier_has_a_table():
    from recollect.capture.languages import CODES

    assert set(TABLES) == set(CODES)
