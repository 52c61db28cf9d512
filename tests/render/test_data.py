from __future__ import annotations

import json

import pytest

from recollect.model.codec import decode_memory
from recollect.model.plan import Change
from recollect.model.result import Result
from recollect.render.data import as_json, plan_json
from tests.render.results import DARK, DONE, EVERY_CHANGE, RESULTS, shown


@pytest.mark.parametrize("result", RESULTS, ids=lambda result: type(result).__name__)
def test_every_result_is_json(result: Result):
    value = as_json(result)

    assert json.loads(json.dumps(value, allow_nan=False)) == value


def test_a_memory_in_json_can_be_read_back():
    value = as_json(shown())

    assert isinstance(value, dict)
    extra = {"strength", "scope", "asked", "messages", "bridges", "merged"}
    assert decode_memory({name: part for name, part in value.items() if name not in extra}) == DARK


def test_a_write_tells_its_change_and_the_ids_it_touched():
    value = as_json(DONE)

    assert isinstance(value, dict)
    assert (value["change"], value["dry_run"], value["notes"]) == ("change_1", False, ["Kept out: bearer."])
    assert value["ids"] == list(EVERY_CHANGE.touched())


def test_every_change_of_a_plan_has_a_verb_of_its_own():
    verbs = [change["do"] for change in plan_json(EVERY_CHANGE) if isinstance(change, dict)]

    assert len(verbs) == len(set(verbs)) == len(EVERY_CHANGE.changes)
    assert len(verbs) == len(Change.__args__)
