"""A dry run says what would be done, to people and to programs, and never sounds as if it were."""

from pathlib import Path

import pytest

from tests.cli.run import pinned, run

COMMANDS = (
    "install",
    "uninstall",
    "rule add Use tabs",
    "pin Some words",
    "edit DEPLOYS --title Releases",
    "forget DEPLOYS",
    "forget DEPLOYS --delete",
    "forget DEPLOYS --purge",
    "forget --project",
    "rate DEPLOYS useful",
    "appreciate RULE",
    "focus deploy",
    "unfocus",
    "link DEPLOYS SMOKE",
    "merge DEPLOYS SMOKE",
    "capture we use bun here, not yarn",
    "note save Ask Ben",
    "note evolve ask-anna Ask Ben",
    "note archive ask-anna",
    "note sync",
    "undo",
    "import rules CLAUDE.md",
    "import notes notes",
    "import jsonl out.jsonl",
    "team create acme postgresql://ada@127.0.0.1/memory",
    "team join acme postgresql://ada@127.0.0.1/memory",
    "catch-up",
    "export other.jsonl",
    "reindex",
    "backup",
    "sync",
)
DOCUMENTS = ("suggestions", "suggestions --apply", "compact", "config MEMORY_RECALL off")


@pytest.fixture
def names() -> dict[str, str]:
    """A project with a rule, two threads and a note, and how they are called in the commands."""
    Path("CLAUDE.md").write_text("- Use black, always.\n", encoding="utf-8")
    Path("notes").mkdir()
    Path("notes", "a.md").write_text("Hello.\n", encoding="utf-8")
    run("note", "save", "Ask Anna before a deploy")
    run("export", "out.jsonl")
    return {
        "RULE": run("rule", "add", "Use pnpm, not npm", "--json").json["ids"][0],
        "DEPLOYS": pinned("Deploys go to staging first"),
        "SMOKE": pinned("The smoke test is make smoke"),
    }


@pytest.mark.parametrize("command", COMMANDS)
def test_its_json_is_marked_and_says_would(command: str, names: dict[str, str]):
    words = [names.get(word, word) for word in command.split()]
    before = run("log", "--json").out
    ran = run(*words, "--dry-run", "--json")
    assert ran.code == 0, ran
    assert ran.json["dry_run"] is True
    said = ran.json["summary"]
    assert "would" in said.casefold() or said.startswith(("No ", "Nothing ")), said
    assert run("log", "--json").out == before


@pytest.mark.parametrize("command", DOCUMENTS)
def test_json_without_a_sentence_is_marked_too(command: str, names: dict[str, str]):
    assert run(*command.split(), "--dry-run", "--json").json["dry_run"] is True


def test_what_is_no_dry_run_says_that_it_is_done():
    assert run("focus", "deploy", "--json").json["summary"].startswith('Focus set on "deploy"')
    assert run("pin", "Some words", "--json").json["summary"].startswith("Pinned as ")


def test_a_person_reads_would_as_well():
    assert run("focus", "deploy", "--dry-run").out == (
        'Dry run: nothing was written. It would report: Focus set on "deploy" (weight=0.8).'
        " 0 threads will be prioritized.\n"
    )


def test_the_sql_for_an_administrator_is_printed_as_it_is_to_be_run():
    said = run("team", "create", "acme", "--print-sql").out

    assert said.startswith("-- Creates the team acme for Recollect")
    assert said.rstrip().endswith("COMMIT;")
