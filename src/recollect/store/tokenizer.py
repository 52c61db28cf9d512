"""How text becomes terms, for the index and for questions alike. SQLite's own `porter unicode61` splits and stems words
(in C). On top of it: the parts of a camelCase name are added to the name, a snake_case name joined is added to its
parts (so both spellings meet), and runs of Chinese, Japanese and Korean become pairs of characters, because they have
no spaces. In a MATCH expression every term is already final (search.py made it), so query mode passes it through.

A change here changes the index: raise the schema version with a migration that asks for `reindex`."""

import re
from collections.abc import Callable, Iterator, Sequence
from functools import cache, lru_cache
from itertools import accumulate
from operator import add
from typing import cast

import apsw

from recollect.base.text import CJK

MAX_TERM_CHARS = 1_000  # FTS5 cuts a longer one at 32,768 bytes, perhaps inside a character

_NEEDS_WORK = re.compile(rb"[a-z][A-Z]|[A-Z]{2}[a-z]|[A-Za-z0-9]_[A-Za-z0-9]|[\xe1-\xf0]")
_HUMPS = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|\d+")

Token = tuple[int, int, str, *tuple[str, ...]]  # where it begins and ends, in bytes, and its terms
Analyse = Callable[[bytes], "list[Token]"]


def register(connection: apsw.Connection) -> Analyse:
    """Also returns the tokenizer, for direct use."""
    base = connection.fts5_tokenizer("porter", ["unicode61", "remove_diacritics", "2"])

    def stems(utf8: bytes) -> list[Token]:
        return cast(list[Token], base(utf8, apsw.FTS5_TOKENIZE_DOCUMENT, None))

    @lru_cache(maxsize=4096)
    def stem(word: str) -> str:
        found = stems(word.encode())
        return found[0][2] if found else word.lower()

    @lru_cache(
        maxsize=64
    )  # a text is asked for twice in a row, by the index and to count its terms; a title, often
    def analyse(utf8: bytes) -> list[Token]:
        tokens = stems(utf8)
        if _NEEDS_WORK.search(utf8):
            tokens = list(_enriched(utf8, tokens, stem))
        if len(utf8) <= MAX_TERM_CHARS:
            return tokens
        clipped = [
            (at, to, *dict.fromkeys(term[:MAX_TERM_CHARS] for term in terms))
            for at, to, *terms in tokens
        ]
        return cast(list[Token], clipped)

    def tokenize(utf8: bytes, flags: int, _locale: str | None) -> list[Token] | list[str]:
        return utf8.decode().split() if flags & apsw.FTS5_TOKENIZE_QUERY else analyse(utf8)

    connection.register_fts5_tokenizer("recollect", lambda _connection, _args: tokenize)
    return analyse


def terms(analyse: Analyse, text: str) -> list[str]:
    return [term for token in analyse(text.encode()) for term in token[2:]]


def _enriched(utf8: bytes, tokens: list[Token], stem: Callable[[str], str]) -> Iterator[Token]:
    joined = _snake_names(utf8, tokens) if b"_" in utf8 else {}
    for index, token in enumerate(tokens):
        start, end = token[0], token[1]
        raw = utf8[start:end]
        if index not in joined and raw.isascii() and (raw.islower() or raw[1:].islower()):
            yield token
            continue
        word = raw.decode()
        if _cjk_word().fullmatch(word):
            yield from _pairs(start, end, word)
            continue
        if not word.isascii() and any(found[1] for found in _cjk().finditer(word)):
            for found in _cjk().finditer(word):  # each character of a run, and the pair it begins
                end = start + len(found[0].encode())
                term = found[1] or stem(found[0])
                yield (start, end, term, found[1] + found[2]) if found[2] else (start, end, term)
                start = end
            continue
        is_mixed = not (word.islower() or word.isupper() or word[1:].islower() or word.isdigit())
        extra = [stem(hump) for hump in _HUMPS.findall(word)] if is_mixed else []
        if index in joined:
            extra.append(stem(joined[index]))
        yield (start, end, token[2], *dict.fromkeys(term for term in extra if term != token[2]))


def _pairs(start: int, end: int, word: str) -> Iterator[Token]:
    """Each character of a word of nothing else, with the pair it begins: without a step of Python for each of them,
    because a long Chinese note is hundreds of thousands."""
    places: Sequence[int] = range(start, end + 1, 3)
    if end - start != 3 * len(word):
        places = list(accumulate((len(char.encode()) for char in word), initial=start))
    yield from zip(places, places[1:], word, map(add, word, word[1:]), strict=False)
    yield (places[-2], end, word[-1])


@cache
def _cjk_word() -> re.Pattern[str]:
    return re.compile(f"[{CJK}]+")


@cache  # compiled when first needed: that takes milliseconds, and the daemon's start is waited for
def _cjk() -> re.Pattern[str]:
    """A character with the one that follows it, or a run of other characters."""
    return re.compile(f"([{CJK}])(?=([{CJK}])?)|[^{CJK}]+")


def _snake_names(utf8: bytes, tokens: list[Token]) -> dict[int, str]:
    """Index of a name's first part -> the whole name without its underscores."""
    names: dict[int, str] = {}
    first = 0
    for index in range(1, len(tokens) + 1):
        if index < len(tokens) and utf8[tokens[index - 1][1] : tokens[index][0]] == b"_":
            continue
        if index - first > 1:
            whole = utf8[tokens[first][0] : tokens[index - 1][1]]
            names[first] = whole.replace(b"_", b"").decode()
        first = index
    return names
