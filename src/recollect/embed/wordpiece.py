"""Text to token numbers: WordPiece, as BERT's uncased models were trained with it.

What the reference tokenizer does to a character does not depend on its neighbours, so it is a table that comes with
the weights (tools/build_model.py). Python's own Unicode tables, and so the vectors, would differ from one Python to
the next.
"""

from __future__ import annotations

import json
import re
import unicodedata
from bisect import bisect_right
from collections.abc import Iterable, Iterator

FIRST, LAST, UNKNOWN = "[CLS]", "[SEP]", "[UNK]"
# The reference finds the model's own tokens in the raw text, before anything else.
_MARKS = re.compile(r"\[(?:CLS|SEP|UNK|PAD|MASK)\]")
_FIRST_CUT_CHARS = 2_048  # more than 256 tokens of most texts; each further cut is twice as long
_COMMON = 256
_LONGEST_WORD = 100  # a longer word is unknown, as in the reference


class Tokenizer:
    def __init__(self, vocabulary: Iterable[str], characters: str) -> None:
        """`vocabulary` in the order of its numbers; `characters` as tools/build_model.py wrote it."""
        self._starts: dict[str, int] = {}
        self._inners: dict[str, int] = {}
        for number, piece in enumerate(vocabulary):
            if piece.startswith("##") and len(piece) > 2:
                self._inners[piece[2:]] = number
            else:
                self._starts[piece] = number
        self._longest_piece = max(map(len, (*self._starts, *self._inners)))
        self._first, self._last, self._unknown = (self._starts[mark] for mark in (FIRST, LAST, UNKNOWN))
        self._characters = _Characters(characters)

    def encode(self, text: str, max_tokens: int) -> list[int]:
        """At most `max_tokens` numbers, the marks at both ends included. Reads no more of the text than it needs."""
        tokens = [self._first]
        for word in self._words(text):
            known = self._starts.get(word)
            if known is not None:
                tokens.append(known)
            else:
                tokens += self._pieces(word)
            if len(tokens) >= max_tokens - 1:
                break
        return [*tokens[: max_tokens - 1], self._last]

    def _words(self, text: str) -> Iterator[str]:
        start = 0
        for mark in _MARKS.finditer(text):
            yield from self._plain_words(text, start, mark.start())
            yield mark.group()
            start = mark.end()
        yield from self._plain_words(text, start, len(text))

    def _plain_words(self, text: str, start: int, end: int) -> Iterator[str]:
        cut = _FIRST_CUT_CHARS
        unfinished = ""
        while start < end:
            cleaned = unfinished + text[start : min(start + cut, end)].translate(self._characters)
            start += cut
            cut *= 2
            words = cleaned.split()
            unfinished = words.pop() if words and start < end and cleaned[-1] != " " else ""
            # A word this long is unknown whatever follows: carrying all of it would make the time quadratic.
            unfinished = unfinished[: _LONGEST_WORD + 1]
            yield from words
        if unfinished:
            yield unfinished

    def _pieces(self, word: str) -> list[int]:
        """The longest piece that fits, then the longest of what is left; unknown if one is missing."""
        pieces: list[int] = []
        known, start, length = self._starts, 0, len(word)
        while start < length <= _LONGEST_WORD:
            end = min(length, start + self._longest_piece)
            while end > start and word[start:end] not in known:
                end -= 1
            if end == start:
                return [self._unknown]
            pieces.append(known[word[start:end]])
            known, start = self._inners, end
        return pieces or [self._unknown]


class _Characters(dict[int, str]):
    """What a character becomes, for `str.translate`; one that is not listed stays as it is."""

    def __init__(self, written: str) -> None:
        read = json.loads(written)
        super().__init__((ord(character), becomes) for character, becomes in read["becomes"].items())
        ranges = sorted((first, last, kind) for kind in ("drop", "alone") for first, last in read[kind])
        self._firsts = [first for first, _last, _kind in ranges]
        self._lasts = [last for _first, last, _kind in ranges]
        self._dropped = [kind == "drop" for _first, _last, kind in ranges]
        # `translate` finds these without calling us: ten times the speed for most of what is written.
        for code in range(_COMMON):
            self.setdefault(code, self.__missing__(code))

    def __missing__(self, code: int) -> str:
        place = bisect_right(self._firsts, code) - 1
        if place >= 0 and code <= self._lasts[place]:
            return "" if self._dropped[place] else f" {chr(code)} "
        if 0xAC00 <= code <= 0xD7A3:  # Hangul syllables: arithmetic, the same in every Unicode
            return unicodedata.normalize("NFD", chr(code))
        return chr(code)
