"""Replay: past sessions are asked with what was known before them, and nothing is written."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from recollect.app.core import App
from recollect.base.errors import BadInput, NotFound
from recollect.ops.past_sessions import replay
from tests.ops.test_past import SPRING, Past


@pytest.fixture
def sessions() -> None:
    first = Past("one", SPRING).said("The nightly import fails in parse_row, please find out why")
    first.answered("parse_row treats an empty column as zero. I changed it to skip empty columns in the importer.")
    second = Past("two", SPRING.plus(days=3)).said("parse_row in the nightly import fails on an empty column again")
    second.answered("The importer should skip empty columns since the change in spring; the config turned it off.")
    second.said("hello")
    second.answered("Hello!")


def test_only_what_earlier_sessions_left_is_told_and_nothing_is_written(app: App, sessions: None):
    def files() -> list[str]:
        return sorted(str(path) for folder in (Path.home(), Path.cwd(), app.home.root) for path in folder.rglob("*"))

    before = files()
    facts = replay(app, show=5).facts

    assert (facts["sessions"], facts["prompts"], facts["told"]) == (2, 3, 1)
    assert '"session": "two"' in json.dumps(facts["sample"])
    assert '"session": "one"' not in json.dumps(facts["sample"])
    assert facts["used"] == facts["memories"] == 1
    assert files() == before


def test_since_counts_later_prompts_alone(app: App, sessions: None):
    facts = replay(app, since=SPRING.plus(days=1).iso()[:10]).facts
    assert (facts["prompts"], facts["told"]) == (2, 1)


def test_bad_input_is_named_and_a_project_without_sessions_says_so(app: App):
    with pytest.raises(BadInput, match="-1"):
        replay(app, show=-1)
    with pytest.raises(BadInput, match="yesterday"):
        replay(app, since="yesterday")
    with pytest.raises(NotFound, match="not a project folder"):
        replay(app, project=os.sep)
    assert replay(app).summary.startswith("Claude Code left no sessions")
