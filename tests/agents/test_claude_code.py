"""Recorded events of the client, their content invented, each parsed; and what our answers look like to it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.agents import agent, parse, render
from recollect.model.session import Event, EventName, Reply
from tests.naughty import NAUGHTY
from tests.values import NOW

PAYLOADS = Path(__file__).parent / "payloads"
HOST = "claude-code"
EVENTS = agent(HOST).EVENTS
SESSION = "00000007-0000-4000-8000-000000000000"


def event_of(name: str) -> str:
    return name.removesuffix(".json").split("-")[0]


def recorded(name: str, **changed: object) -> Event:
    """A recorded event, with fields changed."""
    payload = json.loads((PAYLOADS / f"{name}.json").read_bytes()) | changed
    return said(event_of(name), json.dumps(payload).encode())


def said(event: str, body: bytes) -> Event:
    return parse(HOST, event, body, at=NOW, environ={"CLAUDE_PROJECT_DIR": "/home/ada/shop"})


# What is read of a recorded event, by the name of the field.
FIELDS: dict[str, dict[str, object]] = {
    "source": {
        "SessionStart-startup": "startup", "SessionStart-resume": "resume", "SessionStart-clear": "clear",
        "SessionStart-compact": "compact", "SessionStart-fork": "fork", "PreCompact-auto": "auto",
        "PreCompact-manual": "manual", "SessionEnd-other": "other", "SessionEnd-clear": "clear",
        "SessionEnd-prompt_input_exit": "prompt_input_exit",
    },
    "text": {
        "UserPromptSubmit": "Why does the cart forget its items?",
        "Stop": "The cart keeps its items now.",
        "SubagentStop": "Three places read the cart.",
        "PreCompact-manual": "keep what was decided",
        "PreCompact-auto": "",
        "PostToolUseFailure-Bash": "Exit code 3\nImportError: cannot import name 'Cart'",
        "PermissionDenied": "The command deletes files outside the project.",
        "SessionStart-startup": "",
    },
    # Whether no person wrote the prompt
    "machine_made": {
        "UserPromptSubmit": False, "UserPromptSubmit-source_user": False, "UserPromptSubmit-source_sdk": False,
        "UserPromptSubmit-source_system": True, "UserPromptSubmit-source_loop_wakeup": True,
        "UserPromptSubmit-source_schedule_wakeup": True, "UserPromptSubmit-source_poll_event": True,
        "UserPromptSubmit-task_notification": True, "Stop": False, "SessionStart-startup": False,
    },
}  # fmt: skip
# The same of its last call
OF_THE_CALL: dict[str, dict[str, object]] = {
    "failed": {
        "PostToolBatch-Edit-error": True,  # a refused input, of which no other event tells
        "PostToolBatch-Bash": True,
        "PostToolBatch-Edit": None,  # the client does not say
        "PostToolUse-Bash": False,
        "PostToolUseFailure-Bash": True,
        "PostToolUseFailure-Read": True,
    },
    "output": {  # as the model sees it
        "PostToolUse-Bash": "ok",
        "PostToolUse-Read": "class Cart:\n    items = []\n",
        "PostToolUse-Write": "def test_cart(): ...\n",
        "PostToolUse-mcp": '{"result":"two notes on the cart"}',
        "PostToolBatch-Agent": "Async agent launched successfully.\nagentId: a5c0ffee",
    },
}


@pytest.mark.parametrize(("field", "name"), [(field, name) for field, names in FIELDS.items() for name in names])
def test_what_a_recorded_event_says_is_read(field: str, name: str):
    assert getattr(recorded(name), field) == FIELDS[field][name]


@pytest.mark.parametrize(("field", "name"), [(field, name) for field, names in OF_THE_CALL.items() for name in names])
def test_what_a_recorded_call_says_is_read(field: str, name: str):
    assert getattr(recorded(name).tools[-1], field) == OF_THE_CALL[field][name]


def test_a_subagent_s_words_stand_in_its_own_transcript():
    assert recorded("SubagentStop").transcript.endswith("/subagents/agent-a5c0ffee.jsonl")
    assert recorded("Stop").transcript.endswith(f"{SESSION}.jsonl")


def test_compaction_is_not_taken_for_a_subagent_that_ended():
    assert recorded("SubagentStop", agent_type="").name is EventName.OTHER


def test_a_person_may_write_about_notifications():
    assert not recorded("UserPromptSubmit", prompt="What is a <task-notification>?").machine_made


# Tools


def test_a_tool_that_has_not_run_has_an_input_and_no_result():
    (call,) = recorded("PreToolUse-Read").tools
    assert (call.name, call.input, call.output, call.failed) == (
        "Read", {"file_path": "/home/ada/shop/cart.py"}, "", None,
    )  # fmt: skip


def test_a_batch_tells_every_call_of_a_message():
    assert [(call.name, call.output) for call in recorded("PostToolBatch-Read-Bash").tools] == [
        ("Read", "1\tclass Cart:\n2\t    items: list = field()\n3\t"),
        ("Bash", "par"),
    ]


# What cannot be read


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
fields = st.sampled_from(
    "prompt source reason trigger tool_name tool_input tool_response tool_calls tool_use_id error cwd agent_type "
    "transcript_path last_assistant_message".split()
)


@given(st.sampled_from(sorted(EVENTS)), st.dictionaries(fields, json_values, max_size=6))
def test_no_shape_of_a_known_field_is_too_much(event: str, payload: dict[str, object]):
    told = said(event, json.dumps({"session_id": "s", **payload}).encode())
    repr(told).encode("utf-8")  # nothing in it that a store could not hold
    assert told.session_id == "s"


@pytest.mark.parametrize("text", [*NAUGHTY, "\ud800", "nul \x00"])
def test_any_prompt_comes_through(text: str):
    event = recorded("UserPromptSubmit", prompt=text)
    event.text.encode("utf-8")
    assert "\x00" not in event.text
    assert len(event.text) == len(text.strip())


# Answers


def told(event: str, reply: Reply) -> dict[str, object]:
    answer: dict[str, object] = json.loads(render(HOST, event, reply))
    return answer


def test_a_redirected_read_keeps_its_offset_and_limit():
    asked = {"file_path": ".ai/recall/cart", "offset": 5, "limit": 10}

    answer = told("PreToolUse", Reply(read_instead="/run/recalls/1.md", read_input=asked))

    assert answer["hookSpecificOutput"] == {
        "hookEventName": "PreToolUse",
        "permissionDecision": "allow",
        "permissionDecisionReason": "recall",
        "updatedInput": {"file_path": "/run/recalls/1.md", "offset": 5, "limit": 10},
    }


@given(
    st.sampled_from([*EVENTS, "Unknown"]),
    st.builds(Reply, context=st.text(), notice=st.text(), read_instead=st.sampled_from(["", "/run/recalls/1.md"])),
)
def test_only_a_redirected_read_decides_a_permission(event: str, reply: Reply):
    printed = render(HOST, event, reply)

    decides = b"permissionDecision" in printed or b"updatedInput" in printed
    assert decides == (event == "PreToolUse" and bool(reply.read_instead))
    assert b'"decision"' not in printed
    assert b'"continue"' not in printed
    if printed:
        assert isinstance(json.loads(printed), dict)


@pytest.mark.parametrize("text", ["x" * 20_000, "é" * 20_000, "\U0001f600" * 20_000, "\U0001f600" * 4_000])
def test_context_never_passes_the_client_s_limit(text: str):
    answer = told("UserPromptSubmit", Reply(context=text))

    specific = answer["hookSpecificOutput"]
    assert isinstance(specific, dict)
    context = specific["additionalContext"]
    assert len(context.encode("utf-16-le")) / 2 <= 9_999  # it counts as JavaScript does
    assert text.startswith(context)
