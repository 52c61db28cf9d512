"""Pi's events, as its extension told them in a real session, and its session file, become values like others'."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from recollect import agents
from recollect.agents import Level, Places, Tail, pi
from recollect.agents.transcript import Voice
from recollect.base.errors import BadInput, NoProject
from recollect.base.moment import Moment
from recollect.model.act import Deed
from recollect.model.session import Event, EventName, Reply, ToolCall
from tests.values import NOW

PAYLOADS = Path(__file__).parent / "payloads" / "pi"
EXTENSION = Path(pi.__file__).with_suffix(".ts")
SESSION = "01a1e0c0-7d4d-73fc-85bc-964f34e679ea"


def parsed(event: str, case: str = "", **instead: object) -> Event:
    payload = json.loads((PAYLOADS / f"{event}{case}.json").read_text(encoding="utf-8")) | instead
    return agents.parse("pi", event, json.dumps(payload).encode(), at=NOW, environ={})


@pytest.mark.parametrize(
    ("event", "case", "name"),
    [
        ("session_start", "", EventName.SESSION_STARTED),
        ("session_compact", "", EventName.SESSION_STARTED),
        ("input", "", EventName.PROMPT),
        ("tool_call", "", EventName.TOOL_CALLED),
        ("tool_result", "", EventName.TOOLS_RAN),
        ("tool_result", "-error", EventName.TOOL_FAILED),
        ("agent_end", "", EventName.TURN_ENDED),
        ("session_before_compact", "", EventName.COMPACTING),
        ("session_shutdown", "", EventName.SESSION_ENDED),
    ],
)
def test_each_event_is_known_with_its_session_place_and_transcript(event: str, case: str, name: EventName):
    found = parsed(event, case)

    assert (found.name, found.host, found.session_id, found.cwd) == (name, "pi", SESSION, "/home/dev/proj")
    assert found.transcript.endswith(f"{SESSION}.jsonl")


def test_the_extension_tells_of_every_event_that_is_known_and_of_no_other():
    told = set(re.findall(r'(?:tell|mention)\("(\w+)"', EXTENSION.read_text(encoding="utf-8")))

    assert told == set(pi._EVENTS)


def test_however_a_session_starts_all_is_told_but_after_compaction_the_ledger_is_new():
    assert parsed("session_start").source == "startup"
    assert parsed("session_start", source="resume").source == "startup"
    assert parsed("session_compact").source == "compact"
    assert parsed("session_shutdown").source == "quit"


@pytest.mark.parametrize(
    ("ago_ms", "counts"), [(0, True), (5_000, True), (-5_000, False), (7_200_000, False), (None, False), ("5", False)]
)
def test_an_event_that_is_heard_late_happened_when_it_did(ago_ms: object, counts: bool):
    said = NOW.micros // 1_000 - ago_ms if isinstance(ago_ms, int) else ago_ms

    found = parsed("input", at_ms=said)

    assert found.at == (Moment(int(str(said)) * 1_000) if counts else NOW)


def test_a_prompt_has_its_words_and_who_made_it():
    found = parsed("input")

    assert (found.text, found.machine_made) == ("no, we use pnpm here, not npm", False)
    assert found.prompt_id
    assert parsed("input", source="extension").machine_made


def test_a_call_and_its_result_share_an_id():
    (call,), (result,), (failed,) = (
        parsed("tool_call").tools,
        parsed("tool_result").tools,
        parsed("tool_result", "-error").tools,
    )

    assert (call.name, call.input, call.failed) == ("read", {"path": "/home/dev/proj/real.md"}, None)
    assert (result.id, result.output, result.failed) == (call.id, "something real\n", False)
    assert failed.failed is True
    assert "exited with code 3" in failed.output


def test_what_a_spooled_pointer_left_is_enough():
    left = json.dumps(
        {"session_id": "s", "tool_use_id": "t", "source": "", "tool_calls": [{"tool_use_id": "t"}]}
    ).encode()

    assert agents.parse("pi", "tool_result", left, at=NOW, environ={}).tools[0].id == "t"


@pytest.mark.parametrize("body", [b"", b"[]", b"{", b"{}", b'{"session_id": 3}', b"\xff"])
def test_what_is_no_event_is_refused(body: bytes):
    with pytest.raises(BadInput):
        agents.parse("pi", "input", body, at=NOW, environ={})


def test_an_event_of_another_version_is_nothing():
    assert agents.parse("pi", "model_select", b'{"session_id": "s"}', at=NOW, environ={}).name is EventName.OTHER


def test_an_answer_says_what_the_extension_reads():
    reply = Reply(context="remember", notice="Loaded 1", read_instead="/run/x")
    read = set(re.findall(r"answer\.(\w+)", EXTENSION.read_text(encoding="utf-8"))) - {"isTaken", "length", "toString"}

    said = json.loads(agents.render("pi", "tool_call", reply))

    assert said == {"context": "remember", "notice": "Loaded 1", "read_instead": "/run/x"}
    assert set(said) == read
    assert agents.render("pi", "agent_end", reply) == b""
    assert agents.render("pi", "input", Reply()) == b""


def test_its_session_file_is_what_was_said_and_done():
    said = list(agents.utterances("pi", Tail(PAYLOADS / "session.jsonl")))

    assert [one.voice for one in said] == [
        Voice.PROMPT, Voice.REPLY, Voice.TOOL_CALL, Voice.TOOL_RESULT, Voice.TOOL_CALL, Voice.TOOL_RESULT, Voice.REPLY,
        Voice.PROMPT, Voice.REPLY, Voice.SUMMARY,
    ]  # fmt: skip
    assert said[0].text == "no, we use pnpm here, not npm"
    assert all(one.at is not None and one.id for one in said)
    call, result = said[2].call, said[3].call
    assert call is not None
    assert result is not None
    assert (call.id, call.name, result.failed) == (result.id, "read", False)
    assert said[5].call is not None
    assert said[5].call.failed is True


@pytest.mark.parametrize(
    "line",
    [
        {
            "type": "custom_message",
            "customType": "recollect",
            "content": "ours",
            "timestamp": "2026-11-15T19:16:09.476Z",
        },
        {"type": "message", "message": {"role": "custom", "customType": "recollect", "content": [{"text": "ours"}]}},
        {"type": "message", "message": {"role": "toolResult", "toolName": "recall", "content": [{"text": "ours"}]}},
    ],
)
def test_what_memory_put_in_is_never_learnt_from(line: dict[str, object]):
    (said,) = pi.utterances(line)

    assert (said.voice, said.text) == (Voice.INJECTION, "ours")


@pytest.mark.parametrize(
    "line",
    [
        {}, {"type": "session"}, {"type": "label"}, {"type": "message"}, {"type": "message", "message": []},
        {"type": "message", "message": {"role": "bashExecution", "command": "ls"}},
        {"type": "message", "message": {"role": "assistant", "content": [{"type": "thinking", "thinking": "hm"}]}},
    ],
)  # fmt: skip
def test_what_nobody_said_is_passed_over(line: dict[str, object]):
    assert list(pi.utterances(line)) == []


def test_a_look_at_a_line_misses_nothing():
    for raw in (PAYLOADS / "session.jsonl").read_bytes().splitlines():
        speaks = bool(list(pi.utterances(json.loads(raw))))
        assert pi.may_speak(raw) or not speaks
        assert pi.may_speak(json.dumps(json.loads(raw)).encode()) or not speaks
    assert not pi.may_speak(b'{"type":"model_change","id":"x"}')


@pytest.mark.parametrize(
    ("tool", "given", "deed", "what", "files"),
    [
        ("bash", {"command": "ls"}, Deed.RUN, "ls", ()),
        ("read", {"path": "a.py"}, Deed.READ, "", ("a.py",)),
        ("edit", {"path": "a.py", "edits": []}, Deed.EDIT, "", ("a.py",)),
        ("write", {"path": "a.py", "content": "x"}, Deed.EDIT, "", ("a.py",)),
        ("grep", {"pattern": "x", "path": "src"}, Deed.SEARCH, "x", ("src",)),
        ("recall", {"query": "x"}, Deed.OTHER, "", ()),
    ],
)
def test_what_a_call_does_is_said_in_neutral_words(
    tool: str, given: dict[str, object], deed: Deed, what: str, files: tuple[str, ...]
):
    found = pi.doing(ToolCall(id="t", name=tool, input=given))

    assert (found.deed, found.tool, found.what, found.files) == (deed, tool, what, files)


def test_the_extension_goes_where_pi_looks_for_it_and_knows_its_home(tmp_path: Path):
    at = Places(tmp_path, tmp_path / "project", {})
    home = tmp_path / 'a "home"'

    own = pi.plugin(Level.USER, at, home)

    assert own.path == tmp_path / ".pi" / "agent" / "extensions" / "recollect.ts"
    assert f"const INSTALLED_HOME = {json.dumps(str(home))};" in own.text
    assert pi.plugin(Level.PROJECT, at, home).path == tmp_path / "project" / ".pi" / "extensions" / "recollect.ts"
    moved = at._replace(environ={"PI_CODING_AGENT_DIR": "~/elsewhere"})
    assert pi.plugin(Level.USER, moved, home).path == tmp_path / "elsewhere" / "extensions" / "recollect.ts"
    with pytest.raises(NoProject):
        pi.plugin(Level.PROJECT, at._replace(project=None), home)
