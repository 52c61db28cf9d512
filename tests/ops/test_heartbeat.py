"""The heartbeat is kept in the database; the file in the project shows it and is never believed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from recollect.app import beat_state
from recollect.app.core import App
from recollect.app.memory_search import load_focus
from recollect.base.clock import FixedClock
from recollect.model.result import Scope
from recollect.model.session import Heartbeat
from recollect.ops.focus import save_focus
from recollect.recall.priority import Focus
from tests.values import NOW


@pytest.fixture
def view() -> Path:
    return Path.cwd() / ".ai" / "heartbeat.json"


def at(app: App, beats: float) -> None:
    assert isinstance(app.clock, FixedClock)
    app.clock.at = NOW.plus(seconds=beats * 300)


def spoken(app: App) -> Heartbeat:
    """As a prompt's hook does it."""
    before = beat_state.record_interaction(app)
    beat_state.write_view(app)
    return before


def test_looking_makes_nothing(app: App, view: Path):
    told = beat_state.heartbeat(app)
    beat_state.tick(app)
    assert told.summary == "Beat 0, 0 since anyone last spoke: active conversation."
    assert app.store_path(Scope.PROJECT) is None
    assert not view.exists()


def test_it_is_shown_in_the_project(app: App, view: Path):
    beat_state.record_interaction(app)
    at(app, 3)
    beat_state.tick(app)

    assert json.loads(view.read_text()) == {
        "beat": 3,
        "started_at": NOW.iso(),
        "last_beat_at": NOW.plus(seconds=900).iso(),
        "last_interaction_at": NOW.iso(),
        "last_interaction_beat": 0,
    }
    assert beat_state.heartbeat(app).facts["meaning"] == "short pause"


@pytest.mark.parametrize("text", ["", "{", '{"beat": 999999}', "[]", "\x00", '{"beat": -5}'])
def test_what_someone_wrote_into_the_file_is_not_believed(app: App, view: Path, text: str):
    spoken(app)
    view.write_text(text)
    at(app, 1)
    assert spoken(app).beat == 1
    assert json.loads(view.read_text())["beat"] == 1


@pytest.mark.parametrize("state", ["", "{", "null", '{"beat": true}', "[[[[", '"x"'])
def test_a_broken_state_is_begun_anew(app: App, state: str):
    beat_state.record_interaction(app)
    app.writer(Scope.PROJECT).put_state("heartbeat", state)
    assert beat_state.current(app).beat == 0
    assert beat_state.record_interaction(app).beat == 0


def test_a_link_in_its_place_is_not_followed(app: App, view: Path, tmp_path: Path):
    spoken(app)
    target = tmp_path / "precious"
    target.write_text("precious")
    view.unlink()
    view.symlink_to(target)
    spoken(app)
    assert target.read_text() == "precious"


def test_a_folder_that_is_a_link_is_not_written_into(app: App, view: Path, tmp_path: Path):
    spoken(app)
    elsewhere = tmp_path / "elsewhere"
    view.parent.rename(elsewhere)
    view.parent.symlink_to(elsewhere)
    before = (elsewhere / "heartbeat.json").read_text()
    at(app, 5)
    assert spoken(app).beat == 5
    assert (elsewhere / "heartbeat.json").read_text() == before


def test_after_the_clock_was_set_back_it_goes_on(app: App):
    beat_state.record_interaction(app)
    at(app, 10)
    beat_state.tick(app)
    at(app, -50)
    beat_state.tick(app)
    at(app, -48)
    assert beat_state.current(app).beat == 12


def test_the_focus_is_kept_and_shown(app: App, view: Path):
    save_focus(app, [Focus("authentication", 0.8, NOW)])

    assert load_focus(app) == (Focus("authentication", 0.8, NOW),)
    shown = json.loads(view.with_name("focus.json").read_text())
    assert shown == {
        "active_focus": [{"topic": "authentication", "weight": 0.8, "set_at": NOW.iso()}],
        "last_updated": NOW.iso(),
    }
    save_focus(app, [])
    assert load_focus(app) == ()


@pytest.mark.parametrize("state", ["", "{", "[]", '{"active_focus": 3}', '{"active_focus": [{"topic": "x"}]}'])
def test_a_broken_focus_is_none(app: App, state: str):
    app.writer(Scope.PROJECT).put_state("focus", state)
    assert load_focus(app) == ()
