"""Asking a language model: one way, within a budget, and every failure is no answer."""

from __future__ import annotations

from pathlib import Path

import pytest

from recollect.model.ask import Ask, Job
from recollect.ops import asks, health
from tests.llm.standin import StandIn
from tests.ops.conftest import Opens

QUESTION = Ask(Job.CLASSIFY, "own", (("said", "we use tabs {{other}}"), ("other", "NOT THIS")))


@pytest.fixture
def model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> StandIn:
    made = StandIn(tmp_path / "model", "yes")
    monkeypatch.setenv("MEMORY_LLM", "on")
    monkeypatch.setenv("MEMORY_LLM_COMMAND", made.command)
    return made


@pytest.fixture(autouse=True)
def prompt(open_app: Opens) -> None:
    folder = open_app().home.root / "prompts"
    folder.mkdir(parents=True)
    (folder / "own.md").write_text("Is this a rule?\n<said>{{said}}</said>\n", encoding="utf-8")


def test_an_answer_comes_back_and_its_cost_is_shown(model: StandIn, open_app: Opens):
    app = open_app()

    assert asks.ask(app, QUESTION) == "yes"

    spent = health.status(app).llm
    assert (spent["calls"], spent["jobs"]) == (1, {"classify": {"calls": 1, "tokens": len(model.texts[0]) // 4}})


def test_a_field_is_never_read_as_a_template(model: StandIn, open_app: Opens):
    asks.ask(open_app(), QUESTION)

    assert model.texts == ["Is this a rule?\n<said>we use tabs {{other}}</said>\n"]


def test_no_secret_is_sent(model: StandIn, open_app: Opens):
    token = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"

    asks.ask(open_app(), Ask(Job.CLASSIFY, "own", (("said", f"use {token} for pushes"),)))

    assert token not in model.texts[0]
    assert "use " in model.texts[0]


def test_off_asks_nobody(model: StandIn, open_app: Opens, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("MEMORY_LLM", "off")

    assert asks.ask(open_app(), QUESTION) is None
    assert model.calls == []


def test_over_budget_asks_nobody(model: StandIn, open_app: Opens, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("MEMORY_LLM_CALLS_PER_DAY", "2")
    app = open_app()

    answers = [asks.ask(app, QUESTION) for _ in range(4)]

    assert answers == ["yes", "yes", None, None]
    assert len(model.calls) == 2
