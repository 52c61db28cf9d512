"""The harness itself: what a hook prints reaches the stand-in's records, or the other tests here prove nothing."""

from __future__ import annotations

import json
import shlex

import pytest

from tests.e2e.client import FULL, MODELS, World, one_model
from tests.e2e.stand_in import Lane, says, use
from tests.e2e.terminal import Terminal

SUMMARY = "<summary>We greeted each other.</summary>"


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
    hook(world, "SessionStart", "UserPromptSubmit")

    session = world.run("hello", says("Good day."))

    [asked] = session.asked
    assert asked.model == world.model
    assert asked.holds("told at SessionStart") == asked.holds("told at UserPromptSubmit") == 1
    roles = {role for role, text in asked.messages if "told at" in text}
    assert roles == ({"system"} if world.model == MODELS[0] else {"user"})
    assert [run.event for run in session.hooks] == ["SessionStart", "UserPromptSubmit"]


@one_model
def test_without_hooks_nothing_is_found(world: World):
    session = world.run("hello", says("Good day."))

    assert not session.asked[0].holds("told at")
    assert session.hooks == []


@one_model
def test_tools_run_and_their_results_are_kept(world: World):
    (world.project / "a.txt").write_text("the first line\n", encoding="utf-8")

    session = world.run(
        "look", says("Looking.", use("Read", file_path="a.txt")), says(use("Read", file_path="b.txt")), says("Done.")
    )

    (good, failed), (bad, bad_failed) = session.asked[-1].results()
    assert "the first line" in good
    assert not failed
    assert "does not exist" in bad
    assert bad_failed


def test_a_subagent_and_a_summary_have_lanes_of_their_own(world: World):
    hook(world, "SubagentStart", "SessionStart")
    task = use("Agent", description="a task", prompt="count", subagent_type="general-purpose", run_in_background=False)

    with world.session(
        says(task), says("One.", lane=Lane.SUB), says("Two."), says(SUMMARY, lane=Lane.COMPACT), says("Three.")
    ) as session:
        session.say("count for me")
        session.say("/compact")
        session.say("go on")

    [sub] = session.service.of(Lane.SUB)
    assert sub.holds("told at SubagentStart") == 1
    assert session.asked[-1].holds("We greeted each other.") == 1
    assert session.asked[-1].holds("told at SessionStart") == 1


def test_a_turn_that_fills_the_window_makes_the_client_compact_by_itself(world: World):
    hook(world, "SessionStart")
    (world.project / "a.txt").write_text("the first line\n", encoding="utf-8")

    session = world.run(
        "look", says(use("Read", file_path="a.txt"), tokens=FULL), says(SUMMARY, lane=Lane.COMPACT), says("Done.")
    )

    assert [asked.lane for asked in session.service.asked] == [Lane.MAIN, Lane.COMPACT, Lane.MAIN]
    assert session.asked[-1].holds("told at SessionStart") == 1


@one_model
def test_a_session_can_be_resumed_and_forked(world: World):
    first = world.run("hello", says("Good day."))

    resumed = world.run("again", says("Yes."), args=("--resume", first.id))
    forked = world.run("aside", says("Well."), args=("--resume", first.id, "--fork-session"))

    assert resumed.id == first.id != forked.id
    assert resumed.asked[0].holds("Good day.") == forked.asked[0].holds("Good day.") == 1


@one_model
def test_a_script_that_is_not_played_out_is_noticed(world: World):
    with pytest.raises(AssertionError, match="never asked"):
        world.run("hello", says("Good day."), says("Anything else?"))


@one_model
def test_a_hook_that_fails_is_noticed(world: World):
    failing = {"hooks": [{"type": "command", "command": "echo trouble >&2; exit 1", "timeout": 5}]}
    world.settings.parent.mkdir()
    world.settings.write_text(json.dumps({"hooks": {"UserPromptSubmit": [failing]}}), encoding="utf-8")

    with pytest.raises(AssertionError, match="trouble"):
        world.run("hello", says("Good day."))


@one_model
def test_an_unknown_event_in_the_settings_does_no_harm(world: World):
    hook(world, "SessionStart", "NoSuchEvent")

    session = world.run("hello", says("Good day."))

    assert session.asked[0].holds("told at SessionStart") == 1


@pytest.mark.usefixtures("tmux")
@one_model
def test_the_client_works_at_a_terminal(world: World):
    hook(world, "SessionStart", "UserPromptSubmit")

    with Terminal(world, says("Good day.")) as terminal:
        terminal.say("hello")
        terminal.wait_for("Good day.")
        terminal.leave()

    assert terminal.service.of(Lane.MAIN)[0].holds("told at UserPromptSubmit") == 1
    assert all(refused.startswith("CONNECT") for refused in terminal.service.refused)
