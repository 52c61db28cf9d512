"""One memory, whichever agent is in use: rules, ledgers and sessions go by the same laws for all of them."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path

import pytest

from recollect.app import session_ledger
from recollect.app.core import App
from recollect.model.result import Scope
from recollect.ops import memories, rules
from recollect.wire import pointer
from tests.hooks.talk import Talk

PROMPTS = {"claude-code": "UserPromptSubmit", "codex": "UserPromptSubmit", "gemini": "BeforeAgent"}
RULE = "no, we use pnpm here, not npm"


def say(talk: Talk, prompt: str) -> tuple[str, str]:
    said = talk.tell(PROMPTS[talk.host], prompt=prompt)
    return said.context, said.notice


@pytest.mark.parametrize(
    ("host", "next_host"), [("claude-code", "codex"), ("codex", "gemini"), ("gemini", "claude-code")]
)
def test_a_correction_in_one_agent_holds_in_another_and_nothing_is_shown_twice(app: App, host: str, next_host: str):
    _, notice = say(Talk(app, host=host), RULE)
    start = Talk(app, session="s-2", host=next_host).start()
    assert "noted" in notice
    assert "Use pnpm, not npm." in start.context
    memories.pin(app, "The staging database listens on port 5544, not on 5432.")
    talk = Talk(app, session="s-3", host=next_host)
    told = [say(talk, f"{words}on which port does the staging database listen?")[0] for words in ("", "tell me, ")]
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


def test_a_virtual_file_is_answered_below_the_agents_own_folder_and_goes_with_the_session(app: App, tmp_path: Path):
    memories.pin(app, "The staging database listens on port 5544, not on 5432.")
    own = tmp_path / ".gemini" / "tmp" / "shop"
    (own / "chats").mkdir(parents=True)
    talk = Talk(app, host="gemini")
    talk.transcript = str(own / "chats" / "session.jsonl")

    answer = talk.answer("BeforeTool", tool_name="read_file", tool_input={"file_path": ".ai/recall/staging port"})

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
    given = {"session_id": "s-1", "cwd": str(Path.cwd()), "prompt": "go on", "turn_id": "t-1", "prompt_id": "t-1"}
    del given["prompt_id" if host == "codex" else "turn_id"]
    talk = Talk(app, host=host)
    body = json.dumps(given).encode()
    talk.hooks.answer(host, event, body, {}, str(Path.cwd()), time.monotonic() + 30)
    before = app.reader(Scope.PROJECT).events()

    talk.hooks.receive(pointer.make({"host": host, "event": event}, body) | {"at_ns": app.clock.now().micros * 1_000})

    assert app.reader(Scope.PROJECT).events() == before


def test_where_there_is_no_transcript_a_late_correction_is_kept_after_the_answer(app: App):
    talk = Talk(app, host="opencode")
    said = talk.tell("UserPromptSubmit", prompt=RULE, left_s=0.01)
    assert said.notice == ""
    assert [card.memory.body for card in rules.listing(app).cards] == ["Use pnpm, not npm."]
