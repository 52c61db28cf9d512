"""What a person dictates to memory: the words after "remember:" at the beginning of a line, in whatever language.

They are kept as they were typed; nothing judges them. A list below such a line is dictated item by item. Lines inside
pasted text and code are not the person's own and dictate nothing.

Does not decide where a rule holds or whether it is in force (prompt_rules.py).
"""

from __future__ import annotations

from typing import NamedTuple

from recollect.base.text import clip, one_line
from recollect.capture import prompt_text
from recollect.capture.tables import table

_MAX_RULE_CHARS = 400
# Each rule is compared with all others; a longer list is a document, and is said to be left out.
MAX_RULES = 30
_COLONS = (":", "\uff1a")
_BULLETS = ("-", "*", "\u2022", "+")
_SENTENCE_ENDS = (".", "!", "?", "\u3002", "\uff01", "\uff1f")


class Dictation(NamedTuple):
    rules: tuple[str, ...]  # worded as they were typed
    rest: str  # the text without them
    left_out: int = 0  # how many more were dictated than are kept at once


def take_out(text: str) -> Dictation:
    """Separate what is dictated from what is said besides."""
    lines = text.split("\n")
    if not any(_dictated_words(line) is not None for line in lines):
        return Dictation((), text)
    seen = prompt_text.masked(text)
    rules: list[str] = []
    rest: list[str] = []
    is_listing = False
    start = 0
    for line in lines:
        is_own = _is_own(seen[start : start + len(line)])
        start += len(line) + 1
        words = _dictated_words(line) if is_own else None
        if words is not None:
            is_listing = not words
            rules.append(words)
        elif is_listing and line.strip().startswith(_BULLETS):
            rules.append(line.strip().lstrip("".join(_BULLETS)).strip())
        else:
            is_listing = False
            rest.append(line)
    return _limited(rules, rest)


def _limited(rules: list[str], rest: list[str]) -> Dictation:
    """The first of them, and how many more there are."""
    dictated = [words for words in rules if words]
    kept = tuple(_worded(words) for words in dictated[:MAX_RULES])
    return Dictation(kept, "\n".join(rest), left_out=len(dictated) - len(kept))


def _is_own(seen: str) -> bool:
    """The beginning of the line is neither pasted nor quoted."""
    return not seen.lstrip().startswith((prompt_text.BLOT, prompt_text.QUOTE))


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
    """As it was typed, as a sentence: with a capital and a full stop. A name keeps its case (`makeUser`, iOS)."""
    line = clip(one_line(words), _MAX_RULE_CHARS)
    first = line.split(maxsplit=1)[0]
    if first.islower() and first.rstrip(",").isalpha():
        line = line[0].upper() + line[1:]
    return line if line.endswith(_SENTENCE_ENDS) else f"{line}."


_CALLS = {name: frozenset(words) for name, words in table("dictation.toml").items()}
