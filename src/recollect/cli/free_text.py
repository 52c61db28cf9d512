"""Which parts of a command line are words and which are options, where the last argument is free text: in
`recall why does enable --agent fail` all are words.

An option counts before the words or after them, and only if its value fits. Between the words it is a word, and so is
every option that the command does not have. What looks like a misspelt option at either end is refused, with a hint.
After `--` everything is a word. Pure; click parses what comes out.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

_ALIKE = 0.75  # how much a misspelt option has in common with the one that was meant


class Flag(NamedTuple):
    """One spelling of an option."""

    takes_value: bool = False
    fits: Callable[[str], bool] = lambda value: True


class Misspelt(ValueError):
    """What looks like an option, and the one that was probably meant."""

    def __init__(self, given: str, meant: str) -> None:
        super().__init__(given)
        self.given, self.meant = given, meant


class Separated(NamedTuple):
    options: list[str]
    words: list[str]
    between: list[str]  # options of this command that were taken as words
    misfits: list[str]  # those that were, because what follows is no value of theirs


class _Part(NamedTuple):
    args: list[str]
    is_option: bool
    is_plain: bool = False  # after `--`


def separate(args: Sequence[str], flags: Mapping[str, Flag], *, named: int = 0) -> Separated:
    """`named`: how many arguments come before the free text, such as a memory's name."""
    parts = list(_parts(args, flags))
    places = [place for place, part in enumerate(parts) if not part.is_option]
    text = places[named:]
    first, last = (text[0], text[-1]) if text else (len(parts), -1)
    _refuse_misspelt(parts, flags, first, last)
    separated = Separated([], [], [], [])
    for place, part in enumerate(parts):
        if not part.is_option:
            separated.words.extend(part.args)
            is_at_end = place in (first, last - 1)
            if is_at_end and not part.is_plain and part.args[0].partition("=")[0] in flags:
                separated.misfits.extend(part.args)
        elif first < place < last:
            separated.words.extend(part.args)
            separated.between.extend(part.args)
        else:
            separated.options.extend(part.args)
    return separated


def _parts(args: Sequence[str], flags: Mapping[str, Flag]) -> list[_Part]:
    parts: list[_Part] = []
    waiting = list(args)
    while waiting:
        arg = waiting.pop(0)
        if arg == "--":
            parts += [_Part([rest], is_option=False, is_plain=True) for rest in waiting]
            break
        has_words = any(not part.is_option for part in parts)
        parts.append(_next_part(arg, waiting, flags, has_words=has_words))
    return parts


def _next_part(
    arg: str, waiting: list[str], flags: Mapping[str, Flag], *, has_words: bool
) -> _Part:
    """A word, or an option with its value, which is taken from those that wait."""
    name, has_value, value = arg.partition("=")
    flag = flags.get(name) if arg.startswith("-") else None
    if flag is None:
        return _Part([arg], is_option=False)
    if has_value:
        return _Part([arg], is_option=flag.takes_value and flag.fits(value))
    if not flag.takes_value:
        return _Part([arg], is_option=True)
    if waiting and waiting[0] != "--" and flag.fits(waiting[0]):
        return _Part([arg, waiting.pop(0)], is_option=True)
    # Alone, its value is missing, which click says; after words it is one of them ("what is --limit").
    return _Part([arg], is_option=not waiting and not has_words)


def _refuse_misspelt(
    parts: Sequence[_Part], flags: Mapping[str, Flag], first: int, last: int
) -> None:
    """At the begin of the words, or with at most one word (its value) after it."""
    for place in sorted({first, last - 1, last} & set(range(len(parts)))):
        part = parts[place]
        name = part.args[0].partition("=")[0]
        is_word = part.is_option or part.is_plain or name in flags
        if is_word or not name.startswith("--") or any(char.isspace() for char in name):
            continue
        near = difflib.get_close_matches(name, list(flags), n=1, cutoff=_ALIKE)
        if near:
            raise Misspelt(name, near[0])
