"""While the daemon runs, memory follows the files of the vaults."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from recollect.base.clock import SystemClock
from recollect.base.log import Log
from recollect.base.paths import Home
from recollect.daemon import vaulting
from recollect.daemon.apps import Apps
from recollect.daemon.model import Model
from recollect.daemon.vaulting import Vaulting
from recollect.model.memory import Kind
from recollect.model.query import Query
from recollect.ops import vaults
from recollect.ops.register import Shelf
from recollect.vault.folder import Scan


@pytest.fixture
def home() -> Home:
    found = Home(Path(os.environ["RECOLLECT_HOME"]))
    found.prepare()
    found.vault.mkdir()
    return found


@pytest.fixture
def apps(home: Home) -> Iterator[Apps]:
    found = Apps(home, Path.home(), SystemClock(), Model())
    yield found
    found.close()


@pytest.fixture
def chore(apps: Apps, home: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Vaulting:
    monkeypatch.setattr(vaulting, "_SHARE", 0)  # tests look again at once
    return Vaulting(apps, home, Log(tmp_path, SystemClock(), max_bytes=1_000_000, redact=lambda text: text))


def bodies(apps: Apps) -> set[str]:
    with apps.app(str(Path.cwd()), "", {}) as app:
        return {note.body for _, store in app.scopes() for note in store.find(Query(kinds=(Kind.NOTE,)))}


def test_a_file_that_was_saved_is_a_note_at_the_next_look(apps: Apps, home: Home, chore: Vaulting):
    shared = Path.cwd() / ".ai" / "memory"
    shared.mkdir(parents=True)
    bodies(apps)  # a session speaks here
    (home.vault / "a.md").write_text("one")
    (shared / "b.md").write_text("two")

    assert chore.look() is False
    assert bodies(apps) == {"one", "two"}

    (home.vault / "a.md").write_text("three")
    chore.look()
    assert bodies(apps) == {"three", "two"}


def test_nothing_is_opened_while_nothing_changes(
    apps: Apps, home: Home, chore: Vaulting, monkeypatch: pytest.MonkeyPatch
):
    (home.vault / "a.md").write_text("one")
    os.utime(home.vault / "a.md", (1_000_000_000, 1_000_000_000))
    chore.look()
    looks: list[str] = []
    monkeypatch.setattr(vaults, "refresh", lambda *_args, **_options: looks.append("look"))

    for _ in range(3):
        chore.look()

    assert looks == []


def test_many_files_are_taken_in_a_few_at_a_time(
    apps: Apps, home: Home, chore: Vaulting, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(vaulting, "FEW_FILES", 2)
    for number in range(5):
        (home.vault / f"{number}.md").write_text(f"note {number}")

    looks = 1
    while chore.look():
        looks += 1

    assert looks == 3
    assert len(bodies(apps)) == 5


def test_a_store_that_cannot_be_written_is_tried_again_later(apps: Apps, home: Home, chore: Vaulting, tmp_path: Path):
    (home.vault / "a.md").write_text("one")
    home.user_store.parent.mkdir(exist_ok=True)
    home.user_store.write_bytes(b"not a database" * 1_000)

    assert chore.look() is False

    assert "vault-failed" in (tmp_path / "recollect.log").read_text()


def test_between_two_looks_at_every_file_new_ones_and_late_saves_are_noticed(
    apps: Apps, home: Home, chore: Vaulting, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(vaulting, "_SHARE", 1_000_000)
    monkeypatch.setattr(vaulting, "_SHARE_SOON", 0)
    (home.vault / "deep").mkdir()
    (home.vault / "deep" / "a.md").write_text("one")
    chore.look()
    assert bodies(apps) == {"one"}
    chore.look()  # at the project's, of which it knows now
    looks: list[Shelf] = []
    scanned = vaults.scanned

    def scanning(shelf: Shelf) -> Scan:
        looks.append(shelf)
        return scanned(shelf)

    monkeypatch.setattr(vaults, "scanned", scanning)

    chore.look()
    assert looks == []

    (home.vault / "deep" / "a.md").write_text("in place")
    chore.look()
    assert bodies(apps) == {"in place"}

    (home.vault / "deep" / "b.md").write_text("new")
    chore.look()
    assert bodies(apps) == {"in place", "new"}

    (home.vault / "deep" / "a.md").unlink()
    (home.vault / "picture.png").write_text("no note")
    chore.look()
    looks.clear()
    chore.look()
    assert looks == []


def test_a_vault_that_is_made_later_is_noticed(
    apps: Apps, home: Home, chore: Vaulting, monkeypatch: pytest.MonkeyPatch
):
    home.vault.rmdir()
    monkeypatch.setattr(vaulting, "_SHARE", 1_000_000)
    monkeypatch.setattr(vaulting, "_SHARE_SOON", 0)
    chore.look()

    home.vault.mkdir()
    (home.vault / "a.md").write_text("one")
    chore.look()

    assert bodies(apps) == {"one"}
