"""A record is read back as it was written, whatever stands in its words."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from recollect.base.text import one_line
from recollect.model.record import Record, Role, parts, read

WORDS = st.text(st.sampled_from("ab .:\nAskedFoundSaid"), max_size=40)


def test_parts_stand_in_order_one_line_each() -> None:
    record = Record(asked="why does\nit fail?", found="The clock is wrong.", changed="a.py, b.py", said="One.\n\nTwo.")
    text = record.text()
    assert text == "Asked: why does it fail?\nFound: The clock is wrong.\nChanged: a.py, b.py\nSaid: One.\n\nTwo."
    assert [part.role for part in parts(text)] == [Role.ASKED, Role.FOUND, Role.CHANGED, Role.SAID]


def test_labels_inside_what_was_said_are_words() -> None:
    text = Record(asked="list them", said="Found: nothing.\nEnded: never.").text()
    assert read(text) == Record(asked="list them", said="Found: nothing.\nEnded: never.")


def test_other_text_is_no_record() -> None:
    assert read("We use tabs.\nAsked: by whom?") is None
    assert read("") is None


@given(asked=WORDS, found=WORDS, ended=WORDS, said=WORDS)
def test_a_record_is_read_back(asked: str, found: str, ended: str, said: str) -> None:
    record = Record(asked=one_line(asked), found=one_line(found), ended=one_line(ended), said=said.strip())
    assert (read(record.text()) or Record()) == record
