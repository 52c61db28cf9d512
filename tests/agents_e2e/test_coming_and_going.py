"""Coming and going: what a real program does with our pieces, and that nothing of ours is left."""

from __future__ import annotations

from pathlib import Path

from tests.agents_e2e.conftest import driven
from tests.agents_e2e.programs import Agent, Codex
from tests.e2e.client import RULE, World
from tests.e2e.stand_in import says, use

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
        "ask memory", says(use(RECALLS[other.name], query="port of the staging database")), says("There.")
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
    own = (
        ".recollect",
        ".codex/sessions",
        ".codex/shell_snapshots",
        ".gemini/tmp",
        ".gemini/history",
        ".cache",
        ".local",
    )
    return [
        path
        for path in world.home.rglob("*")
        if path.is_file() and path.suffix not in (".sqlite", ".sqlite-wal", ".sqlite-shm")
        if not any(path.is_relative_to(world.home / name) for name in own)
        if b"recollect" in path.read_bytes().lower()
    ]
