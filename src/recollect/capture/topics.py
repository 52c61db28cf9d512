"""The topics of a turn: the names and files it mentions, proper names, and words that are repeated."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from recollect.capture import terms
from recollect.capture.tables import Words

MAX_TOPICS = 8
_NAME, _FILE, _PROPER, _PAIR, _WORD = 2.0, 2.5, 1.8, 1.5, 0.8
_MAX_CHARS = 40
_READ_CHARS = 1_200
_MIN_TIMES = 2  # how often a plain word must be said to become a topic
# Only inside a sentence, where a capital letter means a name.
_PROPER_NAME = re.compile(r"(?<=[a-z,;)] )(?:[A-Z][a-z]+(?:[A-Z]\w*)?|[A-Z]{2,}[a-z]*\d*)(?: [A-Z][a-z]+)?\b")
_PLAIN_NAME = re.compile(r"^[\w@./:-]+(?:\(\))?$")
_NO_NOUN = re.compile(r"(?:ing|ed|ly|n't|'s|able|ive|ful)$")
_WORDS = Words("topics")


@dataclass(frozen=True, slots=True)
class Source:
    """A text, and how much it counts."""

    text: str
    weight: float = 1.0


def find_topics(sources: Sequence[Source], files: Iterable[str] = (), most: int = MAX_TOPICS) -> tuple[str, ...]:
    """The most important first, spelt as they were written; none that is part of another."""
    scores: defaultdict[str, float] = defaultdict(float)
    spelt: dict[str, str] = {}

    def add(topic: str, weight: float) -> None:
        key = topic.casefold()
        if 2 < len(key) <= _MAX_CHARS and not key.isdigit():
            scores[key] += weight
            spelt.setdefault(key, topic)

    for place, file in enumerate(files):
        add(terms.stem_of(file), _FILE - 0.2 * min(place, 10))
    said: Counter[str] = Counter()
    for source in sources:
        text = source.text[:_READ_CHARS]
        for name in terms.names(text):
            if _PLAIN_NAME.match(name):
                add(
                    terms.stem_of(name) if "/" in name or "." in name else name.removesuffix("()"),
                    _NAME * source.weight,
                )
        for name in _PROPER_NAME.findall(text):
            if terms.is_content(name.casefold()) and name.casefold() not in _WORDS.vague:
                add(name, _PROPER * source.weight)
        for sentence in terms.sentences(text):
            said.update(_nouns(sentence))
    for term, many in said.items():
        if many >= _MIN_TIMES:
            add(term, (_PAIR if " " in term else _WORD) * min(many, 4) / 2)
    ranked = sorted(scores, key=lambda key: (-scores[key], key))
    chosen: list[str] = []
    for key in ranked:
        if not any(_contains(one, key) for one in chosen):
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
    return terms.is_content(word) and len(word) > 3 and word not in _WORDS.vague and not _NO_NOUN.search(word)


def _contains(topic: str, other: str) -> bool:
    return other in topic or topic in other
