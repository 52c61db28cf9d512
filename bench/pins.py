"""The write that the crash and writer benchmarks repeat, and what must be true of it afterwards.

A pin can be spelt as JSON and made again, so a write whose fate is unknown can be tried once more, exactly
as a caller would.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any

from bench.corpus import Corpus
from recollect.base.clock import SystemClock
from recollect.base.ids import Mint
from recollect.base.moment import Moment
from recollect.lifecycle import edits
from recollect.model.memory import Lane
from recollect.model.plan import Plan
from recollect.store import ChangeHeader, Store


@dataclass(frozen=True, slots=True)
class Pin:
    id: str
    message_id: str
    change: str
    micros: int
    text: str

    @classmethod
    def parse(cls, data: dict[str, Any]) -> Pin:
        return cls(**data)

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    def plan(self) -> Plan:
        return edits.pin(
            self.text, id=self.id, message_id=self.message_id, title="", topics=("bench",), boost=0.3,
            lane=Lane.AGENT, now=Moment(self.micros),
        )  # fmt: skip

    def act(self) -> ChangeHeader:
        return ChangeHeader(self.change, "pin", "bench", "", Moment(self.micros))


class Pinner:
    """Makes pins, no two with the same text."""

    def __init__(self, seed: int, words: int) -> None:
        # A small vocabulary: one is made in every process, and nothing here hangs on how rare a word is.
        self._corpus = Corpus(seed, vocabulary=1_000)
        self._words = words
        self._clock = SystemClock()
        self._mint = Mint(self._clock)

    def draw(self) -> Pin:
        id, message_id, change_id = (
            self._mint.draw(kind) for kind in ("thread", "message", "change")
        )
        return Pin(
            id,
            message_id,
            change_id,
            self._clock.now().micros,
            f"{id} {self._corpus.text(self._words)}",
        )


@dataclass(frozen=True, slots=True)
class Kept:
    lost: int
    duplicates: int


def kept(store: Store, acknowledged: Iterable[str]) -> Kept:
    """Lost: not there whole, with its message and its journal entry. Duplicate: there, or journalled, twice."""
    messages: dict[str, int] = {}
    texts: Counter[str] = Counter()
    for memory, said in store.each():
        messages[memory.id] = len(said)
        texts[memory.body] += 1
    lost, duplicates = 0, sum(count - 1 for count in texts.values())
    for id in acknowledged:
        entries = len(store.log(limit=3, memory=id))
        said_count = messages.get(id, 0)
        lost += min(said_count, entries) == 0
        duplicates += max(said_count, entries) > 1
    return Kept(lost, duplicates)
