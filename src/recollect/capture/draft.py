"""A prompt on its way through the pipeline: what was said, what it was cut into, what became of each piece."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum

from recollect.capture.language import Language


class Sort(StrEnum):
    """What kind of rule a text states; none where it states none."""

    PREFERENCE = "preference"
    CORRECTION = "correction"
    DEVOPS = "devops"
    NONE = "none"


class Action(StrEnum):
    STORED = "stored"
    INBOX = "inbox"
    DROPPED = "dropped"


class Reach(StrEnum):
    PROJECT = "project"
    USER = "user"


@dataclass(frozen=True, slots=True)
class Piece:
    """One sentence or clause, and what speaks for and against it."""

    text: str
    seen: str
    """The same, as long as it, with quotes and code blotted out: only what the person says himself is judged."""
    score: float = 0.0
    signals: tuple[str, ...] = ()
    veto: str = ""
    firm: bool = False
    """Its form is unmistakable."""
    start: int = 0
    """Where it begins in the prompt."""
    odds: float | None = None
    """Log odds by the learned judge (learned.py), where the language has one."""


@dataclass(frozen=True, slots=True)
class Found:
    """A rule as it will be kept."""

    rule: str
    sort: Sort
    reach: Reach
    action: Action
    reason: str
    score: float
    span: str = ""
    """The words of the prompt that it was made from."""


@dataclass(frozen=True, slots=True)
class Draft:
    text: str
    """Redacted, and without what we ourselves put in front of the agent."""
    language: Language
    seen: str = ""
    """As long as `text`, pasted and quoted parts blotted out."""
    pieces: tuple[Piece, ...] = ()
    whole: str = ""
    """Why patterns think that the prompt as a whole holds no rule."""
    found: tuple[Found, ...] = ()
    """The rules that are kept: in force, or in the inbox."""
    refused: tuple[Found, ...] = ()
    """What looks like a rule by its form and is dropped all the same."""
    dropped: str = ""
    """Why nothing is kept of it; empty while something may be."""

    def drop(self, reason: str) -> Draft:
        return replace(self, dropped=reason, found=())

    @property
    def verdict(self) -> Found:
        """The prompt as a whole: all of its rules as one, or why there is none."""
        if not self.found:
            return Found("", Sort.NONE, Reach.PROJECT, Action.DROPPED, self.dropped or "nothing lasting is said", 0.0)
        best = max(self.found, key=lambda one: one.score)
        return replace(best, rule=" ".join(one.rule for one in self.found))
