"""What is looked for, and what was found. A Hit carries every component of its score: nothing is shown
that cannot be explained."""

from __future__ import annotations

from dataclasses import dataclass

from recollect.base.moment import Moment
from recollect.model.memory import Kind, Memory, Status

REACHED = (Status.ACTIVE, Status.SUSPENDED)
"""What questions and prompts reach. Age never hides a thread: who asks for these two gets those that age alone has
archived, too."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """Empty filters let everything through."""

    text: str = ""
    kinds: tuple[Kind, ...] = ()
    statuses: tuple[Status, ...] = ()
    topic: str = ""
    tag: str = ""
    group: str = ""
    since: Moment | None = None
    until: Moment | None = None
    limit: int = 20
    once: bool = False
    """The same words are shown once, even if they were said in two sessions."""
    unasked: bool = False
    """Nobody asked: what went quiet is left out."""


@dataclass(frozen=True, slots=True)
class Hit:
    memory: Memory
    score: float
    components: tuple[tuple[str, float], ...]
    passage: str
    """The piece of text that matched best."""
    store: int = 0
    """Which of those that were asked: one id may stand in two, after an import."""
    stale: tuple[str, ...] = ()
    """Files it speaks of that have changed since."""
    put_away: bool = False
    """Archived on purpose, not by age."""


@dataclass(frozen=True, slots=True)
class Drop:
    """Something that was left out, and why: an expected outcome, not an error."""

    id: str
    reason: str
