"""The plugin in the real client: alone it does what an installation does, beside one nothing happens twice."""

import json
import re
import shlex
import shutil
import sys
import time

import pytest

from tests.e2e.client import PATIENCE_MS, ROOT, RULE, Session, World
from tests.e2e.stand_in import Asked, says, use

NAME = "recollect@recollect"
OURS = "mcp__plugin_recollect_recollect__"


def plugged(world: World) -> None:
    """As from a clone that is a marketplace, with all the time for its hooks that they may want."""
    market = world.root / "market"
    shutil.copytree(ROOT / ".claude-plugin", market / ".claude-plugin")
    shutil.copytree(ROOT / "plugins" / "claude-code", market / "plugins" / "claude-code")
    hooks = market / "plugins" / "claude-code" / "hooks" / "hooks.json"
    patient = hooks.read_text(encoding="utf-8").replace(
        " 2>/dev/null", f" --deadline-ms {PATIENCE_MS} 2>/dev/null"
    )
    hooks.write_text(patient, encoding="utf-8")
    world.client("plugin", "marketplace", "add", str(market))
    world.client("plugin", "install", NAME)


def with_the_program(world: World) -> dict[str, str]:
    """The environment in which the client finds `recollect`."""
    program = world.root / "bin" / "recollect"
    program.parent.mkdir()
    tree = shlex.quote(str(ROOT / "src"))
    program.write_text(
        f'#!/bin/sh\nPYTHONPATH={tree} exec {shlex.quote(sys.executable)} -m recollect "$@"\n'
    )
    program.chmod(0o755)
    return {"PATH": f"{program.parent}:{world.environ()['PATH']}"}


def tools(asked: Asked) -> set[str]:
    """At hand, or named where the server came too late for the first turn."""
    return set(re.findall(r"mcp__\w*ai_recall", json.dumps(asked.body)))


def until_served(session: Session) -> set[str]:
    """The client waits five seconds for servers, which a busy machine may need longer for."""
    for _ in range(40):
        if found := tools(session.asked[-1]):
            return found
        time.sleep(0.25)
        session.say("and now?")
    return set()


@pytest.mark.parametrize("what", [".", "plugins/claude-code"])
def test_the_client_finds_nothing_wrong_with_it(world: World, what: str):
    told = world.client("plugin", "validate", str(ROOT / what))
    assert "Validation passed" in told
    assert "warning" not in told.lower()


def test_alone_it_brings_memory_hears_offers_tools_and_goes_without_a_trace(world: World):
    plugged(world)
    given = with_the_program(world)

    first = world.run("no, we use pnpm here, not npm", says("Noted."), environ=given)
    with world.session(args=["--allowedTools", OURS.removesuffix("__")], environ=given) as second:
        second.say("hello")
        offered = until_served(second)
        second.service.script(says(use(f"{OURS}ai_recall", query="pnpm")), says("pnpm."))
        second.say("what do we use?")

    assert any("Recollect: noted" in run.out for run in first.hooks)
    assert second.asked[0].holds("Use pnpm, not npm") == 1
    assert offered == {f"{OURS}ai_recall"}
    ((told, failed),) = second.asked[-1].results()
    assert ("pnpm" in told, failed) == (True, False)

    still = world.recollect("uninstall").stdout
    world.client("plugin", "uninstall", NAME)
    world.client("plugin", "marketplace", "remove", "recollect")
    world.recollect("uninstall")

    assert f"claude plugin uninstall {NAME}" in still
    assert world.processes() == []
    assert "recollect" not in world.settings.read_text(encoding="utf-8")
    assert not (world.home / ".recollect" / "bin").exists()
    assert "Use pnpm, not npm" in world.recollect("rule", "list").stdout, "memories stay"
    last = world.run("hello", says("Good day."), environ=given)
    assert (last.hooks, tools(last.asked[0])) == ([], set())


def test_beside_an_installation_nothing_happens_twice(world: World):
    plugged(world)
    world.install()
    world.recollect("rule", "add", RULE)

    with world.session(says("Noted."), says("Yes.")) as session:
        session.say("no, we use pnpm here, not npm")
        session.say("and how are commits written?")
        prompts = len([run for run in session.hooks if run.event == "UserPromptSubmit"])
        offered = until_served(session)

    assert session.asked[-1].holds(RULE) == 1
    assert prompts == 4
    assert offered == {"mcp__recollect__ai_recall"}
    assert all(f"{OURS}ai_recall" not in tools(asked) for asked in session.asked)
    notices = [run for run in session.hooks if "Recollect: noted" in run.out]
    assert len(notices) == 1
    assert sorted(one["seen"] for one in world.json("rule", "list")) == [1, 1]


def test_without_the_program_it_is_silent_and_status_says_what_to_do(world: World):
    plugged(world)
    quiet = world.run("hello", says("Good day."))
    asked = world.run("/recollect:status", says("Told."))
    assert [run.out + run.err for run in quiet.hooks if run.out or run.err] == []
    assert quiet.asked[0].holds("recollect") == 0
    assert asked.asked[0].holds("Recollect is not installed on this machine")
    assert not (world.home / ".recollect").exists()
