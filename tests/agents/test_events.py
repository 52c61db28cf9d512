"""Recorded events of each agent, their content invented, and what our answers look like to it."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect import agents
from recollect.agents import Level, Places, agent
from recollect.base.errors import NoProject
from recollect.base.moment import Moment
from recollect.model.session import Event, EventName, Reply
from tests.naughty import NAUGHTY
from tests.values import NOW

PAYLOADS = Path(__file__).parent / "payloads"
EXTENSION = Path(agents.__file__).with_name("pi.ts")
EVENTS = agent("claude-code").EVENTS
SESSION = "00000007-0000-4000-8000-000000000000"


def recorded(host: str, name: str, **changed: object) -> Event:
    """A recorded event, with fields changed."""
    folder = PAYLOADS if host == "claude-code" else PAYLOADS / host
    payload = json.loads((folder / f"{name}.json").read_bytes()) | changed
    return said(host, name.split("-")[0], payload)


def said(host: str, event: str, payload: object) -> Event:
    environ = {"CLAUDE_PROJECT_DIR": "/home/ada/shop"}
    return agent(host).parse(event, json.dumps(payload).encode(), at=NOW, environ=environ)


# What is read of a recorded event, by the name of the field.
FIELDS: dict[tuple[str, str], dict[str, object]] = {
    ("claude-code", "source"): {
        "SessionStart-startup": "startup", "SessionStart-compact": "compact", "SessionStart-fork": "fork",
        "PreCompact-auto": "auto", "PreCompact-manual": "manual", "SessionEnd-other": "other",
        "SessionEnd-prompt_input_exit": "prompt_input_exit",
    },
    ("claude-code", "text"): {
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
    ("claude-code", "machine_made"): {
        "UserPromptSubmit": False, "UserPromptSubmit-source_user": False, "UserPromptSubmit-source_sdk": False,
        "UserPromptSubmit-source_system": True, "UserPromptSubmit-source_loop_wakeup": True,
        "UserPromptSubmit-source_schedule_wakeup": True, "UserPromptSubmit-source_poll_event": True,
        "UserPromptSubmit-task_notification": True, "Stop": False, "SessionStart-startup": False,
    },
    ("codex", "text"): {"UserPromptSubmit": "Where is the file?", "Stop": "It is not there."},
    ("codex", "source"): {"SessionStart-compact": "compact", "PreCompact-auto": "auto", "SessionEnd-other": "other"},
    ("gemini", "text"): {"BeforeAgent": "Where is the file?"},
    ("gemini", "reads_below"): {"BeforeTool-read_file-virtual": "/home/ada/.gemini/tmp/proj/recollect/recalls"},
    # However a session starts, all is told.
    ("pi", "source"): {"session_start": "startup", "session_compact": "compact", "session_shutdown": "quit"},
    ("pi", "text"): {"input": "no, we use pnpm here, not npm"},
}  # fmt: skip
# The same of its last call
OF_THE_CALL: dict[tuple[str, str], dict[str, object]] = {
    ("claude-code", "failed"): {
        "PostToolBatch-Edit-error": True,  # a refused input, of which no other event tells
        "PostToolBatch-Bash": True,
        "PostToolBatch-Edit": None,  # the client does not say
        "PostToolUse-Bash": False,
        "PostToolUseFailure-Bash": True,
        "PreToolUse-Read": None,
    },
    ("claude-code", "output"): {  # as the model sees it
        "PostToolUse-Bash": "ok",
        "PostToolUse-Read": "class Cart:\n    items = []\n",
        "PostToolUse-Write": "def test_cart(): ...\n",
        "PostToolUse-mcp": '{"result":"two notes on the cart"}',
        "PostToolBatch-Agent": "Async agent launched successfully.\nagentId: a5c0ffee",
        "PostToolBatch-Read-Bash": "par",
        "PreToolUse-Read": "",
    },
    ("claude-code", "input"): {"PreToolUse-Read": {"file_path": "/home/ada/shop/cart.py"}},
    ("codex", "input"): {"PreToolUse-Bash": {"command": "ls /nonexistent"}},
    ("codex", "failed"): {"PostToolUse-Bash": None},
    ("gemini", "failed"): {"AfterTool-read_file-error": True},
    ("pi", "input"): {"tool_call": {"path": "/home/dev/proj/real.md"}},
    ("pi", "output"): {"tool_result": "something real\n"},
    ("pi", "failed"): {"tool_call": None, "tool_result": False, "tool_result-error": True},
}


@pytest.mark.parametrize(("of", "name"), [(of, name) for of, names in FIELDS.items() for name in names])
def test_what_a_recorded_event_says_is_read(of: tuple[str, str], name: str):
    assert getattr(recorded(of[0], name), of[1]) == FIELDS[of][name]


@pytest.mark.parametrize(("of", "name"), [(of, name) for of, names in OF_THE_CALL.items() for name in names])
def test_what_a_recorded_call_says_is_read(of: tuple[str, str], name: str):
    assert getattr(recorded(of[0], name).tools[-1], of[1]) == OF_THE_CALL[of][name]


def test_what_else_recorded_events_say():
    assert [call.name for call in recorded("claude-code", "PostToolBatch-Read-Bash").tools] == ["Read", "Bash"]
    assert recorded("claude-code", "SubagentStop").transcript.endswith("/subagents/agent-a5c0ffee.jsonl")
    assert recorded("claude-code", "Stop").transcript.endswith(f"{SESSION}.jsonl")
    assert recorded("claude-code", "SubagentStop", agent_type="").name is EventName.OTHER, "a compaction"
    assert "file_not_found" in recorded("gemini", "AfterTool-read_file-error").text
    assert recorded("codex", "PostToolUse-Bash").tools[0].output.startswith("ls: cannot access")
    elsewhere = {"session_id": "s", "tool_name": "read_file", "transcript_path": "/etc/chats/x.jsonl"}
    assert said("gemini", "BeforeTool", elsewhere).reads_below == "", "no place for answers"
    assert recorded("pi", "input", source="extension").machine_made
    assert not recorded("pi", "input").machine_made


# Pi


def test_the_extension_tells_of_every_event_that_is_known_and_of_no_other():
    told = set(re.findall(r'(?:tell|mention)\("(\w+)"', EXTENSION.read_text(encoding="utf-8")))
    assert told == set(agent("pi").EVENTS)


@pytest.mark.parametrize(
    ("ago_ms", "counts"), [(0, True), (5_000, True), (-5_000, False), (7_200_000, False), (None, False), ("5", False)]
)
def test_an_event_that_is_heard_late_happened_when_it_did(ago_ms: object, counts: bool):
    at_ms = NOW.micros // 1_000 - ago_ms if isinstance(ago_ms, int) else ago_ms
    found = recorded("pi", "input", at_ms=at_ms)
    assert found.at == (Moment(int(str(at_ms)) * 1_000) if counts else NOW)


def test_what_a_spooled_pointer_left_is_enough():
    left = {"session_id": "s", "tool_use_id": "t", "source": "", "tool_calls": [{"tool_use_id": "t"}]}
    assert said("pi", "tool_result", left).tools[0].id == "t"


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
    told = said("claude-code", event, {"session_id": "s", **payload})
    repr(told).encode("utf-8")  # nothing in it that a store could not hold
    assert told.session_id == "s"


@pytest.mark.parametrize("text", [*NAUGHTY, "\ud800", "nul \x00"])
def test_any_prompt_comes_through(text: str):
    event = recorded("claude-code", "UserPromptSubmit", prompt=text)
    event.text.encode("utf-8")
    assert "\x00" not in event.text
    assert len(event.text) == len(text.strip())


# Answers


@pytest.mark.parametrize(
    ("host", "event", "specific"),
    [
        (
            "claude-code",
            "PreToolUse",
            {
                "permissionDecision": "allow",
                "permissionDecisionReason": "recall",
                "updatedInput": {"file_path": "/run/recalls/1.md", "offset": 5, "limit": 10},
            },
        ),
        ("gemini", "BeforeTool", {"tool_input": {"file_path": "/run/recalls/1.md"}}),  # merged into what was given
    ],
)
def test_a_read_is_redirected(host: str, event: str, specific: dict[str, object]):
    asked = {"file_path": ".ai/recall/cart", "offset": 5, "limit": 10}
    answer = json.loads(agent(host).render(event, Reply(read_instead="/run/recalls/1.md", read_input=asked)))
    assert answer["hookSpecificOutput"] == {"hookEventName": event, **specific}


@given(
    st.sampled_from([*EVENTS, "Unknown"]),
    st.builds(Reply, context=st.text(), notice=st.text(), read_instead=st.sampled_from(["", "/run/recalls/1.md"])),
)
def test_only_a_redirected_read_decides_a_permission(event: str, reply: Reply):
    printed = agent("claude-code").render(event, reply)

    decides = b"permissionDecision" in printed or b"updatedInput" in printed
    assert decides == (event == "PreToolUse" and bool(reply.read_instead))
    assert not any(key in printed for key in (b'"decision"', b'"continue"'))
    assert not printed or isinstance(json.loads(printed), dict)


@pytest.mark.parametrize("text", ["x" * 20_000, "é" * 20_000, "\U0001f600" * 20_000, "\U0001f600" * 4_000])
def test_context_never_passes_the_client_s_limit(text: str):
    answer = json.loads(agent("claude-code").render("UserPromptSubmit", Reply(context=text)))
    context = answer["hookSpecificOutput"]["additionalContext"]
    assert len(context.encode("utf-16-le")) / 2 <= 9_999  # it counts as JavaScript does
    assert text.startswith(context)


def test_an_answer_says_what_the_extension_of_pi_reads():
    reply = Reply(context="remember", notice="Loaded 1", read_instead="/run/x")
    read = set(re.findall(r"answer\.(\w+)", EXTENSION.read_text(encoding="utf-8"))) - {"isTaken", "length", "toString"}

    answer = json.loads(agent("pi").render("tool_call", reply))

    assert answer == {"context": "remember", "notice": "Loaded 1", "read_instead": "/run/x"}
    assert set(answer) == read
    assert agent("pi").render("agent_end", reply) == agent("pi").render("input", Reply()) == b""


# Where its files are


def test_nothing_is_to_be_allowed_once_each_hook_is(tmp_path: Path):
    codex, at, folder = agent("codex"), Places(tmp_path, None, {}), tmp_path / ".codex"
    folder.mkdir()
    names = "session_start user_prompt_submit pre_tool_use post_tool_use pre_compact stop session_end".split()
    states = [f'[hooks.state."{folder}/hooks.json:{name}:0:0"]\ntrusted_hash = "sha256:0"\n' for name in names]

    (folder / "config.toml").write_text("\n".join(states[:-1]))
    assert codex.unapproved(Level.USER, at).startswith("Codex runs 1 hook ")
    (folder / "config.toml").write_text("\n".join(states))
    assert codex.unapproved(Level.USER, at) == ""


def test_a_variable_moves_an_agent_s_folder(tmp_path: Path):
    moved = {"CODEX_HOME": str(tmp_path / "x"), "PI_CODING_AGENT_DIR": "~/elsewhere", "CLAUDE_CONFIG_DIR": "/etc/c"}
    at = Places(tmp_path, None, moved)
    assert agent("claude-code").settings_path(Level.USER, at) == Path("/etc/c/settings.json")
    assert agent("claude-code").server_place(Level.USER, at).path == Path("/etc/c/.claude.json")
    assert agent("codex").settings_path(Level.USER, at) == tmp_path / "x" / "hooks.json"
    assert agent("pi").plugin(Level.USER, at, tmp_path)[0] == tmp_path / "elsewhere" / "extensions" / "recollect.ts"
    with pytest.raises(NoProject):
        agent("codex").settings_path(Level.PROJECT, at)


def test_the_extension_goes_where_pi_looks_for_it_and_knows_its_home(tmp_path: Path):
    at, home = Places(tmp_path, tmp_path / "project", {}), tmp_path / 'a "home"'
    path, text = agent("pi").plugin(Level.USER, at, home)
    assert path == tmp_path / ".pi" / "agent" / "extensions" / "recollect.ts"
    assert f"const INSTALLED_HOME = {json.dumps(str(home))};" in text
    path, _ = agent("pi").plugin(Level.PROJECT, at, home)
    assert path == tmp_path / "project" / ".pi" / "extensions" / "recollect.ts"
