"""Passages lose no text and never grow beyond their limit."""

from __future__ import annotations

from hypothesis import example, given
from hypothesis import strategies as st

from recollect.model.passage import MAX_CHARS, Span, spans
from tests.naughty import NAUGHTY
from tests.values import messages, thread

# Long enough to be cut, with breaks of every kind in odd places.
_pieces = st.sampled_from(
    ["word ", "x" * 700, "\n\n", "\n", ". ", "。", "日本", " " * 900, "\u2028", "?", "\t", "a\n \nb"]
)
long_texts = st.lists(_pieces | st.text(max_size=30), max_size=60).map("".join)


def check_covers(text: str, found: tuple[Span, ...]) -> None:
    end = 0
    for span in found:
        assert span.start == end
        assert span.length <= MAX_CHARS
        end += span.length
    assert text[end:].strip() == "", "only blanks at the end may be left out"
    assert "".join(span.of(text) for span in found) == text[:end]


@given(long_texts)
@example("")
@example("x" * (MAX_CHARS * 3))
@example("a " * MAX_CHARS)
@example("\n" * (MAX_CHARS * 2 + 1))
@example("x" * MAX_CHARS + "\n\n")
def test_passages_cover_the_body_in_order_without_overlap(text: str) -> None:
    found = spans(thread("t", body=text), ())
    assert found, "a memory without text is still found by its title"
    assert all(span.message_id == "" for span in found)
    check_covers(text, found)


@given(long_texts, long_texts)
def test_passages_cover_every_message_that_the_body_does_not_repeat(first: str, second: str) -> None:
    owner = thread("t", body="body")
    said = messages(owner, first, second)

    found = spans(owner, said)

    for message in said:
        own = tuple(span for span in found if span.message_id == message.id)
        if message.content in owner.body:
            assert own == ()
        else:
            check_covers(message.content, own)


def test_naughty_text_is_covered_too() -> None:
    for text in NAUGHTY:
        check_covers(text, spans(thread("t", body=text), ()))


def test_a_pin_is_not_indexed_twice() -> None:
    owner = thread("t", body="User prefers dark mode")
    assert spans(owner, messages(owner, "User prefers dark mode")) == (Span("", 0, 22),)


def test_long_text_is_cut_at_a_paragraph_before_a_sentence_before_a_word() -> None:
    sentence = "One two three. "
    paragraph = "p" * (2 * MAX_CHARS // 3) + "\n\n"
    assert _first_piece(paragraph + sentence * 60).endswith("p\n\n")
    assert _first_piece("s" * (2 * MAX_CHARS // 3) + ". " + "word " * 200).endswith("s. ")
    assert _first_piece("word " * 400).endswith("word ")
    assert _first_piece("x" * 4_000) == "x" * MAX_CHARS


def _first_piece(text: str) -> str:
    return spans(thread("t", body=text), ())[0].of(text)
