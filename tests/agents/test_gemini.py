"""Recorded events and a recorded transcript of Gemini CLI, their content invented; and how our answers look to it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from recollect.agents import Tail, agent, parse, render, utterances
from recollect.agents.transcript import Utterance, Voice
from recollect.model.act import Deed
from recollect.model.session import Event, Reply
from tests.values import NOW

gemini = agent("gemini")

PAYLOADS = Path(__file__).parent / "payloads" / "gemini"


def recorded(name: str) -> Event:
    return said(name.split("-")[0], (PAYLOADS / f"{name}.json").read_bytes())


def said(event: str, body: bytes) -> Event:
    return parse("gemini", event, body, at=NOW, environ={})


def spoken() -> list[Utterance]:
    return list(utterances("gemini", Tail(PAYLOADS / "transcript.jsonl")))


def test_what_hooks_put_in_front_of_a_prompt_is_no_part_of_it():
    assert "<hook_context>" in (PAYLOADS / "BeforeAgent.json").read_text(encoding="utf-8")
    assert recorded("BeforeAgent").text == "Where is the file?"


@pytest.mark.parametrize(
    ("prompt", "text"),
    [
        ("plain", "plain"),
        ("<hook_context>a\nb</hook_context>\n\nwords", "words"),
        ("<hook_context>a</hook_context>\n\n<hook_context>b</hook_context>\n\nwords\n\nmore", "words\n\nmore"),
        ("<hook_context>a</hook_context>", ""),
        ("<hook_context>never closed\nwords", "<hook_context>never closed\nwords"),
    ],
)
def test_a_prompt_is_what_the_person_wrote(prompt: str, text: str):
    assert said("BeforeAgent", json.dumps({"session_id": "s", "prompt": prompt}).encode()).text == text


def test_a_failed_call_says_why():
    event = recorded("AfterTool-read_file-error")
    assert "file_not_found" in event.text
    assert [call.failed for call in event.tools] == [True]


def test_a_read_is_redirected_by_the_name_of_the_file_alone():
    reply = Reply(read_instead="/x/answer.md", read_input={"file_path": ".ai/recall/port", "end_line": 5})
    answer = json.loads(render("gemini", "BeforeTool", reply))
    assert answer["hookSpecificOutput"]["tool_input"] == {"file_path": "/x/answer.md"}


def test_an_answer_stands_where_the_client_may_read_it():
    event = recorded("BeforeTool-read_file-virtual")
    assert event.reads_below == "/home/ada/.gemini/tmp/proj/recollect/recalls"


def test_a_transcript_elsewhere_names_no_place():
    event = said(
        "BeforeTool", b'{"session_id": "s", "tool_name": "read_file", "transcript_path": "/etc/chats/x.jsonl"}'
    )
    assert event.reads_below == ""


# Its transcript


def test_a_transcript_is_read_as_what_was_said():
    assert [one.text for one in spoken() if one.voice is Voice.PROMPT] == ["Where is the file?"]
    assert [one.text for one in spoken() if one.voice is Voice.REPLY] == ["It is not there."]
    assert all(one.at is not None for one in spoken())


def test_what_hooks_put_in_is_no_ones_word():
    injected = [one.text for one in spoken() if one.voice is Voice.INJECTION]
    assert any("imperative mood" in text for text in injected)
    assert [one.text for one in spoken() if "hook_context" in one.text or "session_context" in one.text] == []


def test_each_call_is_told_once_with_how_it_ended():
    calls = [one.call for one in spoken() if one.voice is Voice.TOOL_CALL and one.call]
    results = [one.call for one in spoken() if one.voice is Voice.TOOL_RESULT and one.call]

    assert [gemini.doing(call).deed for call in calls] == [Deed.RUN, Deed.READ]
    assert [call.id for call in calls] == [result.id for result in results]
    assert [result.failed for result in results] == [True, True]
    assert results[0].output == "ls: cannot access '/nonexistent': No such file or directory\nExit Code: 2"
