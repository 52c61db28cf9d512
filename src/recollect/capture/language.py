"""What a language is to the classifier: tables of patterns, no code. Another language is one file more."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

Pattern = re.Pattern[str]
NOTHING = re.compile(r"(?!)")
EXPLICIT = frozenset(("says it is to last", "asks to remember it", "a name"))
"""Signals, of whatever language, that say in so many words that something is to last."""


@dataclass(frozen=True, slots=True)
class Signal:
    """One thing that speaks for a standing rule (weight above 0) or against it."""

    name: str
    weight: float
    pattern: Pattern
    firm: bool = False
    """So plain that what yields to it does not count."""
    yields: bool = False


@dataclass(frozen=True, slots=True)
class Language:
    code: str
    signals: tuple[Signal, ...]
    vetoes: Mapping[str, Pattern]
    """By reason: a sentence that matches states no rule, whatever else it says."""
    whole: Mapping[str, Pattern]
    """By reason: a prompt that matches holds no rule at all."""
    correction: Pattern
    devops: Pattern
    user: Pattern
    """The person's own taste or circumstance; `project` overrules it."""
    everywhere: Pattern
    """The wording reaches past the project, whatever else it names."""
    project: Pattern
    """The wording names the project or a part of it."""
    back: Pattern
    """A sentence that makes the one before it lasting: "same for all of them", "every time"."""
    lead: Pattern
    """What stands before a rule and is no part of it."""
    tail: Pattern
    asides: Pattern
    """Small words inside a rule that say nothing: ", please", " here"."""
    rewrites: tuple[tuple[Pattern, str], ...]
    """How a statement becomes an instruction: "we don't" -> "Do not"."""
    complaint: Pattern = NOTHING
    """What the agent did or asked about, beside which the rule is said: "you used npm again"."""
    pointing: Pattern = NOTHING
    """A sentence that means nothing without the one before it: "hands off that folder"."""


def words(pattern: str) -> Pattern:
    """Whole words, any case; spaces match any white space."""
    return re.compile(rf"(?<![\w-])(?:{pattern})(?![\w-])".replace(" ?", r"\s*").replace(" ", r"\s+"), re.IGNORECASE)


def plain(pattern: str) -> Pattern:
    return re.compile(pattern, re.IGNORECASE)
