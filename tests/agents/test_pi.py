"""Pi's events, as its extension told them in a real session, and its session file, become values like others'."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from recollect import agents
from recollect.agents import Level, Places, Tail, agent
from recollect.agents.transcript import Voice
from recollect.base.errors import NoProject
from recollect.base.moment import Moment
from recollect.model.session import Event, Reply
from tests.values import NOW

pi = agent("pi")

PAYLOADS = Path(__file__).parent / "payloads" / "pi"
EXTENSION = Path(agents.__file__).with_name("pi.ts")
SESSION = "01a1e0c0-7d4d-73fc-85bc-964f34e679ea"


def parsed(event: str, case: str = "", **instead: object) -> Event:
    payload = json.loads((PAYLOADS / f"{event}{case}.json").read_text(encoding="utf-8")) | instead
    return agents.parse("pi", event, json.dumps(payload).encode(), at=NOW, environ={})


def test_the_extension_tells_of_every_event_that_is_known_and_of_no_other():
    told = set(re.findall(r'(?:tell|mention)\("(\w+)"', EXTENSION.read_text(encoding="utf-8")))
    assert told == set(pi.EVENTS)


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
    events = (("tool_call", ""), ("tool_result", ""), ("tool_result", "-error"))
    (call,), (result,), (failed,) = (parsed(*event).tools for event in events)

    assert (call.name, call.input, call.failed) == ("read", {"path": "/home/dev/proj/real.md"}, None)
    assert (result.id, result.output, result.failed) == (call.id, "something real\n", False)
    assert failed.failed is True
    assert "exited with code 3" in failed.output


def test_what_a_spooled_pointer_left_is_enough():
    left = json.dumps(
        {"session_id": "s", "tool_use_id": "t", "source": "", "tool_calls": [{"tool_use_id": "t"}]}
    ).encode()
    assert agents.parse("pi", "tool_result", left, at=NOW, environ={}).tools[0].id == "t"


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
        {"type": "custom_message", "customType": "recollect", "content": "ours", "timestamp": "2026-11-15T19:16:09Z"},
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


def test_the_extension_goes_where_pi_looks_for_it_and_knows_its_home(tmp_path: Path):
    at = Places(tmp_path, tmp_path / "project", {})
    home = tmp_path / 'a "home"'

    path, text = pi.plugin(Level.USER, at, home)

    assert path == tmp_path / ".pi" / "agent" / "extensions" / "recollect.ts"
    assert f"const INSTALLED_HOME = {json.dumps(str(home))};" in text
    assert pi.plugin(Level.PROJECT, at, home)[0] == tmp_path / "project" / ".pi" / "extensions" / "recollect.ts"
    moved = at._replace(environ={"PI_CODING_AGENT_DIR": "~/elsewhere"})
    assert pi.plugin(Level.USER, moved, home)[0] == tmp_path / "elsewhere" / "extensions" / "recollect.ts"
    with pytest.raises(NoProject):
        pi.plugin(Level.PROJECT, at._replace(project=None), home)
