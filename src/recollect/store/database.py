"""One opened database file: reading memories from it, and the one way to write, a transaction.

connect.py opens files, migrate.py knows versions. The other parts of the store (sessions, words, ...) build on this.
"""

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from recollect.base.errors import Conflict, StoreError
from recollect.model.memory import Bridge, Lane, Memory, Message, Sketch, Status
from recollect.model.query import Query
from recollect.store import migrate, rows, tokenizer
from recollect.store.connect import Tuning, connect, translated_errors, use_wal
from recollect.store.protocol import Progress

if TYPE_CHECKING:
    from recollect.store.vectors import Vectors

T = TypeVar("T")
AMONG = "IN (SELECT value FROM json_each(?))"  # of a list, which is bound as JSON
_PAGE = 500
_LIKENESS = """
    instr(id, ?) > 0 OR instr(lower(title), lower(?)) > 0 DESC,
    substr(id, -6) = substr(?, -6) DESC, substr(id, 1, 15) = substr(?, 1, 15) DESC, seq DESC"""


def silent(_done: int, _total: int) -> None:
    pass


class Database:
    def __init__(self, path: Path | None, tuning: Tuning, *, read_only: bool = False) -> None:
        self._tuning = tuning
        self._path = path
        if path is not None and path.with_name(path.name + "-journal").exists():
            read_only = False  # a write was cut off before WAL was in use: only a writer can roll it back
        elif path is not None and path.is_file() and path.stat().st_size:
            # Looked at without writing first, so that a newer or foreign file stays as it is.
            with closing(connect(path, tuning, read_only=True)) as db, translated_errors(path):
                read_only = migrate.inspect(db, path) == migrate.current_version() and read_only
        self._db = connect(path, tuning, read_only=read_only)
        self._analyse = tokenizer.register(self._db)
        self._term_counts: Counter[str] = Counter()
        """What this transaction did to the counts of terms: written once, before it ends or asks for words."""
        self._vectors: dict[str, Vectors] = {}  # by model, loaded when first asked for (search.py)
        if read_only:
            return
        try:
            with translated_errors(path):
                migrate.inspect(self._db, path)
                use_wal(self._db, path, tuning.busy_timeout_ms)
                migrate.bring_up(self._db, path, self.reindex)
        except BaseException:
            with suppress(StoreError):  # a full disk can refuse this too; the first refusal is the one to report
                self.close()
            raise

    @property
    def path(self) -> Path | None:
        return self._path

    def close(self) -> None:
        with translated_errors(self._path):
            self._db.close()

    def reindex(self, progress: Progress = silent) -> int:
        raise NotImplementedError

    # SQLite's cells have no static type: `Any` ends at the callers of these.

    def _every(self, sql: str, *values: object) -> list[Any]:
        """A list is bound as JSON: a statement takes only some thousands of values."""
        with translated_errors(self._path):
            bound = [json.dumps(value) if isinstance(value, list) else value for value in values]
            return self._db.execute(sql, bound).fetchall()

    def _first(self, sql: str, *values: object) -> Any:
        """None where there is no row."""
        return next(iter(self._every(sql, *values)), None)

    def _value(self, sql: str, *values: object) -> Any:
        return self._first(sql, *values)[0]

    def _read(self, kind: type[T], rest: str, *values: object) -> list[T]:
        sql = f"SELECT {rows.select(rows.TABLES[kind])} FROM {rows.TABLES[kind]} {rest}"  # noqa: S608
        return [rows.to_value(kind, row) for row in self._every(sql, *values)]

    def _insert(self, table: str, cells: tuple[rows.Cell, ...], *, replace: bool = False) -> int:
        self._db.execute(rows.insert_sql(table, replace=replace), rows.sealed(cells))
        return self._db.last_insert_rowid()

    def _settle_terms(self) -> None:
        """In order: neighbours in the table are then written together."""
        changed = sorted((term, count) for term, count in self._term_counts.items() if count)
        upsert = "INSERT INTO term VALUES (?1, ?2) ON CONFLICT (term) DO UPDATE SET passages = passages + ?2"
        self._db.executemany(upsert, changed)
        fewer = [(term,) for term, count in changed if count < 0]
        self._db.executemany("DELETE FROM term WHERE term = ? AND passages <= 0", fewer)
        self._term_counts.clear()

    @contextmanager
    def transaction(self, *, keep: bool = True) -> Iterator[None]:
        """Several writes as one: all or none, and one wait for the disk. Takes the write lock at once: the busy timeout
        then does the waiting, and a read can never turn into a failed write. The schema version is checked inside,
        because another program may have migrated the file since we opened it. Inside another transaction it is a part
        of that: when it fails, it takes back only its own work."""
        if self._db.in_transaction:
            with self._savepoint(keep=keep):
                yield
            return
        with translated_errors(self._path):
            self._db.execute("BEGIN IMMEDIATE")
            try:
                version = migrate.inspect(self._db, self._path)
                if version != migrate.current_version():
                    problem = f"{self._path} was replaced by an older database (schema {version}) while it was open."
                    raise Conflict(problem, hint="Nothing was written. Run the command again.")
                yield
                self._settle_terms()
                self._db.execute("COMMIT" if keep else "ROLLBACK")
            except BaseException:
                self._term_counts.clear()
                if self._db.in_transaction:
                    self._db.execute("ROLLBACK")
                raise

    @contextmanager
    def _savepoint(self, *, keep: bool) -> Iterator[None]:
        counts = self._term_counts.copy()
        self._db.execute("SAVEPOINT part")
        try:
            yield
        except BaseException:
            keep = False
            raise
        finally:
            if not keep:
                self._term_counts = counts
            if self._db.in_transaction:  # a full disk, for one, rolls back everything at once
                self._db.execute("RELEASE part" if keep else "ROLLBACK TO part; RELEASE part")

    # Reading

    def get(self, id: str, *, follow: bool = True) -> Memory | None:
        """A merged memory answers as what it became, unless aliases are not to be followed."""
        new = self._first("SELECT new FROM alias WHERE old = ?", id) if follow else None
        return next(iter(self._read(Memory, "WHERE id = ?", new[0] if new else id)), None)

    def find(self, query: Query) -> list[Memory]:
        """By filters alone, most recently active first. With `like`: ids and titles that contain this text, then ids
        that look like it."""
        listed = "EXISTS (SELECT 1 FROM json_each({}) t WHERE lower(t.value) = lower(?))"
        # One value in parentheses is an equation to SQLite: the index then gives the order, too.
        kinds, statuses = (", ".join("?" * len(given)) for given in (query.kinds, query.statuses))
        filters: tuple[tuple[object, str, tuple[object, ...]], ...] = (
            (query.kinds, f"kind IN ({kinds})", tuple(map(str, query.kinds))),
            (query.statuses, f"status IN ({statuses})", tuple(map(str, query.statuses))),
            (query.topic, listed.format("topics"), (query.topic,)),
            (query.tag, listed.format("tags"), (query.tag,)),
            (query.group, '"group" = ? AND "group" <> \'\'', (query.group,)),
            (query.since, "last_active_at >= ?", (query.since and query.since.micros,)),
            (query.until, "last_active_at <= ?", (query.until and query.until.micros,)),
            (query.body, "lower(body) = lower(?)", (query.body,)),
            (query.judged, "(ratings <> '[]' OR instr(own, '\"outcomes\"'))", ()),
            # The length first: most never drifted, and looking into their JSON would cost a second.
            (query.drifts_over, "length(own) > 12 AND json_array_length(own, '$.drift') > ?", (query.drifts_over,)),
        )
        asked = [(condition, values) for is_asked, condition, values in filters if is_asked]
        where = " AND ".join(["1", *(condition for condition, _ in asked)])
        order = _LIKENESS if query.like else "last_active_at DESC, seq DESC"
        values = [one for _, given in asked for one in given] + [query.like] * order.count("?")
        return self._read(Memory, f"WHERE {where} ORDER BY {order} LIMIT ?", *values, query.limit)

    def messages(self, thread_id: str = "", *, ids: Sequence[str] = ()) -> tuple[Message, ...]:
        """The messages of a thread, or those with these ids; oldest first."""
        where, given = (f"id {AMONG}", list(ids)) if ids else ("thread_id = ?", thread_id)
        return tuple(self._read(Message, f"WHERE {where} ORDER BY at, id", given))

    def bridges(self, *ids: str) -> tuple[Bridge, ...]:
        """The bridges that touch any of the ids; all bridges when none is given."""
        where = f"WHERE source {AMONG} OR target {AMONG}" if ids else ""
        given = [list(ids)] * 2 if ids else []
        return tuple(self._read(Bridge, f"{where} ORDER BY created_at, source, target, type", *given))

    def each(self) -> Iterator[tuple[Memory, tuple[Message, ...]]]:
        """Everything, oldest first, for exports."""
        for _, memory, messages in self._everything():
            yield memory, messages

    def _everything(self) -> Iterator[tuple[int, Memory, tuple[Message, ...]]]:
        """Oldest first, a page at a time, so that no read lock is held while the caller works."""
        last = 0
        sql = f"SELECT seq, {rows.select('memory')} FROM memory WHERE seq > ? ORDER BY seq LIMIT {_PAGE}"  # noqa: S608
        while page := self._every(sql, last):
            for last, *cells in page:
                yield last, rows.to_value(Memory, cells), self.messages(str(cells[0]))

    def sketches(self) -> list[Sketch]:
        """The active and suspended threads, as far as ageing needs them."""
        sql = """SELECT seq, id, status, weight, pinned, reinforced_at, last_active_at, lane FROM memory
                    WHERE kind = 'thread' AND status IN ('active', 'suspended')"""
        statuses, lanes = {str(one): one for one in Status}, {str(one): one for one in Lane}
        return [
            Sketch(seq, id, statuses[status], weight, bool(pinned), reinforced, active, lanes[lane])
            for seq, id, status, weight, pinned, reinforced, active, lane in self._every(sql)
        ]

    def _current(self, id: str) -> tuple[Memory, tuple[Message, ...]] | None:
        memory = self.get(id, follow=False)
        return None if memory is None else (memory, self.messages(id))
