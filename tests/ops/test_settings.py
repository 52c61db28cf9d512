from __future__ import annotations

from pathlib import Path

import pytest

from recollect.app import recovery
from recollect.base.errors import BadInput
from recollect.model.result import Mark
from recollect.ops import memories, recall, upkeep
from recollect.ops.health import config, doctor, status
from tests.ops.ask import kept, pinned
from tests.ops.conftest import Opens


def write_conf(home: Path, text: str) -> None:
    home.mkdir(mode=0o700, exist_ok=True)
    (home / "agent.conf").write_text(text)


def test_a_bad_value_is_reported_with_file_and_line_and_the_default_used(open_app: Opens):
    home = Path.home() / ".recollect"
    write_conf(home, "# mine\nMEMORY_BACKUPS_KEPT=plenty\nMEMORY_HALFLIFE_DAYS=3\n")
    app = open_app()

    told = config(app)

    assert [p.split(": ")[0] for p in told.problems] == [f"{home}/agent.conf:2", f"{home}/agent.conf:3"]
    assert "Using 5" in told.problems[0]
    assert "did you mean MEMORY_HALF_LIFE_DAYS?" in told.problems[1]
    assert {s["name"]: (s["value"], s["source"]) for s in told.settings}["MEMORY_BACKUPS_KEPT"] == ("5", "default")
    assert status(app).settings_problems == 2
    assert {c.name: c.mark for c in doctor(app).checks}["settings"] is Mark.WARN


def test_every_value_says_where_it_comes_from(open_app: Opens, monkeypatch: pytest.MonkeyPatch):
    home = Path.home() / ".recollect"
    write_conf(home, "MEMORY_BACKUPS_KEPT=7\n")
    Path(".ai").mkdir()
    Path(".ai/agent.conf").write_text("MEMORY_MAX_BODY_CHARS=2000\nMEMORY_BACKUPS_KEPT=3\n")
    monkeypatch.setenv("MEMORY_LOG_MAX_MB", "1")

    told = config(open_app())

    sources = {s["name"]: (s["value"], s["source"]) for s in told.settings if s["source"] != "default"}
    assert sources == {
        "MEMORY_BACKUPS_KEPT": ("7", f"{home}/agent.conf:1"),
        "MEMORY_MAX_BODY_CHARS": ("2000", f"{Path.cwd()}/.ai/agent.conf:1"),
        "MEMORY_LOG_MAX_MB": ("1", "environment"),
    }
    assert "a project may not set this" in told.problems[0]


def test_a_body_has_a_limit_that_can_be_set(open_app: Opens, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("MEMORY_MAX_BODY_CHARS", "1000")
    app = open_app()

    id = pinned(app, "x" * 1_000)
    with pytest.raises(BadInput, match="1,001 characters; at most 1,000") as problem:
        memories.pin(app, "x" * 1_001)
    assert "MEMORY_MAX_BODY_CHARS" in problem.value.hint
    with pytest.raises(BadInput):
        memories.edit(app, id, body="x" * 1_001)
    assert kept(app, id).body == "x" * 1_000


def test_the_largest_body_is_kept_and_found(open_app: Opens):
    app = open_app()
    words = "Xylographer " + "lorem ipsum dolor " * 55_000
    id = pinned(app, words)
    assert kept(app, id).body == words
    assert [one.hit.memory.id for one in recall.search(app, ("xylographer",)).found] == [id]


def test_old_backups_go_when_there_are_more_than_are_kept(open_app: Opens, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("MEMORY_BACKUPS_KEPT", "3")
    app = open_app()
    pinned(app, "x")
    for _ in range(5):
        upkeep.backup(app)
    (path,) = [store for _, store, _ in status(app).stores]
    assert len(recovery.backups_of(Path(path))) == status(app).backups == 3
