"""Lines that a machine printed or that a shell is to run, beside lines that people say."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.capture.machine_text import (
    before_error,
    goal_of,
    is_command,
    is_error,
    is_machine_text,
    without_machine_text,
)
from recollect.capture.records import make_record
from recollect.capture.titles import make_title
from recollect.model.passage import Record
from tests.capture.acts import replied, said, turn
from tests.cases import cases

MACHINE, SAID = cases("machine_text", "machine"), cases("machine_text", "said")


@pytest.mark.parametrize("line", MACHINE)
def test_errors_logs_commands_code_and_bare_paths_are_machine_text(line: str):
    assert is_machine_text(line)


@pytest.mark.parametrize("line", SAID)
def test_what_people_say_is_not(line: str):
    assert not is_machine_text(line)


@pytest.mark.parametrize(("command", "goal"), cases("machine_text", "goals"))
def test_what_a_command_is_for_is_said_in_words(command: str, goal: str):
    assert goal_of(command) == goal


def test_an_error_in_a_sentence_is_cut_off_it():
    assert before_error("the cart crashes: TypeError: x is undefined") == "the cart crashes"
    assert before_error("error messages are unclear") == "error messages are unclear"


def test_lines_that_were_pasted_are_left_out():
    pasted = (
        "$ make nightly\nmake: *** [Makefile:3: nightly] Error 2\nwhy does the nightly build stop?"
    )
    assert without_machine_text(pasted) == "why does the nightly build stop?"


@pytest.mark.parametrize("line", MACHINE)
@pytest.mark.parametrize("ended", ["", "`make all` failed"])
def test_no_thread_is_named_after_a_machines_words(line: str, ended: str):
    title = make_title([Record(asked=line, ran="make all (failed)", ended=ended, said=line)])
    assert title
    assert not is_error(title)
    assert not is_command(title)


@pytest.mark.parametrize("line", MACHINE)
def test_a_thread_that_began_with_a_machines_words_is_named_after_what_was_found(line: str):
    found = "The cart total was wrong for guests; I now add the fee in one place."
    record = make_record(turn(said(line), replied(found)))
    assert make_title([record]) == "Cart total was wrong for guests"


@given(st.text(max_size=400))
def test_any_text_is_told_apart(text: str):
    assert is_machine_text(text) in (True, False)
    assert len(before_error(text)) <= len(text)
