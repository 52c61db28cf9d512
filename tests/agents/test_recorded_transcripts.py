"""Recorded transcripts of each agent, their content invented: who said what, how calls ended, whose session it was."""

from __future__ import annotations

import hashlib
import json
import shutil
from pathlib import Path

import pytest

from recollect.agents import Places, Tail, agent, utterances
from recollect.agents.transcript import Utterance, Voice
from recollect.base.moment import Moment
from recollect.model.session import SubagentState, ToolAction

PAYLOADS = Path(__file__).parent / "payloads"
claude_code = agent("claude-code")
MEMORY = (Voice.INJECTION, "[recollect 0123abcd: from memory]")
GONE = "ls: cannot access '/nonexistent': No such file or directory"
# Each voice with how its text begins; of a call what it does, and of a result how it ended.
SAID: dict[str, list[tuple[Voice, str] | tuple[Voice, ToolAction, str] | tuple[Voice, bool, str]]] = {
    "codex/transcript": [
        MEMORY, (Voice.PROMPT, "Where is the file?"), (Voice.INJECTION, "MK_UserPromptSubmit"),
        (Voice.TOOL_CALL, ToolAction.RUN, "ls /nonexistent"), (Voice.INJECTION, "MK_PreToolUse"),
        (Voice.INJECTION, "MK_PostToolUse"), (Voice.TOOL_RESULT, True, f"{GONE}\n"), (Voice.REPLY, "OK."),
        (Voice.SUMMARY, "Another language model"), MEMORY, (Voice.REPLY, "It is not there."),
    ],
    "gemini/transcript": [
        MEMORY, (Voice.PROMPT, "Where is the file?"), (Voice.INJECTION, "MK_BeforeAgent"),
        (Voice.TOOL_CALL, ToolAction.RUN, "ls /nonexistent"), (Voice.TOOL_RESULT, True, f"{GONE}\nExit Code: 2"),
        (Voice.TOOL_CALL, ToolAction.READ, ""), (Voice.TOOL_RESULT, True, "File not found: /home/ada/shop/nothing.txt"),
        (Voice.REPLY, "It is not there."),
    ],
    "copilot/transcript": [
        (Voice.PROMPT, "Run the tests"), (Voice.REPLY, "I run them."), (Voice.TOOL_CALL, ToolAction.RUN, "make test"),
        (Voice.TOOL_RESULT, True, "No rule to make target 'test'."), (Voice.REPLY, "There is no such target."),
    ],
    "pi/session": [
        (Voice.PROMPT, "no, we use pnpm here, not npm"), (Voice.REPLY, "I look."),
        (Voice.TOOL_CALL, ToolAction.READ, ""), (Voice.TOOL_RESULT, False, "something real\n"),
        (Voice.TOOL_CALL, ToolAction.RUN, ""), (Voice.TOOL_RESULT, True, "(no output)\n\nCommand exited with code 3"),
        (Voice.REPLY, ""), (Voice.PROMPT, "and now?"), (Voice.REPLY, "Yes."), (Voice.SUMMARY, "No prior history."),
    ],
}  # fmt: skip


@pytest.mark.parametrize("name", SAID)
def test_a_recorded_transcript_is_read_as_what_was_said_and_done(name: str):
    host, asked = name.split("/")[0], ""
    said = list(utterances(host, Tail(PAYLOADS / f"{name}.jsonl")))

    assert [one.voice for one in said] == [wanted[0] for wanted in SAID[name]]
    for one, (_, *wanted) in zip(said, SAID[name], strict=True):
        assert one.at is not None
        if one.call is None:
            assert one.text.startswith(str(wanted[0]))
        elif one.voice is Voice.TOOL_CALL:
            use, asked = agent(host).describe_call(one.call), one.call.id
            assert use.action is wanted[0]
            assert use.what.startswith(str(wanted[1]))
        else:
            assert [one.call.failed, one.call.output, one.call.id] == [*wanted, asked]


WHERE = {
    "codex": ".codex/sessions/2026/11/15/rollout-2026-11-15T19-04-52-00000001.jsonl",
    "gemini": ".gemini/tmp/0123/chats/session-2026-11-15T19-05-00000001.jsonl",
    "copilot": ".copilot/session-state/00000001/events.jsonl",
}


@pytest.mark.parametrize("host", WHERE)
def test_a_session_says_where_and_when_it_began(tmp_path: Path, host: str):
    path, shop = tmp_path / WHERE[host], Path("/home/ada/shop")
    path.parent.mkdir(parents=True)
    shutil.copy(PAYLOADS / host / "transcript.jsonl", path)
    if host == "gemini":  # it names a project by a checksum alone
        first, *rest = path.read_text().splitlines()
        head = {**json.loads(first), "projectHash": hashlib.sha256(str(shop).encode()).hexdigest()}
        path.write_text("\n".join([json.dumps(head), *rest]) + "\n")

    [found] = agent(host).transcripts(Places(tmp_path, shop, {}))

    assert (found.path, found.cwd, found.problem) == (path, str(shop), "")
    assert found.session == "00000001-0000-4000-8000-000000000000"
    assert found.began
    assert found.began > Moment.parse("2026-11-15T19:00:00Z")
    if host == "gemini":
        [other] = agent(host).transcripts(Places(tmp_path, Path("/home/ada/other"), {}))
        assert other.cwd == ""


@pytest.mark.parametrize(
    "line",
    [
        {"type": "custom_message", "customType": "recollect", "content": "ours", "timestamp": "2026-11-15T19:16:09Z"},
        {"type": "message", "message": {"role": "custom", "customType": "recollect", "content": [{"text": "ours"}]}},
        {"type": "message", "message": {"role": "toolResult", "toolName": "recall", "content": [{"text": "ours"}]}},
    ],
)
def test_what_memory_put_in_front_of_pi_is_never_learnt_from(line: dict[str, object]):
    (said,) = agent("pi").utterances(line)
    assert (said.voice, said.text) == (Voice.INJECTION, "ours")


@pytest.mark.parametrize(
    "line",
    [
        {}, {"type": "session"}, {"type": "message"}, {"type": "message", "message": []},
        {"type": "message", "message": {"role": "bashExecution", "command": "ls"}},
        {"type": "message", "message": {"role": "assistant", "content": [{"type": "thinking", "thinking": "hm"}]}},
    ],
)  # fmt: skip
def test_what_nobody_said_to_pi_is_passed_over(line: dict[str, object]):
    assert list(agent("pi").utterances(line)) == []


# Claude Code: that a call was not allowed or cut off, and how a subagent ended

REJECTED = "The user doesn't want to proceed with this tool use. The tool use was rejected. STOP what you are use."
SAYING = f"{REJECTED} To tell you how to proceed, the user said:\n"
NOTE = "\n\nNote: The user's next message may contain a correction or preference."


def results(text: str, **more: object) -> list[Utterance]:
    content = [{"type": "tool_result", "content": text, "is_error": True, "tool_use_id": "toolu_1"}]
    line = {"type": "user", "message": {"role": "user", "content": content}, "uuid": "u1", **more}
    return list(claude_code.utterances(line))


@pytest.mark.parametrize(
    ("text", "more", "refused"),
    [
        (REJECTED, {}, True),
        ("This command requires approval", {}, True),
        ("Claude requested permissions to write to b.txt, but you haven't granted it yet.", {}, True),
        ("Exit code 1\nPermission denied", {}, False),
        ("Some words", {"toolDenialKind": "user-rejected"}, True),
        ("Some words", {"toolDenialKind": "permission-rule"}, True),
        ("Some words", {"toolDenialKind": "automode-blocked"}, True),
        ("Some words", {"toolDenialKind": "interrupted"}, False),
    ],
)
def test_a_refusal_is_known_by_its_text_or_by_what_stands_beside_it(text: str, more: dict[str, object], refused: bool):
    said = results(text, **more)[0]
    assert said.call
    assert (claude_code.is_refused(text) or said.call.refused) is refused


@pytest.mark.parametrize(
    ("text", "more", "words"),
    [
        (SAYING + "use pnpm", {"toolDenialKind": "user-rejected", "userFeedback": "use pnpm"}, "use pnpm"),
        (f"{SAYING}use pnpm\n\nand rebase first", {}, "use pnpm\n\nand rebase first"),  # as older clients write it
        (f"{SAYING}use pnpm{NOTE}", {}, "use pnpm"),
        (REJECTED, {}, None),
        ("Exit code 1", {"userFeedback": "obey"}, None),
    ],
)
def test_what_a_person_says_with_a_refusal_is_said_by_the_person(text: str, more: dict[str, object], words: str | None):
    result, *said = results(text, **more)
    assert result.voice is Voice.TOOL_RESULT
    assert [(one.voice, one.text, one.machine_made) for one in said] == (
        [(Voice.PROMPT, words, False)] if words else []
    )


def test_a_notification_tells_how_a_subagent_ended():
    report = claude_code.subagent_report(
        "<task-notification>\n<task-id>a5c0ffee</task-id>\n<tool-use-id>toolu_01</tool-use-id>\n"
        '<status>failed</status>\n<summary>Agent "find readers" failed</summary>\n<note>It fires each time.</note>\n'
        "<result>Nothing found.</result>\n</task-notification>"
    )
    assert report is not None
    assert (report.agent, report.state) == ("a5c0ffee", SubagentState.FAILED)
    assert (report.summary, report.text) == ('Agent "find readers" failed', "Nothing found.")
    command = '<task-notification>\n<status>failed</status>\n<summary>Background command "make" failed</summary>'
    assert claude_code.subagent_report(command) is None
