"""One opened database file, and the one way to write to it: a transaction that holds all of a write together.

Opening is connect.py's, versions are migrate.py's. The parts of the store (reads, sessions, ...) build on this.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any

from recollect.base.errors import StoreError
from recollect.store import migrate, rows, tokenizer
from recollect.store.connect import Tuning, connect, translated_errors, use_wal

Progress = Callable[[int, int], None]  # called with what is done and what there is to do


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
        with translated_errors(self._path):
            return self._db.execute(sql, values).fetchall()

    def _first(self, sql: str, *values: object) -> Any:
        """None where there is no row."""
        with translated_errors(self._path):
            return self._db.execute(sql, values).fetchone()

    def _value(self, sql: str, *values: object) -> Any:
        return self._first(sql, *values)[0]

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
                migrate.refuse_other_version(self._db, self._path)
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
