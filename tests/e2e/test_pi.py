"""The real Pi has the same memory: what another agent's session left reaches its model, what is said to it is kept.
It is driven over its pipes, as client.py has it for Claude Code; `tools/get_agents pi` puts it in place."""

import json
import os
import shutil
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.daemon.real import soon
from tests.e2e.client import AGENTS, DUMMY_KEY, ROOT, RULE, Piped, World, lacking, scratch_world
from tests.e2e.conftest import refuse
from tests.e2e.stand_in import Asked, Turn, says, use
from tests.e2e.test_install import traces

PACKAGE = "@mariozechner/pi-coding-agent"
MODEL = "claude-sonnet-4-5"
PATIENCE = 15


def folder(world: World) -> Path:
    return world.home / ".pi" / "agent"


def extension(world: World) -> Path:
    return folder(world) / "extensions" / "recollect.ts"


def install(world: World) -> None:
    """Recollect in Pi, its daemon at work, and all the time that answers may want."""
    world.recollect("install", "--agent", "pi")
    path = extension(world)
    text = path.read_text(encoding="utf-8")
    assert "const PATIENCE = 1;" in text
    path.write_text(
        text.replace("const PATIENCE = 1;", f"const PATIENCE = {PATIENCE};"), encoding="utf-8"
    )
    world.recollect("daemon", "start")


class PiSession(Piped):
    """Prompts in, answers out."""

    def __init__(self, world: World, *script: Turn, args: tuple[str, ...] = ()) -> None:
        super().__init__(world, script)
        self.notices: list[str] = []
        models = folder(world) / "models.json"
        models.parent.mkdir(parents=True, exist_ok=True)
        models.write_text(
            json.dumps({"providers": {"anthropic": {"baseUrl": self.service.url}}}),
            encoding="utf-8",
        )
        program = AGENTS / "pi" / "node_modules" / PACKAGE / "dist" / "cli.js"
        options = ["--mode", "rpc", "--provider", "anthropic", "--model", MODEL, *args]
        self.command = [str(shutil.which("node")), str(program), *options]
        self.environ = {
            **world.environ(), "ANTHROPIC_API_KEY": DUMMY_KEY, "PI_OFFLINE": "1", "PI_TELEMETRY": "0",
            "HTTPS_PROXY": self.service.url, "HTTP_PROXY": self.service.url, "NO_PROXY": "127.0.0.1",
        }  # fmt: skip

    def say(self, prompt: str) -> None:
        """Until Pi has nothing more to do about it."""
        self.send({"type": "prompt", "message": prompt})
        self.until("agent_end")

    def until(self, kind: str) -> None:
        for told in self.lines():
            if told.get("method") == "notify":
                self.notices.append(told["message"])
            assert told.get("success") is not False, f"Pi refused: {told}"
            if told["type"] == kind:
                return


def system(asked: Asked) -> str:
    """Its system prompt."""
    return json.dumps(asked.body.get("system", ""), ensure_ascii=False)


@pytest.fixture
def world() -> Iterator[World]:
    if reason := "node is not on PATH" if shutil.which("node") is None else lacking(PACKAGE, "pi"):
        refuse(reason)
    with scratch_world() as world:
        yield world


@pytest.fixture
def installed(world: World) -> World:
    install(world)
    return world


def test_rules_stand_in_the_system_prompt_of_every_request_and_events_go_straight_to_a_daemon(
    installed: World,
):
    installed.recollect("rule", "add", RULE)
    script = installed.home / ".recollect" / "bin" / "hook"
    script.write_text(f"#!/bin/sh\ntouch {installed.root}/called\n")
    first = says("Good day.", use("bash", command="echo well"))
    with PiSession(installed, first, says("Done."), says("Yes.")) as session:
        session.say("hello")
        session.say("and again")
    assert [system(asked).count(RULE) for asked in session.asked] == [1, 1, 1]
    assert [asked.holds(RULE) for asked in session.asked] == [0, 0, 0]
    assert not (installed.root / "called").exists()


def test_a_prompt_a_file_that_is_not_there_its_tool_and_a_call_bring_what_bears_on_them(
    installed: World,
):
    kept, rule = (
        "Deploys go through the staging cluster first",
        "Never run prettier in this repository",
    )
    reads = use("read", path=f"{installed.project}/.ai/recall/how do we deploy")
    calls = [reads, use("recall", query="deploys"), use("bash", command="prettier . || :")]

    with PiSession(installed, says("Good day."), says(*calls), says("So.")) as session:
        session.say("hello")
        installed.recollect("pin", kept)
        installed.recollect("rule", "add", rule)
        session.say("how do we deploy to staging?")

    assert session.asked[1].holds(kept) == 1
    assert any("Recollect: told Pi 1 memory" in notice for notice in session.notices), (
        session.notices
    )
    assert "recall" in {tool["name"] for tool in session.asked[0].body["tools"]}
    read, asked, called = session.asked[-1].results()
    assert [(kept in told, failed) for told, failed in (read, asked)] == [(True, False)] * 2
    assert rule in called[0]


def test_what_was_done_becomes_a_thread(installed: World):
    work = (
        "The export button writes an empty file when the filter is set. Find out why and mend it."
    )
    with PiSession(
        installed,
        says("I look.", use("bash", command="ls -la")),
        says(
            "The filter is applied twice in export.py, so nothing is left of the rows. I took the second one out."
        ),
    ) as session:
        session.say(work)

    def is_thread() -> bool:
        installed.recollect("digest")
        return "export" in installed.recollect("threads").stdout.lower()

    assert soon(is_thread)


def test_a_compaction_is_heard_and_the_rules_still_stand(installed: World):
    installed.recollect("rule", "add", RULE)
    with PiSession(installed, says("Well."), says("word " * 30_000), says("Yes.")) as session:
        session.send({"type": "set_auto_compaction", "enabled": False})
        installed.recollect("pin", "Deploys go through the staging cluster first")
        session.say("how do we deploy to staging?")
        session.say("tell me a long story")
        session.send({"type": "compact"})
        session.until("compaction_end")
        session.say("how do we deploy to staging, again?")
    assert system(session.asked[-1]).count(RULE) == 1
    assert session.asked[-1].holds("Deploys go through the staging cluster first") == 1


TROUBLE = {
    "no daemon can start": "exit 3",
    "garbage": "echo '{not json'",
    "nobody answers": "exec sleep 2",
}


@pytest.mark.parametrize("trouble", ["no home", *TROUBLE])
def test_whatever_is_wrong_pi_goes_on(world: World, trouble: str):
    world.recollect("install", "--agent", "pi")
    home = world.home / ".recollect"
    if trouble == "no home":
        shutil.rmtree(home)
    else:
        (home / "bin" / "hook").write_text(f"#!/bin/sh\n{TROUBLE[trouble]}\n")
    with PiSession(
        world, says("Good day.", use("bash", command="echo well")), says("Done.")
    ) as session:
        session.say("hello")
    ((told, failed),) = session.asked[-1].results()
    assert (told.strip(), failed, session.notices) == ("well", False, [])


def test_a_daemon_that_hangs_holds_nobody_up_and_nothing_is_lost(world: World):
    world.recollect("install", "--agent", "pi")
    pid = world.json("daemon", "start")["pid"]
    os.kill(pid, signal.SIGSTOP)
    with PiSession(world, says("Noted.")) as session:
        session.say("no, we use pnpm here, not npm")
    os.kill(pid, signal.SIGCONT)
    assert soon(lambda: world.json("rule", "list"))
    assert session.notices == []
    assert [one["title"] for one in world.json("rule", "list")] == ["Use pnpm, not npm."]


@pytest.mark.parametrize("is_installed", [True, False])
def test_from_a_clone_it_needs_no_installing_and_beside_an_installation_serves_once(
    world: World, is_installed: bool
):
    if is_installed:
        install(world)
    else:
        world.recollect("hook", "--prepare")
        world.recollect("daemon", "start")
    world.recollect("rule", "add", RULE)
    with PiSession(
        world, says("Good day."), args=("-e", str(ROOT / "plugins" / "pi" / "index.ts"))
    ) as session:
        session.say("hello")
    assert system(session.asked[0]).count(RULE) == 1
    assert [tool["name"] for tool in session.asked[0].body["tools"]].count("recall") == 1


def test_uninstalling_leaves_a_session_with_no_trace(world: World):
    world.recollect("install", "--agent", "pi")
    world.recollect("rule", "add", RULE)
    with PiSession(world, says("Good day.")) as before:
        before.say("hello")
    assert extension(world).exists()

    world.recollect("uninstall", "--agent", "pi")
    with PiSession(world, says("Good day.")) as after:
        after.say("hello")

    assert RULE not in json.dumps(after.asked[0].body)
    assert "recall" not in {tool["name"] for tool in after.asked[0].body["tools"]}
    assert not extension(world).parent.exists()
    assert world.processes() == []
    assert [path for path in traces(world) if ".pi/agent/sessions" not in str(path)] == []
