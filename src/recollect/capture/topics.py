"""The topics of a text: names and files it speaks of, and the phrases that come back in it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from recollect.capture import terms

MOST = 8
_NAME, _FILE, _PHRASE, _WORD = 2.0, 2.5, 1.6, 1.0
_LONGEST = 40
_LOOKED_AT = 1_000


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
        if 2 < len(key) <= _LONGEST:
            scores[key] += weight
            spelt.setdefault(key, topic)

    for file in files:
        add(terms.stem_of(file), _FILE)
    for source in sources:
        text = source.text[:_LOOKED_AT]
        for name in terms.names(text):
            add(terms.stem_of(name) if "/" in name or "." in name else name, _NAME * source.weight)
        for sentence in terms.sentences(text):
            for phrase in _phrases(sentence):
                add(phrase, (_PHRASE if " " in phrase else _WORD) * source.weight)
    ranked = sorted(scores, key=lambda key: (-scores[key], key))
    chosen: list[str] = []
    for key in ranked:
        if not any(_says(one, key) for one in chosen):
            chosen.append(key)
        if len(chosen) == most:
            break
    return tuple(spelt[key] for key in chosen)


def _phrases(sentence: str) -> Iterable[str]:
    """Single words that may name a subject, and pairs of them that stand side by side."""
    said = terms.words(sentence)
    for word in said:
        if terms.is_content(word):
            yield word
    for one, two in pairwise(said):
        if terms.is_content(one) and terms.is_content(two) and one != two and not two.endswith("ly"):
            yield f"{one} {two}"


def _says(topic: str, other: str) -> bool:
    return other in topic or topic in other
