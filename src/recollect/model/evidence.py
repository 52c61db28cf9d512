"""What a store knows about a question before anyone ranks: where its words are, and what is near it.

Memories, messages and passages are named by row numbers; only what is shown is read whole. What is ranked is a unit: a
memory's body (the memory's number) or one message of it (the message's number below zero).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from recollect.base.moment import Moment


class TermEvidence(NamedTuple):
    """One term of the question, and how strong it is in each passage."""

    term: str
    passages: int  # how many passages of this store have it: whether it is rare or common
    rows: tuple[tuple[int, float], ...]  # (passage, strength): frequency against length, without rarity
    unit: float = 1.0  # converts the store's strengths: a term's maximum is then the same in every store


class WordEvidence(NamedTuple):
    passages: int  # of the whole store
    terms: tuple[TermEvidence, ...]


# NamedTuples from here on: a question makes hundreds, and a frozen dataclass takes three times as long.
class Owner(NamedTuple):
    memory: int
    unit: int
    voice: int  # how much of the passage is in the first person, in percent


class Nearness(NamedTuple):
    """How near a unit's meaning is."""

    best: float  # of its nearest passage
    middle: float  # of the mean of its passages
    memory: int
    voiced: float  # like `best`, with passages in the first person counting more where the question asks for them


class Background(NamedTuple):
    """How near the passages of a store are to a question on the whole, from an even sample."""

    passages: int = 0
    total: float = 0.0
    squares: float = 0.0

    def with_more(self, other: Background) -> Background:
        return Background(self.passages + other.passages, self.total + other.total, self.squares + other.squares)


NO_BACKGROUND = Background()


class VectorEvidence(NamedTuple):
    near: Mapping[int, Nearness]  # by unit
    missing: int  # how many passages have no vector of this model yet
    background: Background = NO_BACKGROUND


class PassageEvidence(NamedTuple):
    """Where a passage is in the text of its unit, and how near it is."""

    unit: int
    passage: int
    start: int
    length: int
    near: float


class Place(NamedTuple):
    """A unit's place in its group: among the turns of a thread, or the memories of a session."""

    group: str
    before: tuple[int, ...]  # nearest first
    after: tuple[int, ...]
    size: int = 0  # of the body, in bytes; 0 for a message
    times: tuple[Moment, ...] = ()  # created, last active
