"""Events that are only kept for later are kept durably, once, as pointers; and nothing is printed."""

import json
import os
import re
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recollect.app import notices, session_ledger
from recollect.app.core import App
from recollect.app.memory_search import rules_in_force
from recollect.base.errors import BadInput, StoreBusy
from recollect.base.moment import Moment
from recollect.hooks.answer import Hooks, Received, open_once
from recollect.model.result import Scope
from recollect.ops import memories, rules
from recollect.store import SqliteStore
from recollect.wire import pointer
from tests.hooks.talk import Talk, events
from tests.ops.ask import holding, set_to
from tests.ops.conftest import Opens

TOOL: dict[str, Any] = {
    "tool_name": "Bash", "tool_input": {"command": "make the secret thing"}, "tool_use_id": "toolu_1",
}  # fmt: skip


ONLY_KEPT: list[tuple[str, dict[str, Any]]] = [
    ("Stop", {"last_assistant_message": "the secret thing is done"}),
    ("PostToolBatch", {"tool_calls": [TOOL | {"tool_response": "the secret thing"}]}),
    ("PostToolUseFailure", TOOL | {"error": "Exit code 3: the secret thing"}),
    ("PreCompact", {"trigger": "auto", "custom_instructions": "the secret thing"}),
    (
        "SubagentStop",
        {"agent_id": "a1", "agent_type": "helper", "last_assistant_message": "the secret thing"},
    ),
    ("PermissionDenied", TOOL | {"reason": "the secret thing"}),
    ("SessionEnd", {"reason": "other"}),
]


@pytest.mark.parametrize(("event", "given"), ONLY_KEPT)
def test_it_is_kept_once_as_a_pointer_and_nothing_is_printed(
    app: App, talk: Talk, event: str, given: dict[str, Any]
):
    assert [talk.tell(event, **given).raw for _ in range(3)] == [b""] * 3
    assert len(events(app)) == 1
    app.close()
    assert holding(app.home.root, "secret thing") == []


def test_a_pointer_says_where_to_read_and_of_two_sizes_the_smaller_is_kept(
    app: App, talk: Talk, tmp_path: Path
):
    talk.transcript = str(tmp_path / "t.jsonl")
    calls = [TOOL, TOOL | {"tool_use_id": "toolu_2"}]
    for size in (20, 20, 30, 10):
        talk.tell("PostToolBatch", tool_calls=calls, transcript_bytes=123)
        talk.tell("Stop", transcript_bytes=size)
    ran, stopped = sorted(
        (pointer for _, pointer in app.reader(Scope.PROJECT).events()), key=lambda one: one.name
    )
    assert (ran.transcript, ran.size, ran.session) == (talk.transcript, 123, "s-1")
    assert ran.calls == ("toolu_1", "toolu_2")
    assert stopped.size == 10


def test_an_event_that_cannot_be_kept_is_refused_for_the_spool(
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


def test_prompts_that_share_an_id_are_two_and_one_that_is_delivered_twice_is_one(
    app: App, talk: Talk
):
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


@pytest.mark.parametrize(
    ("transcript", "away_s"), [("", 0), ("/none/t.jsonl", -3_600), ("/none/t.jsonl", 3_600)]
)
def test_a_prompt_that_no_transcript_holds_is_lost_and_counted_once(
    app: App, talk: Talk, transcript: str, away_s: int
):
    """An agent that leaves none, or was killed before it did; or the clock was set back since."""
    talk.transcript = transcript
    left = left_by_hook(talk, app.clock.now().plus(seconds=away_s))
    assert [talk.hooks.receive(left) for _ in range(2)] == [Received.LOST, Received.KNOWN]
    assert events(app) == ["prompt"]


@pytest.mark.parametrize(
    "left", [{}, {"event": "Stop", "session": 3, "at_ns": 1}, {"event": "Stop", "session": "s"}]
)
def test_a_spooled_pointer_that_says_nothing_is_refused(talk: Talk, left: dict[str, object]):
    with pytest.raises(BadInput):
        talk.hooks.receive(left)


@pytest.mark.parametrize(
    "body", [b"", b"{", b"[]", b"null", b"\xff\xfe", b'{"session_id": 3}', b"[" * 100_000]
)
def test_what_is_no_event_is_refused(talk: Talk, body: bytes):
    with pytest.raises(BadInput):
        talk.hooks.answer(
            "claude-code", "UserPromptSubmit", body, {}, str(Path.cwd()), time.monotonic() + 60
        )


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
        answer = talk.hooks.answer(
            "claude-code", event, path.read_bytes(), {}, str(Path.cwd()), time.monotonic() + 60
        )
        printed |= {event} if answer.stdout else set()
    assert len(recorded) > 20
    assert printed == {"SessionStart", "UserPromptSubmit", "PreToolUse", "SubagentStart"}


# What a person says in a prompt is kept as a rule, and they are told so in one line.


def test_a_rule_said_in_a_prompt_is_there_in_the_next_session(app: App, talk: Talk):
    talk.transcript = "/home/ada/session.jsonl"
    talk.say(
        "<task-notification>\nwe always use tabs here\n</task-notification>\nwe always use tabs here"
    )
    assert rules.listing(app).cards == (), "no person's words"
    talk.say(
        "<ide_selection>\nwe always use tabs here\n</ide_selection>\nno, we use pnpm here, not npm",
        left_s=0.01,
    )
    assert (
        talk.tell("Stop").notice
        == 'Recollect: noted "Use pnpm, not npm" \u00b7 undo: recollect undo'
    )
    assert [card.memory.body for card in rules.listing(app).cards] == ["Use pnpm, not npm."]
    assert "Use pnpm, not npm." in Talk(app, session="s-2").start().context


def test_the_notice_says_that_a_rule_holds_in_every_project(talk: Talk):
    talk.say("I prefer tabs over spaces, always")
    assert talk.tell("Stop").notice == (
        'Recollect: noted "I prefer tabs over spaces, always" for every project'
        " \u00b7 undo: recollect undo"
    )


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
    said = [
        talk.tell("UserPromptSubmit", prompt="no, we use pnpm here, not npm", environ=way)
        for way in WAYS
    ]
    asked = "are commit subjects written in an imperative mood?"
    ended = [talk.tell("Stop", environ=way) for way in WAYS]
    later = [
        talk.tell("UserPromptSubmit", prompt=asked, prompt_id="p9", environ=way) for way in WAYS
    ]
    assert ["imperative mood" in one.context for one in started] == [True, False]
    assert [bool(one.raw) for one in ended] == [True, False]
    assert [bool(one.raw) for one in (*said, *later)] == [False] * 4, (
        "the rule was told at the start"
    )
    assert sorted(events(app)) == ["prompt", "prompt", "session-started", "turn-ended"]
    (kept,) = [rule for _, rule in rules_in_force(app).values() if "npm" in rule.title + rule.body]
    assert kept.seen == 1


PROMPTS = {"claude-code": "UserPromptSubmit", "codex": "UserPromptSubmit", "gemini": "BeforeAgent"}
TURN_ENDS = {"claude-code": "Stop", "codex": "Stop", "gemini": "AfterAgent"}
RULE = "no, we use pnpm here, not npm"


def say(talk: Talk, prompt: str) -> tuple[str, str]:
    """What the agent is told with it, and the person at the end of the turn."""
    return talk.tell(PROMPTS[talk.host], prompt=prompt).context, talk.tell(
        TURN_ENDS[talk.host]
    ).notice


@pytest.mark.parametrize(
    ("host", "next_host"),
    [("claude-code", "codex"), ("codex", "gemini"), ("gemini", "claude-code")],
)
def test_a_correction_in_one_agent_holds_in_another_and_nothing_is_shown_twice(
    app: App, host: str, next_host: str
):
    _, notice = say(Talk(app, host=host), RULE)
    start = Talk(app, session="s-2", host=next_host).start()
    assert "noted" in notice
    assert "Use pnpm, not npm." in start.context
    memories.pin(app, "The staging database listens on port 5544, not on 5432.")
    talk = Talk(app, session="s-3", host=next_host)
    told = [
        say(talk, f"{words}on which port does the staging database listen?")[0]
        for words in ("", "tell me, ")
    ]
    assert ["5544" in one for one in told] == [True, False]


@pytest.mark.parametrize(("host", "other"), [("claude-code", "gemini"), ("codex", "claude-code")])
def test_a_prompt_seen_through_two_hosts_is_one_prompt(app: App, host: str, other: str):
    memories.pin(app, "We use pnpm here and not npm, since March.")
    context, notice = say(Talk(app, host=host), RULE)
    beats = session_ledger.load_heartbeat(app)
    seen, told = say(Talk(app, session="s-2", host=other), RULE)
    assert "noted" in notice
    assert "noted" not in told
    assert len(rules.listing(app).cards) == 1
    assert session_ledger.load_heartbeat(app) == beats
    assert "since March" in context
    assert "since March" in seen, "both are answered"


def test_a_prompt_that_two_hosts_report_at_once_is_one_prompt(app: App, open_app: Opens):
    memories.pin(app, "We use pnpm here and not npm, since March.")
    talks = [Talk(open_app(actor="agent"), session=host, host=host) for host in PROMPTS]
    with ThreadPoolExecutor(len(talks)) as pool:
        heard = list(pool.map(lambda talk: talk.tell(PROMPTS[talk.host], prompt=RULE), talks))
    # The notice waits for a reply that shows it, which may be that of another host at the same moment.
    told = [line for one in heard for line in one.notice.splitlines()]
    noted = {line for line in (*told, *notices.waiting(app)) if "noted" in line}
    assert ["since March" in one.context for one in heard] == [True] * len(talks), (
        "all are answered"
    )
    assert [rule.seen for _, rule in rules_in_force(app).values()] == [1]
    assert len(noted) == 1


def test_a_virtual_file_is_answered_below_the_agents_own_folder_and_goes_with_the_session(
    app: App, tmp_path: Path
):
    memories.pin(app, "The staging database listens on port 5544, not on 5432.")
    own = tmp_path / ".gemini" / "tmp" / "shop"
    (own / "chats").mkdir(parents=True)
    talk = Talk(app, host="gemini")
    talk.transcript = str(own / "chats" / "session.jsonl")
    answer = talk.answer(
        "BeforeTool", tool_name="read_file", tool_input={"file_path": ".ai/recall/staging port"}
    )
    [file] = own.rglob("*.md")
    assert str(file) in answer.stdout.decode()
    assert "5544" in file.read_text(encoding="utf-8")
    if os.name == "posix":
        assert os.stat(file.parent).st_mode & 0o777 == 0o700
    talk.tell("SessionEnd", reason="exit")
    assert [path.name for path in own.iterdir()] == ["chats"]


@pytest.mark.parametrize("host", ["codex", "gemini", "opencode"])
def test_a_pointer_that_a_hook_left_is_the_event_that_was_taken(app: App, host: str):
    event = PROMPTS.get(host, "UserPromptSubmit")
    given = {
        "session_id": "s-1",
        "cwd": str(Path.cwd()),
        "prompt": "go on",
        "turn_id": "t-1",
        "prompt_id": "t-1",
    }
    del given["prompt_id" if host == "codex" else "turn_id"]
    talk = Talk(app, host=host)
    body = json.dumps(given).encode()
    talk.hooks.answer(host, event, body, {}, str(Path.cwd()), time.monotonic() + 30)
    before = app.reader(Scope.PROJECT).events()
    talk.hooks.receive(
        pointer.make({"host": host, "event": event}, body)
        | {"at_ns": app.clock.now().micros * 1_000}
    )
    assert app.reader(Scope.PROJECT).events() == before


def test_a_change_of_mind_said_in_prompts_replaces_the_rule_and_says_so(app: App):
    """The hook's App is the agent's, the words are the person's."""
    say(Talk(app), "no, we use pnpm here, not npm")

    _, notice = say(Talk(app, session="s-2"), "no, we use bun here, not pnpm")

    assert [card.memory.body for card in rules.listing(app).cards] == ["Use bun, not pnpm."]
    assert 'instead of "Use pnpm, not npm"' in notice


def test_each_rule_that_gave_way_in_one_prompt_is_named_with_what_brings_it_back(app: App):
    say(Talk(app), "Use yarn, not npm. Never use default exports in this repo.")

    _, notice = say(
        Talk(app, session="s-2"),
        "From now on use pnpm, not yarn. Always use default exports in this repo."
        " Never edit db/schema.rb by hand.",
    )
    undos = re.findall(r"instead of \"[^\"]+\" \(undo: recollect undo (\w+)\)", notice)
    for change in undos:
        memories.undo(app, change)

    assert len(undos) == 2, notice
    assert {"Use yarn, not npm.", "Never use default exports in this repo."} <= {
        card.memory.body for card in rules.listing(app).cards
    }
