"""Session state: who is talking, what they were shown, which events came, how things ended, and usage counters.

None of this is a plan: these are counters and marks, made at every prompt, which nobody would undo one by one. They are
hashed like the rest, pruned by age and number, and hold no text that anyone said; only outcomes hold a redacted line.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from recollect.base.moment import Moment
from recollect.model.codec import content_hash
from recollect.model.memory import Memory
from recollect.model.plan import Alias
from recollect.model.session import (
    LedgerKey,
    Outcome,
    Pointer,
    ReadAct,
    RecallRecord,
    Session,
    ShownMemory,
    StateRecord,
    Way,
)
from recollect.store import rows
from recollect.store.database import AMONG, Database
from recollect.store.protocol import AnyRecord, Record

KEPT_DAYS = 30
EVENTS_KEPT = 10_000
OUTCOMES_KEPT = 5_000
OUTCOMES_KEPT_DAYS = 90
_RECALLS_KEPT = 1_000


_ORDERS: dict[type[Any], str] = {
    Session: "id", ShownMemory: "at, memory", Outcome: "seq DESC", RecallRecord: "seq DESC", ReadAct: "key",
    StateRecord: "name", Alias: "old",
}  # fmt: skip
_CONDITIONS = {
    "memory": "seq IN (SELECT seq FROM recall_memory WHERE id = ?)",
    "under": "name >= ? AND name < ? || char(1114111)",  # by the index; no name begins with the last character there is
}


class SessionState(Database):
    def put(self, *records: AnyRecord) -> int:
        """Returns how many were new. What is too old, or too much, is removed."""
        with self.transaction():
            return sum(map(self._put_record, records))

    def _put_record(self, record: object) -> bool:
        match record:
            case Pointer():
                return self._put_event(record)
            case Outcome():
                if self._first("SELECT 1 FROM outcome WHERE key = ?", record.key):
                    return False
                newest = self._insert("outcome", rows.cells_of(record))
                oldest = record.at.plus(days=-OUTCOMES_KEPT_DAYS).micros
                self._db.execute("DELETE FROM outcome WHERE seq <= ?", (newest - OUTCOMES_KEPT,))
                self._db.execute("DELETE FROM outcome WHERE at < ? AND seq < ?", (oldest, newest))
            case RecallRecord():
                seq = self._insert("recall", rows.cells_of(record))
                listed = [(id, seq) for id in record.memories]
                self._db.executemany("INSERT OR IGNORE INTO recall_memory VALUES (?, ?)", listed)
                self._db.execute("DELETE FROM recall WHERE seq <= ?", (seq - _RECALLS_KEPT,))
            case StateRecord(name, None):
                self._db.execute("DELETE FROM state WHERE name = ?", (name,))
            case _:
                self._insert(rows.table_of(record), rows.cells_of(record), replace=True)
                if isinstance(record, Session):
                    self._prune_sessions(record.last_at)
        return True

    def _prune_sessions(self, now: Moment) -> None:
        """Sessions not heard of for a month are removed, with their ledgers."""
        old = "SELECT id, agent FROM session WHERE last_at < ? LIMIT 50"
        for gone in self._every(old, now.plus(days=-KEPT_DAYS).micros):
            self._db.execute("DELETE FROM shown WHERE session = ? AND agent = ?", gone)
            self._db.execute("DELETE FROM session WHERE id = ? AND agent = ?", gone)

    def _put_event(self, pointer: Pointer) -> bool:
        """Of two transcript sizes the smaller one is kept."""
        known = self._first("SELECT size FROM event WHERE key = ?", pointer.key)
        if known and known[0] == pointer.size:
            return False
        # Delivered again, or another event just like it: it goes to the end of the queue, with the smaller size.
        size = min(known[0], pointer.size) if known else pointer.size
        self._db.execute("DELETE FROM event WHERE key = ?", (pointer.key,))
        seq = self._insert("event", rows.cells_of(replace(pointer, size=size)))
        self._db.execute("DELETE FROM event WHERE seq <= ?", (seq - EVENTS_KEPT,))
        return known is None

    def records(self, kind: type[Record], /, *, limit: int = -1, **filters: object) -> list[Record]:
        """Those whose fields have these values, or one of a list; None lets everything through. The ledger is given
        oldest first, outcomes and recalls newest first. `memory`: recalls in which it was; `under`: states
        whose names begin so."""
        conditions: list[str] = ["1"]
        values: list[object] = []
        for name, value in filters.items():
            if value is None:
                continue
            plain = f'"{name}" {AMONG}' if isinstance(value, list) else f'"{name}" = ?'
            conditions.append(_CONDITIONS.get(name, plain))
            values += [str(value) if isinstance(value, str) else value] * conditions[-1].count("?")
        rest = f"WHERE {' AND '.join(conditions)} ORDER BY {_ORDERS[kind]} LIMIT ?"
        return self._read(kind, rest, *values, limit)

    def marks(self, key: LedgerKey, way: Way) -> frozenset[str]:
        """Those in a ledger: `records` without what no prompt waits for."""
        sql = "SELECT memory FROM shown WHERE session = ? AND agent = ? AND epoch = ? AND way = ?"
        return frozenset(mark for (mark,) in self._every(sql, *key, str(way)))

    def events(self, *, after: int = 0, limit: int = 100) -> list[tuple[int, Pointer]]:
        """The queue, in the order they came, numbered."""
        sql = f"SELECT seq, {rows.select('event')} FROM event WHERE seq > ? ORDER BY seq LIMIT ?"  # noqa: S608
        return [(seq, rows.to_value(Pointer, cells)) for seq, *cells in self._every(sql, after, limit)]

    def use(self, ids: Sequence[str], used: Callable[[Memory], Memory]) -> None:
        """Counts; `used` may change only the fields in `codec.USAGE`."""
        with self.transaction():
            for id in dict.fromkeys(ids):
                memory = self.get(id, follow=False)
                if memory is None:
                    continue
                after = used(memory)
                if content_hash(after) != content_hash(memory):
                    raise ValueError(f"the use of {id} would change what it says")
                self._db.execute(rows.update_sql("memory"), (*rows.sealed(rows.cells_of(after)), id))
