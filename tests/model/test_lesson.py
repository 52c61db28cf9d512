"""A lesson is read back as it was written."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from recollect.model.lesson import How, Lesson, read

_commands = st.text(st.characters(codec="ascii", exclude_characters="`\n", exclude_categories=["Cc"]), min_size=1)
_errors = st.text(st.characters(codec="ascii", exclude_characters='"`\n', exclude_categories=["Cc"]))


@given(_commands, _commands, st.sampled_from(How), _errors)
def test_what_is_written_is_read_back(failed: str, fix: str, how: How, error: str):
    lesson = Lesson(failed, fix, how, error)
    assert read(lesson.sentence()) == lesson


def test_other_words_are_no_lesson():
    assert read("Use pnpm, never npm.") is None
    assert read("`npm test` fails here; `pnpm test` works. Also run curl.") is None
