"""Whether a prompt leans on what was said just before it, or turns to something else. English; of another language
nothing is known here, and meaning, files and time decide alone."""

from __future__ import annotations

import re

from recollect.capture import terms

_SWITCHES = re.compile(
    r"^\W*(?:(?:ok(?:ay)?|so|now|and)\b\W*)?(?:unrelated|btw|by the way|separate(?:ly)?\b|"
    r"(?:a |something |one )?(?:completely |totally |entirely )?different\b|(?:the )?next (?:thing|task|topic|up|item)|"
    r"new (?:feature|task|topic|project|issue|bug)|another (?:one|thing|topic|task|bug|issue)|switching|moving on|"
    r"on another note|before i forget|while (?:you're|we're) at it|something else|let's (?:turn|move|switch) to|"
    r"back to|continue with|coming back to|returning to|about the|as for)",
    re.IGNORECASE,
)
_FOLLOWS = re.compile(
    r"^\W*(?:(?:and|also|then|yes|yep|yeah|ok|okay|sure|no|still|again|but|why|same|try|that|this|it|it's|they|those|"
    r"these)\b|what (?:about|if|happens)|how about|go (?:on|ahead)|(?:looks|sounds) good|"
    r"\w+ (?:it|that|this|them|those|these|so)\b)",
    re.IGNORECASE,
)
_POINTS = frozenset("it that this them those these they there same again still then one ones".split())


def turns_away(prompt: str) -> bool:
    """It says itself that something else is meant."""
    return _SWITCHES.match(prompt) is not None


def leaning(prompt: str) -> float:
    """0: stands alone; 1: says nothing without what went before."""
    said = terms.words(prompt)
    subject = len(set(terms.content(prompt))) + 2 * len(terms.names(prompt))
    if not subject:
        return 1.0
    leans = 0.0
    if _FOLLOWS.match(prompt):
        leans += 0.45
    if any(word in _POINTS for word in said):
        leans += 0.2
    leans += max(0.0, 0.5 - 0.1 * subject)
    return min(1.0, leans)
