"""What a person dictates to memory: the words after "remember:" at the beginning of a line, in 13 languages.

They are kept as they were typed; nothing judges them. A list below such a line is dictated item by item, or belongs to
the words that introduce it ("to release:"). Lines inside code and quotes are not the person's own and dictate nothing.

Does not decide where a rule holds or whether it is in force (prompt_rules.py).
"""

from __future__ import annotations

from typing import NamedTuple

from recollect.base.text import clip, one_line
from recollect.capture.tables import table

_MAX_RULE_CHARS = 400
# Each rule is compared with all others; a longer list is a document, and is said to be left out.
MAX_RULES = 30
_COLONS = (":", "\uff1a")
_BULLETS = ("-", "*", "\u2022", "+")
_FENCES = ("```", "~~~")


class Dictation(NamedTuple):
    rules: tuple[str, ...]  # worded as they were typed
    rest: str  # the text without them
    left_out: int = 0  # how many more were dictated than are kept at once


def take_out(text: str) -> Dictation:
    """Separate what is dictated from what is said besides."""
    lines = text.split("\n")
    if not any(_dictated_words(line) is not None for line in lines):
        return Dictation((), text)
    listener = _Listener()
    for line in lines:
        listener.hear(line)
    return _limited([words.rstrip(";") for words in listener.rules], listener.rest)


class _Listener:
    """Takes a prompt line by line."""

    def __init__(self) -> None:
        self.rules: list[str] = []
        self.rest: list[str] = []
        self._is_code = False
        self._is_listing = False

    def hear(self, line: str) -> None:
        if line.lstrip().startswith(_FENCES):
            self._is_code = not self._is_code
        words = None if self._is_code else _dictated_words(line)
        item = _list_item(line) if self._is_listing else None
        if words is not None:
            self._begin(words)
        elif item is not None:
            self._add_item(item)
        else:
            self._is_listing = False
            self.rest.append(line)

    def _begin(self, words: str) -> None:
        item = _list_item(words)
        self.rules.append(words if item is None else item)
        self._is_listing = not words or words.endswith(_COLONS) or item is not None

    def _add_item(self, item: str) -> None:
        """To the words that introduce the list ("to release: tag the commit; push the tag"), else for itself."""
        if self.rules[-1].endswith((*_COLONS, ";")):
            self.rules[-1] = f"{self.rules[-1]} {item};"
        else:
            self.rules.append(item)


def _list_item(line: str) -> str | None:
    """What stands behind a bullet or a number; None for a line that has none."""
    mark, _, item = line.strip().partition(" ")
    is_numbered = mark[:-1].isdigit() and mark.endswith((".", ")"))
    return item.strip() if mark in _BULLETS or is_numbered else None


def _limited(rules: list[str], rest: list[str]) -> Dictation:
    """The first of them, and how many more there are."""
    dictated = [words for words in rules if words]
    kept = tuple(_worded(words) for words in dictated[:MAX_RULES])
    return Dictation(kept, "\n".join(rest), left_out=len(dictated) - len(kept))


def _dictated_words(line: str) -> str | None:
    """What stands after "remember:"; None for any other line."""
    places = [place for colon in _COLONS if (place := line.find(colon)) >= 0]
    if not places:
        return None
    opening, words = line[: min(places)], line[min(places) + 1 :]
    call = " ".join(opening.lower().replace(",", " ").split())
    for polite in _CALLS["polite"]:
        call = call.removeprefix(f"{polite} ").removesuffix(f" {polite}")
    return words.strip() if call in _CALLS["remember"] else None


def _worded(words: str) -> str:
    return clip(one_line(words), _MAX_RULE_CHARS)


_CALLS = {name: frozenset(words) for name, words in table("dictation.toml").items()}
