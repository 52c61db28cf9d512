"""Asking a store the way the product does, by words alone; vectors small enough to read; plans made from what stands;
and who talks, in tests of sessions."""

from __future__ import annotations

import struct
from dataclasses import replace

from recollect.app.memory_search import search_stores
from recollect.base.moment import Moment
from recollect.lifecycle import edits
from recollect.lifecycle.reshape import merge
from recollect.model.memory import Memory
from recollect.model.plan import Plan
from recollect.model.query import Hit, Query
from recollect.model.session import LedgerKey, Pointer, Session
from recollect.ops.memories import load_whole
from recollect.store import Store
from tests.values import AGE, NOW

ME = LedgerKey("s-1")


def search(store: Store, query: Query, *, now: Moment = NOW) -> list[Hit]:
    return list(search_stores([store], query, now=now, rules=AGE).selected.hits)


def vector(*numbers: float) -> bytes:
    """As `put_vectors` and `nearest` take it: 32-bit floats."""
    return struct.pack(f"<{len(numbers)}f", *numbers)


def merge_plan(store: Store, keep: Memory, lose: Memory) -> Plan:
    return merge(load_whole(store, keep), load_whole(store, lose), now=NOW, rules=AGE)


def delete_plan(store: Store, memory: Memory) -> Plan:
    return edits.delete(load_whole(store, memory))


def session(id: str = "s-1", **given: int) -> Session:
    return Session(id=id, host="claude-code", started_at=NOW, **given)


def pointer(**given: object) -> Pointer:
    return replace(Pointer(name="turn-ended", host="claude-code", session="s-1", at=NOW), **given)  # type: ignore[arg-type]
