"""Events that are only kept for later are kept durably, once, as pointers; and nothing is printed."""

from __future__ import annotations

import json
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recollect.app.core import App
from recollect.app.memory_search import rules_in_force
from recollect.base.errors import BadInput, StoreBusy
from recollect.base.moment import Moment
from recollect.hooks.answer import Hooks, Received, open_once
from recollect.model.result import Scope
from recollect.ops import rules
from recollect.store import SqliteStore
from recollect.wire import pointer
from tests.hooks.talk import Talk, events
from tests.ops.ask import holding, set_to

TOOL: dict[str, Any] = {
    "tool_name": "Bash", "tool_input": {"command": "make the secret thing"}, "tool_use_id": "toolu_1",
}  # fmt: skip


ONLY_KEPT: list[tuple[str, dict[str, Any]]] = [
    ("Stop", {"last_assistant_message": "the secret thing is done"}),
    ("PostToolBatch", {"tool_calls": [TOOL | {"tool_response": "the secret thing"}]}),
    ("PostToolUseFailure", TOOL | {"error": "Exit code 3: the secret thing"}),
    ("PreCompact", {"trigger": "auto", "custom_instructions": "the secret thing"}),
    ("SubagentStop", {"agent_id": "a1", "agent_type": "helper", "last_assistant_message": "the secret thing"}),
    ("PermissionDenied", TOOL | {"reason": "the secret thing"}),
    ("SessionEnd", {"reason": "other"}),
]


@pytest.mark.parametrize(("event", "given"), ONLY_KEPT)
def test_it_is_kept_once_as_a_pointer_and_nothing_is_printed(app: App, talk: Talk, event: str, given: dict[str, Any]):
    assert [talk.tell(event, **given).raw for _ in range(3)] == [b""] * 3
    assert len(events(app)) == 1
    app.close()
    assert holding(app.home.root, "secret thing") == []


def test_a_pointer_says_where_to_read_and_of_two_sizes_the_smaller_is_kept(app: App, talk: Talk, tmp_path: Path):
    talk.transcript = str(tmp_path / "t.jsonl")
    calls = [TOOL, TOOL | {"tool_use_id": "toolu_2"}]

    for size in (20, 20, 30, 10):
        talk.tell("PostToolBatch", tool_calls=calls, transcript_bytes=123)
        talk.tell("Stop", transcript_bytes=size)

    ran, stopped = sorted((pointer for _, pointer in app.reader(Scope.PROJECT).events()), key=lambda one: one.name)
    assert (ran.transcript, ran.size, ran.session) == (talk.transcript, 123, "s-1")
    assert ran.calls == ("toolu_1", "toolu_2")
    assert stopped.size == 10


def test_an_event_that_cannot_be_kept_is_refused_so_that_the_hook_spools_it(
    app: App, talk: Talk, monkeypatch: pytest.MonkeyPatch
):
    def refuse(*_: object, **__: object) -> None:
        raise StoreBusy("Another process holds it.")

    monkeypatch.setattr(SqliteStore, "transaction", refuse)
    with pytest.raises(StoreBusy):
        talk.tell("Stop")


def test_a_spooled_pointer_and_the_event_itself_are_one(app: App, talk: Talk):
    talk.tell("PostToolUseFailure", **TOOL, error="Exit code 3")
    left = left_by_hook(talk, app.clock.now(), event="PostToolUseFailure", tools=["toolu_1"])
    del left["mark"]
    assert talk.hooks.receive(left) is Received.KNOWN
    assert talk.hooks.receive(left | {"tools": ["toolu_2"]}) is Received.NEW
    assert events(app) == ["tool-failed", "tool-failed"]


def test_prompts_that_share_an_id_are_two_and_one_that_is_delivered_twice_is_one(app: App, talk: Talk):
    """One that waited in line comes with the id of the one before."""
    for prompt in ("first do this", "then do that", "then do that"):
        talk.tell("UserPromptSubmit", prompt=prompt)
        body = json.dumps({"session_id": "s-1", "prompt_id": "p0", "prompt": prompt}).encode()
        talk.hooks.receive(pointer.make({"event": "UserPromptSubmit"}, body) | {"at_ns": 1})
    assert events(app) == ["prompt", "prompt"]


def left_by_hook(talk: Talk, at: Moment, **more: object) -> dict[str, object]:
    return {
        "host": "claude-code", "event": "UserPromptSubmit", "session": "s-1", "prompt": "p0", "cwd": str(Path.cwd()),
        "project": str(Path.cwd()), "tools": [], "transcript": talk.transcript, "transcript_bytes": 0,
        "at_ns": at.micros * 1_000, "mark": "1", **more,
    }  # fmt: skip


def test_a_pointer_waits_for_its_transcript(app: App, talk: Talk, tmp_path: Path):
    talk.transcript = str(tmp_path / "t.jsonl")
    left = left_by_hook(talk, app.clock.now())
    assert (talk.hooks.receive(left), events(app)) == (Received.NOT_YET, [])
    Path(talk.transcript).write_bytes(b"")
    assert (talk.hooks.receive(left), events(app)) == (Received.NEW, ["prompt"])


@pytest.mark.parametrize(("transcript", "away_s"), [("", 0), ("/none/t.jsonl", -3_600), ("/none/t.jsonl", 3_600)])
def test_a_prompt_that_stands_in_no_transcript_is_lost_and_counted_once(
    app: App, talk: Talk, transcript: str, away_s: int
):
    """An agent that leaves none, or was killed before it did; or the clock was set back since."""
    talk.transcript = transcript
    left = left_by_hook(talk, app.clock.now().plus(seconds=away_s))
    assert [talk.hooks.receive(left) for _ in range(2)] == [Received.LOST, Received.KNOWN]
    assert events(app) == ["prompt"]


@pytest.mark.parametrize("left", [{}, {"event": "Stop", "session": 3, "at_ns": 1}, {"event": "Stop", "session": "s"}])
def test_a_spooled_pointer_that_says_nothing_is_refused(talk: Talk, left: dict[str, object]):
    with pytest.raises(BadInput):
        talk.hooks.receive(left)


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b"null", b"\xff\xfe", b'{"session_id": 3}', b"[" * 100_000])
def test_what_is_no_event_is_refused(talk: Talk, body: bytes):
    with pytest.raises(BadInput):
        talk.hooks.answer("claude-code", "UserPromptSubmit", body, {}, str(Path.cwd()), time.monotonic() + 60)


def test_an_unknown_event_is_ignored_and_inside_our_own_calls_every_one(app: App, talk: Talk):
    assert talk.say("hello there", environ={"BLOCK_HOOK_AGENTS": "1"}).raw == b""
    assert app.store_path(Scope.PROJECT) is None
    assert talk.tell("MoonRise").raw == b""
    assert events(app) == []


def test_of_every_recorded_event_only_those_that_inject_print_anything(app: App, talk: Talk):
    rules.add(app, "Never touch cart.py")
    set_to(app, "MEMORY_RECALL_FLOOR", "0")
    recorded = sorted((Path(__file__).parents[1] / "agents" / "payloads").glob("*.json"))
    printed = set()
    for path in recorded:
        event = path.stem.partition("-")[0]
        answer = talk.hooks.answer("claude-code", event, path.read_bytes(), {}, str(Path.cwd()), time.monotonic() + 60)
        printed |= {event} if answer.stdout else set()

    assert len(recorded) > 20
    assert printed == {"SessionStart", "UserPromptSubmit", "PreToolUse", "SubagentStart"}


# What a person says in a prompt is kept as a rule, and they are told so in one line.


def test_a_rule_said_in_a_prompt_is_there_in_the_next_session(app: App, talk: Talk):
    talk.transcript = "/home/ada/session.jsonl"
    talk.say("we use tabs here", left_s=0.01)
    talk.say("<task-notification>\nwe always use tabs here\n</task-notification>\nwe always use tabs here")
    assert rules.listing(app).cards == (), "left to the transcript without time, and no person's words"
    said = talk.say("<ide_selection>\nwe always use tabs here\n</ide_selection>\nno, we use pnpm here, not npm")
    assert said.notice == 'Recollect: noted "Use pnpm, not npm" \u00b7 undo: recollect undo'
    assert [card.memory.body for card in rules.listing(app).cards] == ["Use pnpm, not npm."]
    assert "Use pnpm, not npm." in Talk(app, session="s-2").start().context


# Two ways to the same event, one answer.


SETTINGS, PLUGIN = "", "plugin"
WAYS: tuple[dict[str, str], ...] = ({}, {"RECOLLECT_VIA": PLUGIN})


@settings(max_examples=50)
@given(st.lists(st.sampled_from([SETTINGS, PLUGIN]), max_size=30))
def test_no_event_is_answered_more_often_than_the_way_that_told_most(ways: list[str]):
    once = Hooks(open_once)
    answered = sum(once._is_first("e", way) for way in ways)
    assert answered == max(ways.count(SETTINGS), ways.count(PLUGIN))


def test_two_at_the_same_moment_are_one():
    once, start = Hooks(open_once), threading.Barrier(8)

    def tell(way: str) -> int:
        start.wait()
        return sum(once._is_first(f"e{number}", way) for number in range(200))

    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(tell, map(str, range(8)))) == 200


def test_an_agent_that_calls_in_two_ways_is_told_once_and_heard_once(app: App, talk: Talk):
    rules.add(app, "Write commit subjects in the imperative mood")

    started = [talk.tell("SessionStart", source="startup", environ=way) for way in WAYS]
    said = [talk.tell("UserPromptSubmit", prompt="no, we use pnpm here, not npm", environ=way) for way in WAYS]
    asked = "are commit subjects written in an imperative mood?"
    later = [talk.tell("UserPromptSubmit", prompt=asked, prompt_id="p9", environ=way) for way in WAYS]

    assert ["imperative mood" in one.context for one in started] == [True, False]
    assert [bool(one.raw) for one in said] == [True, False]
    assert [bool(one.raw) for one in later] == [False, False], "the rule was told at the start"
    assert sorted(events(app)) == ["prompt", "prompt", "session-started"]
    (kept,) = [rule for _, rule in rules_in_force(app).values() if "npm" in rule.title + rule.body]
    assert kept.seen == 1
