"""Is this sentence new, or is it what the agent was told from memory, said again?

Literal quotes are known by their runs of words, whatever stands around them and however they are cut. A sentence in
other words is somebody's own.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from recollect.capture import terms

_QUOTED = 0.6
"""Of a sentence's runs of three words, in what was stored: so much is a quote."""
_LEAST_RUNS = 3
_WORTH = 8
"""Words beside the quotes that may name a subject: with fewer, it is only what one says around a quote."""
# What stands around a memory's words where it is shown: its kind and id, its lane, how long ago it was, a list's mark.
_AROUND = re.compile(
    r"(?:\b(?:thread|rule|note) )?\b[a-z]{2,12}_\d{8}_\d{6}_[0-9a-f]{6}\b|\[(?:user|tool|agent|repository|web)\]|"
    r"\(\d+ \w+ ago\)|\(just now\)|^\s*(?:[-*•>]|\d+[.)]|#+)\s+",
    re.MULTILINE,
)


def own_words(text: str, told: Sequence[str]) -> str:
    """What is left of a text without the sentences that quote what was told; empty where that is only what stood
    around them."""
    runs = _runs(told)
    if not runs:
        return text
    said = list(terms.sentences(text))
    own = [line for line in said if not _quotes(line, runs)]
    if len(own) == len(said):
        return text
    words = sum(len(terms.content(line)) for line in own)
    is_enough = words >= _WORTH and 3 * words >= len(terms.content(text))
    return "\n".join(own) if is_enough else ""


def is_quote(sentence: str, told: Sequence[str]) -> bool:
    return _quotes(sentence, _runs(told))


def _runs(told: Sequence[str]) -> frozenset[tuple[str, ...]]:
    return frozenset().union(*(terms.shape(one) for one in told))


def _quotes(sentence: str, known: frozenset[tuple[str, ...]]) -> bool:
    """A short one says too little to tell, unless all of it was told."""
    runs = terms.shape(_AROUND.sub(" ", sentence))
    if len(runs) < _LEAST_RUNS:
        return bool(runs) and runs <= known
    return len(runs & known) >= _QUOTED * len(runs)
