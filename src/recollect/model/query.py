"""What is searched for, and what was found. A Hit carries every component of its score, so that it can be explained."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set
from heapq import nlargest
from typing import NamedTuple

from recollect.base.moment import Moment
from recollect.base.structs import Struct
from recollect.model.memory import Condition, Kind, Lane, Memory, Message, RuleType, Status
from recollect.model.session import ledger_mark, turn_mark

# What questions and prompts reach, threads that age alone has archived included: age never hides.
REACHED = (Status.ACTIVE, Status.SUSPENDED)
# How memories came to be shown without a search, in the record of a recall.
ALWAYS_LOADED, ABOUT_CALL = "what is always loaded", "rules that bear on the call"
BY_FILTERS = "filters alone"


BEYOND_LIMIT = "beyond the limit"  # why something that matches was left out


class Aged(
    NamedTuple
):  # those that age has brought to one of these statuses, by the figures of ageing
    statuses: tuple[Status, ...]
    now: Moment
    half_life_days: float = 1.0
    suspend_below: float = 1.0  # above 0
    archive_after_days: float = 0.0


class Query(
    Struct, kw_only=True
):  # a question and its filters; an empty filter lets everything through
    text: str = ""
    kinds: tuple[Kind, ...] = ()
    statuses: tuple[Status, ...] = ()  # as stored
    aged: Aged | None = None
    condition: Condition | None = None  # of a question alone; lists go by the two above
    lane: Lane | None = None
    rule_type: RuleType | None = None  # of a list alone
    topic: str = ""
    tag: str = ""
    group: str = ""
    since: Moment | None = None
    until: Moment | None = None
    body: str = ""  # exactly these words, in any case
    like: str = ""  # those whose id or title contains this or looks like it come first
    marks_against: int = (
        0  # at least: ten for each rating that it was of no use, one for each time it went badly
    )
    drifts_over: int = 0  # threads that moved through more topics than this
    limit: int = 20
    once: bool = False  # the same words only once, even if two sessions said them
    unasked: bool = False  # nobody asked: muted memories are left out, and the surest come first
    floor: float = 0.0
    """How sure it must be that a memory is relevant: unasked each of them, else the best. 0: however unsure."""
    turns: int = 1  # how many turns of one memory may be found
    seen: Set[str] = frozenset()  # marks of what the asking session was shown before
    withheld: Set[str] = frozenset()  # ids of memories that nobody has allowed


class Piece(NamedTuple):
    start: int
    end: int
    score: float
    near: float = 0.0  # the cosine; 0 where it has no vector
    passage: int = 0  # its number in the store


class Hit(Struct):  # a unit that was found: a turn of a thread, or a body
    memory: Memory
    score: float
    components: tuple[tuple[str, float], ...]
    turn: Message | None = None  # None: the body
    pieces: tuple[Piece, ...] = ()  # all of its text, in order; empty where nothing was matched
    shown: tuple[str, ...] = ()  # the passages that answer, best first, as far as there was room
    summary: str = ""  # the best of it in a line
    store: int = 0  # the number of the store asked: after an import two may hold one id
    unit: int = 0  # its number in that store
    stale: tuple[str, ...] = ()  # files it is about that have changed since
    put_away: bool = False  # archived on purpose, not by age

    @property
    def text(self) -> str:
        return self.memory.body if self.turn is None else self.turn.content

    @property
    def unit_key(self) -> tuple[int, int]:
        return self.store, self.unit

    def part(self, name: str) -> float:
        return next((value for part, value in self.components if part == name), 0.0)

    @property
    def mark(self) -> str:
        """The ledger's entry when its best passage is shown; the id alone where that is all of it."""
        if self._is_whole:
            return self.memory.id
        best = max(self.pieces, key=lambda piece: piece.score)
        return ledger_mark(self.memory.id, self.turn.id if self.turn else "", best.start)

    @property
    def turn_mark(self) -> str:
        """The ledger's entry when most of its turn is shown."""
        return (
            self.memory.id
            if self._is_whole
            else turn_mark(self.memory.id, self.turn.id if self.turn else "")
        )

    @property
    def _is_whole(self) -> bool:
        is_short_note = self.memory.kind is Kind.NOTE and len(self.pieces) == 1
        return self.memory.kind is Kind.RULE or is_short_note or not self.pieces

    @property
    def passage(self) -> str:
        return self.summary or (self.shown[0] if self.shown else self.text)


class Drop(Struct):  # something that was left out, and why
    id: str
    reason: str


# What a store knows about a question before anyone ranks: where its words are, and what is near it. Memories, messages
# and passages are named by row numbers; only what is shown is read whole. What is ranked is a unit: a memory's body
# (the memory's number) or one message of it (the message's number below zero).


class TermEvidence(NamedTuple):  # one term of the question, and how strong it is in each passage
    term: str
    passages: int  # how many passages of this store have it: whether it is rare or common
    rows: tuple[
        tuple[int, float], ...
    ]  # (passage, strength): frequency against length, without rarity
    unit: float = (
        1.0  # converts the store's strengths: a term's maximum is then the same in every store
    )


TermValues = Sequence[tuple[str, float]]  # terms of the question, and what each of them adds


class WordEvidence(NamedTuple):
    """A store that has more than rows of Python objects extends this (store/passage_index.py)."""

    passages: int  # of the whole store
    terms: tuple[TermEvidence, ...]

    @property
    def found(self) -> int:
        """In how many passages its terms are; one that has two counts twice."""
        return sum(term.passages for term in self.terms)

    def best(self, weights: Mapping[str, float], kept: int) -> dict[int, TermValues]:
        """The passages in which the sum of strength times weight is largest, with what each term adds to it."""
        weighted = [(term.term, weights[term.term] * term.unit, term.rows) for term in self.terms]
        scores: dict[int, float] = {}
        known = scores.get
        for _, weight, rows in weighted:
            for passage, strength in rows:
                scores[passage] = known(passage, 0.0) + weight * strength
        best = nlargest(kept, scores, key=scores.__getitem__) if len(scores) > kept else scores
        found: dict[int, list[tuple[str, float]]] = {passage: [] for passage in best}
        for term, weight, rows in weighted:
            for passage, strength in rows:
                if passage in found:
                    found[passage].append((term, weight * strength))
        return dict(found)

    def terms_of(self, passages: Iterable[int]) -> dict[int, list[str]]:
        """Which of the terms each of these passages has."""
        found: dict[int, list[str]] = {passage: [] for passage in passages}
        for term in self.terms:
            for passage, _ in term.rows:
                if passage in found:
                    found[passage].append(term.term)
        return found


# NamedTuples from here on: a question makes hundreds, and a Struct takes three times as long.
class Owner(NamedTuple):
    memory: int
    unit: int
    voice: int  # how much of the passage is in the first person, in percent


class Nearness(NamedTuple):  # how near the meaning of a unit is to that of the question
    best: float  # of its nearest passage
    middle: float  # of the mean of its passages
    memory: int
    voiced: float  # like `best`, with passages in the first person counting more where the question asks for them


class Background(
    NamedTuple
):  # how near the passages of a store are to a question on the whole, from an even sample
    passages: int = 0
    total: float = 0.0
    squares: float = 0.0

    def with_more(self, other: Background) -> Background:
        return Background(
            self.passages + other.passages, self.total + other.total, self.squares + other.squares
        )


class VectorEvidence(NamedTuple):
    near: Mapping[int, Nearness]  # by unit
    missing: int  # how many passages have no vector of this model yet
    background: Background = Background()


class PassageEvidence(NamedTuple):  # where a passage is in the text of its unit, and how near it is
    unit: int
    passage: int
    start: int
    length: int
    near: float


class Place(
    NamedTuple
):  # a unit's place in its group: among the turns of a thread, or the memories of a session
    group: str
    before: tuple[int, ...]  # nearest first
    after: tuple[int, ...]
    size: int = 0  # of the body, in bytes; 0 for a message
    times: tuple[Moment, ...] = ()  # created, last active
    asks: bool = False  # it is a short question, and what follows is short
