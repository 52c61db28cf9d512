"""Memories of other programs: real files in their own shapes, read, sifted, and never touched."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from recollect.app.core import App
from recollect.base.errors import BadImport, BadInput, NotFound
from recollect.base.paths import user_home
from recollect.base.settings import environment
from recollect.integrations.foreign_memories import ForeignMemory, why_left_out, words_key
from recollect.model.memory import Kind, Lane, Memory, Status
from recollect.model.result import Scope
from recollect.ops import imports, memories, rules
from tests.ops.ask import files
from tests.ops.conftest import Opens
from tests.values import NOW

TOKEN = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
DAY_MS = 1_767_000_000_000


def kept(app: App) -> list[Memory]:
    return [memory for memory, _ in app.reader(Scope.PROJECT).each()]


def facts(told: Any) -> dict[str, Any]:
    return dict(told.facts)


@pytest.fixture
def theirs(app: App, tmp_path: Path) -> Iterator[Path]:
    """A database of claude-mem that is open elsewhere, with all that it holds in its log."""
    path, project = tmp_path / "theirs" / "m.db", app.require_project().root.name
    path.parent.mkdir()
    db = sqlite3.connect(path, isolation_level=None)
    db.execute("PRAGMA journal_mode = wal")
    db.execute(
        "CREATE TABLE observations (id INTEGER PRIMARY KEY, memory_session_id TEXT, project TEXT, type TEXT,"
        " title TEXT, subtitle TEXT, facts TEXT, narrative TEXT, concepts TEXT, files_modified TEXT,"
        " created_at_epoch INTEGER)"
    )
    db.execute(
        "CREATE TABLE session_summaries (id INTEGER PRIMARY KEY, project TEXT, request TEXT, learned TEXT,"
        " completed TEXT, next_steps TEXT, created_at TEXT)"
    )
    login = ("Login uses cookies", "No tokens", '["The cookie lives a day"]', "The session cookie is set late.")
    rows = [
        (project, *login),
        (project, "Key in the log", "", "[]", f"The deploy script prints {TOKEN} into its log."),
        ("elsewhere", "Not ours", "", "[]", "Another project's thoughts about billing."),
        (project, "", "", "", ""),
        (project, *login),
    ]
    for at, row in enumerate(rows):
        db.execute(
            "INSERT INTO observations VALUES (NULL, 's', ?, 'discovery', ?, ?, ?, ?, '[\"auth\"]', '[]', ?)",
            (*row, DAY_MS + at),
        )
    db.execute(
        "INSERT INTO session_summaries VALUES (1, ?, 'Fix the login', 'Cookies are set late', 'It works', '', ?)",
        (project, "2026-01-02T10:00:00.000Z"),
    )
    path.with_name("m.db-shm").unlink(missing_ok=True)
    yield path
    db.close()


def test_what_claude_mem_observed_becomes_threads_of_this_project_alone(app: App, theirs: Path):
    before = files(theirs.parent)
    assert before["m.db-wal"]

    told = facts(imports.claude_mem(app, str(theirs)))

    memories = {memory.title: memory for memory in kept(app)}
    assert set(memories) == {"Login uses cookies", "Key in the log", "Fix the login"}
    login = memories["Login uses cookies"]
    assert login.body == "No tokens\n\nThe session cookie is set late.\n\n- The cookie lives a day"
    assert (login.lane, login.topics, login.origin) == (Lane.AGENT, ("auth",), "claude-mem")
    assert login.created_at.micros == login.last_active_at.micros == DAY_MS * 1_000
    assert login.reinforced_at == NOW, "it fades from today on"
    assert "Learned: Cookies are set late" in memories["Fix the login"].body
    assert TOKEN not in memories["Key in the log"].body
    assert (told["read"], told["new"], told["duplicates"], told["junk"]) == (6, 3, 1, {"empty": 1})
    assert told["other_projects"] == {"elsewhere": 1}
    assert sum(told["secrets"].values()) == 1
    assert files(theirs.parent) == before, "not a byte of theirs changes"


def test_a_dry_run_writes_nothing_twice_is_once_and_one_undo_takes_all_of_it_back(
    app: App, open_app: Opens, theirs: Path
):
    told = imports.claude_mem(open_app(dry_run=True), str(theirs))
    assert (facts(told)["new"], kept(app)) == (3, [])
    assert "Would import 3 memories of 6" in told.summary
    assert "Secrets removed" in told.summary
    imports.claude_mem(app, str(theirs))
    again = facts(imports.claude_mem(app, str(theirs)))
    assert (again["new"], again["change"]) == (0, None)
    memories.undo(app)
    assert kept(app) == []


def claude_recall(path: Path, *rows: tuple[str, object, str, str | None]) -> None:
    with sqlite3.connect(path) as db:
        db.execute(
            "CREATE TABLE memories (id INTEGER PRIMARY KEY, key TEXT UNIQUE, value TEXT, type TEXT, project_id TEXT,"
            " timestamp INTEGER, is_active INTEGER DEFAULT 1, something_new BLOB)"
        )
        for key, value, sort, project in rows:
            db.execute(
                "INSERT INTO memories (key, value, type, project_id, timestamp) VALUES (?, ?, ?, ?, ?)",
                (key, json.dumps(value), sort, project, DAY_MS),
            )


def test_rules_of_claude_recall_wait_in_the_inbox(app: App):
    place = user_home(environment()) / ".claude-recall"
    place.mkdir(parents=True)
    claude_recall(
        place / "claude-recall.db",
        ("pref_1", {"content": "Use pnpm, never npm"}, "preference", None),
        ("pref_2", {"content": {"value": "use pnpm, never npm."}}, "preference", None),
        ("corr_1", {"title": "Tests", "content": "Put tests into __tests__ folders"}, "correction", "elsewhere"),
        ("know_1", "The billing service runs on port 8443 in staging", "project-knowledge", None),
        ("tool_1", {"content": "Bash ls -la in the project"}, "tool-use", None),
        ("test_9", {"content": "A preference that a test left behind"}, "preference", None),
    )

    told = facts(imports.claude_recall(app))

    (rule,) = [memory for memory in kept(app) if memory.kind is Kind.RULE]
    assert (rule.body, rule.status, rule.lane) == ("Use pnpm, never npm", Status.CANDIDATE, Lane.AGENT)
    assert [card.memory.id for card in rules.list_inbox(app).cards] == [rule.id]
    assert (told["rules"], told["threads"], told["duplicates"]) == (1, 1, 1)
    assert told["junk"] == {"a record of tools, not a memory": 1, "test data": 1}
    assert told["other_projects"] == {"elsewhere": 1}


def test_entities_and_their_relations_become_threads_and_bridges(app: App, tmp_path: Path):
    entities = {"Checkout": ["Runs on three machines", "Go"], "Ledger": ["Keeps every payment for ever"]}
    relations = {"Ledger": "depends_on", "Nobody": "knows"}
    lines: list[dict[str, object]] = [
        {"type": "entity", "name": name, "entityType": "service", "observations": said}
        for name, said in entities.items()
    ]
    lines += [
        {"type": "relation", "from": "Checkout", "to": to, "relationType": kind} for to, kind in relations.items()
    ]
    (tmp_path / "m.jsonl").write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")

    told = facts(imports.mcp_memory(app, str(tmp_path / "m.jsonl")))

    assert {memory.title: memory.topics for memory in kept(app)} == {"Checkout": ("service",), "Ledger": ("service",)}
    (bridge,) = app.reader(Scope.PROJECT).bridges()
    assert (str(bridge.type), told["bridges"]) == ("DEPENDS", 1)


def test_an_agents_own_notes_come_in_as_the_agents(app: App, tmp_path: Path):
    folder = tmp_path / "memory"
    folder.mkdir()
    (folder / "MEMORY.md").write_text("- [Tests](tests.md)\n", encoding="utf-8")
    (folder / "tests.md").write_text(
        "---\nname: tests\ndescription: Run tests with make\nmetadata:\n  type: feedback\n---\n\n"
        "Run the tests with make test, not by hand.\n\n**Why:** It was asked for.\n", encoding="utf-8",
    )  # fmt: skip
    (folder / "ports.md").write_text("The staging database listens on port 5433.\n", encoding="utf-8")
    (folder / "recollect-use-pnpm-abc123.md").write_text("Ours.\n", encoding="utf-8")

    imports.memory_folder(app, str(folder))

    rule, thread = sorted(kept(app), key=lambda memory: memory.kind)
    assert (rule.body, rule.status, rule.lane) == (
        "Run the tests with make test, not by hand.", Status.CANDIDATE, Lane.AGENT,
    )  # fmt: skip
    assert thread.body == "The staging database listens on port 5433."


def test_rules_of_a_repository_wait_in_the_lowest_lane(app: App):
    root = app.require_project().root
    (root / "CLAUDE.md").write_text(
        "# Shop\n\n## Style\n- Always use **tabs**, never spaces\n- src/ holds the code\n- Run `make dev` to start\n\n"
        "```sh\n- never run this\n```\n"
        "<!-- recollect begin -->\n- Use npm, never pnpm\n<!-- recollect end -->\n", encoding="utf-8",
    )  # fmt: skip

    told = facts(imports.rules_file(app))

    rule, order = kept(app)
    assert order.body == "Run `make dev` to start"
    assert (rule.body, rule.lane, rule.status) == (
        "Always use tabs, never spaces", Lane.REPOSITORY, Status.CANDIDATE,
    )  # fmt: skip
    assert rule.topics == ("Style",)
    assert told["junk"] == {"not an instruction": 1}


@pytest.mark.parametrize("read", [imports.claude_mem, imports.claude_recall])
@pytest.mark.parametrize("text", [b"", b"no database at all", b"SQLite format 3\x00 and then nothing sound", None])
def test_a_file_that_is_no_such_database_is_refused(
    app: App, tmp_path: Path, read: Callable[[App, str], object], text: bytes | None
):
    if text is not None:
        (tmp_path / "x.db").write_bytes(text)
    else:
        with sqlite3.connect(tmp_path / "x.db") as db:
            db.execute("CREATE TABLE other (a)")
    with pytest.raises(BadInput):
        read(app, str(tmp_path / "x.db"))
    with pytest.raises(NotFound):
        read(app, str(tmp_path / "none.db"))
    assert kept(app) == []


@pytest.mark.parametrize("line", ["{", "[]", '{"type": "other"}', "[" * 100_000])
def test_a_broken_line_changes_nothing_and_is_named(app: App, tmp_path: Path, line: str):
    good = json.dumps({"type": "entity", "name": "Ledger", "entityType": "x", "observations": ["Keeps every payment"]})
    (tmp_path / "m.jsonl").write_text(f"{good}\n{line}\n", encoding="utf-8")
    with pytest.raises(BadImport, match="line 2"):
        imports.mcp_memory(app, str(tmp_path / "m.jsonl"))
    assert kept(app) == []


# What is worth bringing over from another memory.


def foreign(body: str, key: str = "k") -> ForeignMemory:
    return ForeignMemory(key, "", body)


@pytest.mark.parametrize(
    ("one", "reason"),
    [
        (foreign(""), "empty"),
        (foreign("12345 !!"), "empty"),
        (foreign("ok then"), "too short"),
        (foreign('{"tool": "Bash", "input": {"command": "ls"}}'), "made by a machine"),
        (foreign("<task-notification>done</task-notification>"), "made by a machine"),
        (foreign("This is a test of the memory"), "test data"),
        (foreign("Prefer tabs over spaces", key="test_preference_1"), "test data"),
        (foreign("0x3f 0x4a 0x99 ab cd ef 1213 88 99 1029 8812 =="), "no words"),
        (ForeignMemory("k", "", "A record of all the tools", junk="raw"), "raw"),
        (foreign("Prefer tabs over spaces"), ""),
        (foreign("テストは必ず書く"), ""),
        (foreign("The latest test run takes nine minutes"), ""),
    ],
)
def test_what_is_worth_nothing_is_named(one: ForeignMemory, reason: str):
    assert why_left_out(one) == reason


def test_texts_that_differ_in_numbers_and_marks_alone_are_alike():
    assert words_key("Session 12: All 3 tests passed!") == words_key("session 7 - all 41 tests passed")
    assert words_key("Use tabs") != words_key("Use spaces")
