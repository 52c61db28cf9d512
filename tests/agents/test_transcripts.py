"""Transcripts of each agent, recorded with invented content: who said what, how calls ended, whose session it was,
which ones an agent left, and how a file that grows is read."""

import hashlib
import io
import json
import os
import shutil
import sys
from itertools import islice
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from recollect.agents import Cursor, Places, Tail, Transcript, agent, transcript, utterances
from recollect.agents.transcript import MAX_LINE_BYTES, Utterance, Voice
from recollect.base.moment import Moment
from recollect.model.session import SubagentState, ToolAction

PAYLOADS = Path(__file__).parent / "payloads"
HOST = "claude-code"
claude_code = agent(HOST)
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
ELSEWHERE = Path("/home/ada/other")


def _checksum(folder: Path) -> str:
    return hashlib.sha256(str(folder).encode()).hexdigest()


@pytest.mark.parametrize("host", WHERE)
def test_a_session_says_where_and_when_it_began(tmp_path: Path, host: str):
    path, shop = tmp_path / WHERE[host], Path("/home/ada/shop")
    path.parent.mkdir(parents=True)
    shutil.copy(PAYLOADS / host / "transcript.jsonl", path)
    if host == "gemini":  # it names a project by a checksum alone
        first, *rest = path.read_text().splitlines()
        head = {**json.loads(first), "projectHash": _checksum(shop)}
        path.write_text("\n".join([json.dumps(head), *rest]) + "\n")

    [found] = agent(host).transcripts(Places(tmp_path, shop, {}))

    assert (found.path, found.cwd, found.problem) == (path, str(shop), "")
    assert found.session == "00000001-0000-4000-8000-000000000000"
    assert found.began
    assert found.began > Moment.parse("2026-11-15T19:00:00Z")


@pytest.mark.parametrize("by", ["known", "list", "mark", "words", "nothing"])
def test_the_folder_of_a_chat_is_found_by_its_checksum(tmp_path: Path, by: str):
    shop, path = Path("/home/ada/shop"), tmp_path / WHERE["gemini"]
    said = f"read {shop}/src/cart.py, please" if by == "words" else "read the cart, please"
    head = {"sessionId": "s-1", "projectHash": _checksum(shop), "startTime": "2026-11-15T19:05:20Z"}
    path.parent.mkdir(parents=True)
    lines = (head, {"id": "m1", "type": "user", "content": said})
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    if by == "list":
        (tmp_path / ".gemini" / "projects.json").write_text(
            json.dumps({"projects": {str(shop): "shop"}})
        )
    if by == "mark":
        (path.parents[1] / ".project_root").write_text(str(shop))

    [found] = agent("gemini").transcripts(
        Places(tmp_path, ELSEWHERE, {}, (str(shop),) if by == "known" else ())
    )

    assert found.cwd == (_checksum(shop) if by == "nothing" else str(shop))


@pytest.mark.parametrize(
    ("source", "session", "subagent"),
    [("cli", "s-1", ""), ({"subagent": {"thread_spawn": {"parent_thread_id": "s-0"}}}, "s-0", "s-1"),
     ({"subagent": "review"}, "s-1", "s-1")],
)  # fmt: skip
def test_a_session_of_a_subagent_of_codex_is_not_a_person_s(
    tmp_path: Path, source: object, session: str, subagent: str
):
    path = tmp_path / ".codex" / "archived_sessions" / "rollout-1.jsonl"
    path.parent.mkdir(parents=True)
    meta = {"id": "s-1", "cwd": "/home/ada/shop", "source": source}
    path.write_text(
        json.dumps({"type": "session_meta", "timestamp": "2026-11-15T19:05:20Z", "payload": meta})
        + "\n"
    )
    [found] = agent("codex").transcripts(Places(tmp_path, None, {}))
    assert (found.session, found.agent, found.host) == (session, subagent, "codex")


PI = {
    '{"type": "custom_message", "content": "ours", "timestamp": "2026-11-15T19:16:09Z"}': ["ours"],
    '{"type": "message", "message": {"role": "custom", "content": [{"text": "ours"}]}}': ["ours"],
    '{"type": "message", "message": {"role": "toolResult", "toolName": "recall", "content": "ours"}}': ["ours"],
    "{}": [], '{"type": "session"}': [], '{"type": "message"}': [], '{"type": "message", "message": []}': [],
    '{"type": "message", "message": {"role": "bashExecution", "command": "ls"}}': [],
    '{"type": "message", "message": {"role": "assistant", "content": [{"type": "thinking", "thinking": "hm"}]}}': [],
}  # fmt: skip


@pytest.mark.parametrize("line", PI)
def test_what_memory_put_in_front_of_pi_is_never_learnt_from_and_what_nobody_said_is_passed_over(
    line: str,
):
    said = list(agent("pi").utterances(json.loads(line)))
    assert [(one.voice, one.text) for one in said] == [(Voice.INJECTION, text) for text in PI[line]]


# Claude Code: that a call was not allowed or cut off, and how a subagent ended

REJECTED = "The user doesn't want to proceed with this tool use. The tool use was rejected. STOP what you are use."
SAYING = f"{REJECTED} To tell you how to proceed, the user said:\n"
NOTE = "\n\nNote: The user's next message may contain a correction or preference."


@pytest.mark.parametrize(
    ("text", "more", "refused", "words"),
    [
        (REJECTED, {}, True, ""),
        ("This command requires approval", {}, True, ""),
        (
            "Claude requested permissions to write to b.txt, but you haven't granted it yet.",
            {},
            True,
            "",
        ),
        ("Exit code 1\nPermission denied", {"userFeedback": "obey"}, False, ""),
        (
            f"{SAYING}use npm",
            {"toolDenialKind": "user-rejected", "userFeedback": "use pnpm"},
            True,
            "use pnpm",
        ),
        ("Some words", {"toolDenialKind": "permission-rule"}, True, ""),
        ("Some words", {"toolDenialKind": "automode-blocked"}, True, ""),
        ("Some words", {"toolDenialKind": "interrupted"}, False, ""),
        # As older clients write it
        (f"{SAYING}use pnpm\n\nand rebase first", {}, True, "use pnpm\n\nand rebase first"),
        (f"{SAYING}use pnpm{NOTE}", {}, True, "use pnpm"),
    ],
)
def test_a_refusal_is_known_and_what_is_said_with_it_is_said_by_the_person(
    text: str, more: dict[str, object], refused: bool, words: str
):
    content = [{"type": "tool_result", "content": text, "is_error": True, "tool_use_id": "toolu_1"}]
    line = {"type": "user", "message": {"role": "user", "content": content}, "uuid": "u1", **more}
    result, *said = claude_code.utterances(line)
    assert result.voice is Voice.TOOL_RESULT
    assert result.call
    assert (claude_code.is_refused(text) or result.call.refused) is refused
    assert [(one.voice, one.text, one.machine_made) for one in said] == [
        (Voice.PROMPT, words, False)
    ][: bool(words)]


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


def spoken(path: Path) -> list[Utterance]:
    return list(utterances(HOST, Tail(path)))


def write(path: Path, *lines: bytes) -> Path:
    path.write_bytes(b"".join(line + b"\n" for line in lines))
    return path


def line(text: str, **fields: object) -> bytes:
    return json.dumps(
        {"type": "user", "message": {"role": "user", "content": text}, **fields}
    ).encode()


def test_a_session_is_told_in_order_by_who_spoke():
    said = spoken(PAYLOADS / "transcript.jsonl")

    def by(voice: Voice, *, machine_made: bool = False) -> list[str]:
        return [one.text for one in said if one.voice is voice and one.machine_made is machine_made]

    assert by(Voice.PROMPT) == [
        "Why does the cart forget its items?", "And after a reload?", "Write a test for it.",
        "Go on with the checkout.",
    ]  # fmt: skip
    assert by(Voice.REPLY) == [
        "Reading.",
        "The cart keeps its items now.",
        "OK.",
        "resumed ok",
        "continued ok",
        "ok",
    ]
    assert by(Voice.INJECTION) == ["You once wrote: carts live in the session."]
    assert [text[:31] for text in by(Voice.SUMMARY)] == ["This session is being continued"]
    machine_made = ["<task-notification>\n", "<command-name>/compa", "<local-command-stdou"]
    assert [text[:20] for text in by(Voice.PROMPT, machine_made=True)] == machine_made
    assert [one.voice for one in said[:3]] == [Voice.QUEUED, Voice.UNQUEUED, Voice.PROMPT]
    assert said[2].at == Moment.parse("2026-02-01T07:06:16.630000Z")
    assert said[2].prompt_id == "00000008-0000-4000-8000-000000000000"
    calls = {
        one.call.id: one.call.name for one in said if one.voice is Voice.TOOL_CALL and one.call
    }
    results = {one.call.id: one.call for one in said if one.voice is Voice.TOOL_RESULT and one.call}
    assert calls.keys() == results.keys()
    assert sorted(calls[id] for id, result in results.items() if result.failed) == [
        "Bash",
        "Edit",
        "Read",
    ]


def test_a_subagent_s_prompt_is_the_agent_s_not_a_person_s():
    first, *rest = spoken(PAYLOADS / "transcript-subagent.jsonl")
    assert (first.voice, first.machine_made, first.agent_id) == (Voice.PROMPT, True, "a5c0ffee")
    assert [one.voice for one in rest] == [Voice.TOOL_CALL, Voice.TOOL_RESULT, Voice.REPLY]


@pytest.mark.parametrize(
    "shape",
    [
        {"type": "user"}, {"type": "user", "message": "x"}, {"type": "user", "message": {"content": None}},
        {"type": "user", "message": {"content": [None, 1, {"type": "tool_result"}, {"type": "image"}]}},
        {"type": "assistant", "message": {"content": [{"type": "tool_use", "input": "x"}, {"type": "thinking"}]}},
        {"type": "attachment"}, {"type": "attachment", "attachment": {"type": "hook_success", "content": 7}},
        {"type": 5}, {"type": ["user"]}, {}, {"type": "user", "timestamp": 5, "message": {"content": "a"}},
        {"type": "user", "timestamp": "yesterday", "message": {"content": "a"}},
    ],
)  # fmt: skip
def test_any_shape_of_a_line_is_endured(tmp_path: Path, shape: object):
    path = write(tmp_path / "t.jsonl", json.dumps(shape).encode(), line("after"))
    assert spoken(path)[-1].text == "after"


# Reading on


@pytest.mark.parametrize(
    "now", [(b'{"type": "mode"}',), (line("another"), line("file"), line("altogether"))]
)
def test_another_file_is_read_from_its_beginning(tmp_path: Path, now: tuple[bytes, ...]):
    path = write(tmp_path / "t.jsonl", line("one"), line("two"))
    before = Tail(path)
    list(before)
    write(path, *now)

    again = Tail(path, before.cursor)

    assert len(list(again)) == len(now)
    assert again.restarted


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=40)
@given(st.lists(st.text(max_size=30), max_size=12), st.lists(st.integers(0, 400), max_size=6))
def test_however_a_file_grows_each_line_comes_once(
    tmp_path: Path, said: list[str], stops: list[int]
):
    whole = b"".join(line(text) + b"\n" for text in said)
    path = tmp_path / "t.jsonl"
    cursor, found = Cursor(), list[object]()
    for stop in [*sorted(stops), len(whole)]:
        path.write_bytes(whole[:stop])
        tail = Tail(path, cursor)
        found += islice(tail, 2)  # a reader that stops early misses nothing
        found += (tail := Tail(path, tail.cursor))
        cursor = tail.cursor

    assert len(found) == len(said)


# What is no line

GARBAGE = {
    "text": b"no json", "not-utf8": b"\xff\xfe", "list": b"[1]", "nul": b"\x00", "deep": b"[" * 100_000,
    "cut": b'{"type": "user"', "huge": line("x" * MAX_LINE_BYTES),
}  # fmt: skip


@pytest.mark.parametrize("garbage", GARBAGE)
def test_garbage_is_counted_and_passed_over(tmp_path: Path, garbage: str):
    tail = Tail(write(tmp_path / "t.jsonl", line("before"), GARBAGE[garbage], b"", line("after")))
    assert [one.text for one in utterances(HOST, tail)] == ["before", "after"]
    assert tail.skipped == 1


class Counted(io.FileIO):
    """A file that knows how much of it was read."""

    bytes_read = 0

    def readinto(self, buffer: Any) -> int | None:
        count = super().readinto(buffer)
        Counted.bytes_read += count or 0
        return count


def test_a_line_without_an_end_is_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """A file of a terabyte of holes took minutes, and kept a daemon from ending."""
    monkeypatch.setattr(transcript, "ENDLESS_LINE_BYTES", 2 * MAX_LINE_BYTES)
    path = write(tmp_path / "t.jsonl", line("before"))
    begun = path.stat().st_size
    with open(path, "r+b") as file:
        file.truncate(1 << 40)

    tail = Tail(path, open=lambda path: io.BufferedReader(Counted(path)))

    assert [one.text for one in utterances(HOST, tail)] == ["before"]
    assert tail.cursor.offset == begun, "what may still be written is not passed over"
    assert Counted.bytes_read < 4 * MAX_LINE_BYTES


def test_a_transcript_that_is_not_there_says_nothing(tmp_path: Path):
    (tmp_path / "folder").mkdir()
    for path in (
        tmp_path / "missing",
        tmp_path / "folder",
        Path("nul\x00"),
        tmp_path / "missing" / "below",
    ):
        assert spoken(path) == []


# Which lines need not be read, and which transcripts an agent left

plain = st.text(max_size=30)
values = st.recursive(
    st.none() | st.booleans() | st.integers() | plain,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(plain, inner, max_size=3),
    max_leaves=8,
)
keys = st.sampled_from(["type", "attachment", "message", "uuid", "isSidechain", "cwd", "n"]) | plain
types = st.sampled_from(["user", "assistant", "attachment", "system", "api-request-blob"])
hooks = st.builds(
    lambda type, text: {"type": type, "content": text},
    st.sampled_from(["hook_success", "file"]),
    plain,
)
said = st.builds(lambda text: {"content": text}, plain)


@pytest.fixture
def left(tmp_path: Path) -> Path:
    """Where the agent of this test leaves its transcripts."""
    folder = tmp_path / "home" / ".claude" / "projects" / "-home-dev-proj"
    folder.mkdir(parents=True)
    return folder


def listed(tmp_path: Path, within: Path | None = None, **environ: str) -> list[Transcript]:
    return list(claude_code.transcripts(Places(tmp_path / "home", None, environ), within))


@given(
    st.lists(st.tuples(keys, types | hooks | said | values), max_size=6),
    st.sampled_from([(",", ":"), (", ", ": ")]),
    st.booleans(),
)
def test_no_line_is_passed_over_in_which_something_is_said(
    fields: list[tuple[str, object]], separators: tuple[str, str], ascii: bool
):
    line = dict(fields)
    raw = json.dumps(line, separators=separators, ensure_ascii=ascii).encode()
    assert claude_code.may_speak(raw) or not list(claude_code.utterances(line))


@pytest.mark.parametrize("name", ["transcript-compacted.jsonl", "transcript-subagent.jsonl"])
def test_what_is_only_kept_for_the_client_is_passed_over_and_the_cursor_goes_with_it(name: str):
    path = PAYLOADS / name
    silent = [
        raw
        for raw in path.read_bytes().splitlines()
        if not list(claude_code.utterances(json.loads(raw)))
    ]
    assert sum(not claude_code.may_speak(raw) for raw in silent) > 0.8 * len(silent)
    tail = Tail(path)
    tail.wanted = lambda line: b'"uuid":' not in line
    assert not any("uuid" in line for line in tail)
    assert tail.cursor.offset == path.stat().st_size


def test_sessions_and_their_subagents_are_known_by_their_places_and_first_lines(
    left: Path, tmp_path: Path
):
    shutil.copy(PAYLOADS / "transcript-compacted.jsonl", left / "s-1.jsonl")
    for beside in (left / "s-1" / "subagents" / "agent-a1.jsonl", left / "agent-b2.jsonl"):
        beside.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(PAYLOADS / "transcript-subagent.jsonl", beside)
    lines = (PAYLOADS / "transcript-subagent.jsonl").read_text().splitlines()
    its = json.loads(lines[0])

    found = {one.path.name: one for one in listed(tmp_path)}

    main, sub, older = found["s-1.jsonl"], found["agent-a1.jsonl"], found["agent-b2.jsonl"]
    assert (main.session, main.agent, main.problem) == ("s-1", "", "")
    assert main.began == Moment.parse("2026-11-15T07:06:16.603Z")
    assert main.size == (left / "s-1.jsonl").stat().st_size
    assert main.cwd == "/home/dev/proj"
    assert (
        (sub.session, sub.agent)
        == (its["sessionId"], its["agentId"])
        == (older.session, older.agent)
    )


def test_the_folder_that_the_agent_was_told_to_use_is_looked_into(left: Path, tmp_path: Path):
    elsewhere = tmp_path / "config"
    shutil.move(left.parent.parent, elsewhere)
    shutil.copy(
        PAYLOADS / "transcript.jsonl", elsewhere / "projects" / "-home-dev-proj" / "s-1.jsonl"
    )

    assert not listed(tmp_path)
    assert [one.session for one in listed(tmp_path, CLAUDE_CONFIG_DIR=str(elsewhere))] == ["s-1"]
    file = elsewhere / "projects" / "-home-dev-proj" / "s-1.jsonl"
    assert [
        [one.session for one in listed(tmp_path, path)] for path in (file, left / "none.jsonl")
    ] == [["s-1"], []]


@pytest.mark.skipif(sys.platform == "win32", reason="pipes have no names there")
def test_what_cannot_be_read_is_named_with_the_reason(left: Path, tmp_path: Path):
    (tmp_path / "secret.jsonl").write_text("{}\n")
    (left / "linked.jsonl").symlink_to(tmp_path / "secret.jsonl")
    (left.parent / "linked").symlink_to(tmp_path)
    (left / "folder.jsonl").mkdir()
    (left / "empty.jsonl").touch()
    os.mkfifo(left / "pipe.jsonl")
    (left / "notes.txt").write_text("no transcript")

    assert {one.path.name: one.problem for one in listed(tmp_path)} == {
        "linked.jsonl": "a link", "linked": "a link", "folder.jsonl": "not a file", "empty.jsonl": "empty",
        "pipe.jsonl": "not a file",
    }  # fmt: skip
