"""What is looked for, and what was found. A Hit carries every component of its score: nothing is shown
that cannot be explained."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from recollect.base.moment import Moment
from recollect.model.memory import Kind, Memory, Message, Status
from recollect.model.session import ledger_mark, turn_mark

REACHED = (Status.ACTIVE, Status.SUSPENDED)
"""What questions and prompts reach. Age never hides a thread: who asks for these two gets those that age alone has
archived, too."""
ALWAYS_LOADED, ABOUT_CALL = "what is always loaded", "rules that bear on the call"
"""How memories came to be shown without a search, as the record of a recall says it."""


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
    body: str = ""  # exactly these words, whatever their case
    judged: bool = False  # rated, or put in front of an agent with an outcome
    drifts_over: int = 0  # threads that moved through more topics than this
    limit: int = 20
    once: bool = False  # the same words are shown once, even if they were said in two sessions
    unasked: bool = False
    """Nobody asked: what went quiet is left out, and what is left comes in the order of how surely it bears on it."""
    floor: float = 0.0  # unasked: how sure it must be that something bears on it
    turns: int = 1  # how many turns of one memory may be found


class Piece(NamedTuple):
    """A range of a text, and how well it matches."""

    start: int
    end: int
    score: float
    near: float = 0.0  # the cosine; 0 where it has no vector
    passage: int = 0  # its number in the store


@dataclass(frozen=True, slots=True)
class Hit:
    """One unit that was found: a turn of a thread, or what a memory itself says."""

    memory: Memory
    score: float
    components: tuple[tuple[str, float], ...]
    turn: Message | None = None  # None: the body
    pieces: tuple[Piece, ...] = ()  # all of its text, in order; empty where nothing was matched
    shown: tuple[str, ...] = ()
    """The passages that answer, best first, as far as there was room (recall/answer_passages.py)."""
    summary: str = ""  # the best of it in a line
    store: int = 0  # which of those that were asked: one id may stand in two, after an import
    unit: int = 0  # its number in that store
    stale: tuple[str, ...] = ()  # files it speaks of that have changed since
    put_away: bool = False  # archived on purpose, not by age

    @property
    def text(self) -> str:
        return self.memory.body if self.turn is None else self.turn.content

    def part(self, name: str) -> float:
        """A component of its score; 0 where it has none of this name."""
        return next((value for part, value in self.components if part == name), 0.0)

    @property
    def mark(self) -> str:
        """What the ledger enters when its best passage is shown; the id alone where that is all of it."""
        if self._is_whole:
            return self.memory.id
        best = max(self.pieces, key=lambda piece: piece.score)
        return ledger_mark(self.memory.id, self.turn.id if self.turn else "", best.start)

    @property
    def turn_mark(self) -> str:
        """When most of its turn is shown, as to one who asked."""
        return self.memory.id if self._is_whole else turn_mark(self.memory.id, self.turn.id if self.turn else "")

    @property
    def _is_whole(self) -> bool:
        is_short_note = self.memory.kind is Kind.NOTE and len(self.pieces) == 1
        return self.memory.kind is Kind.RULE or is_short_note or not self.pieces

    @property
    def passage(self) -> str:
        """In a few words what it says."""
        return self.summary or (self.shown[0] if self.shown else self.text)


@dataclass(frozen=True, slots=True)
class Drop:
    """Something that was left out, and why: an expected outcome, not an error."""

    id: str
    reason: str
