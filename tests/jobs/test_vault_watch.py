"""While the daemon runs, memory follows the files of the vaults."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from recollect.base.paths import Home
from recollect.daemon.apps import Apps
from recollect.jobs import job_table, vault_sync
from recollect.jobs.runner import Task
from recollect.model.memory import Kind
from recollect.model.query import Query
from tests.jobs.work import open_apps, open_home


@pytest.fixture
def home() -> Home:
    found = open_home()
    found.vault.mkdir()
    return found


@pytest.fixture
def apps(home: Home) -> Iterator[Apps]:
    found = open_apps()
    yield found
    found.close()


class Watch:
    """The job, due whenever it is asked to look."""

    def __init__(self, apps: Apps) -> None:
        self._task = Task(job_table.job("vaults"), apps)

    def look(self) -> int:
        """At every vault, to the end; the number of pieces."""
        self._task._done_s.clear()
        pieces = 0
        while self._task.step():
            pieces += 1
        return pieces


@pytest.fixture
def watch(apps: Apps, monkeypatch: pytest.MonkeyPatch) -> Watch:
    monkeypatch.setattr(vault_sync, "_SHARE", 0)  # tests look again at once
    return Watch(apps)


def bodies(apps: Apps) -> set[str]:
    with apps.app(str(Path.cwd()), "", {}) as app:
        return {note.body for _, store in app.scopes() for note in store.find(Query(kinds=(Kind.NOTE,)))}


def test_a_file_that_was_saved_is_a_note_at_the_next_look(apps: Apps, home: Home, watch: Watch):
    shared = Path.cwd() / ".ai" / "memory"
    shared.mkdir(parents=True)
    bodies(apps)  # a session speaks here
    home.vault.rmdir()
    watch.look()
    home.vault.mkdir()
    (home.vault / "a.md").write_text("one")
    (shared / "b.md").write_text("two")

    watch.look()
    assert bodies(apps) == {"one", "two"}

    (home.vault / "a.md").write_text("three")
    watch.look()
    assert bodies(apps) == {"three", "two"}


def test_nothing_is_opened_while_nothing_changes(apps: Apps, home: Home, watch: Watch, monkeypatch: pytest.MonkeyPatch):
    (home.vault / "a.md").write_text("one")
    os.utime(home.vault / "a.md", (1_000_000_000, 1_000_000_000))
    watch.look()
    looks: list[str] = []
    monkeypatch.setattr(vault_sync, "refresh", lambda *_args, **_options: looks.append("look"))

    for _ in range(3):
        watch.look()

    assert looks == []


def test_many_files_are_taken_in_a_few_at_a_time(apps: Apps, home: Home, watch: Watch, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(vault_sync, "FEW_FILES", 2)
    for number in range(5):
        (home.vault / f"{number}.md").write_text(f"note {number}")
    assert watch.look() == 3
    assert len(bodies(apps)) == 5


def test_a_store_that_cannot_be_written_is_tried_again_later(apps: Apps, home: Home, watch: Watch):
    (home.vault / "a.md").write_text("one")
    home.user_store.parent.mkdir(exist_ok=True)
    home.user_store.write_bytes(b"not a database" * 1_000)
    watch.look()
    assert "vault-failed" in (home.logs / "recollect.log").read_text()
