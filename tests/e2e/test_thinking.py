"""The real client calls us, and we call it: a prompt waits for a model that chooses."""

from __future__ import annotations

import shlex

from tests.e2e.client import BREAD, VALIDATORS, World, binary
from tests.e2e.stand_in import Lane, StandIn, says

ASKS = "how do solana validators restart?"


def think(world: World, service: StandIn, **more: str) -> None:
    """The command that answers is the client itself, with the stand-in as its service. The daemon that runs it knows
    nothing of either, so a script tells."""
    script = world.root / "model"
    told = [f"export {name}={shlex.quote(value)}" for name, value in world.client_environ(service).items()]
    script.write_text("\n".join(["#!/bin/sh", *told, f'exec {shlex.quote(str(binary()))} "$@"', ""]), encoding="utf-8")
    script.chmod(0o700)
    settings = {"MEMORY_LLM": "on", "MEMORY_LLM_COMMAND": str(script), "MEMORY_RECALL_SECONDS": "40", **more}
    lines = [f"{name}={value}" for name, value in settings.items()]
    (world.home / ".recollect" / "agent.conf").write_text("\n".join(lines) + "\n", encoding="utf-8")


def test_a_prompt_waits_for_a_model_and_gets_what_it_chose(installed: World):
    session = installed.session(says("Good day."), says("I see."))
    think(installed, session.service, MEMORY_RECALL_SCHEME="double", MEMORY_UPDATE="off")
    installed.install()  # the agent is told how long to wait
    with session:
        session.say("hello")
        installed.pin(VALIDATORS)
        bread = installed.pin(BREAD)
        for _ in range(2):
            session.service.script(says(bread, lane=Lane.ASIDE))
        session.say(ASKS)

    greeting, asked = session.asked
    assert greeting.holds("Sourdough") == 0
    assert asked.holds("Sourdough") == 1, "what the model chose"
    assert asked.holds("vestibule") == 0, "what ordinary recall would have brought"
    inner = session.service.of(Lane.ASIDE)
    assert [one.holds("\n\nAvailable memories:\n") for one in inner] == [1, 0]
    assert [one.holds("\n\nCandidate memories:\n") for one in inner] == [0, 1]
    assert all(one.holds(f"<user_prompt>\n{ASKS}\n</user_prompt>") == 1 for one in inner)
    assert all(one.holds("[recollect ") == 0 for one in inner), "no hook of ours ran inside"
    assert "a language model (double)" in installed.recollect("why", "--json").stdout
    records = [path.stem for path in (installed.home / ".claude" / "projects").rglob("*.jsonl")]
    assert records == [session.id], "no record of the inner calls is kept"
