"""What a person dictates to memory: the words after "remember:" at the beginning of a line, in 13 languages.

They are kept as they were typed; nothing judges them. A list below such a line is dictated item by item, or belongs to
the words that introduce it ("to release:"). Where nothing follows on the line itself, the paragraph or the code below
is dictated. Other lines inside code and quotes are not the person's own and dictate nothing.

Does not decide where a rule holds or whether it is in force (prompt_rules.py).
"""

from __future__ import annotations

from enum import Enum, auto
from typing import NamedTuple

from recollect.base.text import clip, one_line
from recollect.capture.tables import table
from recollect.redact import is_all_hidden

_MAX_RULE_CHARS = 2_000  # as many as `rule add` takes
# Each rule is compared with all others; a longer list is a document, and is said to be left out.
MAX_RULES = 30
_COLONS = (":", "\uff1a")
_BULLETS = ("-", "*", "\u2022", "+", "\u2013", "\u2014", "\u00b7", "\u30fb")
_CHECKBOXES = ("[ ] ", "[x] ", "[X] ")
_EMPHASIS = "*_"
_MIN_WRAPPED_CHARS = 60  # a shorter line ends where its writer wanted it to
_APART = str.maketrans(dict.fromkeys(",.!\uff0c\u3001\u3002\uff01", ","))
_MAX_GREETING_WORDS = 3
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


class _Below(Enum):
    """What the lines below a "remember:" are."""

    NOTHING = auto()  # of it
    ANYTHING = auto()  # all that is to be remembered: a list, a paragraph or code
    LIST = auto()
    PARAGRAPH = auto()
    CODE = auto()


class _Listener:
    """Takes a prompt line by line."""

    def __init__(self) -> None:
        self.rules: list[str] = []
        self.rest: list[str] = []
        self._is_code = False
        self._below = _Below.NOTHING
        self._line_above = ""

    def hear(self, line: str) -> None:
        if line.lstrip().startswith(_FENCES):
            self._hear_fence(line)
            return
        words = None if self._is_code else _dictated_words(line)
        if words is not None:
            self._begin(words)
        elif not self._continue(line):
            self.rest.append(line)

    def _hear_fence(self, line: str) -> None:
        is_dictated = self._below is _Below.CODE
        self._is_code = not self._is_code
        if self._is_code and self._below is _Below.ANYTHING:
            self._below, is_dictated = _Below.CODE, True
        else:
            self._below = _Below.NOTHING
        if not is_dictated:
            self.rest.append(line)

    def _begin(self, words: str) -> None:
        item = _list_item(words)
        self.rules.append(words if item is None else item)
        self._below = _Below.NOTHING
        if not words or words.endswith(_COLONS):
            self._below = _Below.ANYTHING
        elif item is not None:
            self._below = _Below.LIST

    def _continue(self, line: str) -> bool:
        """Whether the line belongs to what is dictated above it."""
        item = None if self._is_code else _list_item(line)
        match self._below:
            case _Below.CODE:
                self._extend(line)
            case _Below.ANYTHING | _Below.LIST if item is not None:
                self._add_item(item)
                self._below = _Below.LIST
            case _Below.ANYTHING if not line.strip():
                self._below = _Below.LIST  # a task may follow, if no list does
            case _Below.ANYTHING:
                self._extend(line)
                self._below = _Below.PARAGRAPH
            case _Below.PARAGRAPH if line.strip():
                self._add_line(line)
            case _:
                self._below = _Below.NOTHING
                return False
        return True

    def _add_item(self, item: str) -> None:
        """To the words that introduce the list ("to release: tag the commit; push the tag"), else for itself."""
        if self.rules[-1].endswith((*_COLONS, ";")):
            self.rules[-1] = f"{self.rules[-1]} {item};"
        else:
            self.rules.append(item)

    def _add_line(self, line: str) -> None:
        """For itself, or to the line above it, where that was as long as a line can be."""
        is_wrapped = len(self._line_above) >= _MIN_WRAPPED_CHARS
        if is_wrapped:
            self._extend(line)
        else:
            self.rules.append(line.strip())
            self._line_above = line

    def _extend(self, line: str) -> None:
        self.rules[-1] = f"{self.rules[-1]} {line.strip()}".strip()
        self._line_above = line


def _list_item(line: str) -> str | None:
    """What stands behind a bullet or a number; None for a line that has none."""
    mark, _, item = line.strip().partition(" ")
    is_numbered = mark[:-1].isdigit() and mark.endswith((".", ")"))
    if mark not in _BULLETS and not is_numbered:
        return None
    item = item.strip()
    return item[4:] if item.startswith(_CHECKBOXES) else item


def _limited(rules: list[str], rest: list[str]) -> Dictation:
    """The first of them, and how many more there are. What was private or a secret as a whole says nothing."""
    dictated = [words for words in rules if words and not is_all_hidden(words)]
    kept = tuple(_worded(words) for words in dictated[:MAX_RULES])
    return Dictation(kept, "\n".join(rest), left_out=len(dictated) - len(kept))


def _dictated_words(line: str) -> str | None:
    """What stands after "remember:"; None for any other line."""
    places = [place for colon in _COLONS if (place := line.find(colon)) >= 0]
    if not places:
        return None
    opening, words = line[: min(places)].strip(), line[min(places) + 1 :]
    opening = _list_item(opening) or opening
    bare = opening.lstrip(_EMPHASIS)
    mark = opening[: len(opening) - len(bare)]  # "**Remember:** ...", "**Remember**: ..."
    words = words if bare.endswith(mark) else words.removeprefix(mark)
    return words.strip() if _is_call(bare.rstrip(_EMPHASIS)) else None


def _is_call(opening: str) -> bool:
    """Whether it asks to remember something, and no more than greets before that: "Hey Claude, please remember"."""
    said = opening.lower().replace("\u2019", "'").translate(_APART)
    if _without_courtesy(said) in _CALLS["remember"]:
        return True
    greeting, _, call = said.rpartition(",")
    return is_greeting(greeting.replace(",", " ")) and _without_courtesy(call) in _CALLS["remember"]


def is_greeting(words: str) -> bool:
    """Whether it only greets somebody: "Hey Claude", "good morning everybody"."""
    greeting = words.casefold().split()
    return 0 < len(greeting) <= _MAX_GREETING_WORDS and greeting[0] in _CALLS["greetings"]


def _without_courtesy(call: str) -> str:
    call, said = " ".join(call.replace(",", " ").split()), ""
    while call != said:
        said = call
        for polite in _CALLS["polite"]:
            call = call.removeprefix(f"{polite} ").removesuffix(f" {polite}")
    return call


def _worded(words: str) -> str:
    return clip(one_line(words), _MAX_RULE_CHARS)


_CALLS = {name: frozenset(words) for name, words in table("dictation.toml").items()}
