"""Session state: who is talking, what they were shown, what was received, and the counters of use.

Unlike everything else that is written, none of this is a plan: these are counters and marks, made at every prompt,
which nobody would want to undo one by one. They are hashed like the rest, pruned by age and number, and hold no text
that anyone said. `use` changes what `codec.USAGE` names and nothing else.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from pathlib import Path

import apsw

from recollect.base.moment import Moment
from recollect.model.codec import content_hash
from recollect.model.ledger import Pointer, Sight, Talker, Way, memory_of
from recollect.model.memory import Memory
from recollect.model.session import Session
from recollect.store import reads, rows, sql
from recollect.store.connect import in_our_words

KEPT_DAYS = 30
EVENTS_KEPT = 10_000


class SqliteSessions:
    def __init__(
        self, db: apsw.Connection, path: Path | None, writing: Callable[[], AbstractContextManager[None]]
    ) -> None:
        self._db = db
        self._path = path
        self._writing = writing

    def session(self, id: str, agent: str = "") -> Session | None:
        wanted = "SELECT host, started_at, number, epoch FROM session WHERE id = ? AND agent = ?"
        with in_our_words(self._path):
            row = sql.first(self._db, wanted, id, agent)
        if row is None:
            return None
        host, started_at, number, epoch = row
        return Session(id=id, host=host, started_at=Moment(started_at), number=number, epoch=epoch)

    def put_session(self, session: Session, agent: str = "", *, at: Moment) -> None:
        times = (session.started_at.micros, at.micros)
        cells = (session.id, agent, session.host, *times, session.number, session.epoch)
        with self._writing():
            self._put("session", cells)
            self._prune(before=at.plus(days=-KEPT_DAYS))

    def shown(self, talker: Talker, way: Way) -> frozenset[str]:
        wanted = "SELECT memory FROM shown WHERE session = ? AND agent = ? AND epoch = ? AND way = ?"
        with in_our_words(self._path):
            found = sql.every(self._db, wanted, talker.session, talker.agent, talker.epoch, str(way))
        return frozenset(row[0] for row in found)

    def sights(self, session: str, agent: str | None = "") -> list[Sight]:
        whose = "agent = ?2" if agent is not None else "?2 IS NULL"
        wanted = f"""SELECT memory, way, at, call FROM shown
                     WHERE session = ?1 AND {whose} AND way <> '{Way.OWN}' ORDER BY at, memory"""  # noqa: S608
        with in_our_words(self._path):
            found = sql.every(self._db, wanted, session, agent)
        return [Sight(memory_of(mark), Way(way), Moment(at), call) for mark, way, at, call in found]

    def show(self, talker: Talker, way: Way, marks: Sequence[str], *, at: Moment, call: str = "") -> None:
        whose = (talker.session, talker.agent, talker.epoch, str(way))
        with self._writing():
            for mark in dict.fromkeys(marks):
                self._put("shown", (*whose, mark, at.micros, call))

    def use(self, ids: Sequence[str], used: Callable[[Memory], Memory]) -> None:
        with self._writing():
            for id in dict.fromkeys(ids):
                memory = reads.exact(self._db, id)
                if memory is None:
                    continue
                after = used(memory)
                if content_hash(after) != content_hash(memory):
                    raise ValueError(f"the use of {id} would change what it says")
                self._db.execute(rows.update_sql("memory"), (*rows.sealed(rows.memory_cells(after)), id))

    def state(self, name: str) -> str | None:
        with in_our_words(self._path):
            row = sql.first(self._db, "SELECT value FROM state WHERE name = ?", name)
        return str(row[0]) if row else None

    def states(self, prefix: str) -> dict[str, str]:
        # By its index; no name begins with the last character there is.
        wanted = "SELECT name, value FROM state WHERE name >= ?1 AND name < ?1 || char(1114111) ORDER BY name"
        with in_our_words(self._path):
            return {str(name): str(value) for name, value in sql.every(self._db, wanted, prefix)}

    def put_state(self, name: str, value: str) -> None:
        with self._writing():
            self._put("state", (name, value))

    def drop_state(self, name: str) -> None:
        with self._writing():
            self._db.execute("DELETE FROM state WHERE name = ?", (name,))

    def receive(self, pointer: Pointer) -> bool:
        calls = json.dumps(pointer.calls)
        who = (pointer.name, pointer.host, pointer.session, pointer.agent, pointer.prompt)
        with self._writing():
            known = sql.first(self._db, "SELECT size FROM event WHERE key = ?", pointer.key)
            if known and known[0] == pointer.size:
                return False
            # Told of again, or another event just like it: it stands anew at the end of the line, where it began.
            size = min(known[0], pointer.size) if known else pointer.size
            cells = (pointer.key, *who, calls, pointer.source, pointer.transcript, size, pointer.cwd, pointer.at.micros)
            self._db.execute("DELETE FROM event WHERE key = ?", (pointer.key,))
            self._db.execute(rows.insert_sql("event"), rows.sealed(cells))
            self._db.execute("DELETE FROM event WHERE seq <= ?", (self._db.last_insert_rowid() - EVENTS_KEPT,))
            return known is None

    def received(self, *, after: int = 0, limit: int = 100) -> list[tuple[int, Pointer]]:
        wanted = f"SELECT seq, {rows.select('event')} FROM event WHERE seq > ? ORDER BY seq LIMIT ?"  # noqa: S608
        with in_our_words(self._path):
            return [(seq, _pointer(*cells)) for seq, _, *cells in sql.every(self._db, wanted, after, limit)]

    def taken_acts(self, keys: Sequence[int]) -> dict[int, str]:
        wanted = "SELECT key, change FROM act WHERE key IN (SELECT value FROM json_each(?))"
        with in_our_words(self._path):
            return {int(key): str(change) for key, change in sql.every(self._db, wanted, json.dumps(keys))}

    def put_acts(self, keys: Sequence[int], change: str = "") -> None:
        with self._writing():
            for key in keys:
                self._put("act", (key, change))

    def _put(self, table: str, cells: tuple[rows.Cell, ...]) -> None:
        self._db.execute(rows.insert_sql(table).replace("INSERT", "INSERT OR REPLACE", 1), rows.sealed(cells))

    def _prune(self, *, before: Moment) -> None:
        old = "SELECT id, agent FROM session WHERE last_at < ? LIMIT 50"
        for id, agent in sql.every(self._db, old, before.micros):
            self._db.execute("DELETE FROM shown WHERE session = ? AND agent = ?", (id, agent))
            self._db.execute("DELETE FROM session WHERE id = ? AND agent = ?", (id, agent))


def _pointer(
    name: str, host: str, session: str, agent: str, prompt: str, calls: str, source: str, transcript: str, size: int,
    cwd: str, at: int,
) -> Pointer:  # fmt: skip
    return Pointer(
        name=name, host=host, session=session, at=Moment(at), agent=agent, prompt=prompt,
        calls=tuple(json.loads(calls)), source=source, transcript=transcript, size=size, cwd=cwd,
    )  # fmt: skip
