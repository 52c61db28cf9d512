"""Results as JSON."""

from __future__ import annotations

import json

import pytest

from recollect.model.codec import decode_memory, encode
from recollect.model.plan import Change, change_json
from recollect.model.result import Result
from tests.render.results import DARK, DONE, EVERY_CHANGE, RESULTS, shown


@pytest.mark.parametrize("result", RESULTS, ids=lambda result: type(result).__name__)
def test_every_result_is_json(result: Result):
    value = encode(result)
    assert json.loads(json.dumps(value, allow_nan=False)) == value


def test_a_memory_in_json_can_be_read_back():
    value = encode(shown())
    assert isinstance(value, dict)
    extra = {"strength", "scope", "asked", "messages", "bridges", "merged"}
    assert decode_memory({name: part for name, part in value.items() if name not in extra}) == DARK


def test_a_write_tells_its_change_and_the_ids_it_touched():
    value = encode(DONE)
    assert isinstance(value, dict)
    assert (value["change"], value["dry_run"], value["notes"]) == ("change_1", False, ["Kept out: bearer."])
    assert value["ids"] == list(EVERY_CHANGE.touched())


def test_every_change_of_a_plan_has_a_verb_of_its_own():
    verbs = [change_json(change)["do"] for change in EVERY_CHANGE.changes]
    assert len(verbs) == len(set(verbs)) == len(EVERY_CHANGE.changes)
    assert len(verbs) == len(Change.__args__)
