"""Calls by name, through a real daemon."""

from __future__ import annotations

import json
from pathlib import Path

from recollect.wire import frame
from tests.daemon.real import FORKS, House

pytestmark = FORKS


def call(house: House, op: str, **values: object) -> tuple[str, object]:
    body = json.dumps({"op": op, "values": values}).encode()
    kind, told = house.ask("ask", body, 20, cwd=str(Path.cwd()), deadline_ms="20000", ask="one")
    return kind, json.loads(told)


def test_what_takes_long_waits_for_the_model(house: House):
    house.start()

    for n in range(2):
        kind, _ = call(house, "pin", text=f"Pin {n}.")
        assert kind == frame.OK
    kind, told = call(house, "compact")

    assert kind == frame.OK
    assert isinstance(told, dict)
    assert told["before"]["active_threads"] == 2


def test_of_work_that_is_not_going_on_there_is_nothing_to_say_or_to_call_off(house: House):
    house.start()

    assert house.ask("progress", ask="none") == (frame.OK, b"[]")
    assert house.ask("cancel", ask="none") == (frame.OK, b"")
