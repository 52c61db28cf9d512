"""What waits is gone through with one key each."""

from __future__ import annotations

from pathlib import Path

import pytest

from recollect.app.core import App
from recollect.model.memory import Status
from recollect.model.plan import Create
from recollect.model.result import Scope
from tests.cli.run import run
from tests.cli.terminal import needs_pty, with_keys
from tests.values import act, plan, rule


@pytest.fixture
def waiting() -> list[str]:
    app = App.open(Path.cwd())
    for text in ("Use conventional commits.", "Use snapshot tests.", "Use guard clauses."):
        app.writer(Scope.USER).apply(plan(Create(rule(text, body=text, status=Status.CANDIDATE))), act())
    app.close()
    return [card["body"] for card in run("inbox", "--json").json]


def in_force() -> set[str]:
    return {card["body"] for card in run("rule", "list", "--json").json}


@needs_pty
def test_one_key_decides_and_others_do_nothing(waiting: list[str]):
    code, shown = with_keys("inbox", keys=[b"x", b"a", b"r", b"s"])
    assert (code, in_force()) == (0, {waiting[0]})
    assert [card["body"] for card in run("inbox", "--json").json] == waiting[2:]
    assert "2 decided, 1 left." in shown


@needs_pty
def test_a_rule_is_put_in_other_words(waiting: list[str]):
    with_keys("inbox", keys=[b"e", b"Write commits as Conventional Commits.\n", b"q"])
    assert in_force() == {"Write commits as Conventional Commits."}


def test_without_a_terminal_it_is_a_list(waiting: list[str]):
    assert run("inbox").out == run("inbox", "list").out
    assert all(words in run("inbox").out for words in waiting)
