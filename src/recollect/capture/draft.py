"""A prompt on its way through the steps of prompt_rules.py: its sentences, what speaks for and against each, and the
rules that are found in it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum

from recollect.capture.language import Language
from recollect.model.memory import RuleType
from recollect.model.result import Scope

NOTHING_LASTING = "nothing lasting is said"


class Action(StrEnum):
    STORED = "stored"
    INBOX = "inbox"
    DROPPED = "dropped"


@dataclass(frozen=True, slots=True)
class Piece:
    """One sentence or clause, and what speaks for and against it."""

    text: str
    seen: str  # the same, as long as it, with quotes and code blotted out: only what the person says himself is judged
    score: float = 0.0
    signals: tuple[str, ...] = ()
    veto: str = ""
    firm: bool = False  # its form is unmistakable
    start: int = 0  # where it begins in the prompt
    odds: float | None = None  # log odds by the learned judge, where the language has one


@dataclass(frozen=True, slots=True)
class FoundRule:
    """A rule as it will be kept; one without a type stands for a prompt that states none."""

    rule: str
    rule_type: RuleType | None
    scope: Scope
    action: Action
    reason: str
    score: float
    span: str = ""  # the words of the prompt that it was made from


@dataclass(frozen=True, slots=True)
class Draft:
    text: str  # redacted, and without what we ourselves put in front of the agent
    language: Language
    seen: str = ""  # as long as `text`, pasted and quoted parts blotted out
    pieces: tuple[Piece, ...] = ()
    whole: str = ""  # why patterns think that the prompt as a whole holds no rule
    found: tuple[FoundRule, ...] = ()  # the rules that are kept: in force, or in the inbox
    refused: tuple[FoundRule, ...] = ()  # what looks like a rule by its form and is dropped all the same
    dropped: str = ""  # why nothing is kept of it; empty while something may be

    def drop(self, reason: str) -> Draft:
        return replace(self, dropped=reason, found=())

    @property
    def verdict(self) -> FoundRule:
        """The prompt as a whole: all of its rules as one, or why there is none."""
        if not self.found:
            return FoundRule("", None, Scope.PROJECT, Action.DROPPED, self.dropped or NOTHING_LASTING, 0.0)
        best = max(self.found, key=lambda one: one.score)
        return replace(best, rule=" ".join(one.rule for one in self.found))
