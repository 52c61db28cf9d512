"""Replay: past sessions are asked with what was known before them, and nothing is written."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from recollect.base.errors import BadInput, NotFound
from recollect.ops import replay
from recollect.ops.app import App
from tests.ops.test_past import SPRING, Past, answered


@pytest.fixture
def sessions() -> None:
    first = Past("one", SPRING).said("The nightly import fails in parse_row, please find out why")
    answered(first, "parse_row treats an empty column as zero. I changed it to skip empty columns in the importer.")
    second = Past("two", SPRING.plus(days=3)).said("parse_row in the nightly import fails on an empty column again")
    answered(second, "The importer should skip empty columns since the change in spring; the config turned it off.")
    second.said("hello")
    answered(second, "Hello!")


def _files(*folders: Path) -> list[str]:
    return sorted(str(path) for folder in folders for path in folder.rglob("*"))


def test_only_what_earlier_sessions_left_is_told(app: App, sessions: None) -> None:
    told = replay.replay(app, show=5)
    assert told.facts["sessions"] == 2
    assert told.facts["prompts"] == 3
    assert '"session": "two"' in json.dumps(told.facts["sample"])
    assert '"session": "one"' not in json.dumps(told.facts["sample"])
    assert told.facts["used"] == told.facts["memories"] == 1


def test_nothing_is_written(app: App, sessions: None) -> None:
    folders = [Path.home(), Path.cwd(), app.home.root]
    before = _files(*folders)
    replay.replay(app)
    assert _files(*folders) == before


def test_since_counts_later_prompts_alone(app: App, sessions: None) -> None:
    told = replay.replay(app, since=SPRING.plus(days=1).iso()[:10])
    assert told.facts["prompts"] == 2
    assert told.facts["told"] == 1


def test_bad_input_is_named(app: App) -> None:
    with pytest.raises(BadInput, match="-1"):
        replay.replay(app, show=-1)
    with pytest.raises(BadInput, match="yesterday"):
        replay.replay(app, since="yesterday")
    with pytest.raises(NotFound, match="no project"):
        replay.replay(app, project=os.sep)


def test_a_project_without_sessions_says_so(app: App) -> None:
    assert replay.replay(app).summary.startswith("Claude Code left no sessions")
