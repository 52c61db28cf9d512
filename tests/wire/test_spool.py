"""Pointers: where to look, never what was said."""

import json
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.daemon import spool
from recollect.wire import pointer
from recollect.wire.place import Place
from tests.wire.conftest import leave

HEADER = {
    "host": "claude-code",
    "event": "PostToolBatch",
    "cwd": "/work",
    "env-CLAUDE_CODE_SESSION_ID": "from-env",
}
SECRET = "the words that were said"
CALL = {"tool_use_id": "t1", "tool_input": {"command": SECRET}, "tool_response": SECRET}
BODY = {
    "session_id": "s1", "transcript_path": "/nowhere/s1.jsonl", "cwd": "/projects/shop/sub", "prompt_id": "p1",
    "prompt": SECRET, "tool_calls": [CALL, {"tool_use_id": "t2"}, "not a call"], "tool_input": {"file_path": SECRET},
    "last_assistant_message": SECRET, "reason": "clear",
}  # fmt: skip


@pytest.fixture
def place(tmp_path: Path, runtime: str) -> Place:
    return Place(str(tmp_path), runtime + "/r")


def test_a_pointer_says_where_to_look_and_not_what_was_said():
    made = pointer.make(HEADER, json.dumps(BODY).encode())

    assert made == {
        "host": "claude-code", "event": "PostToolBatch", "session": "s1", "project": "", "cwd": "/projects/shop/sub",
        "prompt": "p1", "source": "clear", "transcript": "/nowhere/s1.jsonl", "transcript_bytes": -1,
        "tools": ["t1", "t2"], "mark": "75d4c174",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("body", "session"),
    [
        (json.dumps(BODY).encode()[:200], "s1"),
        (json.dumps(BODY).encode()[:-1], "s1"),
        (json.dumps(BODY | {"huge": "x" * pointer.MAX_PARSED_BYTES}, indent=1).encode(), "s1"),
        (b"", "from-env"),
    ],
    ids=[
        "cut early: its beginning",
        "cut late: its beginning",
        "huge: its beginning",
        "none: the environment",
    ],
)
def test_whatever_becomes_of_the_body_the_session_is_known(body: bytes, session: str):
    made = pointer.make(HEADER, body)
    assert (made["session"], made["transcript"]) == (session, "/nowhere/s1.jsonl" if body else "")


def test_an_id_that_is_as_long_as_a_text_is_none():
    assert pointer.make({}, json.dumps({"session_id": "x" * 10_000}).encode())["session"] == ""


@given(
    st.binary()
    | st.recursive(st.text(), st.lists).map(
        lambda value: json.dumps({"session_id": value}).encode()
    )
)
def test_any_body_has_a_pointer_that_can_be_written(body: bytes):
    json.dumps(pointer.make(HEADER, body))


@pytest.mark.parametrize("said", [BODY, {"session_id": 'a "quoted" \\ é \U0001f4cc'}, {}])
def test_a_pointer_is_written_as_json_and_read_back_the_same(place: Place, said: dict[str, object]):
    made = pointer.make(HEADER, json.dumps(said).encode())
    path = leave(place, made)
    assert json.loads(Path(path).read_bytes()) == made
    assert [one | {"at_ns": 0} for _, one in spool.drain(place)] == [made | {"at_ns": 0}]


def test_what_was_left_is_drained_the_oldest_first_and_nothing_is_taken_away(place: Place):
    for n in range(5):
        assert leave(place, {"n": n})
    drained = list(spool.drain(place))
    assert [said["n"] for _, said in drained] == [0, 1, 2, 3, 4]
    assert all(said["at_ns"] == os.stat(path).st_mtime_ns for path, said in drained)
    assert (spool.count_files(place.spool + spool.FOLDER), list(spool.drain(place))) == (5, drained)


def test_a_pointer_whose_hook_is_still_running_is_left_alone(
    place: Place, monkeypatch: pytest.MonkeyPatch
):
    path = Path(pointer.leave(place, {"n": 1}))
    assert list(spool.drain(place)) == []
    with monkeypatch.context() as patch:
        patch.setattr(spool, "MAX_HOOK_S", 0.0)
        assert len(list(spool.drain(place))) == 1, (
            "no hook takes so long: the number is another process's by now"
        )
    path.rename(path.with_name(f"{10**19}.{os.getpid()}"))
    assert len(list(spool.drain(place))) == 1, "it is from before the machine was started anew"


@pytest.mark.parametrize("cut", range(60, 130, 7))
def test_a_pointer_that_was_cut_short_is_read_as_far_as_it_goes(place: Place, cut: int):
    path = Path(leave(place, pointer.make(HEADER, json.dumps(BODY).encode())))
    path.write_bytes(path.read_bytes()[:cut])
    ((_, said),) = spool.drain(place)
    assert (said["host"], said["event"], said["session"]) == ("claude-code", "PostToolBatch", "s1")


def test_what_cannot_be_read_is_set_aside_and_counted_unless_nothing_was_written(place: Place):
    leave(place, {"n": 1})
    for name, content in (("a", b"noise"), ("b", b"[1]"), ("c", b"\xff"), ("d", b"")):
        Path(place.spool, "new", name).write_bytes(content)
    Path(place.spool, "new", "e").symlink_to("/etc/passwd")

    assert [said["n"] for _, said in spool.drain(place)] == [1]
    assert sorted(os.listdir(place.spool + "/bad")) == ["a", "b", "c", "e"]
    assert (spool.count_lost(place), spool.count_files(place.spool + spool.FOLDER)) == (4, 1)


def test_an_empty_place_is_drained_too_and_past_the_limit_events_are_counted(
    place: Place, monkeypatch: pytest.MonkeyPatch
):
    assert (list(spool.drain(place)), spool.count_lost(place)) == ([], 0)
    assert not Path(place.runtime).exists()
    monkeypatch.setattr(pointer, "MAX_POINTERS", 2)
    kept = [pointer.leave(place, {"n": n}) for n in range(5)]
    assert [bool(path) for path in kept] == [True, True, False, False, False]
    assert spool.count_lost(place) == 3
