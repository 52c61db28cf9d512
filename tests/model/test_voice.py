from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.model.passage import asks_of_self, voice
from tests.naughty import NAUGHTY


@pytest.mark.parametrize(
    ("text", "least", "most"),
    [
        ("I moved the cache to Redis and we kept my keys.", 100, 100),
        ("I'm moving my notes; that's what we agreed on.", 100, 100),
        ("Yesterday I moved the whole cache of the second cluster over to Redis.", 40, 60),
        ("Redis evicts the oldest keys when its memory is full.", 0, 0),
        ("To set this up, you should open the panel, choose your plan, and follow the steps. I can help.", 20, 40),
        ("", 0, 0),
        ("I", 75, 75),
    ],
)
def test_a_text_is_as_personal_as_its_share_of_first_persons(text: str, least: int, most: int):
    assert least <= voice(text) <= most


@pytest.mark.parametrize("text", ["weapon", "museum", "mystery", "use i18n", "item", "hour", "busy"])
def test_a_first_person_is_a_whole_word(text: str):
    assert voice(text) == 0


@pytest.mark.parametrize(
    "question",
    [
        "what did I move?", "Where is MY car", "which plan do I have", "do I usually use tabs",
        "What have I said of it", "when I moved the cache", "which one was mine", "did I write it myself",
        "what was I reading",
    ],
)  # fmt: skip
def test_a_question_about_its_asker_is_known(question: str):
    assert asks_of_self(question)


@pytest.mark.parametrize(
    "question",
    [
        "", "what is a cache", "how do I run the tests", "can I delete this branch", "tell me about tabs",
        "what did we decide", "who wrote mystery", "i18n", "what did Ina use",
    ],
)  # fmt: skip
def test_a_question_about_a_thing_is_no_question_about_oneself(question: str):
    assert not asks_of_self(question)


@given(st.text())
def test_any_text_has_a_voice_from_nothing_to_all(text: str):
    assert 0 <= voice(text) <= 100
    assert asks_of_self(text) in (True, False)


@given(st.text(max_size=200))
def test_case_does_not_change_a_voice(text: str):
    ascii_only = text.encode("ascii", "ignore").decode()
    assert voice(ascii_only.upper()) == voice(ascii_only.lower())


def test_no_text_breaks_it():
    for text in NAUGHTY:
        assert 0 <= voice(text) <= 100
        asks_of_self(text)


@pytest.mark.parametrize("piece", ["i ", "x", "my", "do i ", " "])
def test_a_megabyte_does_not_explode(piece: str):
    """What is tried again at every place would take hours."""
    text = piece * (1_000_000 // len(piece))
    began = time.process_time()

    voice(text)
    asks_of_self(text)

    assert time.process_time() - began < 30
