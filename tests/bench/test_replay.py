"""What past sessions would have been told."""

from __future__ import annotations

from bench.replay import replay_sessions
from recollect.app.core import App
from recollect.ops import past_sessions
from tests.ops.conftest import app, embedder, open_app
from tests.ops.test_past import SPRING, Past

__all__ = ["app", "embedder", "open_app"]


def test_only_what_earlier_sessions_left_is_told(app: App) -> None:
    first = Past("one", SPRING).said("The nightly import fails in parse_row, please find out why")
    first.answered("parse_row treats an empty column as zero. I changed it to skip empty columns in the importer.")
    second = Past("two", SPRING.plus(days=3)).said("parse_row in the nightly import fails on an empty column again")
    second.answered("The importer should skip empty columns since the change in spring; the config turned it off.")
    second.said("hello")
    second.answered("Hello!")
    [(_, transcripts)] = past_sessions.choose(app, None).by_project.values()

    asked = replay_sessions(app, transcripts)

    assert [(one.session, len(one.hits)) for one in asked] == [("one", 0), ("two", 1), ("two", 0)]
    assert asked[1].is_used(asked[1].hits[0])
