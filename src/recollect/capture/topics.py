"""The topics of a turn: names and files it speaks of, proper names, and the words that come back in it."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from recollect.capture import terms

MOST = 8
_NAME, _FILE, _PROPER, _PAIR, _WORD = 2.0, 2.5, 1.8, 1.5, 0.8
_LONGEST = 40
_LOOKED_AT = 1_200
_AGAIN = 2
"""How often a plain word must be said to be a topic."""
# Inside a sentence, so that the capital is the name's own.
_PROPER_NAME = re.compile(r"(?<=[a-z,;)] )(?:[A-Z][a-z]+(?:[A-Z]\w*)?|[A-Z]{2,}[a-z]*\d*)(?: [A-Z][a-z]+)?\b")
_PLAIN_NAME = re.compile(r"^[\w@./:-]+(?:\(\))?$")
_NO_NOUN = re.compile(r"(?:ing|ed|ly|n't|'s|able|ive|ful)$")
_VAGUE = frozenset(
    "above actual actually already basically behavior best better branch case cases codebase command commands "
    "complete current data default different directly easy edge empty entire example existing expected false "
    "feature feedback final following full implementation important information input instead item items kind later "
    "left list logic look main message messages multiple name names null number old option options order original "
    "output part parts path paths plan point possible previous project prompt proper properly question ready real "
    "reason related repo result results same section set sense separate session several simple single small "
    "specific state step steps string structure such summary system thing time total true type types user users "
    "value values various view way ways whole yes".split()
)


@dataclass(frozen=True, slots=True)
class Source:
    """A text, and how much what it says counts."""

    text: str
    weight: float = 1.0


def topics(sources: Sequence[Source], files: Iterable[str] = (), most: int = MOST) -> tuple[str, ...]:
    """The weightiest first, as they are written; none that another one says already."""
    scores: defaultdict[str, float] = defaultdict(float)
    spelt: dict[str, str] = {}

    def add(topic: str, weight: float) -> None:
        key = topic.casefold()
        if 2 < len(key) <= _LONGEST and not key.isdigit():
            scores[key] += weight
            spelt.setdefault(key, topic)

    for place, file in enumerate(files):
        add(terms.stem_of(file), _FILE - 0.2 * min(place, 10))
    said: Counter[str] = Counter()
    for source in sources:
        text = source.text[:_LOOKED_AT]
        for name in terms.names(text):
            if _PLAIN_NAME.match(name):
                add(
                    terms.stem_of(name) if "/" in name or "." in name else name.removesuffix("()"),
                    _NAME * source.weight,
                )
        for name in _PROPER_NAME.findall(text):
            if terms.is_content(name.casefold()) and name.casefold() not in _VAGUE:
                add(name, _PROPER * source.weight)
        for sentence in terms.sentences(text):
            said.update(_nouns(sentence))
    for term, many in said.items():
        if many >= _AGAIN:
            add(term, (_PAIR if " " in term else _WORD) * min(many, 4) / 2)
    ranked = sorted(scores, key=lambda key: (-scores[key], key))
    chosen: list[str] = []
    for key in ranked:
        if not any(_says(one, key) for one in chosen):
            chosen.append(key)
        if len(chosen) == most:
            break
    return tuple(spelt[key] for key in chosen)


def _nouns(sentence: str) -> set[str]:
    """Single words that may name a subject, and pairs of them that stand side by side."""
    words = terms.words(sentence)
    found = {word for word in words if _is_noun(word)}
    return found | {f"{one} {two}" for one, two in pairwise(words) if _is_noun(one) and _is_noun(two) and one != two}


def _is_noun(word: str) -> bool:
    return terms.is_content(word) and len(word) > 3 and word not in _VAGUE and not _NO_NOUN.search(word)


def _says(topic: str, other: str) -> bool:
    return other in topic or topic in other
