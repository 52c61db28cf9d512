"""What holds for every agent: its row is complete, and what it sends and gets is read and written alike."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from recollect.agents import Ability, Places, agent, callers, hosts
from recollect.agents.base_agent import Agent
from recollect.base.errors import BadInput
from recollect.model.session import EventName, Reply, ToolAction, ToolCall, ToolUse
from tests.values import NOW

PAYLOADS = Path(__file__).parent / "payloads"
PAGE = Path(__file__).resolve().parents[2] / "docs" / "AGENTS.md"
every_host = pytest.mark.parametrize("host", hosts())

# Recorded events that are not taken for what their name says.
NAMES = {
    "gemini/BeforeTool-read_file": EventName.OTHER,  # nothing can be said, except about a virtual file
    "gemini/BeforeTool-run_shell_command": EventName.OTHER,
    "gemini/AfterTool-read_file-error": EventName.TOOL_FAILED,
    "pi/tool_result-error": EventName.TOOL_FAILED,
}

# What an agent itself must say, where it has an ability; everything else has a default.
NEEDED = {
    None: "HOST TITLE ABILITIES FOLDER DEEDS SAYS FILES",
    Ability.TRANSCRIPTS: "utterances",
    Ability.PAST: "session_head SESSIONS",
    Ability.PLUGIN: "plugin",
    Ability.SERVER: "server_place",
    Ability.TEACHING: "skill",
}


@every_host
@pytest.mark.parametrize("ability", NEEDED, ids=str)
def test_an_agent_has_what_its_abilities_need(host: str, ability: Ability | None):
    own = type(agent(host))
    lacking = [name for name in NEEDED[ability].split() if getattr(own, name, None) is getattr(Agent, name, None)]
    assert not lacking or (ability is not None and ability not in own.ABILITIES)
    assert host == own.HOST
    assert len(own.ABILITIES & {Ability.HOOKS, Ability.PLUGIN}) == (host in callers()), "it calls us in one way"
    assert hosts()[0] == "claude-code"


def rows() -> list[list[str]]:
    lines = PAGE.read_text(encoding="utf-8").splitlines()
    return [[cell.strip(" `") for cell in line.strip("|").split("|")] for line in lines if line.startswith("|")]


def test_the_page_of_agents_says_what_the_code_says():
    heading, _, *listed = rows()
    columns = heading[2:]

    told = {host: {row[0] for row in listed if row[2 + at] == "yes"} for at, host in enumerate(columns)}

    assert told == {host: {str(one) for one in agent(host).ABILITIES} for host in hosts()}
    assert [row[0] for row in listed] == [str(one) for one in Ability]
    assert {cell for row in listed for cell in row[2:]} == {"yes", "no"}
    page = PAGE.read_text(encoding="utf-8")
    assert all(f"\n## {agent(host).TITLE}\n" in page for host in hosts()), "each has a chapter"


# What it sends


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
    body, event, host = path.read_bytes(), path.stem.split("-")[0], host_of(path)
    told, usual = json.loads(body), agent(host).EVENTS.get(event, EventName.OTHER)

    found = agent(host).parse(event, body, at=NOW, environ={"CLAUDE_PROJECT_DIR": "/home/ada/shop"})

    assert found.name is NAMES.get(f"{host}/{path.stem}", usual)
    assert (found.host, found.at) == (host, NOW)
    assert found.project_folder == ("/home/ada/shop" if host == "claude-code" else "")
    assert (found.session_id, found.cwd) == (told["session_id"], told["cwd"])
    assert found.transcript == (told.get("agent_transcript_path") or told["transcript_path"])
    if host != "pi":
        assert found.prompt_id == told.get("turn_id" if host == "codex" else "prompt_id", "")
    assert (found.agent_id, found.agent_type) == (told.get("agent_id", ""), told.get("agent_type", ""))


def host_of(path: Path) -> str:
    return path.parent.name if path.parent != PAYLOADS else "claude-code"


@pytest.mark.parametrize("host", hosts(Ability.HOOKS))
def test_every_event_that_we_ask_for_is_recorded(host: str):
    folder = PAYLOADS if host == "claude-code" else PAYLOADS / host
    asked = {hook.event for hook in agent(host).hooks(Places(Path("/home/ada"), None, {"PATH": ""}))}
    assert asked <= {path.stem.split("-")[0] for path in folder.glob("*.json")} & set(agent(host).EVENTS)


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
        printed = agent(host).render(event, Reply(context="Carts live in the session.", notice="1 memory"))
        if event in agent(host).INJECTS:
            assert json.loads(printed) == {
                "systemMessage": "1 memory",
                "hookSpecificOutput": {"hookEventName": event, "additionalContext": "Carts live in the session."},
            }
            assert json.loads(agent(host).render(event, Reply(notice="1 memory"))) == {"systemMessage": "1 memory"}
        else:  # at Stop context makes the agent go on; at PreCompact it becomes an instruction for the summary
            assert printed == b""
        assert agent(host).render(event, Reply()) == b""
