from __future__ import annotations

import pytest

from recollect.capture.sift import junk, likeness
from recollect.model.brought import Brought


def said(body: str, key: str = "k") -> Brought:
    return Brought(key, "", body)


@pytest.mark.parametrize(
    ("one", "reason"),
    [
        (said(""), "empty"),
        (said("12345 !!"), "empty"),
        (said("ok then"), "too short"),
        (said('{"tool": "Bash", "input": {"command": "ls"}}'), "made by a machine"),
        (said("<task-notification>done</task-notification>"), "made by a machine"),
        (said("This is a test of the memory"), "test data"),
        (said("Prefer tabs over spaces", key="test_preference_1"), "test data"),
        (said("0x3f 0x4a 0x99 ab cd ef 1213 88 99 1029 8812 =="), "no words"),
        (Brought("k", "", "A record of all the tools", junk="raw"), "raw"),
        (said("Prefer tabs over spaces"), ""),
        (said("テストは必ず書く"), ""),
        (said("The latest test run takes nine minutes"), ""),
    ],
)
def test_what_is_worth_nothing_is_named(one: Brought, reason: str):
    assert junk(one) == reason


def test_texts_that_differ_in_numbers_and_marks_alone_are_alike():
    assert likeness("Session 12: All 3 tests passed!") == likeness("session 7 - all 41 tests passed")
    assert likeness("Use tabs") != likeness("Use spaces")
