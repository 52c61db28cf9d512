"""What was archived on purpose, at the command line: counted, and shown to who asks for it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from recollect.base.clock import SystemClock
from recollect.model.plan import Create
from recollect.model.result import Scope
from recollect.ops.app import App
from tests.cli.run import pinned, run
from tests.values import act, plan, thread

LINE = "2 archived memories also match: --archived"


@pytest.mark.parametrize("command", ["recall", "search"])
def test_archived_memories_are_counted_and_shown_on_request(command: str):
    away = {pinned("The zeppelin hangar has two doors."), pinned("The zeppelin crew lands before noon.")}
    assert run("archive", *away).code == 0

    plain, whole = run(command, "zeppelin"), run(command, "zeppelin", "--archived")
    facts = run(command, "zeppelin", "--json").json

    assert LINE in plain.out.splitlines()
    assert (facts["hits"], facts["left_out"]) == ([], {"archived": 2})
    assert LINE not in whole.out
    assert "archived" in whole.out.lower()
    assert {hit["id"] for hit in run(command, "zeppelin", "--archived", "--json").json["hits"]} == away


@pytest.mark.parametrize("command", ["recall", "search"])
@pytest.mark.parametrize(("days", "status"), [(1, "active"), (14, "suspended"), (400, "archived")])
def test_threads_of_any_age_are_found_with_no_option(command: str, days: int, status: str):
    app = App.here(Path.cwd())
    at = SystemClock().now().plus(days=-days)
    old = thread("The zeppelin hangar", body="The zeppelin hangar has two doors.")
    app.writing(Scope.PROJECT).apply(
        plan(Create(replace(old, created_at=at, reinforced_at=at, last_active_at=at))), act()
    )
    app.close()

    (hit,) = run(command, "which", "doors", "has", "it", "--json").json["hits"]

    assert (hit["id"], hit["status"]) == (old.id, "active" if command == "recall" else status), "a recall wakes it"
