"""What holds for every text."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from recollect.redact import Cleaned
from recollect.redact.secret_table import ROWS
from tests.naughty import NAUGHTY
from tests.redact.samples import REDACTOR, SAMPLES, TEMPLATES, draw

KEYWORDS = sorted({keyword for row in ROWS for keyword in row.keywords})

# Lone surrogates and NULs included.
any_text = st.text(st.characters(exclude_categories=()), max_size=200)
# Everything that means something to a pattern, in any order: finds what a plain random text never would.
fragments = st.sampled_from(
    [
        *KEYWORDS,
        *(sample.text for sample in SAMPLES),
        *(sample.secret for sample in SAMPLES),
        *("password", "token", "=", ": ", '"', "'", "\\", "\\n", "\n", " ", "@", "://", "-", "_", "[", "]", ",", "("),
        *("[private]", "[redacted:jwt:0a1b]", "[redacted:", "<private>", "</private>", "\xff", "é", "\ud800", "A1b2"),
    ]
)
woven_text = st.lists(st.one_of(fragments, any_text), max_size=12).map("".join)
drawn_samples = st.builds(
    lambda template, seed: draw(template[0], template[1], seed), st.sampled_from(TEMPLATES), st.integers(0, 1_000_000)
)


@given(woven_text)
def test_cleaning_what_is_clean_changes_nothing_and_finds_are_counted_only_where_something_changed(text):
    once = REDACTOR.clean(text)
    assert REDACTOR.clean(once.text) == Cleaned(once.text, ())
    assert bool(once.found) == (once.text != text)
    assert list(once.found) == sorted(once.found)
    assert all(count > 0 for _, count in once.found)


@given(st.one_of(any_text, st.sampled_from(NAUGHTY)))
def test_no_text_is_too_strange(text):
    REDACTOR.clean(text).text.encode("utf-8", "surrogatepass")


@given(any_text.filter(lambda text: not any(keyword in text.lower() for keyword in [*KEYWORDS, "<private"])))
def test_text_without_a_keyword_is_unchanged(text):
    assert REDACTOR.clean(text).text == text


@given(drawn_samples, woven_text)
def test_a_secret_of_a_known_shape_never_survives(sample, before):
    if sample.kind in {"password", "secret"}:
        return  # a chance draw can be a word; their table is in test_secrets.py

    assert sample.secret not in REDACTOR.clean(f"{before}\n{sample.text}").text


@given(drawn_samples)
def test_equal_secrets_get_equal_placeholders(sample):
    apart = REDACTOR.clean(sample.text).text

    assert REDACTOR.clean(f"{sample.text}\n\n{sample.text}").text == f"{apart}\n\n{apart}"
