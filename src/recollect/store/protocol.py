"""What every engine of the store offers (`Store`), what only a local file does (`LocalStore`: sessions, the queue of
events, the index file, backups), and all that the rest of the product knows of either.

A memory is named by its id. In evidence it is named by its row number, a passage by its own, and what is ranked is a
*unit*: a memory's body (the memory's number) or one message (the message's number below zero)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, NamedTuple, Protocol, TypeVar

from recollect.model.plan import Alias, Plan
from recollect.model.session import (
    Outcome,
    Pointer,
    ReadAct,
    RecallRecord,
    Session,
    ShownMemory,
    StateRecord,
)

if TYPE_CHECKING:
    from pathlib import Path

    from recollect.base.moment import Moment
    from recollect.model.codec import Json
    from recollect.model.memory import Bridge, Memory, Message, Sketch
    from recollect.model.query import (
        Owner,
        PassageEvidence,
        Place,
        Query,
        VectorEvidence,
        WordEvidence,
    )
    from recollect.model.result import Counts, Entry, Finding
    from recollect.model.session import LedgerKey, SessionCounts, Way

Progress = Callable[[int, int], None]  # called with what is done and what there is to do
Record = TypeVar("Record", Alias, Session, ShownMemory, Outcome, RecallRecord, ReadAct, StateRecord)
Shared = TypeVar("Shared", Alias, StateRecord)
AnyRecord = Session | ShownMemory | Pointer | Outcome | RecallRecord | ReadAct | StateRecord


class ChangeHeader(NamedTuple):  # what the journal says about a plan, beside the plan
    change: str
    op: str
    actor: str
    summary: str
    at: Moment
    undoes: str | None = None


class Store(Protocol):
    def close(self) -> None: ...
    # Several writes as one, all or none. Inside another transaction it is a part of that.
    def transaction(self, *, keep: bool = True) -> AbstractContextManager[None]: ...

    # All of it or nothing, journalled; Conflict where the state is not what the plan expects. False: no change.
    def apply(self, plan: Plan, header: ChangeHeader) -> bool: ...
    # Takes a change back and returns what that did; Conflict where something later builds upon it.
    def undo(self, change: str, header: ChangeHeader, *, dry_run: bool = False) -> Plan: ...
    # The changes, newest first.
    def log(self, *, limit: int, memory: str = "", change: str = "") -> list[Entry]: ...
    # What a change did, as the journal keeps it: the first so many that speak of this memory, or of any.
    def journalled(
        self, change: str, *, memory: str = "", limit: int = 100
    ) -> list[dict[str, Json]]: ...
    # Removes memories with every trace, for good; returns how many journal entries lost their plan.
    def purge(self, ids: tuple[str, ...], header: ChangeHeader | None = None) -> int: ...

    # A merged memory answers as what it became, unless aliases are not to be followed.
    def get(self, id: str, *, follow: bool = True) -> Memory | None: ...
    # By filters alone, most recently active first; with `like`, those whose names fit best first.
    def find(self, query: Query) -> list[Memory]: ...
    # When each that the filters let through was last active (Moment.micros), and its number; newest first.
    def order(self, query: Query) -> list[tuple[int, int]]: ...
    # Those of a thread, or those with these ids; oldest first.
    def messages(self, thread_id: str = "", *, ids: Sequence[str] = ()) -> tuple[Message, ...]: ...
    # Those that touch any of the ids; all of them when none is given.
    def bridges(self, *ids: str) -> tuple[Bridge, ...]: ...
    # Everything, oldest first; others may write meanwhile.
    def each(self) -> Iterator[tuple[Memory, tuple[Message, ...]]]: ...
    # The active and suspended threads, as far as ageing needs them.
    def sketches(self) -> list[Sketch]: ...
    # Another number after others have written.
    def version(self) -> int: ...
    # Counts, without a journal; `used` may change only the fields in `codec.USAGE`.
    def use(self, ids: Sequence[str], used: Callable[[Memory], Memory]) -> None: ...

    # Where the rarest terms of the question are, in at most `most` passages together (0: as a recall does).
    def words(self, question: str, *, most: int = 0) -> WordEvidence: ...
    # Memories with this id, or with the words of the topic in their title or topics; newest first.
    def about(self, topic: str, limit: int) -> list[int]: ...
    # The units nearest to a vector of 32-bit floats, and how near those of `also` are.
    def nearest(
        self, model: str, question: bytes, count: int, also: Sequence[int], *, voice: float = 0.0
    ) -> VectorEvidence: ...
    # Makes the next search by vectors of this model as fast as any.
    def load_vectors(self, model: str) -> None: ...
    # The cosine of each of these memories that has a vector; `more`: vectors of theirs that are not stored.
    def similarity(
        self,
        model: str,
        question: bytes,
        ids: Sequence[str],
        more: Sequence[tuple[str, bytes]] = (),
    ) -> dict[str, float]: ...
    # Passages (number, text) that have no vector of this model yet.
    def vectorless(self, model: str, limit: int) -> list[tuple[int, str]]: ...
    # By passage, without those that are gone; then removes up to so many vectors of other models, and returns how many.
    def put_vectors(
        self, model: str, vectors: list[tuple[int, bytes]], *, drop_others: int = 0
    ) -> int: ...
    # The memory and the unit of each passage.
    def owners(self, passages: Sequence[int]) -> dict[int, Owner]: ...
    # The passages of these units in the order of their text, and how near each is.
    def pieces(
        self, units: Sequence[int], model: str = "", question: bytes = b""
    ) -> list[PassageEvidence]: ...
    # The groups and times of units; for the first `neighbours` of them also their neighbours.
    def places(self, units: Sequence[int], *, neighbours: int) -> dict[int, Place]: ...
    # Each unit with its memory, and its message where it is one; in the order asked for.
    def read_units(self, units: Sequence[int]) -> list[tuple[int, Memory, Message | None]]: ...

    # A small state by its name; returns how many were written.
    def put(self, *records: StateRecord) -> int: ...
    # Those whose fields have these values, or one of a list.
    def records(
        self, kind: type[Shared], /, *, limit: int = -1, **filters: object
    ) -> list[Shared]: ...

    def counts(self) -> Counts: ...
    # How many memories there are by kind, by lane, and, since a moment, by the minute they were made
    # (`20260201_0830`, UTC).
    def tally(self, since: Moment) -> tuple[dict[str, int], dict[str, int], dict[str, int]]: ...
    # What is damaged; changes nothing.
    def verify(self, progress: Progress = ...) -> list[Finding]: ...
    # Builds anew what is derived; returns the number of passages.
    def reindex(self, progress: Progress = ...) -> int: ...


class LocalStore(Store, Protocol):
    # Where it is kept; None: in memory.
    @property
    def path(self) -> Path | None: ...
    # As of any store; not durable: it does not wait for the disk, and may be lost when the machine itself crashes.
    def transaction(
        self, *, keep: bool = True, durable: bool = True
    ) -> AbstractContextManager[None]: ...
    # Whether what makes searches in a large store fast must be built (again); builds it, in small steps.
    def lacks_index(self, model: str) -> bool: ...
    def build_index(self, model: str) -> Iterator[None]: ...
    # Pairs of these memories whose cosine is above this, nearest first; a few may be missed.
    def similar_pairs(
        self, model: str, memories: Sequence[int], above: float, more: list[tuple[int, int, bytes]]
    ) -> list[tuple[int, int, float]]: ...

    # Returns how many were new. What is too old, or too much, is removed.
    def put(self, *records: AnyRecord) -> int: ...
    # Those whose fields have these values, or one of a list, aliases included; outcomes and recalls newest first.
    def records(
        self, kind: type[Record], /, *, limit: int = -1, **filters: object
    ) -> list[Record]: ...
    # Of the passages, turns and memories that a ledger holds.
    def marks(self, key: LedgerKey, way: Way) -> frozenset[str]: ...
    # Of every session on record: its prompts and what it was told, as far as they are kept; and what came from it.
    def session_counts(self) -> dict[str, SessionCounts]: ...
    # The queue of pointers that were put, numbered, in the order they came.
    def events(self, *, after: int = 0, limit: int = 100) -> list[tuple[int, Pointer]]: ...

    # Whether anything here tells of these memories, or of what these sessions asked.
    def holds_traces(self, ids: Sequence[str], sessions: Sequence[str]) -> bool: ...
    # Removes the records of what these sessions asked.
    def forget_recalls(self, sessions: Sequence[str]) -> None: ...

    # A whole copy, while others write.
    def backup(self, target: Path) -> None: ...
