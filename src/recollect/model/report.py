"""Reports that operations return beside the results in result.py: what memory did lately, what a prompt would be told,
and figures by day. Their JSON is their fields."""

from __future__ import annotations

from collections.abc import Mapping

from recollect.base.moment import Moment
from recollect.base.structs import Struct, field
from recollect.model.codec import Json, encode


class Happening(Struct):  # something that memory did, in one sentence
    id: str  # of the change, or of the recall
    at: Moment
    kind: str  # told, kept, waits or changed
    text: str
    memories: tuple[str, ...] = ()
    session: str = ""
    change: str = ""  # what `undo` takes back; empty where it cannot, or did
    tokens: int = 0  # that it added to what an agent reads
    memory_count: int = 0  # all that the change touched; `memories` lists the first of them


class Activity(Struct):
    items: tuple[Happening, ...]  # newest first
    is_cut: bool = False  # there are more

    def as_json(self) -> Json:
        return [encode(item) for item in self.items]


class RecordedOutcome(Struct):  # how something ended, and the memories that had a part in it
    at: Moment
    ending: str
    did: str  # the tool, the subagent or the person, and what was done
    came: str  # what came of it: the head of an error, what the person said
    session: str
    memories: tuple[tuple[str, str], ...] = ()  # id and title

    def as_json(self) -> dict[str, Json]:
        memories: list[Json] = [{"id": id, "title": title} for id, title in self.memories]
        data: dict[str, Json] = {"at": self.at.iso(), "ending": self.ending, "did": self.did}
        return data | {"came": self.came, "session": self.session, "memories": memories}


class Outcomes(Struct):
    items: tuple[RecordedOutcome, ...]  # newest first
    total: int

    def as_json(self) -> Json:
        outcomes: list[Json] = [item.as_json() for item in self.items]
        return {"outcomes": outcomes, "shown": len(self.items), "total": self.total}


class Candidate(Struct):  # a memory that was judged for a prompt
    id: str
    title: str
    kind: str
    scope: str
    source: str
    certainty: float  # that it bears on the prompt
    max_floor: (
        float  # it is told while the floor is no higher; below 0: whatever the floor, it is not
    )
    told: bool
    left_out: str  # why it is not told, in words
    why: str  # it was found, in a sentence
    passage: str
    components: Mapping[str, float]


class Told(
    Struct
):  # what is told while the floor is above that of the one before, and no higher than its own
    max_floor: float
    text: str
    tokens: int


class Trial(Struct):  # what an agent would be told now with a prompt
    prompt: str
    floor: float
    text: str  # as the agent would read it; empty: it would be told nothing
    tokens: int
    candidates: tuple[Candidate, ...] = ()  # the most certain first
    left_out: tuple[Mapping[str, str], ...] = ()  # never judged: id, title and why
    how: str = ""
    notes: tuple[str, ...] = ()
    by_floor: tuple[
        Told, ...
    ] = ()  # what other floors would have the agent told; above the last one nothing is


class Day(Struct):
    day: str
    prompts: int = 0
    answered: int = 0  # prompts with which something was told
    told: int = 0  # memories, at any event
    tokens: int = 0  # added by that
    kept: int = 0  # new memories


class StoreSize(Struct):
    scope: str
    bytes: int
    backup_at: Moment | None  # the last backup


class Figures(Struct):
    days: tuple[Day, ...]  # oldest first, none left out
    kinds: Mapping[str, int]
    sources: Mapping[str, int]
    hook_ms: Mapping[str, Mapping[str, int]] = field(
        default_factory=dict
    )  # by event: how many, p50 and p95
    spent: Mapping[str, Mapping[str, tuple[int, int]]] = field(
        default_factory=dict
    )  # calls and tokens by day and use
    stores: tuple[StoreSize, ...] = ()

    def total(self, name: str) -> int:
        return sum(getattr(day, name) for day in self.days)

    @property
    def answered(self) -> float:
        """The share of prompts with which something was told."""
        return self.total("answered") / max(1, self.total("prompts"))
