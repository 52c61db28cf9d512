"""Text to token numbers: WordPiece as BERT's uncased models were trained with.

What the reference tokenizer does to one character (drop it, lower it, strip its accent, stand it alone)
does not depend on its neighbours, so it is a table that comes with the weights (tools/build_model.py asks
the reference for every code point). Python's own Unicode tables would differ from one Python to the next,
and with them the vectors.

A lone surrogate is no character: it is dropped like U+FFFD, which is what it becomes when stored.
"""

from __future__ import annotations

import json
import re
import unicodedata
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

_FIRST_CUT_CHARS = 2_048  # more than 256 tokens of most texts; each further cut is twice as long
_COMMON = 256
_LONGEST_WORD = 100  # a longer word is unknown, as in the reference


@dataclass(frozen=True, slots=True)
class Marks:
    """The model's own tokens. The reference finds all of them in the raw text, before anything else, and so do we."""

    first: str = "[CLS]"
    last: str = "[SEP]"
    unknown: str = "[UNK]"
    others: tuple[str, ...] = ("[PAD]", "[MASK]")

    def pattern(self) -> re.Pattern[str]:
        marks = {self.first, self.last, self.unknown, *self.others}
        return re.compile("|".join(re.escape(mark) for mark in sorted(marks, key=lambda mark: (-len(mark), mark))))


BERT = Marks()


class Tokenizer:
    def __init__(
        self, vocabulary: Iterable[str], characters: str, marks: Marks = BERT, *, lowercase: bool = True
    ) -> None:
        """`vocabulary` in the order of its numbers; `characters` as tools/build_model.py wrote it."""
        self._starts: dict[str, int] = {}
        self._inners: dict[str, int] = {}
        for number, piece in enumerate(vocabulary):
            if piece.startswith("##") and len(piece) > 2:
                self._inners[piece[2:]] = number
            else:
                self._starts[piece] = number
        self._longest_piece = max(map(len, (*self._starts, *self._inners)))
        self._unknown = self._starts[marks.unknown]
        self._first = self._starts[marks.first]
        self._last = self._starts[marks.last]
        self._marks = marks.pattern()
        self._characters = _Characters(characters) if lowercase else _Cased(characters)

    def encode(self, text: str, max_tokens: int) -> list[int]:
        """At most `max_tokens` numbers, the first and the last the model's own marks.

        Reads no more of the text than it needs.
        """
        room = max_tokens - 1
        tokens = [self._first]
        for word in self._words(text):
            known = self._starts.get(word)
            if known is not None:
                tokens.append(known)
            else:
                tokens += self._pieces(word)
            if len(tokens) >= room:
                del tokens[room:]
                break
        tokens.append(self._last)
        return tokens

    def _words(self, text: str) -> Iterator[str]:
        start = 0
        for mark in self._marks.finditer(text):
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
        length = len(word)
        if length > _LONGEST_WORD:
            return [self._unknown]
        pieces: list[int] = []
        known, start = self._starts, 0
        while start < length:
            end = min(length, start + self._longest_piece)
            while end > start:
                number = known.get(word[start:end])
                if number is not None:
                    pieces.append(number)
                    break
                end -= 1
            else:
                return [self._unknown]
            known, start = self._inners, end
        return pieces


class _Characters(dict[int, str]):
    """What becomes of a character, for `str.translate`. A character that is not here stays as it is."""

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


class _Cased(_Characters):
    """For a model that was trained on text as it is written: parted the same, neither lowered nor stripped."""

    def __init__(self, written: str) -> None:
        super().__init__(written)
        for code, becomes in list(self.items()):
            if becomes.strip():
                self[code] = f" {chr(code)} " if becomes[0] == becomes[-1] == " " else chr(code)

    def __missing__(self, code: int) -> str:
        kept = 0xAC00 <= code <= 0xD7A3 or unicodedata.category(chr(code)) == "Mn"  # marks above letters are theirs
        return chr(code) if kept else super().__missing__(code)
