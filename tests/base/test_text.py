"""Text is safe to store and safe to print, and neither loses more than it must."""

from __future__ import annotations

import json
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.base import text

# Lone surrogates, controls and all: what a transcript can hold.
ANY = st.text(st.characters())
SPOKEN = st.text(st.characters(exclude_categories=["Cc", "Cf", "Cs", "Zl", "Zp"]))
BIDI = {"LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI"}


@given(ANY)
def test_what_is_storable_can_be_encoded_and_stays_as_it_is(raw: str):
    stored = text.storable(raw)
    stored.encode("utf-8")
    assert "\x00" not in stored
    assert len(stored) == len(raw)
    assert text.storable(stored) == stored


@given(SPOKEN)
def test_ordinary_text_is_stored_and_shown_untouched(raw: str):
    assert text.storable(raw) == raw
    assert text.visible(raw) == raw


@given(ANY)
def test_nothing_that_a_terminal_obeys_or_that_reorders_text_is_shown(raw: str):
    shown = text.visible(raw)
    left = {c for c in shown if unicodedata.category(c) in {"Cc", "Cs", "Zl", "Zp"}} - {"\t", "\n"}
    assert left == set()
    assert [c for c in shown if unicodedata.bidirectional(c) in BIDI] == []
    assert text.visible(shown) == shown


@pytest.mark.parametrize(
    ("raw", "shown"),
    [
        ("\x1b[31mred", "\\x1b[31mred"),
        ("\x9b2J", "\\x9b2J"),
        ("a\u202eb", "a\\u202eb"),
        ("\r", "\\x0d"),
        ("\U000e0041", "\\U000e0041"),
        ("tab\tand\nline", "tab\tand\nline"),
        ("👩\u200d💻", "👩\u200d💻"),
    ],
)
def test_a_control_is_shown_as_an_escape_that_can_be_read(raw: str, shown: str):
    assert text.visible(raw) == shown


@given(st.dictionaries(ANY, ANY))
def test_json_made_visible_still_says_the_same(value: dict[str, str]):
    document = text.json_visible(json.dumps(value, ensure_ascii=False, indent=2))
    assert text.visible(document) == document
    assert json.loads(document) == json.loads(json.dumps(value))


@given(ANY, st.integers(1, 50))
def test_a_clipped_text_keeps_its_limit_and_begins_as_before(raw: str, max_chars: int):
    clipped = text.clip(raw, max_chars)
    assert len(clipped) <= max_chars
    assert clipped == raw or raw.startswith(clipped.removesuffix("…"))


@given(ANY)
def test_one_line_is_one_line(raw: str):
    assert len(text.one_line(raw).splitlines()) <= 1
    assert text.one_line(text.one_line(raw)) == text.one_line(raw)


@pytest.mark.parametrize(
    ("body", "title"),
    [
        ("# Deploy\nsteps", "Deploy"),
        ("\n\n  - use tabs", "use tabs"),
        ("", "Untitled"),
        ("###\n---\n", "Untitled"),
        ("word " * 30, "word " * 11 + "word…"),
    ],
)
def test_a_title_is_the_first_line_that_says_something(body: str, title: str):
    assert text.first_line_title(body) == title


@given(ANY, st.integers(2, 80))
def test_a_title_is_never_empty_nor_too_long(body: str, max_chars: int):
    assert 0 < len(text.first_line_title(body, max_chars)) <= max(max_chars, len("Untitled"))
