"""Texts that are made to be slow for a pattern: a piece of it repeated, with an end that lets the match fail.

The pieces come from the pattern itself: what each of its repeated parts matches, alone and in pairs, after what leads
there. A repeated part that can read one text in two ways makes the time double with each repetition; `ambiguities`
finds those. Does not measure anything (pattern_cost.py).
"""

from __future__ import annotations

import re
import re._parser as sre  # type: ignore[import-not-found]
from collections.abc import Iterator
from itertools import islice, product
from typing import Any, NamedTuple

# One of each kind of character: what a class is tried with.
_SAMPLES = " a1-./,:'\"\n\t_A`#*>({[|\\é日ж@$=;!?~+%&^<)}]\x01\x02"
_MAX_WORDS = 200  # of one repeated part
_MAX_PARTS = 12  # texts tried for one part of a sequence
_MAX_PUMPS = 80  # for one pattern
_MANY = 20  # a part that may come as often is as good as unbounded
ENDS = ("\x00", "\x00 a")


class Pump(NamedTuple):
    lead: str
    word: str

    def text(self, chars: int, end: str = ENDS[0]) -> str:
        return f"{self.lead}{self.word * max(1, chars // len(self.word))}{end}"


def pumps(pattern: re.Pattern[Any]) -> tuple[Pump, ...]:
    """What to begin with, and what to repeat: the dangerous first."""
    made: dict[Pump, None] = {}
    for _, word in ambiguities(pattern):
        made[Pump("", word)] = None
    for repeat in _repeats(_parsed(pattern), ""):
        words = [word for word in dict.fromkeys(islice(_words(repeat.body), 8)) if word]
        for word in words[:6]:
            made[Pump(repeat.lead, word)] = None
            made[Pump("", word)] = None
            made[Pump(repeat.lead, f"{word} ")] = None
        for first, second in product(words[:3], words[:3]):
            made[Pump("", f"{first}{second}")] = None
            made[Pump("", f"{first} {second} ")] = None
    return tuple(made)[:_MAX_PUMPS]


def ambiguities(pattern: re.Pattern[Any]) -> Iterator[tuple[str, str]]:
    """Repeated parts that read the same text once and twice, each with that text."""
    flags = pattern.flags & ~re.UNICODE
    for repeat in _repeats(_parsed(pattern), ""):
        if repeat.most < _MANY:
            continue
        source = _source(repeat.body)
        try:
            body = re.compile(f"(?:{source})", flags)
            many = re.compile(f"(?:{source}){{1,3}}", flags)
        except re.error:  # it refers to a group outside of it
            continue
        words = [word for word in dict.fromkeys(islice(_words(repeat.body), _MAX_WORDS)) if word]
        pairs = [first + second for first, second in product(words[:30], words[:30])]
        for word in [*words, *pairs]:
            if len(word) < 60 and _reads_twice(word, body, many):
                yield source, word
                break


def _reads_twice(word: str, body: re.Pattern[str], many: re.Pattern[str]) -> bool:
    if not body.fullmatch(word):
        return False
    return any(
        body.fullmatch(word[:cut]) and many.fullmatch(word[cut:]) for cut in range(1, len(word))
    )


class _Repeat(NamedTuple):
    lead: str  # a text that leads to it
    body: Any
    most: int


def _parsed(pattern: re.Pattern[Any]) -> Any:
    source = pattern.pattern
    if isinstance(source, bytes):
        return sre.parse(source.decode("latin-1"), pattern.flags)
    return sre.parse(source, pattern.flags)


def _repeats(tree: Any, lead: str) -> Iterator[_Repeat]:
    """Each part that may come again."""
    for kind, value in tree:
        if kind in (sre.MAX_REPEAT, sre.MIN_REPEAT, sre.POSSESSIVE_REPEAT):
            _, most, body = value
            if most > 1 and kind is not sre.POSSESSIVE_REPEAT:
                yield _Repeat(lead, body, int(most))
            yield from _repeats(body, lead)
        elif kind is sre.BRANCH:
            for branch in value[1]:
                yield from _repeats(branch, lead)
        elif kind is sre.SUBPATTERN:
            yield from _repeats(value[3], lead)
        elif kind is sre.ATOMIC_GROUP:
            yield from _repeats(value, lead)
        elif kind in (sre.ASSERT, sre.ASSERT_NOT):
            yield from _repeats(value[1], lead)
        lead += next(_words([(kind, value)]), "")


def _words(tree: Any) -> Iterator[str]:
    """Some texts that it matches."""
    if not tree:
        yield ""
        return
    (kind, value), rest = tree[0], list(tree[1:])
    heads = list(islice(_heads(kind, value), _MAX_WORDS))
    tails = list(islice(_words(rest), _MAX_PARTS))
    for tail in tails:  # every head with the first tail, then with the next
        for head in heads:
            yield head + tail


def _heads(kind: Any, value: Any) -> Iterator[str]:
    if kind is sre.LITERAL:
        yield chr(value)
    elif kind is sre.NOT_LITERAL:
        yield from [char for char in _SAMPLES if ord(char) != value][:3]
    elif kind is sre.ANY:
        yield from "a "
    elif kind is sre.IN:
        yield from _members(value)
    elif kind is sre.BRANCH:
        for branch in value[1]:
            yield from islice(_words(branch), _MAX_PARTS)
    elif kind is sre.SUBPATTERN:
        yield from _words(value[3])
    elif kind is sre.ATOMIC_GROUP:
        yield from _words(value)
    elif kind in (sre.MAX_REPEAT, sre.MIN_REPEAT, sre.POSSESSIVE_REPEAT):
        least, most, body = value
        bodies = list(islice(_words(body), _MAX_PARTS))
        for word in bodies:
            yield word * max(least, 1)
        if not least:
            yield ""
        if most > max(least, 1):
            for word in bodies[:3]:
                yield word * (max(least, 1) + 1)
    else:
        yield ""


def _members(value: Any) -> Iterator[str]:
    own = re.compile(_class_source(value))
    members = [char for char in _SAMPLES if own.match(char)]
    if members:
        yield from members[:4]
        return
    for kind, item in value:
        if kind is sre.LITERAL:
            yield chr(item)
        elif kind is sre.RANGE:
            yield chr(item[0])


_CATEGORIES = {
    sre.CATEGORY_DIGIT: r"\d",
    sre.CATEGORY_NOT_DIGIT: r"\D",
    sre.CATEGORY_SPACE: r"\s",
    sre.CATEGORY_NOT_SPACE: r"\S",
    sre.CATEGORY_WORD: r"\w",
    sre.CATEGORY_NOT_WORD: r"\W",
}
_PLACES = {
    sre.AT_BEGINNING: "^",
    sre.AT_BEGINNING_STRING: r"\A",
    sre.AT_BOUNDARY: r"\b",
    sre.AT_NON_BOUNDARY: r"\B",
    sre.AT_END: "$",
    sre.AT_END_STRING: r"\Z",
}
_REPEAT_ENDS = {sre.MAX_REPEAT: "", sre.MIN_REPEAT: "?", sre.POSSESSIVE_REPEAT: "+"}


def _source(tree: Any) -> str:
    """The pattern of a part, written out again."""
    return "".join(_written(kind, value) for kind, value in tree)


def _written(kind: Any, value: Any) -> str:
    if kind is sre.LITERAL:
        return re.escape(chr(value))
    if kind is sre.NOT_LITERAL:
        return f"[^{re.escape(chr(value))}]"
    if kind is sre.ANY:
        return "."
    if kind is sre.IN:
        return _class_source(value)
    if kind is sre.AT:
        return _PLACES[value]
    if kind is sre.BRANCH:
        return f"(?:{'|'.join(map(_source, value[1]))})"
    if kind is sre.SUBPATTERN:
        return f"(?:{_source(value[3])})"
    if kind is sre.ATOMIC_GROUP:
        return f"(?>{_source(value)})"
    if kind in (sre.ASSERT, sre.ASSERT_NOT):
        behind = "<" if value[0] < 0 else ""
        sign = "=" if kind is sre.ASSERT else "!"
        return f"(?{behind}{sign}{_source(value[1])})"
    if kind is sre.GROUPREF:
        return f"\\{value}"
    least, most, body = value
    top = "" if most is sre.MAXREPEAT else int(most)
    return f"(?:{_source(body)}){{{least},{top}}}{_REPEAT_ENDS[kind]}"


def _class_source(value: Any) -> str:
    source = ""
    for kind, item in value:
        if kind is sre.NEGATE:
            source += "^"
        elif kind is sre.LITERAL:
            source += re.escape(chr(item))
        elif kind is sre.RANGE:
            source += f"{re.escape(chr(item[0]))}-{re.escape(chr(item[1]))}"
        else:
            source += _CATEGORIES[item]
    return f"[{source}]"


def neighbours(pattern: re.Pattern[Any]) -> Iterator[str]:
    """Two repeats of single characters, one after the other, that can share a text between them in many ways."""
    flags = pattern.flags & ~re.UNICODE
    if isinstance(pattern.pattern, bytes):
        flags |= re.ASCII
    yield from _neighbours(_parsed(pattern), flags, is_end=True)


def _neighbours(tree: Any, flags: int, *, is_end: bool) -> Iterator[str]:
    before = ""  # the last such repeat, while nothing that must come stands after it
    parts = list(_ungrouped(tree))
    for at, (kind, value) in enumerate(parts):
        is_last = is_end and all(after is sre.AT for after, _ in parts[at + 1 :])
        for part in _parts_of(kind, value):
            yield from _neighbours(part, flags, is_end=is_last and not _may_repeat(kind, value))
        if kind is sre.AT or kind in (sre.ASSERT, sre.ASSERT_NOT):
            continue
        if kind not in (sre.MAX_REPEAT, sre.MIN_REPEAT):
            before = ""
            continue
        least, most, body = value
        is_run = most >= _MANY and len(body) == 1 and body[0][0] in _SINGLE
        if is_run:
            source = _source(body)
            is_rest = is_last and _reads_all(kind, body, flags)
            if before and not is_rest and _shares_character(before, source, flags):
                yield f"{before}*{source}*"
            before = source
        elif least:
            before = ""


def _may_repeat(kind: Any, value: Any) -> bool:
    return kind in (sre.MAX_REPEAT, sre.MIN_REPEAT) and value[1] > 1


def _reads_all(kind: Any, body: Any, flags: int) -> bool:
    """At the end of a pattern: nothing after it can fail, so no other way is tried."""
    is_any = body[0][0] is sre.ANY and bool(flags & (re.DOTALL | re.MULTILINE))
    return is_any and kind is sre.MAX_REPEAT


def _ungrouped(tree: Any) -> Iterator[tuple[Any, Any]]:
    """What a group holds stands beside what is around it."""
    for kind, value in tree:
        if kind is sre.SUBPATTERN:
            yield from _ungrouped(value[3])
        else:
            yield kind, value


_SINGLE = (sre.LITERAL, sre.NOT_LITERAL, sre.ANY, sre.IN)


def _shares_character(first: str, second: str, flags: int) -> bool:
    flags &= ~re.VERBOSE  # the parser has left the blanks out already
    one, other = re.compile(first, flags), re.compile(second, flags)
    return any(one.fullmatch(char) and other.fullmatch(char) for char in _SAMPLES)


def _parts_of(kind: Any, value: Any) -> list[Any]:
    if kind in (sre.MAX_REPEAT, sre.MIN_REPEAT, sre.POSSESSIVE_REPEAT):
        return [value[2]]
    if kind is sre.BRANCH:
        return list(value[1])
    if kind is sre.SUBPATTERN:
        return [value[3]]
    if kind is sre.ATOMIC_GROUP:
        return [value]
    if kind in (sre.ASSERT, sre.ASSERT_NOT):
        return [value[1]]
    return []
