"""Session state: who is talking, what they were shown, which events came, how things ended, and usage counters.

None of this is a plan: these are counters and marks, made at every prompt, which nobody would undo one by one. They are
hashed like the rest, pruned by age and number, and hold no text that anyone said; only outcomes hold a redacted line.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace

from recollect.base.moment import Moment
from recollect.model.codec import content_hash
from recollect.model.memory import Memory
from recollect.model.session import Ending, LedgerKey, Outcome, Pointer, Session, ShownMemory, Way, memory_of
from recollect.store import rows
from recollect.store.database import Database

KEPT_DAYS = 30
EVENTS_KEPT = 10_000
OUTCOMES_KEPT = 5_000
OUTCOMES_KEPT_DAYS = 90
_RECALLS_KEPT = 1_000


class SessionState(Database):
    def session(self, id: str, agent: str = "") -> Session | None:
        sql = "SELECT host, started_at, number, epoch FROM session WHERE id = ? AND agent = ?"
        for host, started_at, number, epoch in self._every(sql, id, agent):
            return Session(id=id, host=host, started_at=Moment(started_at), number=number, epoch=epoch)
        return None

    def put_session(self, session: Session, agent: str = "", *, at: Moment) -> None:
        """Sessions not heard of for a month are removed, with their ledgers."""
        times = (session.started_at.micros, at.micros)
        cells = (session.id, agent, session.host, *times, session.number, session.epoch)
        with self.transaction():
            self._insert("session", cells, replace=True)
            old = "SELECT id, agent FROM session WHERE last_at < ? LIMIT 50"
            for gone in self._every(old, at.plus(days=-KEPT_DAYS).micros):
                self._db.execute("DELETE FROM shown WHERE session = ? AND agent = ?", gone)
                self._db.execute("DELETE FROM session WHERE id = ? AND agent = ?", gone)

    def shown(self, key: LedgerKey, way: Way) -> frozenset[str]:
        """Marks (model/session.py) of passages, turns and whole memories."""
        sql = "SELECT memory FROM shown WHERE session = ? AND agent = ? AND epoch = ? AND way = ?"
        return frozenset(mark for (mark,) in self._every(sql, key.session, key.agent, key.epoch, str(way)))

    def memories_shown(self, session: str, agent: str | None = "") -> list[ShownMemory]:
        """What an agent was shown, oldest first, in all its epochs. None: every agent of the session."""
        whose = "agent = ?2" if agent is not None else "?2 IS NULL"
        sql = f"""SELECT memory, way, at, call FROM shown
                     WHERE session = ?1 AND {whose} AND way <> '{Way.OWN}' ORDER BY at, memory"""  # noqa: S608
        found = self._every(sql, session, agent)
        return [ShownMemory(memory_of(mark), Way(way), Moment(at), call) for mark, way, at, call in found]

    def show(self, key: LedgerKey, way: Way, marks: Sequence[str], *, at: Moment, call: str = "") -> None:
        whose = (key.session, key.agent, key.epoch, str(way))
        with self.transaction():
            for mark in dict.fromkeys(marks):
                self._insert("shown", (*whose, mark, at.micros, call), replace=True)

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

    def state(self, name: str) -> str | None:
        """app/states.py is the table of states."""
        row = self._first("SELECT value FROM state WHERE name = ?", name)
        return str(row[0]) if row else None

    def states(self, prefix: str) -> dict[str, str]:
        # By the index; no name begins with the last character there is.
        sql = "SELECT name, value FROM state WHERE name >= ?1 AND name < ?1 || char(1114111) ORDER BY name"
        return {str(name): str(value) for name, value in self._every(sql, prefix)}

    def put_state(self, name: str, value: str | None) -> None:
        """None removes it."""
        with self.transaction():
            if value is None:
                self._db.execute("DELETE FROM state WHERE name = ?", (name,))
            else:
                self._insert("state", (name, value), replace=True)

    def put_event(self, pointer: Pointer) -> bool:
        """False: it was known. Of two transcript sizes the smaller one is kept."""
        with self.transaction():
            known = self._first("SELECT size FROM event WHERE key = ?", pointer.key)
            if known and known[0] == pointer.size:
                return False
            # Delivered again, or another event just like it: it goes to the end of the queue, with the smaller size.
            size = min(known[0], pointer.size) if known else pointer.size
            cells = rows.cells_of(replace(pointer, size=size))
            self._db.execute("DELETE FROM event WHERE key = ?", (pointer.key,))
            seq = self._insert("event", cells)
            self._db.execute("DELETE FROM event WHERE seq <= ?", (seq - EVENTS_KEPT,))
            return known is None

    def events(self, *, after: int = 0, limit: int = 100) -> list[tuple[int, Pointer]]:
        """In the order they came, numbered."""
        sql = f"SELECT seq, {rows.select('event')} FROM event WHERE seq > ? ORDER BY seq LIMIT ?"  # noqa: S608
        return [(seq, rows.to_value(Pointer, cells)) for seq, *cells in self._every(sql, after, limit)]

    def acts(self, keys: Sequence[int]) -> dict[int, str]:
        """The acts that were read in, each with the import that did it; empty for those read as they were written."""
        sql = "SELECT key, change FROM act WHERE key IN (SELECT value FROM json_each(?))"
        return {int(key): str(change) for key, change in self._every(sql, list(keys))}

    def put_acts(self, keys: Sequence[int], change: str = "") -> None:
        with self.transaction():
            for key in keys:
                self._insert("act", (key, change), replace=True)

    def put_outcome(self, outcome: Outcome) -> bool:
        """False: it was known. Only the latest are kept."""
        with self.transaction():
            if self._first("SELECT 1 FROM outcome WHERE key = ?", outcome.key):
                return False
            newest = self._insert("outcome", rows.cells_of(outcome))
            oldest = outcome.at.plus(days=-OUTCOMES_KEPT_DAYS).micros
            self._db.execute("DELETE FROM outcome WHERE seq <= ?", (newest - OUTCOMES_KEPT,))
            self._db.execute("DELETE FROM outcome WHERE at < ? AND seq < ?", (oldest, newest))
            return True

    def outcomes(
        self, *, session: str = "", kinds: Sequence[Ending] = (), limit: int = 1_000, after: int = 0
    ) -> list[tuple[int, Outcome]]:
        """The newest, in the order they came, numbered."""
        sql = f"""SELECT seq, {rows.select("outcome")} FROM outcome
                     WHERE seq > ?1 AND (?2 = '' OR session = ?2)
                     AND (?3 = '[]' OR kind IN (SELECT value FROM json_each(?3))) ORDER BY seq DESC LIMIT ?4"""  # noqa: S608
        found = self._every(sql, after, session, list(map(str, kinds)), limit)
        return [(seq, rows.to_value(Outcome, cells)) for seq, *cells in reversed(found)]

    def put_recall(self, id: str, at: Moment, answer: str, ids: Sequence[str]) -> None:
        """Keeps what was recalled and why; the oldest are removed."""
        with self.transaction():
            seq = self._insert("recall", (id, at.micros, answer))
            self._db.executemany("INSERT OR IGNORE INTO recall_memory VALUES (?, ?)", [(m, seq) for m in ids])
            self._db.execute("DELETE FROM recall WHERE seq <= ?", (seq - _RECALLS_KEPT,))

    def recalls(self, *, limit: int, id: str = "", memory: str = "") -> list[str]:
        """As they were kept, newest first."""
        sql = """
            SELECT answer FROM recall WHERE (?1 = '' OR id = ?1)
            AND (?2 = '' OR seq IN (SELECT seq FROM recall_memory WHERE id = ?2)) ORDER BY seq DESC LIMIT ?3"""
        return [answer for (answer,) in self._every(sql, id, memory, limit)]
