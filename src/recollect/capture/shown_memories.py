"""What a turn does with the memories it was shown: repeats them, or uses them.

A repeated memory is nothing new. Literal quotes are known by their runs of words, whatever stands around them and
however they are cut; a sentence in other words is somebody's own. A memory was used where the turn speaks of the same
things or works on the same files, beyond what the prompt said: a weak sign for one passage, a fair measure over many.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from recollect.capture import terms

_QUOTED_SHARE = 0.6  # a sentence of which so many runs of three words were told is a quote
_MIN_RUNS = 3
_MIN_NEW_WORDS = 8  # words beside the quotes that may name a subject: fewer are only what one says around a quote
_MIN_USED_SHARE = 0.25
_MIN_USED_WORDS = 3
# What stands around a memory's words where it is shown: its kind and id, its source, its age, a list's mark.
_AROUND = re.compile(
    r"(?:\b(?:thread|rule|note) )?\b[a-z]{2,12}_\d{8}_\d{6}_[0-9a-f]{6}\b|\[(?:user|tool|agent|repository|web)\]|"
    r"\(\d+ \w+ ago\)|\(just now\)|^\s*(?:[-*•>]|\d+[.)]|#+)\s+",
    re.MULTILINE,
)


def own_words(text: str, told: Sequence[str]) -> str:
    """The text without the sentences that quote what was told; empty where the rest only leads up to them."""
    known = _runs(told)
    said = list(terms.sentences(text)) if known else []
    own = [line for line in said if not _is_quote(line, known)]
    if len(own) == len(said):
        return text
    words = sum(len(terms.content(line)) for line in own)
    is_enough = words >= _MIN_NEW_WORDS and 3 * words >= len(terms.content(text))
    return "\n".join(own) if is_enough else ""


def is_quote(sentence: str, told: Sequence[str]) -> bool:
    return _is_quote(sentence, _runs(told))


def is_used(passage: str, prompt: str, did: str, files: Iterable[str] = ()) -> bool:
    """`did`: what the agent said and ran after the prompt; `files`: what it read or changed."""
    asked, after = prompt.casefold(), did.casefold()
    names = [name for name in map(str.casefold, terms.names(passage)) if name not in asked]
    stems = {terms.stem_of(file).casefold() for file in files}
    if any(name in after or terms.stem_of(name) in stems for name in names):
        return True
    own = set(terms.content(passage)) - set(terms.words(asked))
    return len(own & set(terms.words(after))) >= max(_MIN_USED_WORDS, _MIN_USED_SHARE * len(own))


def _runs(told: Sequence[str]) -> frozenset[tuple[str, ...]]:
    return frozenset().union(*(terms.word_runs(one) for one in told))


def _is_quote(sentence: str, known: frozenset[tuple[str, ...]]) -> bool:
    """A short sentence says too little to tell, unless all of it was told."""
    runs = terms.word_runs(_AROUND.sub(" ", sentence))
    if len(runs) < _MIN_RUNS:
        return bool(runs) and runs <= known
    return len(runs & known) >= _QUOTED_SHARE * len(runs)
