"""What is not worth taking over from another memory, and what is there already: most of what such stores hold is one or
the other."""

from __future__ import annotations

import re

from recollect.model.brought import Brought

_LETTER = re.compile(r"[^\W\d_]")
_WORD = re.compile(r"[^\W\d_]{2,}")
_LEAST_WORDS = 3
_LEAST_LETTERS = 10
_LEAST_SHARE = 0.5
"""Of the characters that are letters: less is a dump."""
_MARKUP = re.compile(
    r"\s*(?:[{\[]\s*[\"{\[]|<(?:task-notification|system-reminder|local-command|command-name|bash-|claude-mem)|\[?\d{4}-\d\d-\d\dT)"
)
_TEST = re.compile(
    r"\b(?:lorem ipsum|foo bar|asdf|(?:this is|just) a test|test (?:memory|value|data|preference))\b", re.I
)
_TEST_KEY = re.compile(r"(?:^|[_-])test(?:[_-]|$)", re.I)
_DIGITS = re.compile(r"\d+")
_NO_WORD = re.compile(r"[\W_]+")


def junk(one: Brought) -> str:
    """Why it is left behind; empty where it is worth having."""
    text = one.body or one.title
    letters = len(_LETTER.findall(text))
    if one.junk:
        return one.junk
    if not letters:
        return "empty"
    if _TEST_KEY.search(one.key) or _TEST.search(text):
        return "test data"
    if _MARKUP.match(text):
        return "made by a machine"
    # Scripts without spaces say much in few characters.
    if text.isascii() and (letters < _LEAST_LETTERS or len(_WORD.findall(text)) < _LEAST_WORDS):
        return "too short"
    if letters < _LEAST_SHARE * len(re.sub(r"\s", "", text)):
        return "no words"
    return ""


def likeness(text: str) -> str:
    """Equal for texts that differ in numbers, case and punctuation alone."""
    return _NO_WORD.sub(" ", _DIGITS.sub("0", text.casefold())).strip()
