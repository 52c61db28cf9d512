"""Rules and skills follow what is remembered by themselves, and never more often than they may."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from recollect.base.clock import SystemClock
from recollect.base.log import Log
from recollect.base.paths import Home
from recollect.daemon.apps import Apps
from recollect.daemon.mirroring import Mirroring
from recollect.daemon.model import Model
from recollect.model.result import Scope
from recollect.ops import mirrors, rules, sync
from recollect.ops.app import App


@pytest.fixture
def home() -> Home:
    found = Home(Path(os.environ["RECOLLECT_HOME"]))
    found.prepare()
    (Path.home() / ".claude").mkdir()
    return found


@pytest.fixture
def apps(home: Home) -> Iterator[Apps]:
    found = Apps(home, Path.home(), SystemClock(), Model())
    yield found
    found.close()


def mirroring(apps: Apps, tmp_path: Path, *, at_most_every_s: float = 0) -> Mirroring:
    log = Log(tmp_path, SystemClock(), max_bytes=1_000_000, redact=lambda text: text)
    return Mirroring(apps, log, at_most_every_s=at_most_every_s)


def switch(home: Home, *lines: str) -> None:
    home.conf.write_text("\n".join(lines) + "\n")


def add(apps: Apps, words: str) -> None:
    with apps.app(str(Path.cwd()), "", {}) as app:
        rules.add(app, words)


def written() -> set[str]:
    """By the lines of the index."""
    found = (Path.home() / ".claude").rglob("MEMORY.md")
    return {line.partition(" — ")[2] for path in found for line in path.read_text().splitlines() if "](" in line}


def test_a_rule_is_written_once_it_is_known_and_goes_with_the_setting(apps: Apps, home: Home, tmp_path: Path):
    switch(home, "MEMORY_RULES_SYNC=on", "MEMORY_SKILLS=on")
    chore = mirroring(apps, tmp_path)
    add(apps, "Use pnpm")
    chore.look()
    assert written() == {"Use pnpm"}
    assert (Path.cwd() / ".claude/skills/auto-preferences/SKILL.md").is_file()

    add(apps, "Answer briefly")
    chore.look()
    assert written() == {"Use pnpm", "Answer briefly"}

    switch(home, "MEMORY_RULES_SYNC=off")
    chore.look()
    assert list((Path.home() / ".claude").iterdir()) == []
    assert not (Path.cwd() / ".claude").exists()


def test_it_is_looked_at_only_so_often(apps: Apps, home: Home, tmp_path: Path):
    switch(home, "MEMORY_RULES_SYNC=on")
    chore = mirroring(apps, tmp_path, at_most_every_s=1_000)
    add(apps, "Use pnpm")
    chore.look()
    add(apps, "Answer briefly")

    chore.look()

    assert written() == {"Use pnpm"}


def test_where_nothing_changed_nothing_is_written(
    apps: Apps, home: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):  # fmt: skip
    switch(home, "MEMORY_RULES_SYNC=on")
    chore = mirroring(apps, tmp_path)
    add(apps, "Use pnpm")
    refreshed: list[App] = []
    real = mirrors.refresh

    def refresh(app: App) -> None:
        refreshed.append(app)
        real(app)

    monkeypatch.setattr(mirrors, "refresh", refresh)

    for _ in range(3):
        chore.look()
    with apps.app(str(Path.cwd()), "", {}) as app:
        app.writing(Scope.PROJECT).sessions.put_state("beat", "1")  # as every prompt does
    chore.look()

    assert len(refreshed) == 1


def test_what_the_agent_writes_into_its_index_is_taken_into_account(apps: Apps, home: Home, tmp_path: Path):
    switch(home, "MEMORY_RULES_SYNC=on")
    chore = mirroring(apps, tmp_path)
    add(apps, "Use pnpm")
    chore.look()
    [index] = (Path.home() / ".claude").rglob("MEMORY.md")
    index.write_text(index.read_text() + "- more\n" * 220)

    chore.look()

    assert written() == set(), "there is no room left beside the agent's own lines"
    assert index.read_text() == "- more\n" * 220


def test_what_is_off_is_not_even_looked_for(apps: Apps, home: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    add(apps, "Use pnpm")
    monkeypatch.setattr(sync, "wanted", None)  # would fail if it were called

    mirroring(apps, tmp_path).look()

    assert not (tmp_path / "recollect.log").exists()


def test_one_that_cannot_be_written_is_logged_and_the_other_goes_on(apps: Apps, home: Home, tmp_path: Path):
    switch(home, "MEMORY_RULES_SYNC=on", "MEMORY_SKILLS=on")
    chore = mirroring(apps, tmp_path)
    add(apps, "Use pnpm")
    chore.look()
    [index] = (Path.home() / ".claude").rglob("MEMORY.md")
    index.chmod(0o400)
    add(apps, "Answer briefly")

    chore.look()

    assert "mirror-failed" in (tmp_path / "recollect.log").read_text()
    assert "Answer briefly" in (Path.cwd() / ".claude/skills/auto-preferences/SKILL.md").read_text()
