from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

import pytest

from recollect.app.core import App
from recollect.model.memory import Status
from recollect.model.plan import Create
from recollect.model.result import Compacted, Done, Scope, Suggested, Summary
from recollect.ops import (
    capture,
    focus,
    forget,
    history,
    imports,
    install,
    memories,
    notes,
    past_sessions,
    rules,
    session_start,
    suggestions,
    sync,
    transfer,
    turn_questions,
    upkeep,
    validate,
)
from recollect.ops.table import OPS, Effect
from tests.ops.ask import files, made, pinned
from tests.ops.conftest import Opens
from tests.values import act, messages, plan, thread
from tests.values import rule as unsure


class World(NamedTuple):
    a: str
    b: str
    rule: str
    talk: str
    waiting: str
    quiet: str


WRITES: dict[str, Callable[[App, World], Compacted | Done | Suggested | Summary]] = {
    "install": lambda app, w: install.install(app),
    "uninstall": lambda app, w: install.uninstall(app),
    "pin": lambda app, w: memories.pin(app, "new words", topics=("x",)),
    "focus": lambda app, w: focus.focus(app, "deploy"),
    "unfocus": lambda app, w: focus.unfocus(app, "billing"),
    "rate": lambda app, w: focus.rate(app, w.a, focus.Verdict.USEFUL),
    "suggestions": lambda app, w: suggestions.suggestions(app, "words", apply=True),
    "compact": lambda app, w: suggestions.compact(app),
    "rule add": lambda app, w: rules.add(app, "Use tabs"),
    "capture": lambda app, w: capture.capture(app, "we use spaces here"),
    "catch-up": lambda app, w: past_sessions.catch_up(app),
    "review": lambda app, w: turn_questions.review(app, run=True),
    "inbox accept": lambda app, w: rules.accept(app, w.waiting),
    "inbox edit": lambda app, w: rules.edit(app, w.waiting, "Use tabs in Makefiles"),
    "inbox reject": lambda app, w: rules.reject(app, w.waiting),
    "link": lambda app, w: memories.link(app, w.b, w.a),
    "unlink": lambda app, w: memories.unlink(app, w.a, w.b),
    "merge": lambda app, w: memories.merge(app, w.a, w.b),
    "split": lambda app, w: memories.split(app, w.talk, topics=("database",)),
    "archive": lambda app, w: memories.archive(app, (w.a, w.b)),
    "revive": lambda app, w: memories.restore(app, (w.quiet,)),
    "restore": lambda app, w: memories.restore(app, (w.a,)),
    "delete": lambda app, w: memories.delete(app, (w.a,)),
    "edit": lambda app, w: memories.edit(app, w.a, body="other words"),
    "undo": lambda app, w: history.undo(app),
    "note save": lambda app, w: notes.save(app, "new words"),
    "note evolve": lambda app, w: notes.evolve(app, "ask-anna", "Ask Ben."),
    "note archive": lambda app, w: notes.archive(app, ("ask-anna",)),
    "allow": lambda app, w: session_start.allow(app),
    "note sync": lambda app, w: notes.sync(app),
    "forget": lambda app, w: forget.forget(app, (w.rule,)),
    "appreciate": lambda app, w: forget.appreciate(app, "ask-anna", "+2"),
    "validate": lambda app, w: validate.validate(app, run=True),
    "sync": lambda app, w: sync.sync(app),
    "skills": lambda app, w: sync.skills(app),
    "purge": lambda app, w: history.purge(app, (w.a,)),
    "export": lambda app, w: transfer.export(app, "out.jsonl"),
    "import jsonl": lambda app, w: transfer.import_jsonl(app, "in.jsonl", user=True),
    "import sessions": lambda app, w: past_sessions.import_past(app),
    "import memory-folder": lambda app, w: imports.memory_folder(app, "theirs"),
    "import rules": lambda app, w: imports.rules_file(app, "theirs/rules.md"),
    "import notes": lambda app, w: notes.import_notes(app, "theirs"),
    "import claude-mem": lambda app, w: imports.claude_mem(app, "theirs/mem.db"),
    "import claude-recall": lambda app, w: imports.claude_recall(app, "theirs/recall.db"),
    "import mcp-memory": lambda app, w: imports.mcp_memory(app, "theirs/memory.jsonl"),
    "reindex": lambda app, w: upkeep.reindex(app),
    "backup": lambda app, w: upkeep.backup(app),
    "recover": lambda app, w: upkeep.recover(app),
    "attach": lambda app, w: upkeep.attach(app, "shop-0123456789ab"),
}


@pytest.fixture
def world(open_app: Opens, monkeypatch: pytest.MonkeyPatch) -> World:
    (Path.home() / ".claude").mkdir()
    for name in ("MEMORY_RULES_SYNC", "MEMORY_SKILLS"):
        monkeypatch.setenv(name, "on")
    app = open_app()
    talk, quiet = thread("talk"), thread("quiet", outcomes="-" * 50)
    waiting = unsure("Use conventional commits.", status=Status.CANDIDATE)
    app.writer(Scope.PROJECT).apply(
        plan(Create(talk, messages(talk, "The login form.", "The database.")), Create(quiet), Create(waiting)),
        act(summary="talk"),
    )
    a, b, rule = pinned(app, "a"), pinned(app, "b"), made(rules.add(app, "Use pnpm"))
    notes.save(app, "Ask Anna.", title="Ask Anna")
    notes.save(app, "Always.", always=True, project=True)
    notes.save(app, "Perhaps.", title="Later", inbox=True)
    memories.link(app, a, b)
    focus.focus(app, "billing")
    upkeep.backup(app)
    transfer.export(app, "in.jsonl")
    theirs(Path("theirs"))
    app.close()
    return World(a, b, rule, talk.id, waiting.id, quiet.id)


def theirs(folder: Path) -> None:
    """What other programs remembered."""
    folder.mkdir()
    (folder / "rules.md").write_text("- Use tabs, never spaces\n", encoding="utf-8")
    entity = {"type": "entity", "name": "Ledger", "entityType": "x", "observations": ["Keeps every payment for ever"]}
    (folder / "memory.jsonl").write_text(json.dumps(entity), encoding="utf-8")
    tables = {
        "mem": ("observations (id INTEGER, title TEXT)", "observations VALUES (1, 'The cookie is set late')"),
        "recall": ("memories (key TEXT, value TEXT)", "memories VALUES ('k', '\"The cookie is set late\"')"),
    }
    for name, (columns, row) in tables.items():
        with closing(sqlite3.connect(folder / f"{name}.db", isolation_level=None)) as db:
            db.execute(f"CREATE TABLE {columns}")
            db.execute(f"INSERT INTO {row}")


def test_every_operation_that_changes_anything_is_tried_here():
    assert set(WRITES) >= {op.name for op in OPS if op.effect is not Effect.READ}


@pytest.mark.parametrize("name", WRITES)
def test_a_dry_run_writes_nothing_and_shows_what_the_real_one_does(
    name: str, world: World, open_app: Opens, tmp_path: Path
):
    before = files(tmp_path)
    app = open_app(dry_run=True)
    shown = WRITES[name](app, world)
    app.close()
    assert files(tmp_path) == before
    assert shown.facts["dry_run"] if isinstance(shown, Summary) else shown.dry_run

    if isinstance(shown, Done):  # else there is no plan to compare
        done = WRITES[name](open_app(), world)
        assert isinstance(done, Done)
        assert [type(change) for change in shown.plan.changes] == [type(change) for change in done.plan.changes]
        assert bool(shown.plan) == (name != "restore")


@pytest.mark.parametrize(
    "name",
    ["pin", "rule add", "note save", "export", "import jsonl", "import sessions", "backup", "reindex", "recover"],
)
def test_a_dry_run_makes_no_home(name: str, world: World, open_app: Opens, tmp_path: Path):
    app = open_app(home=tmp_path / "elsewhere", dry_run=True)
    WRITES[name](app, world)
    assert not (tmp_path / "elsewhere").exists()


def test_a_dry_run_leaves_a_damaged_store_where_it_is(world: World, open_app: Opens, tmp_path: Path):
    store = open_app().store_path(Scope.PROJECT)
    assert store is not None
    store.write_bytes(b"\x00" * 4096 + store.read_bytes()[4096:])
    before = files(tmp_path)
    told = upkeep.recover(open_app(dry_run=True))
    assert files(tmp_path) == before
    assert "Would bring back" in told.summary
