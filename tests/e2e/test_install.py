"""Coming and going: other tools' hooks stay and run, and nothing of ours is left behind."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

from tests.e2e.client import RULE, World
from tests.e2e.stand_in import says

OTHER = {"hookSpecificOutput": {"hookEventName": "UserPromptSubmit", "additionalContext": "another tool was here"}}


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
    own = (
        world.home / ".recollect", world.home / ".claude" / "projects", world.home / ".cache",
        world.home / ".claude" / "backups",
    )  # fmt: skip
    return [
        path
        for path in world.home.rglob("*")
        if path.is_file() and not any(path.is_relative_to(folder) for folder in own)
        if b"recollect" in path.read_bytes().lower()
    ]
