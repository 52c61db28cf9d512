"""Which memories share a keyword with a prompt: a cheap filter before a language model is asked to choose.

Every word of the prompt but the stop words is a keyword, and one that is found is enough: as a word, as part of one, or
as a word that differs by a letter in twenty. It is looked for in the words by which a note asks to be found and in its
name; where it names none, in name and description. Paraphrases are missed, which is why it has to be switched on.
"""

from __future__ import annotations

import re
from collections.abc import Sequence, Set
from difflib import SequenceMatcher

from recollect.recall.pointer import Pointer

ALIKE = 0.95
_WORD = re.compile(r"[\w'’-]+")
_IN_A_NAME = re.compile(r"[^\W_]+")
# Shorter ones stand inside half of all words; a script without spaces has no longer ones.
_PART_CHARS = 3
_MOST_KEYWORDS = 200


def keywords(prompt: str, stop: Set[str]) -> tuple[str, ...]:
    """Each once, in order."""
    said = (word.strip("'’-_").casefold() for word in _WORD.findall(prompt))
    return tuple(dict.fromkeys(word for word in said if word and word not in stop))[:_MOST_KEYWORDS]


def presearched(
    prompt: str, pointers: Sequence[Pointer], *, stop: Set[str], in_content: bool = False
) -> tuple[Pointer, ...]:
    asked = keywords(prompt, stop)
    return tuple(pointer for pointer in pointers if _meets(asked, _searched(pointer, in_content)))


def _searched(pointer: Pointer, in_content: bool) -> str:
    about = pointer.words or (pointer.description,)
    content = (pointer.content,) if in_content else ()
    return "\n".join((pointer.stem, *about, *content)).casefold()


def _meets(asked: Sequence[str], text: str) -> bool:
    words = dict.fromkeys((*_WORD.findall(text), *_IN_A_NAME.findall(text)))
    if any(word in words or (_may_be_part(word) and word in text) for word in asked):
        return True
    return any(_alike(word, other) for word in asked for other in words)


def _may_be_part(word: str) -> bool:
    return len(word) >= _PART_CHARS or not word.isascii()


def _alike(word: str, other: str) -> bool:
    if abs(len(word) - len(other)) > (len(word) + len(other)) * (1 - ALIKE):
        return False
    matcher = SequenceMatcher(None, word, other, autojunk=False)
    return matcher.real_quick_ratio() >= ALIKE and matcher.quick_ratio() >= ALIKE and matcher.ratio() >= ALIKE
