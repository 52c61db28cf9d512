"""Pointers: where to look, never what was said."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.wire import spool
from recollect.wire.place import Place

HEADER = {"host": "claude-code", "event": "PostToolBatch", "cwd": "/work", "env-CLAUDE_CODE_SESSION_ID": "from-env"}
SECRET = "the words that were said"
BODY = {
    "session_id": "s1",
    "transcript_path": "/nowhere/s1.jsonl",
    "cwd": "/projects/shop/sub",
    "prompt_id": "p1",
    "prompt": SECRET,
    "tool_calls": [
        {"tool_use_id": "t1", "tool_input": {"command": SECRET}, "tool_response": SECRET},
        {"tool_use_id": "t2"},
        "not a call",
    ],
    "tool_input": {"file_path": SECRET},
    "last_assistant_message": SECRET,
    "reason": "clear",
}


@pytest.fixture
def place(tmp_path: Path, runtime: str) -> Place:
    return Place(str(tmp_path), runtime + "/r")


def test_a_pointer_says_where_to_look_and_not_what_was_said():
    made = spool.pointer(HEADER, json.dumps(BODY).encode())

    assert made == {
        "host": "claude-code",
        "event": "PostToolBatch",
        "session": "s1",
        "project": "",
        "cwd": "/projects/shop/sub",
        "prompt": "p1",
        "source": "clear",
        "transcript": "/nowhere/s1.jsonl",
        "transcript_bytes": -1,
        "tools": ["t1", "t2"],
        "mark": "75d4c174",
    }


def test_a_pointer_knows_how_long_the_transcript_was(tmp_path: Path):
    (tmp_path / "t.jsonl").write_text("12345")

    made = spool.pointer({}, json.dumps({"transcript_path": str(tmp_path / "t.jsonl")}).encode())

    assert made["transcript_bytes"] == 5


@pytest.mark.parametrize("cut", [200, -1])
def test_of_a_broken_body_the_beginning_is_used(cut: int):
    made = spool.pointer(HEADER, json.dumps(BODY).encode()[:cut])

    assert (made["session"], made["transcript"]) == ("s1", "/nowhere/s1.jsonl")


def test_of_a_huge_body_the_beginning_is_used():
    huge = json.dumps(BODY | {"huge": "x" * spool.MAX_PARSED_BYTES}, indent=1).encode()

    assert spool.pointer(HEADER, huge)["session"] == "s1"


def test_without_a_body_the_environment_tells_the_session():
    assert spool.pointer(HEADER, b"")["session"] == "from-env"


def test_an_id_that_is_as_long_as_a_text_is_none():
    assert spool.pointer({}, json.dumps({"session_id": "x" * 10_000}).encode())["session"] == ""


@given(st.binary() | st.recursive(st.text(), st.lists).map(lambda value: json.dumps({"session_id": value}).encode()))
def test_any_body_has_a_pointer_that_can_be_written(body: bytes):
    json.dumps(spool.pointer(HEADER, body))


def test_what_was_spooled_is_drained_the_oldest_first(place: Place):
    for n in range(5):
        assert spool.spool(place, {"n": n})

    drained = list(spool.drain(place))

    assert [said["n"] for _, said in drained] == [0, 1, 2, 3, 4]
    assert all(said["at_ns"] == os.stat(path).st_mtime_ns for path, said in drained)


def test_draining_takes_nothing_away(place: Place):
    spool.spool(place, {"n": 1})

    assert list(spool.drain(place)) == list(spool.drain(place)) != []


def test_what_a_killed_hook_left_is_not_seen_and_goes_later(place: Place):
    spool.spool(place, {"n": 1})
    left = Path(place.spool, "tmp", "torn")
    left.write_bytes(b'{"n')

    assert len(list(spool.drain(place))) == 1
    spool.reap(place, left.stat().st_mtime_ns + 5, 5)
    assert left.exists()
    spool.reap(place, left.stat().st_mtime_ns + 6, 5)
    assert not left.exists()


def test_what_a_killed_hook_left_before_the_clock_was_set_back_goes_too(place: Place):
    spool.spool(place, {"n": 1})
    left = Path(place.spool, "tmp", "torn")
    left.write_bytes(b'{"n')

    spool.reap(place, left.stat().st_mtime_ns - 6, 5)

    assert not left.exists()


def test_what_cannot_be_read_is_set_aside(place: Place):
    spool.spool(place, {"n": 1})
    for name, content in (("a", b"noise"), ("b", b"[1]"), ("c", b"\xff"), ("d", b"")):
        Path(place.spool, "new", name).write_bytes(content)
    Path(place.spool, "new", "e").symlink_to("/etc/passwd")

    assert [said["n"] for _, said in spool.drain(place)] == [1]
    assert sorted(os.listdir(place.spool + "/bad")) == ["a", "b", "c", "d", "e"]


def test_past_the_limit_events_are_counted(place: Place, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(spool, "MOST_POINTERS", 2)

    kept = [spool.spool(place, {"n": n}) for n in range(5)]

    assert [bool(path) for path in kept] == [True, True, False, False, False]
    assert spool.lost(place) == 3


def test_an_empty_place_is_drained_too(place: Place):
    assert list(spool.drain(place)) == []
    assert spool.lost(place) == 0
    spool.reap(place, 0, 0)
    assert not Path(place.runtime).exists()
