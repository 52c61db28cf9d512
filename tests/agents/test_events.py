"""What each agent sends, recorded with invented content, and what our answers look like to it; what holds for every
agent: its row is complete, and its files are where it looks for them."""

import json
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect import agents
from recollect.agents import Ability, Level, Places, agent, callers, hosts
from recollect.agents.base_agent import Agent
from recollect.base.errors import BadInput, NoProject
from recollect.base.moment import Moment
from recollect.model.session import Event, EventName, Reply, ToolAction, ToolCall, ToolUse
from tests.naughty import NAUGHTY
from tests.values import NOW

PAYLOADS = Path(__file__).parent / "payloads"
EXTENSION = Path(agents.__file__).with_name("pi.ts")
EVENTS = agent("claude-code").EVENTS
SESSION = "00000007-0000-4000-8000-000000000000"


def folder_of(host: str) -> Path:
    return PAYLOADS if host == "claude-code" else PAYLOADS / host


def host_of(path: Path) -> str:
    return path.parent.name if path.parent != PAYLOADS else "claude-code"


def recorded(host: str, name: str, **changed: object) -> Event:
    """A recorded event, with fields changed."""
    payload = json.loads((folder_of(host) / f"{name}.json").read_bytes()) | changed
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
CALLS: dict[tuple[str, str], dict[str, object]] = {
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


@pytest.mark.parametrize(("host", "field"), sorted({*FIELDS, *CALLS}))
def test_what_a_recorded_event_says_is_read(host: str, field: str):
    for name, wanted in FIELDS.get((host, field), {}).items():
        assert getattr(recorded(host, name), field) == wanted, name
    for name, wanted in CALLS.get((host, field), {}).items():
        assert getattr(recorded(host, name).tools[-1], field) == wanted, name


def test_what_else_recorded_events_say():
    assert [call.name for call in recorded("claude-code", "PostToolBatch-Read-Bash").tools] == [
        "Read",
        "Bash",
    ]
    assert recorded("claude-code", "SubagentStop").transcript.endswith(
        "/subagents/agent-a5c0ffee.jsonl"
    )
    assert recorded("claude-code", "Stop").transcript.endswith(f"{SESSION}.jsonl")
    assert recorded("claude-code", "SubagentStop", agent_type="").name is EventName.OTHER, (
        "a compaction"
    )
    assert "file_not_found" in recorded("gemini", "AfterTool-read_file-error").text
    assert recorded("codex", "PostToolUse-Bash").tools[0].output.startswith("ls: cannot access")
    elsewhere = {
        "session_id": "s",
        "tool_name": "read_file",
        "transcript_path": "/etc/chats/x.jsonl",
    }
    assert said("gemini", "BeforeTool", elsewhere).reads_below == "", "no place for answers"
    assert recorded("pi", "input", source="extension").machine_made
    assert not recorded("pi", "input").machine_made
    left = {
        "session_id": "s",
        "tool_use_id": "t",
        "source": "",
        "tool_calls": [{"tool_use_id": "t"}],
    }
    assert said("pi", "tool_result", left).tools[0].id == "t", (
        "what a spooled pointer left is enough"
    )


def test_the_extension_tells_of_every_event_that_is_known_and_of_no_other():
    told = set(re.findall(r'(?:tell|mention)\("(\w+)"', EXTENSION.read_text(encoding="utf-8")))
    assert told == set(agent("pi").EVENTS)


@pytest.mark.parametrize(
    ("ago_ms", "counts"),
    [(0, True), (5_000, True), (-5_000, False), (7_200_000, False), (None, False), ("5", False)],
)
def test_an_event_that_is_heard_late_happened_when_it_did(ago_ms: object, counts: bool):
    at_ms = NOW.micros // 1_000 - ago_ms if isinstance(ago_ms, int) else ago_ms
    found = recorded("pi", "input", at_ms=at_ms)
    assert found.at == (Moment(int(str(at_ms)) * 1_000) if counts else NOW)


# What cannot be read

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
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
        ("claude-code", "PreToolUse", {
            "permissionDecision": "allow", "permissionDecisionReason": "recall",
            "updatedInput": {"file_path": "/run/recalls/1.md", "offset": 5, "limit": 10},
        }),
        ("gemini", "BeforeTool", {"tool_input": {"file_path": "/run/recalls/1.md"}}),  # merged into what was given
    ],
)  # fmt: skip
def test_a_read_is_redirected(host: str, event: str, specific: dict[str, object]):
    asked = {"file_path": ".ai/recall/cart", "offset": 5, "limit": 10}
    answer = json.loads(
        agent(host).render(event, Reply(read_instead="/run/recalls/1.md", read_input=asked))
    )
    assert answer["hookSpecificOutput"] == {"hookEventName": event, **specific}


@given(
    st.sampled_from([*EVENTS, "Unknown"]),
    st.builds(
        Reply,
        context=st.text(),
        notice=st.text(),
        read_instead=st.sampled_from(["", "/run/recalls/1.md"]),
    ),
)
def test_only_a_redirected_read_decides_a_permission(event: str, reply: Reply):
    printed = agent("claude-code").render(event, reply)

    decides = b"permissionDecision" in printed or b"updatedInput" in printed
    assert decides == (event == "PreToolUse" and bool(reply.read_instead))
    assert not any(key in printed for key in (b'"decision"', b'"continue"'))
    assert not printed or isinstance(json.loads(printed), dict)


@pytest.mark.parametrize(
    "text", ["x" * 20_000, "é" * 20_000, "\U0001f600" * 20_000, "\U0001f600" * 4_000]
)
def test_context_never_passes_the_client_s_limit(text: str):
    answer = json.loads(agent("claude-code").render("UserPromptSubmit", Reply(context=text)))
    context = answer["hookSpecificOutput"]["additionalContext"]
    assert len(context.encode("utf-16-le")) / 2 <= 9_999  # it counts as JavaScript does
    assert text.startswith(context)


def test_an_answer_says_what_the_extension_of_pi_reads():
    reply = Reply(context="remember", notice="Loaded 1", read_instead="/run/x")
    read = set(re.findall(r"answer\.(\w+)", EXTENSION.read_text(encoding="utf-8"))) - {
        "isTaken",
        "length",
        "toString",
    }

    answer = json.loads(agent("pi").render("tool_call", reply))

    assert answer == {"context": "remember", "notice": "Loaded 1", "read_instead": "/run/x"}
    assert set(answer) == read
    assert json.loads(agent("pi").render("agent_end", reply)) == {"notice": "Loaded 1"}
    assert agent("pi").render("tool_result", reply) == agent("pi").render("input", Reply()) == b""


# Where its files are


def test_nothing_is_to_be_allowed_once_each_hook_is(tmp_path: Path):
    codex, at, folder = agent("codex"), Places(tmp_path, None, {}), tmp_path / ".codex"
    folder.mkdir()
    names = "session_start user_prompt_submit pre_tool_use post_tool_use pre_compact stop session_end".split()
    states = [
        f'[hooks.state."{folder}/hooks.json:{name}:0:0"]\ntrusted_hash = "sha256:0"\n'
        for name in names
    ]

    (folder / "config.toml").write_text("\n".join(states[:-1]))
    assert codex.unapproved(Level.USER, at).startswith("Codex runs 1 hook ")
    (folder / "config.toml").write_text("\n".join(states))
    assert codex.unapproved(Level.USER, at) == ""


def test_a_variable_moves_an_agent_s_folder_and_the_extension_goes_where_pi_looks_for_it(
    tmp_path: Path,
):
    moved = {
        "CODEX_HOME": str(tmp_path / "x"),
        "PI_CODING_AGENT_DIR": "~/elsewhere",
        "CLAUDE_CONFIG_DIR": "/etc/c",
    }
    at = Places(tmp_path, None, moved)
    assert agent("claude-code").settings_path(Level.USER, at) == Path("/etc/c/settings.json")
    assert agent("claude-code").server_place(Level.USER, at).path == Path("/etc/c/.claude.json")
    assert agent("codex").settings_path(Level.USER, at) == tmp_path / "x" / "hooks.json"
    assert (
        agent("pi").plugin(Level.USER, at, tmp_path)[0]
        == tmp_path / "elsewhere" / "extensions" / "recollect.ts"
    )
    with pytest.raises(NoProject):
        agent("codex").settings_path(Level.PROJECT, at)
    at, home = Places(tmp_path, tmp_path / "project", {}), tmp_path / 'a "home"'
    path, text = agent("pi").plugin(Level.USER, at, home)
    assert path == tmp_path / ".pi" / "agent" / "extensions" / "recollect.ts"
    assert f"const INSTALLED_HOME = {json.dumps(str(home))};" in text
    path, _ = agent("pi").plugin(Level.PROJECT, at, home)
    assert path == tmp_path / "project" / ".pi" / "extensions" / "recollect.ts"


# Every agent

PAGE = Path(__file__).resolve().parents[2] / "docs" / "AGENTS.md"
# Recorded events that are not taken for what their name says.
NAMES = {
    "gemini/BeforeTool-read_file": EventName.OTHER,  # nothing can be said, except about a virtual file
    "gemini/BeforeTool-run_shell_command": EventName.OTHER,
    "gemini/AfterTool-read_file-error": EventName.TOOL_FAILED,
    "pi/tool_result-error": EventName.TOOL_FAILED,
}
# What an agent itself must say, where it has an ability; everything else has a default.
NEEDED = {
    None: "HOST TITLE ABILITIES FOLDER DEEDS SAYS FILES", Ability.TRANSCRIPTS: "utterances",
    Ability.PAST: "utterances", Ability.PLUGIN: "plugin", Ability.SERVER: "server_place",
    Ability.TEACHING: "skills",
}  # fmt: skip


@pytest.mark.parametrize("host", hosts())
@pytest.mark.parametrize("ability", NEEDED, ids=str)
def test_an_agent_has_what_its_abilities_need(host: str, ability: Ability | None):
    own = type(agent(host))
    lacking = [
        name
        for name in NEEDED[ability].split()
        if getattr(own, name, None) is getattr(Agent, name, None)
    ]
    assert not lacking or (ability is not None and ability not in own.ABILITIES)
    assert host == own.HOST
    assert len(own.ABILITIES & {Ability.HOOKS, Ability.PLUGIN}) == (host in callers()), (
        "it calls us in one way"
    )
    assert hosts()[0] == "claude-code"


def test_the_page_of_agents_says_what_the_code_says():
    page = PAGE.read_text(encoding="utf-8")
    lines = [line.strip("|").split("|") for line in page.splitlines() if line.startswith("|")]
    (_, _, *columns), _, *listed = [[cell.strip(" `") for cell in line] for line in lines]

    told = {
        host: {row[0] for row in listed if row[2 + at] == "yes"} for at, host in enumerate(columns)
    }

    assert told == {host: {str(one) for one in agent(host).ABILITIES} for host in hosts()}
    assert [row[0] for row in listed] == [str(one) for one in Ability]
    assert {cell for row in listed for cell in row[2:]} == {"yes", "no"}
    assert all(f"\n## {agent(host).TITLE}\n" in page for host in hosts()), "each has a chapter"


# What an agent sends


@pytest.mark.parametrize("host", callers())
@pytest.mark.parametrize(
    "body", [b"", b"\xff\xfe", b"null", b"[]", b"{", b'{"session_id": 7}', b"{}", b"[" * 100_000, b'{"a": NaN'],
    ids=["empty", "not-utf8", "null", "list", "cut", "no-text", "no-session", "deep", "cut-constant"],
)  # fmt: skip
def test_what_is_no_event_is_refused_and_an_unknown_one_is_passed_on(host: str, body: bytes):
    with pytest.raises(BadInput):
        agent(host).parse(next(iter(agent(host).EVENTS)), body, at=NOW, environ={})
    told = b'{"session_id": "s", "brand": {"new": [1]}}'
    assert agent(host).parse("BrandNew", told, at=NOW, environ={}).name is EventName.OTHER
    with pytest.raises(BadInput, match="someone-else"):
        agent("someone-else").parse("Stop", b"{}", at=NOW, environ={})


@pytest.mark.parametrize("path", sorted(PAYLOADS.rglob("*.json")), ids=str)
def test_every_recorded_event_is_understood(path: Path):
    host, told = host_of(path), json.loads(path.read_bytes())
    usual, found = (
        agent(host).EVENTS.get(path.stem.split("-")[0], EventName.OTHER),
        recorded(host, path.stem),
    )
    assert found.name is NAMES.get(f"{host}/{path.stem}", usual)
    assert (found.host, found.at) == (host, NOW)
    assert found.project_folder == ("/home/ada/shop" if host == "claude-code" else "")
    assert (found.session_id, found.cwd) == (told["session_id"], told["cwd"])
    assert found.transcript == (told.get("agent_transcript_path") or told["transcript_path"])
    if host != "pi":
        assert found.prompt_id == told.get("turn_id" if host == "codex" else "prompt_id", "")
    assert (found.agent_id, found.agent_type) == (
        told.get("agent_id", ""),
        told.get("agent_type", ""),
    )


@pytest.mark.parametrize("host", hosts(Ability.HOOKS))
def test_every_event_that_we_ask_for_is_recorded(host: str):
    asked = {
        hook.event for hook in agent(host).hooks(Places(Path("/home/ada"), None, {"PATH": ""}))
    }
    assert asked <= {path.stem.split("-")[0] for path in folder_of(host).glob("*.json")} & set(
        agent(host).EVENTS
    )


@pytest.mark.parametrize("path", sorted(PAYLOADS.rglob("*.jsonl")), ids=str)
def test_a_look_at_a_line_misses_nothing(path: Path):
    speaks = agent(host_of(path))
    for raw in path.read_bytes().splitlines():
        line = json.loads(raw)
        assert speaks.may_speak(raw) or not list(speaks.utterances(line))


def call(name: str, **given: object) -> ToolCall:
    return ToolCall(id="1", name=name, input=given)


@pytest.mark.parametrize(
    ("host", "asked", "use"),
    [
        ("claude-code", call("Bash", command="ls"), ToolUse(ToolAction.RUN, "Bash", "ls")),
        ("claude-code", call("Grep", pattern="x", path="src"), ToolUse(ToolAction.SEARCH, "Grep", "x", ("src",))),
        ("codex", call("shell", command=["bash", "-lc", "make test"]), ToolUse(ToolAction.RUN, "shell", "make test")),
        ("codex", call("shell", command=["make", "test"]), ToolUse(ToolAction.RUN, "shell", "make test")),
        (
            "codex", call("apply_patch", input="*** Begin Patch\n*** Update File: a/b.py\n@@\n"),
            ToolUse(ToolAction.EDIT, "apply_patch", "", ("a/b.py",)),
        ),
        ("codex", call("view_image", path="x.png"), ToolUse(ToolAction.READ, "view_image", "", ("x.png",))),
        ("opencode", call("webfetch", url="https://x"), ToolUse(ToolAction.FETCH, "webfetch", "https://x")),
        ("pi", call("grep", pattern="x", path="src"), ToolUse(ToolAction.SEARCH, "grep", "x", ("src",))),
        ("pi", call("recall", query="x"), ToolUse(ToolAction.OTHER, "recall")),
    ],
)  # fmt: skip
def test_a_call_is_described_in_neutral_words(host: str, asked: ToolCall, use: ToolUse):
    assert agent(host).describe_call(asked) == use


# What it gets


@pytest.mark.parametrize("host", hosts(Ability.HOOKS))
def test_context_goes_to_the_model_and_a_notice_to_the_person(host: str):
    misread = {"Stop", "SubagentStop", "PreCompact", "SessionEnd", "PermissionDenied", "AfterAgent"}
    assert not misread & set(agent(host).INJECTS)
    for event in (*agent(host).EVENTS, "Unknown"):
        printed = agent(host).render(
            event, Reply(context="Carts live in the session.", notice="1 memory")
        )
        if event in agent(host).INJECTS:
            assert json.loads(printed) == {
                "systemMessage": "1 memory",
                "hookSpecificOutput": {
                    "hookEventName": event,
                    "additionalContext": "Carts live in the session.",
                },
            }
            assert json.loads(agent(host).render(event, Reply(notice="1 memory"))) == {
                "systemMessage": "1 memory"
            }
        elif event in ("Stop", "AfterAgent"):
            assert json.loads(printed) == {"systemMessage": "1 memory"}
        else:  # at Stop context makes the agent go on; at PreCompact it becomes an instruction for the summary
            assert printed == b""
        assert agent(host).render(event, Reply()) == b""
