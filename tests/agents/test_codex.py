"""Recorded events and a recorded transcript of Codex, their content invented; and what our answers look like to it."""

from __future__ import annotations

from pathlib import Path

import pytest

from recollect.agents import Level, Places, Tail, agent, parse, utterances
from recollect.agents.transcript import Utterance, Voice
from recollect.base.errors import NoProject
from recollect.model.act import Deed
from recollect.model.session import Event
from tests.values import NOW

codex = agent("codex")

PAYLOADS = Path(__file__).parent / "payloads" / "codex"


def recorded(name: str) -> Event:
    return said(name.split("-")[0], (PAYLOADS / f"{name}.json").read_bytes())


def said(event: str, body: bytes) -> Event:
    return parse("codex", event, body, at=NOW, environ={"CLAUDE_PROJECT_DIR": "/of/another/agent"})


def spoken() -> list[Utterance]:
    return list(utterances("codex", Tail(PAYLOADS / "transcript.jsonl")))


def test_words_and_reasons_are_taken():
    assert recorded("UserPromptSubmit").text == "Where is the file?"
    assert recorded("Stop").text == "It is not there."
    assert recorded("SessionStart-compact").source == "compact"
    assert recorded("PreCompact-auto").source == "auto"
    assert recorded("SessionEnd-other").source == "other"


def test_a_call_has_its_command_and_its_output():
    [before], [after] = recorded("PreToolUse-Bash").tools, recorded("PostToolUse-Bash").tools
    assert (before.name, before.input, before.id) == ("Bash", {"command": "ls /nonexistent"}, after.id)
    assert after.output.startswith("ls: cannot access")
    assert after.failed is None


# Its transcript


def test_a_transcript_is_read_as_what_was_said():
    voices = [one.voice for one in spoken()]

    assert voices.count(Voice.PROMPT) == 1
    assert [one.text for one in spoken() if one.voice is Voice.PROMPT] == ["Where is the file?"]
    assert [one.text for one in spoken() if one.voice is Voice.REPLY][-1] == "It is not there."
    assert voices.count(Voice.SUMMARY) == 1
    assert all(one.at is not None for one in spoken())


def test_what_hooks_put_in_is_no_ones_word():
    assert [one.text for one in spoken() if "imperative mood" in one.text and one.voice is not Voice.INJECTION] == []
    assert [one.text for one in spoken() if one.text.startswith(("<environment", "<skills"))] == []


def test_how_a_command_ended_is_told_without_the_heading():
    [call] = [one.call for one in spoken() if one.voice is Voice.TOOL_CALL and one.call]
    [result] = [one.call for one in spoken() if one.voice is Voice.TOOL_RESULT and one.call]
    assert (call.id, codex.doing(call).deed, codex.doing(call).what) == (result.id, Deed.RUN, "ls /nonexistent")
    assert (result.failed, result.output) == (True, "ls: cannot access '/nonexistent': No such file or directory\n")


# What a person has to allow


def places(home: Path, **environ: str) -> Places:
    return Places(home, None, environ)


def test_nothing_is_told_once_each_is_allowed(tmp_path: Path):
    folder = tmp_path / ".codex"
    folder.mkdir()
    names = ("session_start", "user_prompt_submit", "pre_tool_use", "post_tool_use", "pre_compact", "stop")
    states = [f'[hooks.state."{folder}/hooks.json:{name}:0:0"]\ntrusted_hash = "sha256:0"\n' for name in names]
    (folder / "config.toml").write_text("\n".join(states))

    assert codex.unapproved(Level.USER, places(tmp_path)).startswith("Codex runs 1 hook ")

    states.append(f'[hooks.state."{folder}/hooks.json:session_end:0:0"]\ntrusted_hash = "sha256:0"\n')
    (folder / "config.toml").write_text("\n".join(states))

    assert codex.unapproved(Level.USER, places(tmp_path)) == ""


def test_its_folder_may_be_elsewhere(tmp_path: Path):
    at = places(tmp_path, CODEX_HOME=str(tmp_path / "x"))
    assert agent("codex").settings_path(Level.USER, at) == tmp_path / "x" / "hooks.json"
    with pytest.raises(NoProject):
        agent("codex").settings_path(Level.PROJECT, at)
