"""Coming and going: other tools' hooks stay and run, nothing of ours is left behind, and a session goes on whatever
becomes of us. And the harness itself: what a hook prints reaches the stand-in's records."""

import json
import os
import shlex
import shutil
import signal
from pathlib import Path
from typing import Any

import pytest

from tests.daemon.real import soon
from tests.e2e.client import MODELS, RULE, VALIDATORS, World, both_models
from tests.e2e.stand_in import says

OTHER = {
    "hookSpecificOutput": {
        "hookEventName": "UserPromptSubmit",
        "additionalContext": "another tool was here",
    }
}


def with_another_tool(world: World) -> bytes:
    """Settings as somebody else left them, in a layout that no JSON library writes."""
    command = json.dumps(f"printf %s {shlex.quote(json.dumps(OTHER))}")
    text = (
        '{\n\t"includeCoAuthoredBy" : false,\n  "hooks": {"UserPromptSubmit": [ {"hooks":'
        f' [{{"type": "command", "command": {command}, "timeout": 5}}] }}\n ]}}}}\n\n'
    )
    world.settings.parent.mkdir()
    world.settings.write_text(text, encoding="utf-8")
    return world.settings.read_bytes()


def test_another_tools_hooks_run_beside_ours_and_uninstalling_leaves_no_trace(world: World):
    before = with_another_tool(world)
    world.install()
    world.recollect("rule", "add", RULE)
    [asked] = world.run("hello", says("Good day.")).asked
    assert (asked.holds(RULE), asked.holds("another tool was here")) == (1, 1)
    world.recollect("uninstall")
    session = world.run("hello", says("Good day."))
    assert world.settings.read_bytes() == before
    [asked] = session.asked
    assert (asked.holds(RULE), asked.holds("another tool was here")) == (0, 1)
    assert {run.event for run in session.hooks} == {"UserPromptSubmit"}
    assert traces(world) == []


def traces(world: World) -> list[Path]:
    """Files outside our home and the client's own that speak of us."""
    # Of the client's: transcripts, what it logged of our server, copies that it takes of its own state.
    own = [
        world.home / name
        for name in (".recollect", ".claude/projects", ".cache", ".claude/backups")
    ]
    files = [path for path in world.home.rglob("*") if path.is_file()]
    others = [path for path in files if not any(path.is_relative_to(folder) for folder in own)]
    return [path for path in others if b"recollect" in path.read_bytes().lower()]


def daemon(world: World) -> dict[str, Any]:
    """What the daemon tells of itself; nothing where there is none."""
    return dict(world.json("daemon", "status", check=False))


def test_a_daemon_killed_in_mid_session_is_replaced(installed: World):
    installed.recollect("rule", "add", RULE)
    with installed.session(says("Good day."), says("Yes."), says("Still.")) as session:
        assert session.say("hello") == "Good day."
        killed = daemon(installed)["pid"]
        os.kill(killed, signal.SIGKILL)
        assert session.say("are you there?") == "Yes."
        assert soon(lambda: daemon(installed).get("pid") not in (None, 0, killed)), (
            "no other daemon came"
        )
        installed.recollect("pin", VALIDATORS)
        assert session.say("how do solana validators restart?") == "Still."
    assert session.asked[0].holds(RULE) == 1
    assert session.asked[-1].holds("vestibule") == 1


def test_what_no_daemon_heard_is_read_from_the_transcript_later(world: World):
    import fcntl  # not on Windows, where there is no world

    world.recollect("install", "--user")
    world.recollect("daemon", "start")

    with world.session(says("Good day.")) as session:
        session.say("hello")
        world.recollect("daemon", "stop")
        session.service.script(says("Yes."))
        with (world.home / ".recollect" / "spawn.lock").open("a") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)  # so that no hook can start another
            assert session.say("we use pnpm here, not npm") == "Yes."
        world.recollect("daemon", "start")
        assert soon(lambda: daemon(world)["unanswered"] >= 2), "the prompt and the end of its turn"
        assert soon(lambda: "pnpm" in world.recollect("rule", "list").stdout)

    assert daemon(world)["lost"] == daemon(world)["spooled"] == 0


def test_a_session_works_when_our_home_has_gone(installed: World):
    installed.recollect("daemon", "stop")
    shutil.rmtree(installed.home / ".recollect")
    session = installed.run("hello", says("Good day."))
    assert len(session.asked) == 1


@both_models
def test_what_a_hook_prints_is_found_wherever_the_model_gets_it(world: World):
    hooks = {}
    for event in ("SessionStart", "UserPromptSubmit", "AnEventThatNobodyKnows"):
        reply = {
            "hookSpecificOutput": {"hookEventName": event, "additionalContext": f"told at {event}"}
        }
        command = f"printf %s {shlex.quote(json.dumps(reply))}"
        hooks[event] = [{"hooks": [{"type": "command", "command": command, "timeout": 5}]}]
    world.settings.parent.mkdir()
    world.settings.write_text(json.dumps({"hooks": hooks}), encoding="utf-8")

    session = world.run("hello", says("Good day."))

    [asked] = session.asked
    assert asked.model == world.model
    assert asked.holds("told at SessionStart") == asked.holds("told at UserPromptSubmit") == 1
    roles = {role for role, text in asked.messages if "told at" in text}
    assert roles == ({"system"} if world.model == MODELS[0] else {"user"})
    assert [run.event for run in session.hooks] == ["SessionStart", "UserPromptSubmit"]


def test_a_hook_that_fails_is_noticed(world: World):
    failing = {"hooks": [{"type": "command", "command": "echo trouble >&2; exit 1", "timeout": 5}]}
    world.settings.parent.mkdir()
    world.settings.write_text(
        json.dumps({"hooks": {"UserPromptSubmit": [failing]}}), encoding="utf-8"
    )
    with pytest.raises(AssertionError, match="trouble"):
        world.run("hello", says("Good day."))
