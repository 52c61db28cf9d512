"""What was archived on purpose, at the command line: counted, and shown to who asks for it."""

from __future__ import annotations

import pytest

from tests.cli.run import pinned, run

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
