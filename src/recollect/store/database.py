"""One opened database file: reading it, the one way to write (a transaction), and session state. protocol.py says what
each method promises. Session state is not made of plans: nobody would undo it prompt by prompt. It is hashed like the
rest, pruned by age and number, and holds no text that anyone said; only outcomes hold a redacted line."""

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from recollect.base.errors import Conflict, StoreError
from recollect.base.structs import replace
from recollect.model.memory import Sketch
from recollect.model.query import Query
from recollect.model.session import (
    LedgerKey,
    Outcome,
    Pointer,
    RecallRecord,
    Session,
    SessionCounts,
    StateRecord,
    Way,
)
from recollect.store import connect, rows, tokenizer
from recollect.store.connect import Tuning, translated_errors
from recollect.store.engine import (
    AGING,
    AMONG,
    SKETCH,
    SQLITE,
    Engine,
    conditions,
    silent,
    sketches_of,
)
from recollect.store.protocol import AnyRecord, Progress, Record

if TYPE_CHECKING:
    from recollect.store.passage_index import PassageIndex
    from recollect.store.vectors import Vectors

KEPT_DAYS = 30  # of sessions that were not heard of, and their ledgers
EVENTS_KEPT = 10_000
OUTCOMES_KEPT = 5_000
OUTCOMES_KEPT_DAYS = 90
_ORDERS = {
    "shown": "at, memory",
    "outcome": "seq DESC",
    "recall": "seq DESC",
}  # others by their keys
_CONDITIONS = {
    "memory": "seq IN (SELECT seq FROM recall_memory WHERE id = ?)",
    "told_session": "json_extract(answer, '$.session') = ?",
    "under": "name >= ? AND name < ? || char(1114111)",  # by the index; no name begins with the last character there is
}

# Each gives sessions, and a field of SessionCounts.
_COUNTED = {
    "prompts": "SELECT session, count(*) FROM event WHERE name = 'prompt' AND agent = '' GROUP BY session",
    "transcript": "SELECT session, max(transcript) FROM event WHERE agent = '' GROUP BY session",
    "told": """SELECT session, count(DISTINCT substr(memory, 1, instr(memory || '#', '#') - 1)) FROM shown
               WHERE way <> 'own' GROUP BY session""",
    "chars": """SELECT answer ->> '$.session', sum(answer ->> '$.chars') FROM recall
                WHERE answer ->> '$.delivered' GROUP BY answer ->> '$.session'""",
    "kept": """SELECT "group", count(*) FROM memory WHERE "group" <> '' GROUP BY "group" """,
}


class Database(Engine):
    dialect = SQLITE

    def __init__(self, path: Path | None, tuning: Tuning, *, read_only: bool = False) -> None:
        self.journal_days = tuning.journal_days
        self._synchronous = tuning.synchronous
        self.path = path
        db = None
        if path is not None and path.with_name(path.name + "-journal").exists():
            read_only = (
                False  # a write was cut off before WAL was in use: only a writer can roll it back
            )
        elif path is not None and path.is_file() and path.stat().st_size:
            # Looked at without writing first, so that a newer or foreign file stays as it is.
            with ExitStack() as stack, translated_errors(path):
                db = stack.enter_context(closing(connect.connect(path, tuning, read_only=True)))
                read_only = connect.inspect(db, path) == connect.current_version() and read_only
                if read_only:
                    stack.pop_all()  # for a reader it is the one
        self._db = db if db and read_only else connect.connect(path, tuning, read_only=read_only)
        self._analyse = tokenizer.register(self._db)
        self._db.create_scalar_function("seal", lambda *cells: rows.seal(cells), deterministic=True)
        self._term_counts: Counter[str] = Counter()
        """What this transaction did to the counts of terms: written once, before it ends or asks for words."""
        self._vectors: dict[str, Vectors] = {}  # by model, loaded when first asked for (search.py)
        self._file: PassageIndex | None = None
        self.was_migrated = False  # an older Recollect made the file
        self._tried_key = ""  # that of the index file that is open, or could not be used
        if read_only:
            return
        try:
            with translated_errors(path):
                self.was_migrated = connect.bring_up(
                    self._db, path, tuning.busy_timeout_ms, self.reindex
                )
        except BaseException:
            with suppress(
                StoreError
            ):  # a full disk can refuse this too; the first refusal is the one to report
                self.close()
            raise

    def close(self) -> None:
        with translated_errors(self.path):
            self._db.close()

    def reindex(self, progress: Progress = silent) -> int:
        raise NotImplementedError

    def _every(self, sql: str, *values: object) -> list[Any]:
        """A list is bound as JSON: a statement takes only some thousands of values."""
        with translated_errors(self.path):
            bound = [json.dumps(value) if isinstance(value, list) else value for value in values]
            return self._db.execute(sql, bound).fetchall()

    def _write(self, sql: str, *values: Sequence[Any]) -> None:
        self._db.executemany(sql, values)

    def _insert(self, table: str, cells: tuple[rows.Cell, ...], *, replace: bool = False) -> int:
        self._db.execute(rows.insert_sql(table, replace=replace), rows.sealed(cells))
        return self._db.last_insert_rowid()

    def _settle_terms(self) -> None:
        """In order: neighbours in the table are then written together."""
        counts = self._term_counts
        changed = [(term, counts[term]) for term in sorted(counts) if counts[term]]
        upsert = "INSERT INTO term VALUES (?1, ?2) ON CONFLICT (term) DO UPDATE SET passages = passages + ?2"
        self._db.executemany(upsert, changed)
        fewer = [(term,) for term, count in changed if count < 0]
        self._db.executemany("DELETE FROM term WHERE term = ? AND passages <= 0", fewer)
        self._term_counts.clear()

    @contextmanager
    def transaction(self, *, keep: bool = True, durable: bool = True) -> Iterator[None]:
        """Takes the write lock at once: the busy timeout then does the waiting, and a read can never turn into a failed
        write. The schema version is checked inside, because another program may have migrated the file since we opened
        it. A part of another transaction that fails takes back only its own work. One that is not `durable` does
        not wait for the disk: whole or not at all like any other, it may be lost when the machine itself crashes."""
        is_part, counts = self._db.in_transaction, self._term_counts.copy()
        with translated_errors(self.path), self._unsynced(is_on=not durable and not is_part):
            self._db.execute("SAVEPOINT part" if is_part else "BEGIN IMMEDIATE")
            try:
                version = (
                    connect.current_version() if is_part else connect.inspect(self._db, self.path)
                )
                if version != connect.current_version():
                    problem = f"{self.path} was replaced by an older database (schema {version}) while it was open."
                    raise Conflict(problem, hint="Nothing was written. Run the command again.")
                yield
                if keep and not is_part:
                    self._settle_terms()
                if keep:
                    self._db.execute("RELEASE part" if is_part else "COMMIT")
            except BaseException:
                keep = False
                raise
            finally:
                if not keep:
                    self._term_counts = counts
                if (
                    not keep and self._db.in_transaction
                ):  # a full disk, for one, rolls back everything at once
                    self._db.execute("ROLLBACK TO part; RELEASE part" if is_part else "ROLLBACK")

    @contextmanager
    def _unsynced(self, *, is_on: bool) -> Iterator[None]:
        if not is_on:
            yield
            return
        self._db.execute("PRAGMA synchronous = NORMAL")
        try:
            yield
        finally:
            self._db.execute(f"PRAGMA synchronous = {self._synchronous}")

    def order(self, query: Query) -> list[tuple[int, int]]:
        where, values = conditions(query, self.dialect)
        # To look up each row of an index takes longer than to read the table, unless the index has all that is asked.
        # Read the newest first: then few of those that come later push one out of the first `limit`.
        in_rows = (
            query.topic,
            query.tag,
            query.lane,
            query.rule_type,
            query.aged,
            query.marks_against,
        )
        reads_rows = any(in_rows)
        source, newest = "memory", "kind DESC, status DESC, last_active_at DESC, seq DESC"
        if reads_rows and not query.group:
            source, newest = "memory NOT INDEXED", "seq DESC"
        read = f"SELECT last_active_at, seq FROM {source} WHERE {where} ORDER BY {newest} LIMIT -1"  # noqa: S608
        sql = f"SELECT * FROM ({read}) ORDER BY last_active_at DESC, seq DESC LIMIT ?"  # noqa: S608
        return self._every(sql, *values, query.limit)

    def sketches(self) -> list[Sketch]:
        # As in `order`: to look up more than a few rows takes longer than to read the table.
        most = f"SELECT 4 * count(*) > (SELECT max(seq) FROM memory) FROM memory WHERE {AGING}"  # noqa: S608
        hint = "NOT INDEXED" if self._value(most) else ""
        sql = f"SELECT {SKETCH} FROM memory {hint} WHERE {AGING}"  # noqa: S608
        return sketches_of(self._every(sql))

    def version(self) -> int:
        return int(self._value("PRAGMA data_version"))

    def put(self, *records: AnyRecord) -> int:
        with self.transaction():
            return sum(map(self._put_record, records))

    def _put_record(self, record: AnyRecord) -> bool:
        match record:
            case Pointer(size=size):
                known = self._first("SELECT size FROM event WHERE key = ?", record.key)
                if known and known[0] == size:
                    return False
                # Delivered again, or another event just like it: it goes to the end, with the smaller size.
                self._db.execute("DELETE FROM event WHERE key = ?", (record.key,))
                smaller = replace(record, size=min(known[0], size) if known else size)
                seq = self._insert("event", rows.cells_of(smaller))
                self._db.execute("DELETE FROM event WHERE seq <= ?", (seq - EVENTS_KEPT,))
                return known is None
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
                self._db.execute("DELETE FROM recall WHERE seq <= ?", (seq - 1_000,))
            case StateRecord(name, None):
                self._db.execute("DELETE FROM state WHERE name = ?", (name,))
            case _:
                self._insert(rows.TABLES[type(record)], rows.cells_of(record), replace=True)
        if isinstance(record, Session):
            old = "SELECT id, agent FROM session WHERE last_at < ? LIMIT 50"
            for gone in self._every(old, record.last_at.plus(days=-KEPT_DAYS).micros):
                self._db.execute("DELETE FROM shown WHERE session = ? AND agent = ?", gone)
                self._db.execute("DELETE FROM session WHERE id = ? AND agent = ?", gone)
        return True

    def records(self, kind: type[Record], /, *, limit: int = -1, **filters: object) -> list[Record]:
        conditions: list[str] = ["1"]
        values: list[object] = []
        for name, value in filters.items():
            if value is None:
                continue
            plain = f'"{name}" {AMONG}' if isinstance(value, list) else f'"{name}" = ?'
            conditions.append(_CONDITIONS.get(name, plain))
            values += [str(value) if isinstance(value, str) else value] * conditions[-1].count("?")
        order = _ORDERS.get(rows.TABLES[kind], rows.KEYS[rows.TABLES[kind]][0])
        rest = f"WHERE {' AND '.join(conditions)} ORDER BY {order} LIMIT ?"
        return self._read(kind, rest, *values, limit)

    def marks(self, key: LedgerKey, way: Way) -> frozenset[str]:
        """`records` without what no prompt waits for."""
        sql = "SELECT memory FROM shown WHERE session = ? AND agent = ? AND epoch = ? AND way = ?"
        return frozenset(mark for (mark,) in self._every(sql, *key, str(way)))

    def session_counts(self) -> dict[str, SessionCounts]:
        fields: dict[str, dict[str, Any]] = {}
        for name, sql in _COUNTED.items():
            for session, value in self._every(sql):
                fields.setdefault(session, {})[name] = value
        return {session: SessionCounts(**given) for session, given in fields.items()}

    def events(self, *, after: int = 0, limit: int = 100) -> list[tuple[int, Pointer]]:
        sql = f"SELECT seq, {rows.select('event')} FROM event WHERE seq > ? ORDER BY seq LIMIT ?"  # noqa: S608
        return [
            (seq, rows.to_value(Pointer, cells)) for seq, *cells in self._every(sql, after, limit)
        ]
