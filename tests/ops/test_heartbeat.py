"""The heartbeat is kept in the database; the file in the project shows it and is never believed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from recollect.app import session_ledger
from recollect.app.core import App
from recollect.base.clock import FixedClock
from recollect.model.result import Scope
from recollect.model.session import Heartbeat
from tests.values import NOW


@pytest.fixture
def view() -> Path:
    return Path.cwd() / ".ai" / "heartbeat.json"


def at(app: App, beats: float) -> None:
    assert isinstance(app.clock, FixedClock)
    app.clock.at = NOW.plus(seconds=beats * 300)


def spoken(app: App) -> Heartbeat:
    """As a prompt's hook does it."""
    before = session_ledger.record_interaction(app)
    session_ledger.write_heartbeat_view(app)
    return before


def test_looking_makes_nothing(app: App, view: Path):
    told = session_ledger.heartbeat(app)
    session_ledger.tick(app)
    assert told.summary == "Beat 0, 0 since anyone last spoke: active conversation."
    assert app.store_path(Scope.PROJECT) is None
    assert not view.exists()


def test_it_is_shown_in_the_project(app: App, view: Path):
    session_ledger.record_interaction(app)
    at(app, 3)
    session_ledger.tick(app)
    assert json.loads(view.read_text()) == {
        "beat": 3, "started_at": NOW.iso(), "last_beat_at": NOW.plus(seconds=900).iso(),
        "last_interaction_at": NOW.iso(), "last_interaction_beat": 0,
    }  # fmt: skip
    assert session_ledger.heartbeat(app).facts["meaning"] == "short pause"


@pytest.mark.parametrize("text", ["", "{", '{"beat": 999999}', "[]", "\x00", '{"beat": -5}'])
def test_what_someone_wrote_into_the_file_is_not_believed(app: App, view: Path, text: str):
    spoken(app)
    view.write_text(text)
    at(app, 1)
    assert spoken(app).beat == 1
    assert json.loads(view.read_text())["beat"] == 1


@pytest.mark.parametrize("folder", [False, True])
def test_a_link_in_place_of_the_file_or_its_folder_is_not_followed(app: App, view: Path, tmp_path: Path, folder: bool):
    spoken(app)
    linked = view.parent if folder else view
    elsewhere = tmp_path / "elsewhere"
    linked.rename(elsewhere)
    linked.symlink_to(elsewhere)
    before = view.read_text()
    at(app, 5)
    assert spoken(app).beat == 5
    precious = elsewhere / "heartbeat.json" if folder else elsewhere
    assert precious.read_text() == before
