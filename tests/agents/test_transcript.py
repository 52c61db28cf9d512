from __future__ import annotations

import json
from itertools import islice
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from recollect.agents import Cursor, Tail, utterances
from recollect.agents.transcript import MAX_LINE_BYTES, Utterance, Voice

PAYLOADS = Path(__file__).parent / "payloads"
HOST = "claude-code"


def spoken(path: Path, cursor: Cursor | None = None) -> list[Utterance]:
    return list(utterances(HOST, Tail(path, cursor)))


def write(path: Path, *lines: bytes) -> Path:
    path.write_bytes(b"".join(line + b"\n" for line in lines))
    return path


def line(text: str, **fields: object) -> bytes:
    return json.dumps({"type": "user", "message": {"role": "user", "content": text}, **fields}).encode()


def texts(path: Path, cursor: Cursor | None = None) -> list[str]:
    return [one.text for one in spoken(path, cursor)]


# What was said


def by(voice: Voice, *, machine_made: bool = False) -> list[str]:
    """What was said in the recorded session."""
    said = spoken(PAYLOADS / "transcript.jsonl")
    return [one.text for one in said if one.voice is voice and one.machine_made is machine_made]


def test_a_session_is_told_in_order_by_who_spoke():
    assert by(Voice.PROMPT) == [
        "Why does the cart forget its items?", "And after a reload?", "Write a test for it.",
        "Go on with the checkout.",
    ]  # fmt: skip
    assert by(Voice.REPLY) == [
        "Reading.", "The cart keeps its items now.", "OK.", "resumed ok", "continued ok", "ok",
    ]  # fmt: skip
    assert by(Voice.INJECTION) == ["You once wrote: carts live in the session."]
    assert [text[:31] for text in by(Voice.SUMMARY)] == ["This session is being continued"]
    assert [text[:20] for text in by(Voice.PROMPT, machine_made=True)] == [
        "<task-notification>\n", "<command-name>/compa", "<local-command-stdou",
    ]  # fmt: skip
    first, second, third = spoken(PAYLOADS / "transcript.jsonl")[:3]
    assert [first.voice, second.voice, third.voice] == [Voice.QUEUED, Voice.UNQUEUED, Voice.PROMPT]
    assert third.at
    assert third.at.iso() == "2026-02-01T07:06:16.630000Z"
    assert third.prompt_id == "00000008-0000-4000-8000-000000000000"


def test_results_are_joined_to_their_calls_and_failures_marked():
    said = spoken(PAYLOADS / "transcript.jsonl")
    calls = {one.call.id: one.call.name for one in said if one.voice is Voice.TOOL_CALL and one.call}
    results = {one.call.id: one.call for one in said if one.voice is Voice.TOOL_RESULT and one.call}
    assert calls.keys() == results.keys()
    assert sorted(calls[id] for id, result in results.items() if result.failed) == ["Bash", "Edit", "Read"]


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
    assert texts(path)[-1] == "after"


# Reading on


@pytest.mark.parametrize("now", [(b'{"type": "mode"}',), (line("another"), line("file"), line("altogether"))])
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
def test_however_a_file_grows_each_line_comes_once(tmp_path: Path, said: list[str], stops: list[int]):
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


def test_a_transcript_that_is_not_there_says_nothing(tmp_path: Path):
    (tmp_path / "folder").mkdir()
    for path in (tmp_path / "missing", tmp_path / "folder", Path("nul\x00"), tmp_path / "missing" / "below"):
        assert texts(path) == []
