"""Prompts that name nothing to look for: greetings, thanks, nods, "go on", "commit this", a bare slash command. Every
word is on the lists (small_talk.json). Languages are not told apart; Chinese, Japanese and Korean have phrases instead.
"""

import re

from recollect.base.shipped import load_table

_MAX_CHARS = 400  # small talk is short
_WORD = re.compile(r"[^\W\d_](?:[\w'’-]*\w)?")
_CLIENT_MARK = re.compile(r"\[(?:Image|Pasted text|Request interrupted)[^\]\n]*\]")
_SLASH_COMMAND = re.compile(r"^/[\w:.-]+(?=\s|$)")
_LONG_NUMBER = re.compile(r"\d{3,}")

_TABLE = load_table("recollect.model", "small_talk.json")
WORDS = frozenset(
    word for lines in _TABLE["words"].values() for line in lines for word in line.split()
)
_CHORES = frozenset(
    word for line in _TABLE["chores"] for word in line.split()
)  # done in every project
_PHRASES = tuple(phrase for line in _TABLE["phrases"] for phrase in line.split())


def names_nothing(text: str) -> bool:
    """Small talk, or a chore: commit this and update the changelog, open a pull request, fix the failing tests."""
    return _is_made_of(text, WORDS if "?" in text else WORDS | _CHORES)


def is_small_talk(text: str) -> bool:
    return _is_made_of(text, WORDS)


def _is_made_of(text: str, known: frozenset[str]) -> bool:
    """A number of one or two digits answers a question that was asked; a longer one may be an id."""
    said = _SLASH_COMMAND.sub("", _CLIENT_MARK.sub(" ", text[: _MAX_CHARS + 1]).strip())
    if len(text) > _MAX_CHARS or _LONG_NUMBER.search(said):
        return False
    words = _WORD.findall(said.casefold().replace("’", "'"))
    return all(word in known or _is_of_phrases(word) for word in words)


def _is_of_phrases(word: str) -> bool:
    """Whether it can be cut into phrases: place by place, so that no text takes longer than its length."""
    reached = {0}
    for place in range(len(word)):
        if place in reached:
            ends = (place + len(one) for one in _PHRASES if word.startswith(one, place))
            reached.update(ends)
    return len(word) in reached
