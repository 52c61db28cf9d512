"""What a store knows of a question before anyone ranks: where its words stand, and what lies near it.

Memories, messages and passages are named by their row numbers here; only what is shown is read whole. What is ranked
is a unit: a memory's body, by the memory's number, or one message of it, by the message's number below zero.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from recollect.base.moment import Moment


@dataclass(frozen=True, slots=True)
class TermEvidence:
    """One term of the question, and how strongly it stands in each passage."""

    term: str
    passages: int  # in how many passages of this store it stands: what makes it rare or common
    rows: tuple[tuple[int, float], ...]
    """(passage, strength): frequency against length, without the rarity, in the store's own unit."""
    unit: float = 1.0  # what one of them is worth; what a term gives at most is the same in every store


@dataclass(frozen=True, slots=True)
class WordEvidence:
    passages: int  # how many there are in the store
    terms: tuple[TermEvidence, ...]


# NamedTuples from here on: hundreds are made for a question, at a third of a frozen dataclass's time.
class Owner(NamedTuple):
    """Whose passage it is."""

    memory: int
    unit: int
    voice: int  # how much of the passage is somebody speaking of himself, in percent


class Nearness(NamedTuple):
    """How near a unit's meaning is: its nearest passage, and the middle of all of them."""

    best: float
    middle: float
    memory: int
    voiced: float  # as `best`, what is said in the first person counting more where the question asks for that


class Background(NamedTuple):
    """How near all passages of a store are to a question, or an even sample of them: what one that is about it stands
    out from."""

    passages: int = 0
    total: float = 0.0
    squares: float = 0.0

    def with_more(self, other: Background) -> Background:
        return Background(self.passages + other.passages, self.total + other.total, self.squares + other.squares)


NO_BACKGROUND = Background()


@dataclass(frozen=True, slots=True)
class VectorEvidence:
    near: Mapping[int, Nearness]  # by unit: those nearest to the question, and those that were asked about
    missing: int  # how many passages have no vector of this model yet
    background: Background = NO_BACKGROUND


class PassageEvidence(NamedTuple):
    """Where a passage stands in the text of its unit, and how near it is."""

    unit: int
    passage: int
    start: int
    length: int
    near: float


class Place(NamedTuple):
    """Where a unit stands among those of its group, in the order they came: the turns of a thread, the memories of a
    session."""

    group: str
    before: tuple[int, ...]  # nearest first
    after: tuple[int, ...]
    size: int = 0  # of the body, in bytes; 0 for a message
    times: tuple[Moment, ...] = ()  # when it came, and when it was last spoken of
