"""`log` and `why` name who said what was kept, not which process kept it."""

from __future__ import annotations

from pathlib import Path

import pytest

from recollect.model.session import EventName
from recollect.ops import capture, digest, history, memories, recalls, rules, transfer, vaults
from recollect.ops.app import App
from tests.cli.run import run
from tests.hooks.talk import Talk
from tests.ops.ask import made
from tests.ops.conftest import Opens
from tests.ops.test_digest import Transcript
from tests.ops.test_lessons import session
from tests.ops.test_vaults import put


@pytest.fixture
def service(open_app: Opens) -> App:
    """As the daemon answers hooks and tools."""
    return open_app(actor="agent")


def authors(app: App, op: str) -> set[str]:
    return {entry.actor for _, entry in history.log(app, limit=100).entries if entry.op == op}


def test_a_rule_said_in_a_prompt_is_the_users(service: App):
    Talk(service).say("no, we use pnpm here, not npm")

    assert authors(service, "capture") == {"user"}
    service.close()
    printed = run("log").out
    assert "user, project" in printed
    assert "agent" not in printed


def test_a_prompt_that_no_hook_heard_is_the_users_too(service: App, tmp_path: Path):
    transcript = Transcript(service, tmp_path, "s-1")
    transcript.line("user", "no, we use pnpm here, not npm")
    transcript.event(EventName.TURN_ENDED)

    digest.digest(service)

    assert authors(service, "capture") == {"user"}


def test_what_an_agent_pins_and_adds_is_the_agents(service: App):
    memories.pin(service, "Deploys go through staging")
    rules.add(service, "Use tabs")

    assert authors(service, "pin") == authors(service, "rule add") == {"agent"}


def test_what_tools_told_is_the_tools(service: App, tmp_path: Path):
    session(service, tmp_path, "s-1")

    digest.digest(service)

    assert authors(service, "learn") == {"tool"}


def test_what_was_imported_is_the_imports(service: App, open_app: Opens, tmp_path: Path):
    memories.pin(service, "Deploys go through staging")
    transfer.export(service, str(tmp_path / "out.jsonl"))
    other = open_app(home=tmp_path / "other")

    transfer.import_jsonl(other, str(tmp_path / "out.jsonl"))

    assert authors(other, "import") == {"import"}


def test_a_note_that_a_person_wrote_is_the_users_and_one_of_the_project_the_repositorys(service: App):
    put(service.home.vault, "deploy.md", "# Deploy\nAsk Anna first.\n")
    put(Path.cwd() / ".ai" / "memory", "release.md", "# Release\nAsk Ben first.\n")

    vaults.sync(service)

    assert authors(service, "note sync") == {"user", "repository"}


def test_why_names_who_said_what_was_shown(service: App):
    capture.settled(service, capture.read(service, "no, we use pnpm here, not npm"), session="s-1")
    pinned = made(memories.pin(service, "pnpm is installed by corepack here"))

    found = recalls.recall(service, ("pnpm",)).found.found
    assert {one.hit.memory.id for one in found} >= {pinned}
    service.close()
    lines = run("why").out.splitlines()

    assert next(line for line in lines if pinned in line).endswith("(from agent)")
    assert next(line for line in lines if "Use pnpm, not npm." in line).endswith("(from user)")


def test_undo_says_what_it_took_back_and_who_did(service: App, open_app: Opens):
    Talk(service).say("no, we use pnpm here, not npm")
    person = open_app()

    done = history.undo(person)

    assert done.summary.startswith("Undid capture: Rule rule_")
    assert authors(person, "undo") == {"user"}
