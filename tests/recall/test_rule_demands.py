"""What a rule asks of a call, and whether the call keeps it."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.recall.call_rules import read_call
from recollect.recall.rule_demands import Verdict, demand_of, judge
from tests.cases import cases


@pytest.mark.parametrize(
    ("said", "command", "verdict"), cases("rule_demands", "commands", "recall")
)
def test_a_command_keeps_a_rule_or_breaks_it_or_tells_nothing(
    said: str, command: str, verdict: str
):
    assert judge(said, read_call("Bash", {"command": command})) == verdict


@pytest.mark.parametrize(("said", "path", "verdict"), cases("rule_demands", "files", "recall"))
def test_writing_a_file_breaks_a_rule_that_forbids_it_and_reading_does_not(
    said: str, path: str, verdict: str
):
    assert judge(said, read_call("Write", {"file_path": path, "content": ""})) == verdict
    assert judge(said, read_call("Read", {"file_path": path})) is Verdict.UNKNOWN


def test_what_must_come_first_is_looked_for_in_earlier_calls():
    said = "Always run `make smoke` before you deploy to staging"
    smoke, deploy = (
        read_call("Bash", {"command": command}) for command in ("make smoke", "./deploy staging")
    )
    assert judge(said, deploy) is Verdict.BROKEN
    assert judge(said, deploy, [smoke]) is Verdict.KEPT
    assert judge("Always test before you deploy", deploy) is Verdict.UNKNOWN


@given(st.text(max_size=300), st.text(max_size=100), st.dictionaries(st.text(), st.text()))
def test_any_rule_and_any_call_can_be_judged(said: str, command: str, given: dict[str, Any]):
    assert judge(said, read_call("Bash", given | {"command": command})) in Verdict
    assert demand_of(said) == demand_of(said)
