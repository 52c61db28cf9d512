"""The ledger enters passages; a turn or a memory that is entered whole covers all of its own."""

from __future__ import annotations

import pytest

from recollect.model.session import is_entered, ledger_mark, memory_of, turn_mark

THREAD = "thread_20260201_083000_0000a1"
TURN = "message_20260201_083000_0000000abc12"


@pytest.mark.parametrize("entered", [ledger_mark(THREAD, TURN, 40), turn_mark(THREAD, TURN), THREAD])
def test_a_passage_is_known_by_itself_its_turn_or_its_memory(entered: str):
    assert is_entered({entered}, ledger_mark(THREAD, TURN, 40))
    assert memory_of(entered) == THREAD


@pytest.mark.parametrize("entered", [ledger_mark(THREAD, TURN, 0), turn_mark(THREAD), ledger_mark(THREAD)])
def test_other_passages_of_the_thread_are_not(entered: str):
    assert not is_entered({entered}, ledger_mark(THREAD, TURN, 40))


def test_a_memory_that_is_shown_whole_is_known_by_its_id_alone():
    assert is_entered({THREAD}, THREAD)
    assert not is_entered({ledger_mark(THREAD, TURN, 40)}, THREAD)
