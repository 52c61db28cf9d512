"""Rules and skills follow what is remembered by themselves, and never more often than they may."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from recollect.base.clock import SystemClock
from recollect.base.paths import Home
from recollect.daemon.apps import Apps
from recollect.daemon.model_loader import Model
from recollect.jobs import job_table
from recollect.jobs.runner import Task
from recollect.ops import rules, sync


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


class Watch:
    """The job, due whenever it is asked to look."""

    def __init__(self, apps: Apps) -> None:
        self._task = Task(job_table.job("rule-copies"), apps)

    def look(self) -> None:
        self._task._done_s.clear()
        while self._task.step():
            pass


@pytest.fixture
def watch(apps: Apps) -> Watch:
    return Watch(apps)


def switch(home: Home, *lines: str) -> None:
    home.conf.write_text("\n".join(lines) + "\n")


def add(apps: Apps, words: str) -> None:
    with apps.app(str(Path.cwd()), "", {}) as app:
        rules.add(app, words)


def written() -> set[str]:
    """By the lines of the index."""
    found = (Path.home() / ".claude").rglob("MEMORY.md")
    return {line.partition(" — ")[2] for path in found for line in path.read_text().splitlines() if "](" in line}


def test_a_rule_is_written_once_it_is_known_and_goes_with_the_setting(apps: Apps, home: Home, watch: Watch):
    switch(home, "MEMORY_RULES_SYNC=on", "MEMORY_SKILLS=on")
    add(apps, "Use pnpm")
    watch.look()
    assert written() == {"Use pnpm"}
    assert (Path.cwd() / ".claude/skills/auto-preferences/SKILL.md").is_file()

    add(apps, "Answer briefly")
    watch.look()
    assert written() == {"Use pnpm", "Answer briefly"}

    switch(home, "MEMORY_RULES_SYNC=off")
    watch.look()
    assert list((Path.home() / ".claude").iterdir()) == []
    assert not (Path.cwd() / ".claude").exists()


@pytest.mark.parametrize("is_on", [True, False])
def test_where_nothing_changed_or_all_is_off_nothing_is_looked_for(
    apps: Apps, home: Home, watch: Watch, monkeypatch: pytest.MonkeyPatch, is_on: bool
):
    add(apps, "Use pnpm")
    if is_on:
        switch(home, "MEMORY_RULES_SYNC=on")
        watch.look()
    monkeypatch.setattr(sync, "_folders", None)  # would fail if it were called
    watch.look()
    assert "failed" not in (home.logs / "recollect.log").read_text()


def test_what_the_agent_writes_into_its_index_is_taken_into_account(apps: Apps, home: Home, watch: Watch):
    switch(home, "MEMORY_RULES_SYNC=on")
    add(apps, "Use pnpm")
    watch.look()
    [index] = (Path.home() / ".claude").rglob("MEMORY.md")
    index.write_text(index.read_text() + "- more\n" * 220)
    watch.look()
    assert written() == set(), "there is no room left beside the agent's own lines"
    assert index.read_text() == "- more\n" * 220


def test_one_that_cannot_be_written_is_logged_and_the_other_goes_on(apps: Apps, home: Home, watch: Watch):
    switch(home, "MEMORY_RULES_SYNC=on", "MEMORY_SKILLS=on")
    add(apps, "Use pnpm")
    watch.look()
    [index] = (Path.home() / ".claude").rglob("MEMORY.md")
    index.chmod(0o400)
    add(apps, "Answer briefly")

    watch.look()

    assert "rule-copies-failed" in (home.logs / "recollect.log").read_text()
    assert "Answer briefly" in (Path.cwd() / ".claude/skills/auto-preferences/SKILL.md").read_text()
