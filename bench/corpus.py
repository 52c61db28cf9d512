"""Text like what developers say, made up: the same for the same seed.

Words follow Zipf's law, as real ones do, because the cost of a full-text question depends on how common its
words are: function words lead, then the words of the trade, then a long tail of made-up ones. Among them
stand identifiers and paths, which the tokenizer takes apart.
"""

from __future__ import annotations

import random
from itertools import accumulate

_FUNCTION = (
    "the to of and a in is it for that on with we this be as not are was by or from at an if have when you but "
    "can will so all there do after before into only then which one no should now more also has our they up out "
    "because its any each than over still first through them would about who where what how use used must"
).split()
_TRADE = (
    "test error file build user token server request cache query table index log deploy branch commit merge release "
    "config setting path module class function method value type thread lock queue worker job task retry timeout "
    "socket client response header cookie session login password key secret hash schema migration column row batch "
    "insert update delete select join page button form view style script bundle import export package version "
    "dependency container image volume network proxy port host domain certificate region bucket backup restore "
    "metric alert trace span event message topic stream consumer producer partition offset replica leader shard "
    "parser lexer token node tree graph edge vector matrix buffer pointer memory heap stack frame loop branch "
    "compiler linker flag option argument command shell terminal editor plugin hook callback promise future "
    "fixture mock assert coverage lint format review comment issue ticket sprint roadmap customer invoice payment"
).split()
_FOLDERS = "src lib app tests docs scripts internal api web core services deploy".split()
_ENDINGS = "py ts rs go sql md toml yaml tsx sh".split()
_SYLLABLES = "ba re ti mo lu ka ne so vi da pro con ter ma li fen gra sto que nal dor pi wex zu hy jol".split()
_EXPONENT = 1.05
_IDENTIFIER_SHARE = 0.07
_PATH_SHARE = 0.02
_SENTENCE_WORDS = 12


class Corpus:
    def __init__(self, seed: int, vocabulary: int = 30_000) -> None:
        self._chance = random.Random(seed)
        self._words = _vocabulary(vocabulary)
        self._weights = list(
            accumulate(1 / (rank + 2.7) ** _EXPONENT for rank in range(len(self._words)))
        )

    def text(self, words: int = 100) -> str:
        spoken = [self._dressed(word) for word in self._draw(words)]
        for start in range(0, words, _SENTENCE_WORDS):
            end = min(start + _SENTENCE_WORDS, words) - 1
            spoken[start] = spoken[start][:1].upper() + spoken[start][1:]
            spoken[end] += "."
        return " ".join(spoken)

    def prompt(self, words: int = 15) -> str:
        return " ".join(self._dressed(word) for word in self._draw(words)) + "?"

    def topics(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(self._chance.choices(_TRADE, k=2)))

    def _draw(self, words: int) -> list[str]:
        return self._chance.choices(self._words, cum_weights=self._weights, k=words)

    def _dressed(self, word: str) -> str:
        """Now and then the word becomes part of a name."""
        luck = self._chance.random()
        if luck < _PATH_SHARE:
            folder, ending = self._chance.choice(_FOLDERS), self._chance.choice(_ENDINGS)
            return f"{folder}/{self._chance.choice(_TRADE)}/{word}.{ending}"
        if luck < _PATH_SHARE + _IDENTIFIER_SHARE:
            other = self._chance.choice(_TRADE)
            return (
                f"{other}_{word}" if self._chance.random() < 0.5 else f"{other}{word.capitalize()}"
            )
        return word


def _vocabulary(size: int) -> list[str]:
    """Function words, the trade's words, then invented ones; each once."""
    found = dict.fromkeys(_FUNCTION + _TRADE)
    number = 0
    while len(found) < size:
        # A stride without a common factor scatters the syllables, and comes to every word once.
        found[_spelt(number * 7_919 % len(_SYLLABLES) ** 4)] = None
        number += 1
    return list(found)


def _spelt(number: int) -> str:
    word = ""
    while number or not word:
        number, syllable = divmod(number, len(_SYLLABLES))
        word += _SYLLABLES[syllable]
    return word
