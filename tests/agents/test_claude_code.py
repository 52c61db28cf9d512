"""Recorded events of the client, their content invented, each parsed; and what our answers look like to it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.agents import hosts, parse, render
from recollect.agents.claude_code import hook_events
from recollect.base.errors import BadInput
from recollect.model.session import Event, EventName, Reply
from tests.naughty import NAUGHTY
from tests.values import NOW

PAYLOADS = Path(__file__).parent / "payloads"
RECORDED = sorted(path.name for path in PAYLOADS.glob("*.json"))
HOST = "claude-code"
SESSION = "00000007-0000-4000-8000-000000000000"
NAMES = {
    "SessionStart": EventName.SESSION_STARTED,
    "UserPromptSubmit": EventName.PROMPT,
    "PreToolUse": EventName.TOOL_CALLED,
    "PostToolUse": EventName.TOOLS_RAN,
    "PostToolBatch": EventName.TOOLS_RAN,
    "PostToolUseFailure": EventName.TOOL_FAILED,
    "Stop": EventName.TURN_ENDED,
    "SubagentStart": EventName.SUBAGENT_STARTED,
    "SubagentStop": EventName.SUBAGENT_ENDED,
    "PreCompact": EventName.COMPACTING,
    "PermissionDenied": EventName.PERMISSION_DENIED,
    "SessionEnd": EventName.SESSION_ENDED,
}
INJECTS = ("SessionStart", "UserPromptSubmit", "PreToolUse", "PostToolBatch", "SubagentStart")


def event_of(name: str) -> str:
    return name.removesuffix(".json").split("-")[0]


def recorded(name: str, **changed: object) -> Event:
    """A recorded event, with fields changed."""
    payload = json.loads((PAYLOADS / f"{name}.json").read_bytes()) | changed
    return said(event_of(name), json.dumps(payload).encode())


def said(event: str, body: bytes) -> Event:
    return parse(HOST, event, body, at=NOW, environ={"CLAUDE_PROJECT_DIR": "/home/ada/shop"})


# Every event


@pytest.mark.parametrize("name", RECORDED)
def test_every_recorded_event_is_understood(name: str):
    body = (PAYLOADS / name).read_bytes()

    event = said(event_of(name), body)

    told = json.loads(body)
    assert event.name is NAMES.get(told["hook_event_name"], EventName.OTHER)
    assert (event.host, event.at, event.project_folder) == (HOST, NOW, "/home/ada/shop")
    assert (event.session_id, event.cwd) == (told["session_id"], told["cwd"])
    assert event.prompt_id == told.get("prompt_id", "")
    assert (event.agent_id, event.agent_type) == (told.get("agent_id", ""), told.get("agent_type", ""))


def test_every_event_that_we_ask_for_is_recorded_and_has_a_name():
    assert set(hook_events(None)) <= {event_of(name) for name in RECORDED}
    assert set(hook_events(None)) <= set(NAMES)


@pytest.mark.parametrize(
    ("name", "source"),
    [
        ("SessionStart-startup", "startup"),
        ("SessionStart-resume", "resume"),
        ("SessionStart-clear", "clear"),
        ("SessionStart-compact", "compact"),
        ("SessionStart-fork", "fork"),
        ("PreCompact-auto", "auto"),
        ("PreCompact-manual", "manual"),
        ("SessionEnd-other", "other"),
        ("SessionEnd-clear", "clear"),
        ("SessionEnd-prompt_input_exit", "prompt_input_exit"),
    ],
)
def test_the_reason_of_a_session_event_is_told(name: str, source: str):
    assert recorded(name).source == source


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("UserPromptSubmit", "Why does the cart forget its items?"),
        ("Stop", "The cart keeps its items now."),
        ("SubagentStop", "Three places read the cart."),
        ("PreCompact-manual", "keep what was decided"),
        ("PreCompact-auto", ""),
        ("PostToolUseFailure-Bash", "Exit code 3\nImportError: cannot import name 'Cart'"),
        ("PermissionDenied", "The command deletes files outside the project."),
        ("SessionStart-startup", ""),
    ],
)
def test_the_words_of_an_event_are_kept(name: str, text: str):
    assert recorded(name).text == text


def test_a_subagent_s_words_stand_in_its_own_transcript():
    assert recorded("SubagentStop").transcript.endswith("/subagents/agent-a5c0ffee.jsonl")
    assert recorded("Stop").transcript.endswith(f"{SESSION}.jsonl")


def test_compaction_is_not_taken_for_a_subagent_that_ended():
    assert recorded("SubagentStop", agent_type="").name is EventName.OTHER


# Prompts that nobody wrote


@pytest.mark.parametrize(
    ("name", "machine_made"),
    [
        ("UserPromptSubmit", False),
        ("UserPromptSubmit-source_user", False),
        ("UserPromptSubmit-source_sdk", False),
        ("UserPromptSubmit-source_system", True),
        ("UserPromptSubmit-source_loop_wakeup", True),
        ("UserPromptSubmit-source_schedule_wakeup", True),
        ("UserPromptSubmit-source_poll_event", True),
        ("UserPromptSubmit-task_notification", True),
        ("Stop", False),
        ("SessionStart-startup", False),
    ],
)
def test_a_prompt_that_no_person_wrote_is_known(name: str, machine_made: bool):
    assert recorded(name).machine_made is machine_made


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


@pytest.mark.parametrize(
    ("name", "failed"),
    [
        ("PostToolBatch-Edit-error", True),  # a refused input, of which no other event tells
        ("PostToolBatch-Bash", True),
        ("PostToolBatch-Edit", None),  # the client does not say
        ("PostToolUse-Bash", False),
        ("PostToolUseFailure-Bash", True),
        ("PostToolUseFailure-Read", True),
    ],
)
def test_a_failure_is_a_failure_however_it_is_told(name: str, failed: bool | None):
    assert recorded(name).tools[-1].failed is failed


@pytest.mark.parametrize(
    ("name", "output"),
    [
        ("PostToolUse-Bash", "ok"),
        ("PostToolUse-Read", "class Cart:\n    items = []\n"),
        ("PostToolUse-Write", "def test_cart(): ...\n"),
        ("PostToolUse-mcp", '{"result":"two notes on the cart"}'),
        ("PostToolBatch-Agent", "Async agent launched successfully.\nagentId: a5c0ffee"),
    ],
)
def test_a_result_is_told_as_the_model_sees_it(name: str, output: str):
    assert recorded(name).tools[0].output == output


# What cannot be read


@pytest.mark.parametrize(
    "body", [b"", b"\xff\xfe", b"null", b"[]", b"{", b'{"session_id": 7}', b"{}", b"[" * 100_000, b'{"a": NaN'],
    ids=["empty", "not-utf8", "null", "list", "cut", "no-text", "no-session", "deep", "cut-constant"],
)  # fmt: skip
def test_what_cannot_be_read_is_bad_input(body: bytes):
    with pytest.raises(BadInput):
        said("UserPromptSubmit", body)


def test_an_unknown_agent_is_bad_input():
    with pytest.raises(BadInput, match="someone-else"):
        parse("someone-else", "Stop", b"{}", at=NOW, environ={})
    assert hosts()[0] == HOST


def test_an_unknown_event_is_passed_on_as_such():
    assert said("BrandNew", b'{"session_id": "s", "brand": {"new": [1]}}').name is EventName.OTHER


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
fields = st.sampled_from(
    "prompt source reason trigger tool_name tool_input tool_response tool_calls tool_use_id error cwd agent_type "
    "transcript_path last_assistant_message".split()
)


@given(st.sampled_from(sorted(NAMES)), st.dictionaries(fields, json_values, max_size=6))
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


@pytest.mark.parametrize("event", sorted(NAMES))
def test_an_empty_reply_prints_nothing(event: str):
    assert render(HOST, event, Reply()) == b""


@pytest.mark.parametrize("event", INJECTS)
def test_context_goes_to_the_model_and_a_notice_to_the_person(event: str):
    assert told(event, Reply(context="Carts live in the session.", notice="1 memory")) == {
        "systemMessage": "1 memory",
        "hookSpecificOutput": {"hookEventName": event, "additionalContext": "Carts live in the session."},
    }
    assert told(event, Reply(notice="1 memory")) == {"systemMessage": "1 memory"}


@pytest.mark.parametrize("event", ["Stop", "SubagentStop", "PreCompact", "SessionEnd", "PermissionDenied", "Unknown"])
def test_where_an_answer_would_be_misread_nothing_is_printed(event: str):
    # At Stop context makes the agent go on; at PreCompact output becomes an instruction for the summary.
    assert render(HOST, event, Reply(context="a", notice="b", read_instead="/tmp/c")) == b""


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
    st.sampled_from([*NAMES, "Unknown"]),
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


# What it can tell us


def test_an_older_client_is_asked_only_for_what_it_knows():
    now = hook_events(None)

    assert hook_events((2, 1, 325)) == now
    assert "PostToolBatch" in now
    assert "PostToolUse" not in now
    # One unknown name makes older clients skip the whole settings file.
    assert set(now) - set(hook_events((2, 1, 100))) == {"PostToolBatch"}
    assert set(now) - set(hook_events((2, 0, 50))) == {"PostToolBatch", "PostToolUseFailure", "PermissionDenied"}
    assert "PostToolUse" in hook_events((2, 1, 100))
