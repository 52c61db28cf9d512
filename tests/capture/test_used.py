"""A turn used what it was told when it speaks of it beyond what the prompt said."""

from __future__ import annotations

import pytest

from recollect.capture.used import used

PASSAGE = "The nightly import fails because `parse_row` treats an empty column as zero."


@pytest.mark.parametrize(
    ("prompt", "did", "files"),
    [
        ("the import is broken again", "I looked at parse_row and it drops the header.", ()),
        ("the import is broken again", "The nightly run treats an empty column as nothing.", ()),
        ("the import is broken again", "Done.", ("src/parse_row.py",)),
    ],
)
def test_what_the_turn_speaks_of_was_used(prompt: str, did: str, files: tuple[str, ...]) -> None:
    assert used(PASSAGE, prompt, did, files)


@pytest.mark.parametrize(
    ("prompt", "did"),
    [
        ("the import is broken again", "I added a badge to the README."),
        ("why does parse_row fail on an empty column in the nightly import?", "I fixed parse_row."),
        ("hello", ""),
    ],
)
def test_what_the_prompt_said_itself_does_not_count(prompt: str, did: str) -> None:
    assert not used(PASSAGE, prompt, did)
