"""Whose words a text is: how much of it is somebody speaking of himself.

In a conversation what a person says of himself (`I moved the cache to Redis`) and what is said to him (an answer of
three pages) stand side by side, and the second is longer. A question about oneself (`what did I move?`) is
answered by the first. English; the words are data.
"""

from __future__ import annotations

import re

_OWN = re.compile(r"\b(?:i|my|me|mine|myself|we|our|us)\b", re.IGNORECASE)  # `I'm` is an `I`
_ASKS_OF_SELF = re.compile(
    r"\b(?:my|mine|myself)\b|\b(?:did|have|had|was|am) i\b|\bi (?:was|had|did|[a-z]+ed)\b"
    r"|\bdo i (?:have|own|use|like|prefer|usually|currently|still)\b",
    re.IGNORECASE,
)
_FULL = 6  # one such word in six is as personal as speech gets
_LEAST_WORDS = 8
_MAX_QUESTION_CHARS = 4_000


def voice(text: str) -> int:
    """In percent: 0 for a text that nobody speaks in, 100 for one that is all about the speaker."""
    return min(100, 100 * _FULL * len(_OWN.findall(text)) // max(_LEAST_WORDS, len(text.split())))


def asks_of_self(question: str) -> bool:
    return _ASKS_OF_SELF.search(question[:_MAX_QUESTION_CHARS]) is not None
