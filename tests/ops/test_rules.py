from __future__ import annotations

from pathlib import Path

import pytest

from recollect.app import rule_keeping
from recollect.app.core import App
from recollect.base.errors import BadInput
from recollect.model.memory import Rule, RuleType, Status
from recollect.model.session import EventName
from recollect.ops import memories, notes, past_sessions, recall, rules, transfer
from tests.cli.run import run
from tests.hooks.talk import Talk
from tests.jobs.test_lessons import session
from tests.ops.ask import kept, made
from tests.ops.conftest import Opens
from tests.ops.test_vault_sync import put
from tests.ops.transcript import Transcript


def in_force(app: App) -> list[str]:
    return [card.memory.body for card in rules.listing(app).cards]


def test_a_rule_is_kept_and_listed(app: App):
    rule = kept(app, made(rules.add(app, " Use pnpm,\n never npm ", type=RuleType.CORRECTION, topics=("js",))))
    assert isinstance(rule, Rule)
    assert (rule.body, rule.rule_type, rule.topics) == ("Use pnpm, never npm", RuleType.CORRECTION, ("js",))
    assert in_force(app) == ["Use pnpm, never npm"]


@pytest.mark.parametrize("again", ["Use pnpm, never npm", "use PNPM, never npm", "  Use pnpm,\tnever npm\n"])
def test_the_same_rule_said_again_is_counted(app: App, again: str):
    first = made(rules.add(app, "Use pnpm, never npm"))
    done = rules.add(app, again)
    assert done.plan.touched() == (first,)
    assert kept(app, first).seen == 2
    assert len(in_force(app)) == 1


def test_a_retired_rule_is_out_of_force_until_restored(app: App):
    rule = made(rules.add(app, "Use tabs"))
    memories.archive(app, (rule,))
    assert in_force(app) == []
    assert [c.memory.id for c in rules.listing(app, status=Status.ARCHIVED).cards] == [rule]
    memories.restore(app, (rule,))
    assert in_force(app) == ["Use tabs"]
    memories.archive(app, (rule,))
    rules.add(app, "Use tabs")
    rules.add(app, "Use tabs", user=True)
    rules.add(app, "Use spaces")
    assert sorted(in_force(app)) == ["Use spaces", "Use tabs", "Use tabs"]


@pytest.mark.parametrize("text", ["", " \n", "x" * 2_001])
def test_a_rule_is_a_sentence(app: App, text: str):
    with pytest.raises(BadInput):
        rules.add(app, text)


# `log` and `why` name who said what was kept, not which process kept it.


@pytest.fixture
def service(open_app: Opens) -> App:
    """As the daemon answers hooks and tools."""
    return open_app(actor="agent")


def authors(app: App, op: str) -> set[str]:
    return {entry.actor for _, entry in memories.log(app, limit=100).entries if entry.op == op}


def test_a_rule_said_in_a_prompt_is_the_users(service: App):
    Talk(service).say("no, we use pnpm here, not npm")
    assert authors(service, "capture") == {"user"}
    service.close()
    printed = run("log").out
    assert " user " in printed
    assert "agent" not in printed


def test_a_prompt_that_no_hook_heard_is_the_users_too(service: App, tmp_path: Path):
    transcript = Transcript(service, tmp_path, "s-1")
    transcript.line("user", "no, we use pnpm here, not npm")
    transcript.event(EventName.TURN_ENDED)
    past_sessions.catch_up(service)
    assert authors(service, "capture") == {"user"}


def test_what_an_agent_pins_and_adds_is_the_agents(service: App):
    memories.pin(service, "Deploys go through staging")
    rules.add(service, "Use tabs")
    assert authors(service, "pin") == authors(service, "rule add") == {"agent"}


def test_what_tools_told_is_the_tools(service: App, tmp_path: Path):
    session(service, tmp_path, "s-1")
    past_sessions.catch_up(service)
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
    notes.sync(service)
    assert authors(service, "note sync") == {"user", "repository"}


def test_why_names_who_said_what_was_shown(service: App):
    rule_keeping.capture_prompt(
        service, rule_keeping.read_prompt(service, "no, we use pnpm here, not npm"), session="s-1"
    )
    pinned = made(memories.pin(service, "pnpm is installed by corepack here"))

    found = recall.recall(service, ("pnpm",)).found.found
    assert {one.hit.memory.id for one in found} >= {pinned}
    service.close()
    lines = run("why").out.splitlines()

    assert next(line for line in lines if pinned[-6:] in line).count("(source: agent)") == 1
    assert next(line for line in lines if "Use pnpm, not npm." in line).count("(source: user)") == 1


def test_undo_says_what_it_took_back_and_who_did(service: App, open_app: Opens):
    Talk(service).say("no, we use pnpm here, not npm")
    person = open_app()
    done = memories.undo(person)
    assert done.summary.startswith("Undid capture: Rule rule_")
    assert authors(person, "undo") == {"user"}
