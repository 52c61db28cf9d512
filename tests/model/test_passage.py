"""Passages lose no text and never grow beyond their limit; each has a voice."""

import time

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from recollect.model.passage import MAX_CHARS, Span, asks_of_self, spans, voice
from tests.naughty import NAUGHTY
from tests.values import messages, thread

# Long enough to be cut, with breaks of every kind in odd places.
_pieces = st.sampled_from(
    ["word ", "x" * 700, "\n\n", "\n", ". ", "。", "日本", " " * 900, "\u2028", "?", "\t", "a\n \nb"]
)
long_texts = st.lists(_pieces | st.text(max_size=30), max_size=60).map("".join) | st.sampled_from(NAUGHTY)


def check_covers(text: str, found: tuple[Span, ...]) -> None:
    end = 0
    for span in found:
        assert span.start == end
        assert span.length <= MAX_CHARS
        end += span.length
    assert text[end:].strip() == "", "only blanks at the end may be left out"
    assert "".join(span.of(text) for span in found) == text[:end]


@given(long_texts, long_texts)
@example("", "")
@example("x" * (MAX_CHARS * 3), "a " * MAX_CHARS)
@example("\n" * (MAX_CHARS * 2 + 1), "x" * MAX_CHARS + "\n\n")
def test_passages_cover_body_and_messages_in_order_without_overlap(body: str, said: str):
    owner = thread("t", body=body)
    [message] = messages(owner, said)

    found = spans(owner, (message,))

    assert found, "a memory without text is still found by its title"
    check_covers(body, tuple(span for span in found if not span.message_id))
    own = tuple(span for span in found if span.message_id)
    if said in body:
        assert own == ()
    else:
        check_covers(said, own)


def test_long_text_is_cut_at_a_paragraph_before_a_sentence_before_a_word():
    def first(text: str) -> str:
        return spans(thread("t", body=text), ())[0].of(text)

    assert first("p" * (2 * MAX_CHARS // 3) + "\n\n" + "One two three. " * 60).endswith("p\n\n")
    assert first("s" * (2 * MAX_CHARS // 3) + ". " + "word " * 200).endswith("s. ")
    assert first("word " * 400).endswith("word ")
    assert first("x" * 4_000) == "x" * MAX_CHARS


# Voice


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
        ("weapon museum mystery use i18n item hour busy", 0, 0),  # only whole words count
    ],
)
def test_a_text_is_as_personal_as_its_share_of_first_persons(text: str, least: int, most: int):
    assert least <= voice(text) <= most


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
def test_a_question_about_a_thing_is_not_about_its_asker(question: str):
    assert not asks_of_self(question)


@given(st.text(max_size=200) | st.sampled_from(NAUGHTY))
def test_any_text_has_a_voice_in_any_case(text: str):
    assert 0 <= voice(text) <= 100
    assert asks_of_self(text) in (True, False)
    ascii_only = text.encode("ascii", "ignore").decode()
    assert voice(ascii_only.upper()) == voice(ascii_only.lower())


@pytest.mark.parametrize("piece", ["i ", "x", "my", "do i ", " "])
def test_a_megabyte_does_not_explode(piece: str):
    text = piece * (1_000_000 // len(piece))
    began = time.process_time()
    voice(text)
    asks_of_self(text)
    assert time.process_time() - began < 30
