"""Claude Code asked one question: what it is given, and what is made of what it prints."""

from __future__ import annotations

import json

import pytest

from recollect.agents import model_client
from recollect.model.ask import Answer


def printed(**more: object) -> bytes:
    return json.dumps({"type": "result", "subtype": "success", "is_error": False, "result": "yes", **more}).encode()


def test_no_arguments_ever_allow_what_a_person_would_have_to():
    for reads in (False, True):
        words = " ".join(model_client.arguments(model="m", reads=reads, turns=9))
        assert not [
            word for word in ("bypass", "dangerously", "allowedTools", "Bash", "Write", "Edit") if word in words
        ]


def test_what_belongs_to_the_outer_session_is_emptied_and_the_login_kept():
    outer = {
        "HOME": "/h", "CLAUDE_CONFIG_DIR": "/c", "ANTHROPIC_API_KEY": "sk", "CLAUDECODE": "1",
        "CLAUDE_CODE_SESSION_ID": "s",
    }  # fmt: skip

    given = model_client.environ(outer, "")

    assert (given["HOME"], given["CLAUDE_CONFIG_DIR"], given["ANTHROPIC_API_KEY"]) == ("/h", "/c", "sk")
    assert (given["CLAUDE_CODE_SESSION_ID"], given["BLOCK_HOOK_AGENTS"]) == ("", "1")
    assert "CLAUDECODE" not in given
    assert model_client.environ(outer, "own")["ANTHROPIC_API_KEY"] == "own"


@pytest.mark.parametrize(
    ("out", "heard"),
    [
        (printed(), Answer("yes")),
        (printed(usage={"input_tokens": 5, "output_tokens": 2, "cache_read_input_tokens": 10}), Answer("yes", 17)),
        (printed(usage={"input_tokens": -5, "output_tokens": "2", "other": 9}), Answer("yes", 0)),
        (printed(usage=7), Answer("yes")),
        (printed(is_error=True, result="Not logged in"), Answer(problem="it said: Not logged in")),
        (printed(subtype="error_max_turns", is_error=True), Answer(problem="it said: error_max_turns")),
        (printed(result=["yes"]), Answer(problem="it said: nothing")),
        (b'{"type": "assistant"}', Answer(problem="what it printed is not a result")),
        (b"[" * 100_000, Answer(problem="what it printed is not a result")),
        (b"\xff", Answer(problem="what it printed is not a result")),
        (b"", Answer(problem="what it printed is not a result")),
    ],
)
def test_what_it_prints_is_read_or_is_a_problem(out: bytes, heard: Answer):
    assert model_client.read_answer(out) == heard
