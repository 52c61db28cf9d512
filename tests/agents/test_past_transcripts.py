"""Which transcripts an agent left, and which of their lines need not be read."""

from __future__ import annotations

import json
import os
import shutil
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.agents import Places, Tail, Transcript, agent
from recollect.base.moment import Moment

HOST = "claude-code"
PAYLOADS = Path(__file__).parent / "payloads"
SPEAKS = agent(HOST)

plain = st.text(max_size=30)
values = st.recursive(
    st.none() | st.booleans() | st.integers() | plain,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(plain, inner, max_size=3),
    max_leaves=8,
)
keys = st.sampled_from(["type", "attachment", "message", "uuid", "isSidechain", "cwd", "n"]) | plain
types = st.sampled_from(["user", "assistant", "attachment", "system", "api-request-blob"])
hooks = st.builds(lambda type, text: {"type": type, "content": text}, st.sampled_from(["hook_success", "file"]), plain)
said = st.builds(lambda text: {"content": text}, plain)


@pytest.fixture
def left(tmp_path: Path) -> Path:
    """Where the agent of this test leaves its transcripts."""
    folder = tmp_path / "home" / ".claude" / "projects" / "-home-dev-proj"
    folder.mkdir(parents=True)
    return folder


def listed(tmp_path: Path, within: Path | None = None, **environ: str) -> list[Transcript]:
    return list(SPEAKS.transcripts(Places(tmp_path / "home", None, environ), within))


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
    assert SPEAKS.may_speak(raw) or not list(SPEAKS.utterances(line))


@pytest.mark.parametrize("name", ["transcript-compacted.jsonl", "transcript-subagent.jsonl"])
def test_what_is_only_kept_for_the_client_is_passed_over(name: str):
    lines = (PAYLOADS / name).read_bytes().splitlines()
    silent = [raw for raw in lines if not list(SPEAKS.utterances(json.loads(raw)))]
    assert sum(not SPEAKS.may_speak(raw) for raw in silent) > 0.8 * len(silent)


def test_a_tail_passes_over_unwanted_lines_and_its_cursor_with_them(tmp_path: Path):
    path = tmp_path / "t.jsonl"
    path.write_bytes(b'{"n":1}\n{"n":2}\n{"n":3}\n')
    tail = Tail(path)
    tail.wanted = lambda line: b"2" in line

    assert list(tail) == [{"n": 2}]
    assert tail.cursor.offset == path.stat().st_size
    assert list(Tail(path, tail.cursor)) == []


def test_sessions_and_their_subagents_are_known_by_their_places_and_first_lines(left: Path, tmp_path: Path):
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
    assert (sub.session, sub.agent) == (its["sessionId"], its["agentId"]) == (older.session, older.agent)


def test_the_folder_that_the_agent_was_told_to_use_is_looked_into(left: Path, tmp_path: Path):
    elsewhere = tmp_path / "config"
    shutil.move(left.parent.parent, elsewhere)
    shutil.copy(PAYLOADS / "transcript.jsonl", elsewhere / "projects" / "-home-dev-proj" / "s-1.jsonl")

    assert not listed(tmp_path)
    assert [one.session for one in listed(tmp_path, CLAUDE_CONFIG_DIR=str(elsewhere))] == ["s-1"]
    file = elsewhere / "projects" / "-home-dev-proj" / "s-1.jsonl"
    assert [[one.session for one in listed(tmp_path, path)] for path in (file, left / "none.jsonl")] == [["s-1"], []]


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
