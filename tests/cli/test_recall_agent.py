"""`recollect recall-agent`: a prompt on standard input, names on standard output, one a line."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.run import pinned, run
from tests.llm.standin import StandIn


@pytest.fixture
def model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> StandIn:
    made = StandIn(tmp_path / "model", "NONE")
    for name, value in {"LLM": "on", "LLM_COMMAND": made.command, "RECALL_SCHEME": "single"}.items():
        monkeypatch.setenv(f"MEMORY_{name}", value)
    return made


def test_names_come_one_a_line_and_nothing_is_an_empty_answer(model: StandIn):
    first, second = pinned("Deploys go first"), pinned("Anna signs")
    model.answers(f"{second}\n{first}", "NONE")

    some = run("recall-agent", stdin=b"how do we deploy?")
    none = run("recall-agent", stdin=b"how do we deploy?")

    assert (some.code, some.out) == (0, f"{second}\n{first}\n")
    assert (none.code, none.out) == (0, "")


def test_no_answer_is_an_error_and_says_where_to_look(model: StandIn):
    pinned("Deploys go first")
    model.answers("I would rather not.")

    done = run("recall-agent", "how do we deploy?")

    assert done.code == 2
    assert "recollect logs" in done.err
