"""One memory, whichever agent is in use: the real programs, one after the other, in one project."""

from __future__ import annotations

import pytest

from tests.agents_e2e.conftest import driven
from tests.agents_e2e.programs import Agent, Codex, Gemini, OpenCode
from tests.daemon.real import soon
from tests.e2e.client import World
from tests.e2e.stand_in import says, use

SAID = "From now on always run the linter with make lint before you commit."


def test_what_is_said_to_one_agent_is_told_to_another(other: Agent, world: World):
    other.install()
    other.run(SAID, says("I will."))
    world.install()
    session = world.run("hello", says("Good day."))
    assert session.asked[0].holds("make lint") == 1


def test_what_is_kept_comes_to_mind_with_a_prompt(other: Agent, world: World):
    other.install()
    world.recollect("pin", "The staging database listens on port 5544, not on 5432.")
    service = other.run("On which port does the staging database listen?", says("On 5544."))
    assert service.heard[0].holds("5544") >= 1


@pytest.mark.parametrize("kind", [Codex, Gemini], ids=lambda one: one.name)
def test_what_was_done_in_a_session_is_a_thread_for_all(kind: type[Agent], world: World):
    other = driven(kind, world)
    other.install()
    other.run(
        "Why does the checkout service fail when the inventory cache is cold?",
        says("The inventory cache has no timeout: the checkout service waits for it until the gateway gives up."),
    )
    world.recollect("daemon", "stop")

    def is_thread() -> bool:
        world.recollect("digest")  # which lets a transcript settle for a second
        return "checkout service" in world.recollect("threads").stdout

    assert soon(is_thread)


@pytest.mark.parametrize(("kind", "tool", "key"), [(Gemini, "read_file", "file_path"), (OpenCode, "read", "filePath")])
def test_a_virtual_file_is_read_where_the_agent_reads_files(world: World, kind: type[Agent], tool: str, key: str):
    other = driven(kind, world)
    other.install()
    world.recollect("pin", "The staging database listens on port 5544, not on 5432.")
    path = f"{world.project}/.ai/recall/port of the staging database"

    service = other.run("look it up", says(use(tool, **{key: path})), says("There."))

    assert "5544" in next(text for role, text in service.heard[1].messages if role == "tool")
    other.uninstall()
    assert not [path for path in world.home.rglob("recollect") if path.is_dir()]


def test_codex_is_reminded_of_a_rule_before_the_call_that_it_bears_on(world: World):
    codex = driven(Codex, world)
    codex.install()
    world.recollect("rule", "add", "Never run git push without --dry-run first")

    service = codex.run("go on", says(use("exec_command", cmd="git push origin main")), says("Done."))

    assert service.heard[0].holds("git push without --dry-run") == 1
    assert service.heard[1].holds("git push without --dry-run") == 2
    assert service.heard[1].roles("git push without --dry-run") == {"developer"}
