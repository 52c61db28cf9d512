"""The harness itself: what a hook prints reaches the stand-in's records, or the other tests here prove nothing."""

from __future__ import annotations

import json
import shlex

import pytest

from tests.e2e.client import MODELS, World, one_model
from tests.e2e.stand_in import says


def hook(world: World, *events: str) -> None:
    """A hook that tells the model `told at EVENT`."""
    hooks = {}
    for event in events:
        reply = {"hookSpecificOutput": {"hookEventName": event, "additionalContext": f"told at {event}"}}
        command = f"printf %s {shlex.quote(json.dumps(reply))}"
        hooks[event] = [{"hooks": [{"type": "command", "command": command, "timeout": 5}]}]
    world.settings.parent.mkdir(exist_ok=True)
    world.settings.write_text(json.dumps({"hooks": hooks}), encoding="utf-8")


def test_what_a_hook_prints_is_found_wherever_the_model_gets_it(world: World):
    hook(world, "SessionStart", "UserPromptSubmit", "AnEventThatNobodyKnows")

    session = world.run("hello", says("Good day."))

    [asked] = session.asked
    assert asked.model == world.model
    assert asked.holds("told at SessionStart") == asked.holds("told at UserPromptSubmit") == 1
    roles = {role for role, text in asked.messages if "told at" in text}
    assert roles == ({"system"} if world.model == MODELS[0] else {"user"})
    assert [run.event for run in session.hooks] == ["SessionStart", "UserPromptSubmit"]


@one_model
def test_a_hook_that_fails_is_noticed(world: World):
    failing = {"hooks": [{"type": "command", "command": "echo trouble >&2; exit 1", "timeout": 5}]}
    world.settings.parent.mkdir()
    world.settings.write_text(json.dumps({"hooks": {"UserPromptSubmit": [failing]}}), encoding="utf-8")
    with pytest.raises(AssertionError, match="trouble"):
        world.run("hello", says("Good day."))
