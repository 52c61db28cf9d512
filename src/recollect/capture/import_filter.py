"""Which memories of another tool are not worth importing, and how repeated ones are recognised."""

from __future__ import annotations

import re

from recollect.model.foreign_memory import ForeignMemory

_LETTER = re.compile(r"[^\W\d_]")
_WORD = re.compile(r"[^\W\d_]{2,}")
_MIN_WORDS = 3
_MIN_LETTERS = 10
_MIN_LETTER_SHARE = 0.5  # a text with a smaller share of letters is a dump
_MARKUP = re.compile(
    r"\s*(?:[{\[]\s*[\"{\[]|<(?:task-notification|system-reminder|local-command|command-name|bash-|[a-z]+-mem\b)|\[?\d{4}-\d\d-\d\dT)"
)
_TEST = re.compile(
    r"\b(?:lorem ipsum|foo bar|asdf|(?:this is|just) a test|test (?:memory|value|data|preference))\b", re.I
)
_TEST_KEY = re.compile(r"(?:^|[_-])test(?:[_-]|$)", re.I)
_DIGITS = re.compile(r"\d+")
_NO_LETTERS = re.compile(r"[\W_]+")


def why_left_out(one: ForeignMemory) -> str:
    """Empty where it is worth having."""
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
    if text.isascii() and (letters < _MIN_LETTERS or len(_WORD.findall(text)) < _MIN_WORDS):
        return "too short"
    if letters < _MIN_LETTER_SHARE * len(re.sub(r"\s", "", text)):
        return "no words"
    return ""


def import_key(text: str) -> str:
    """Equal for texts that differ only in numbers, case and punctuation."""
    return _NO_LETTERS.sub(" ", _DIGITS.sub("0", text.casefold())).strip()
