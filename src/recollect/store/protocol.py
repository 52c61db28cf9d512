"""What a store can do. SQLite is one engine; another passes the same contract tests (tests/store/contract.py).

A memory is named by its id. In evidence it is named by its row number, a passage by its own, and what is ranked is a
*unit*: a memory's body (the memory's number) or one message (the message's number below zero).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from recollect.base.moment import Moment
from recollect.model.bridge import Bridge
from recollect.model.evidence import Background, Owner, PassageEvidence, Place, VectorEvidence, WordEvidence
from recollect.model.ledger import LedgerKey, Pointer, Sight, Way
from recollect.model.memory import Memory, Message, Sketch
from recollect.model.outcome import Ending, Outcome
from recollect.model.plan import Plan
from recollect.model.query import Query
from recollect.model.report import Counts, Entry, Finding
from recollect.model.session import Session

Progress = Callable[[int, int], None]  # called with what is done and what there is to do


def silent(_done: int, _total: int) -> None:
    pass


@dataclass(frozen=True, slots=True)
class ChangeHeader:
    """Who does what, when, under which change: what the journal remembers of a plan."""

    change: str
    op: str
    actor: str
    summary: str
    at: Moment
    undoes: str | None = None


class _Memories(Protocol):
    def get(self, id: str) -> Memory | None:
        """A merged memory answers as what it became."""

    def exact(self, id: str) -> Memory | None:
        """The memory itself, aliases not followed."""

    def find(self, query: Query) -> list[Memory]:
        """By filters alone, most recently active first."""

    def near(self, text: str) -> tuple[tuple[str, str], ...]:
        """Ids and titles that contain this text, then a few ids that look like it, for did-you-mean."""

    def each(self) -> Iterator[tuple[Memory, tuple[Message, ...]]]:
        """Everything, oldest first, for exports."""

    def messages(self, thread_id: str) -> tuple[Message, ...]: ...

    def threads_of(self, message_ids: Sequence[str]) -> dict[str, str]:
        """Which of these messages there are, and in which thread each stands."""

    def bridges(self, *ids: str) -> tuple[Bridge, ...]:
        """Those that touch any of the ids; all of them when none is given."""

    def aliases(self, id: str) -> tuple[str, ...]:
        """The ids that answer as this one."""

    def sketches(self) -> list[Sketch]:
        """The threads that are active or suspended, as far as ageing needs them."""


class _Evidence(Protocol):
    """What is known of a question before anyone ranks."""

    def words(self, question: str, *, most: int = 0) -> WordEvidence:
        """Where the rarest terms of the question stand: as many of them as stand in at most `most` passages together
        (0: as many as a recall looks at)."""

    def about(self, topic: str, limit: int) -> list[int]:
        """Memories with this id, or with the words of the topic in their title or topics; newest first."""

    def nearest(
        self, model: str, question: bytes, count: int, also: Sequence[int], *, voice: float = 0.0
    ) -> VectorEvidence:
        """By 32-bit floats: the nearest units, and how near those of `also` are. `voice`: how much more a passage
        counts that is all in the first person."""

    def nearness(self, model: str, question: bytes, ids: Sequence[str]) -> tuple[dict[str, float], Background]:
        """How near each of these memories is, by the nearest passage of its body; those without a vector are left out.
        And how near all passages of the store are."""

    def closeness(
        self, model: str, question: bytes, ids: Sequence[str], more: Sequence[tuple[str, bytes]] = ()
    ) -> dict[str, float]:
        """As `nearness`, from the vectors of these alone, of their bodies and the heads of their messages: for who asks
        seldom, about few, and holds nothing ready. `more`: vectors of theirs that are not kept."""

    def pairs(
        self, model: str, memories: Sequence[int], above: float, more: list[tuple[int, int, bytes]]
    ) -> list[tuple[int, int, float]]:
        """Of these memories the pairs that are nearer than `above`, nearest first; found among neighbours, so a few may
        be missed. `more`: vectors that are not kept (passage, memory, floats)."""

    def owners(self, passages: Sequence[int]) -> dict[int, Owner]:
        """Whose passage it is."""

    def pieces(self, units: Sequence[int], model: str = "", question: bytes = b"") -> list[PassageEvidence]:
        """The passages of these units in the order of their text, and how near each is."""

    def places(self, units: Sequence[int], *, beside: int) -> dict[int, Place]:
        """The groups and times of units, and of the first `beside` who stands next to them."""

    def read_units(self, units: Sequence[int]) -> list[tuple[int, Memory, Message | None]]:
        """Each unit with its memory, and the message that it is where it is one; in the order asked for."""

    def vectorless(self, model: str, limit: int) -> list[tuple[int, str]]:
        """Passages (number, text) that have no vector of this model yet."""

    def put_vectors(self, model: str, vectors: list[tuple[int, bytes]]) -> None:
        """Of passages, as 32-bit floats."""

    def vector_counts(self) -> dict[str, int]:
        """How many there are of each model that has any."""

    def drop_vectors(self, keep: str, most: int) -> int:
        """Removes up to `most` of every other model; returns how many."""

    def share_vectors(self, other: Store) -> None:
        """Take over those that another connection to the same file has in memory: to read them takes seconds in a large
        store. From then on each refreshes its own."""


class _Journal(Protocol):
    def apply(self, plan: Plan, header: ChangeHeader) -> bool:
        """All of it or nothing, journalled. False: it was already so, and nothing was written."""

    def undo(self, change: str, header: ChangeHeader, *, dry_run: bool = False) -> Plan:
        """Takes a change back and returns what that did."""

    def log(self, *, limit: int, memory: str = "", change: str = "") -> list[Entry]:
        """Newest first."""

    def purge(self, ids: tuple[str, ...], header: ChangeHeader | None = None) -> int:
        """Removes memories with every trace; no undo. Returns how many journal entries lost their plan. With a header,
        the journal keeps that it happened and to which ids, so that nothing brings them back."""


class _SessionState(Protocol):
    """What changes at every prompt: counters and marks, neither planned nor journalled."""

    def session(self, id: str, agent: str = "") -> Session | None: ...

    def put_session(self, session: Session, agent: str = "", *, at: Moment) -> None:
        """Those that were not heard of for a month go, with their ledgers."""

    def shown(self, talker: LedgerKey, way: Way) -> frozenset[str]:
        """As marks (model/ledger.py): of passages, of turns, of whole memories."""

    def sights(self, session: str, agent: str | None = "") -> list[Sight]:
        """What an agent was shown and when, oldest first, in all its epochs. None: every agent of the session."""

    def show(self, talker: LedgerKey, way: Way, marks: Sequence[str], *, at: Moment, call: str = "") -> None: ...

    def use(self, ids: Sequence[str], used: Callable[[Memory], Memory]) -> None:
        """Counts; `used` may change only what `codec.USAGE` names."""

    def state(self, name: str) -> str | None:
        """app/states.py is the table of them."""

    def states(self, prefix: str) -> dict[str, str]:
        """All whose names begin so."""

    def put_state(self, name: str, value: str | None) -> None:
        """None: it goes."""

    def put_event(self, pointer: Pointer) -> bool:
        """False: it was here before. Of two sizes of the transcript the smaller one is kept."""

    def events(self, *, after: int = 0, limit: int = 100) -> list[tuple[int, Pointer]]:
        """In the order they came, numbered."""

    def acts(self, keys: Sequence[int]) -> dict[int, str]:
        """Those that were read in, each with the import that did; empty for what was read as it was written."""

    def put_acts(self, keys: Sequence[int], change: str = "") -> None: ...

    def put_outcome(self, outcome: Outcome) -> bool:
        """False: it is known. Only the latest are kept."""

    def outcomes(
        self, *, session: str = "", kinds: Sequence[Ending] = (), limit: int = 1_000, after: int = 0
    ) -> list[tuple[int, Outcome]]:
        """The newest, in the order they came, numbered."""

    def put_recall(self, id: str, at: Moment, answer: str, ids: Sequence[str]) -> None:
        """Keeps what was recalled and why; the oldest go."""

    def recalls(self, *, limit: int, id: str = "", memory: str = "") -> list[str]:
        """As they were kept, newest first."""


class _Upkeep(Protocol):
    @property
    def path(self) -> Path | None: ...

    def transaction(self) -> AbstractContextManager[None]:
        """Several writes as one: all or none, and one wait for the disk."""

    def counts(self) -> Counts: ...

    def verify(self, progress: Progress = silent) -> list[Finding]: ...

    def reindex(self, progress: Progress = silent) -> int:
        """Rebuilds everything that is derived; returns the number of passages."""

    def backup(self, target: Path) -> None:
        """A whole, checked copy in a new private file."""

    def close(self) -> None: ...


class Store(_Memories, _Evidence, _Journal, _SessionState, _Upkeep, Protocol):
    pass
