"""One memory, whichever agent is in use: the real programs, one after the other, in one project. They come and go, and
nothing of ours is left."""

from pathlib import Path

import pytest

from tests.agents_e2e.conftest import driven
from tests.agents_e2e.programs import Agent, Codex, Gemini, OpenCode
from tests.daemon.real import soon
from tests.e2e.client import RULE, World
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
        says(
            "The inventory cache has no timeout: the checkout service waits for it until the gateway gives up."
        ),
    )
    world.recollect("daemon", "stop")

    def is_thread() -> bool:
        world.recollect("digest")  # which lets a transcript settle for a second
        return "checkout service" in world.recollect("threads").stdout

    assert soon(is_thread)


@pytest.mark.parametrize(
    ("kind", "tool", "key"), [(Gemini, "read_file", "file_path"), (OpenCode, "read", "filePath")]
)
def test_a_virtual_file_is_read_where_the_agent_reads_files(
    world: World, kind: type[Agent], tool: str, key: str
):
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

    service = codex.run(
        "go on", says(use("exec_command", cmd="git push origin main")), says("Done.")
    )

    assert service.heard[0].holds("git push without --dry-run") == 1
    assert service.heard[1].holds("git push without --dry-run") == 2
    assert service.heard[1].roles("git push without --dry-run") == {"developer"}


# As each spells the name of a server's tool.
RECALLS = {
    "codex": "mcp__recollect__ai_recall", "gemini": "mcp_recollect_ai_recall", "opencode": "recollect_ai_recall",
}  # fmt: skip


def test_a_session_after_uninstalling_knows_nothing(other: Agent, world: World):
    other.install()
    world.recollect("rule", "add", RULE)
    assert other.run("hello", says("Good day.")).heard[0].holds(RULE) == 1
    other.uninstall()
    assert other.run("hello", says("Good day.")).heard[0].holds(RULE) == 0
    assert traces(world) == []


def test_the_tools_are_offered_and_answer(other: Agent, world: World):
    other.install()
    world.recollect("pin", "The staging database listens on port 5544, not on 5432.")
    service = other.run(
        "ask memory",
        says(use(RECALLS[other.name], query="port of the staging database")),
        says("There."),
    )
    assert service.heard[1].holds("5544") >= 1


def test_codex_tells_us_when_it_has_compacted(world: World):
    codex = driven(Codex, world)
    codex.install()
    world.recollect("rule", "add", RULE)
    codex.prepare("http://127.0.0.1:1")
    config = world.home / ".codex" / "config.toml"
    config.write_text("model_auto_compact_token_limit = 5\n" + config.read_text())

    service = codex.run("look", says(use("exec_command", cmd="true")), says("Done."))

    assert service.heard[-1].holds(RULE) == 1, "told again once the context was lost"


def traces(world: World) -> list[Path]:
    """Files outside our home that speak of us; chats and what programs log of their own are theirs."""
    own = ".recollect .codex/sessions .codex/shell_snapshots .gemini/tmp .gemini/history .cache .local".split()
    theirs = [
        path
        for path in world.home.rglob("*")
        if path.is_file() and not path.suffix.startswith(".sqlite")
    ]
    theirs = [
        path for path in theirs if not any(path.is_relative_to(world.home / name) for name in own)
    ]
    return [path for path in theirs if b"recollect" in path.read_bytes().lower()]
