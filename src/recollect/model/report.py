"""What is told about a store: its history, its size, its damage."""

from __future__ import annotations

from dataclasses import dataclass

from recollect.base.moment import Moment
from recollect.model.codec import Json


@dataclass(frozen=True, slots=True)
class Entry:
    """One change of the journal, as `log` shows it."""

    change: str
    at: Moment
    op: str
    actor: str
    summary: str
    memories: tuple[str, ...]
    undoes: str | None = None
    undone_by: str | None = None
    purged: bool = False


@dataclass(frozen=True, slots=True)
class Finding:
    """Something `verify` found: where, and what is wrong."""

    table: str
    key: str
    problem: str


@dataclass(frozen=True, slots=True)
class Counts:
    by_kind_and_status: tuple[tuple[str, str, int], ...]
    messages: int
    bridges: int
    passages: int
    vectors: int
    changes: int
    bytes: int

    def as_json(self) -> dict[str, Json]:
        kinds: dict[str, dict[str, Json]] = {}
        for kind, status, count in self.by_kind_and_status:
            kinds.setdefault(kind, {})[status] = count
        others = ("messages", "bridges", "passages", "vectors", "changes", "bytes")
        return {"memories": {**kinds}, **{name: getattr(self, name) for name in others}}
