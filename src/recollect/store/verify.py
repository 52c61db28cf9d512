"""Upkeep of a database: counts, the search for damage, rebuilding what is derived, a copy.

Damage is what SQLite's own check sees, and the flipped bits that it does not: every row is hashed again, the full-text
index is compared with its text, and passages, term counts and the journal's index are derived a second time.
`salvage` reads what is sound in a damaged file: only rows whose hash holds.
"""

import json
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import apsw

from recollect.base.errors import StoreDamaged
from recollect.model.memory import Bridge, Memory, Message
from recollect.model.passage import spans
from recollect.model.result import Counts, Finding
from recollect.store import migrate, rows, tokenizer
from recollect.store.connect import translated_errors
from recollect.store.database import silent
from recollect.store.journal import ids_in
from recollect.store.protocol import Progress
from recollect.store.words import Words

_MENDS = "(`recollect reindex` repairs it)"
_MOST = 100  # findings of one kind; a file with more is lost anyway


class Upkeep(Words):
    def counts(self) -> Counts:
        kinds = self._every("SELECT kind, status, count(*) FROM memory GROUP BY kind, status ORDER BY kind, status")
        models = self._every("SELECT model, vectors FROM vector_count WHERE vectors > 0 ORDER BY model")
        wanted = """
            SELECT (SELECT count(*) FROM message), (SELECT count(*) FROM bridge), (SELECT count(*) FROM passage),
                   (SELECT count(*) FROM vector), (SELECT count(DISTINCT change) FROM journal)"""
        messages, bridges, passages, vectors, changes = self._first(wanted)
        bytes = self._value("PRAGMA page_count") * self._value("PRAGMA page_size")
        return Counts(tuple(kinds), dict(models), messages, bridges, passages, vectors, changes, bytes)

    def verify(self, progress: Progress = silent) -> list[Finding]:
        """Reports, changes nothing. All checks but the last see one moment: others may write meanwhile."""
        checks = (
            _structure, _schema, _rows, _vector_counts, _references, _journal, self._check_passages, self._check_terms,
        )  # fmt: skip
        found: list[Finding] = []
        with translated_errors(self._path):
            self._db.execute("BEGIN")
            try:
                for step, check in enumerate(checks):
                    progress(step, len(checks) + 1)
                    found += _findings_of(check, self._db)
            finally:
                for _ in range(2):  # after a bad page the first ROLLBACK may fail
                    if self._db.in_transaction:
                        with suppress(apsw.Error):
                            self._db.execute("ROLLBACK")
            found += _findings_of(_full_text, self._db)
            progress(len(checks) + 1, len(checks) + 1)
        return found

    def _check_passages(self, _db: apsw.Connection) -> Iterator[Finding]:
        for seq, memory, messages in self._everything():
            if not self._has_passages(seq, spans(memory, messages)):
                yield Finding("passage", memory.id, f"its passages do not match its text {_MENDS}")

    def _check_terms(self, db: apsw.Connection) -> Iterator[Finding]:
        counted = self._counted_terms()
        sql = f"""
            SELECT term FROM (SELECT * FROM ({counted}) EXCEPT SELECT term, passages FROM term) UNION
            SELECT term FROM (SELECT term, passages FROM term EXCEPT SELECT * FROM ({counted}))"""  # noqa: S608
        for (term,) in db.execute(sql):
            yield Finding("term", str(term), f"its count is wrong {_MENDS}")

    def reindex(self, progress: Progress = silent) -> int:
        """Passages that are still right keep their vectors; full text and term counts are built anew."""
        with self.transaction():
            total = self._value("SELECT count(*) FROM memory")
            for done, (seq, memory, messages) in enumerate(self._everything(), start=1):
                wanted = spans(memory, messages)
                if not self._has_passages(seq, wanted):
                    self._db.execute("DELETE FROM passage WHERE memory_seq = ?", (seq,))
                    self._put_passages(seq, wanted)
                progress(done, total)
            self._rebuild_words()
            return int(self._value("SELECT count(*) FROM passage"))

    def backup(self, target: Path) -> None:
        with translated_errors(self._path):
            migrate.copy_to(self._db, target)


def _findings_of(check: Callable[[apsw.Connection], Iterator[Finding]], db: apsw.Connection) -> list[Finding]:
    found: list[Finding] = []
    try:
        found.extend(islice(check(db), _MOST))
    except apsw.BusyError:
        raise  # held by another process, not damaged
    except (apsw.Error, StoreDamaged, ValueError, TypeError, KeyError, OverflowError) as problem:
        found.append(Finding(check.__name__.strip("_"), "", f"cannot be read: {problem}"))
    return found


def _structure(db: apsw.Connection) -> Iterator[Finding]:
    for (line,) in db.execute(f"PRAGMA integrity_check({_MOST})"):
        if line != "ok":
            yield Finding("database", "", str(line))


def _schema(db: apsw.Connection) -> Iterator[Finding]:
    with closing(apsw.Connection(":memory:")) as fresh:
        tokenizer.register(fresh)
        migrate.build(fresh)
        sql = "SELECT type, name, tbl_name, sql FROM sqlite_schema"
        for kind, name, table, text in set(fresh.execute(sql)) ^ set(db.execute(sql)):
            yield Finding("schema", str(name), f"the {kind} of {table} is not as it should be: {str(text)[:60]}")


def _rows(db: apsw.Connection) -> Iterator[Finding]:
    for table, key in rows.KEYS.items():
        named = ", ".join(f'"{name}"' for name in key)
        for row in db.execute(f"SELECT {named}, {rows.select(table)}, hash FROM {table}"):  # noqa: S608
            if rows.seal(row[len(key) : -1]) != row[-1]:
                yield Finding(table, " ".join(map(str, row[: len(key)])), "its values are not what was written")


def _vector_counts(db: apsw.Connection) -> Iterator[Finding]:
    counted = db.execute("SELECT model, vectors FROM vector_count WHERE vectors <> 0 ORDER BY model").fetchall()
    if counted != db.execute("SELECT model, count(*) FROM vector GROUP BY model ORDER BY model").fetchall():
        yield Finding("vector_count", "", "does not count the vectors")


def _references(db: apsw.Connection) -> Iterator[Finding]:
    for table, rowid, parent, _ in db.execute("PRAGMA foreign_key_check"):
        yield Finding(str(table), str(rowid), f"refers to a {parent} that does not exist")


def _journal(db: apsw.Connection) -> Iterator[Finding]:
    listed: dict[int, set[str]] = {}
    for id, seq in db.execute("SELECT id, seq FROM journal_memory"):
        listed.setdefault(seq, set()).add(id)
    for seq, plan in db.execute("SELECT seq, plan FROM journal WHERE plan IS NOT NULL"):
        if listed.get(seq, set()) != ids_in(json.loads(plan)):
            yield Finding("journal_memory", str(seq), "does not list the memories of its change")


def _full_text(db: apsw.Connection) -> Iterator[Finding]:
    if db.readonly("main"):  # FTS5 runs its check as a write, though it changes nothing: it gets a copy
        with closing(apsw.Connection(":memory:")) as copy:
            with copy.backup("main", db, "main") as whole:
                whole.step()
            tokenizer.register(copy)
            yield from _full_text(copy)
        return
    try:
        db.execute("INSERT INTO words (words, rank) VALUES ('integrity-check', 1)")
    except (apsw.CorruptError, apsw.SQLError):
        yield Finding("words", "", f"the full-text index does not match the text {_MENDS}")


# Salvage

_MAGIC = b"SQLite format 3\x00"


class Salvaged(NamedTuple):
    memories: tuple[Memory, ...] = ()
    messages: tuple[Message, ...] = ()
    bridges: tuple[Bridge, ...] = ()
    aliases: tuple[tuple[str, str], ...] = ()
    removed: frozenset[str] = frozenset()  # deliberately, by the journal: not to be brought back


def salvage(path: Path) -> Salvaged:
    """Works on a copy with its log beside it, so that the evidence stays as it is."""
    import shutil
    import tempfile

    with tempfile.TemporaryDirectory(prefix="recollect-") as folder:
        copy = Path(folder) / "memory.db"
        for suffix in ("", "-wal"):
            source = path.with_name(path.name + suffix)
            if source.is_file():
                shutil.copyfile(source, copy.with_name(copy.name + suffix))
        with copy.open("r+b") as file:
            file.write(_MAGIC)  # SQLite refuses a file without it, although what follows may be sound
        try:
            db = apsw.Connection(str(copy))
        except apsw.Error:
            return Salvaged()
        with closing(db):
            return Salvaged(
                tuple(_read(db, "memory", partial(rows.to_value, Memory))),
                tuple(_read(db, "message", partial(rows.to_value, Message))),
                tuple(_read(db, "bridge", partial(rows.to_value, Bridge))),
                tuple(_read(db, "alias", tuple)),
                _removed(db),
            )


def _read(db: apsw.Connection, table: str, value_of: Callable[[Any], Any]) -> list[Any]:
    """From both ends: a bad page in the middle hides only what is on it."""
    order = {"bridge": "source", "alias": "old"}.get(table, "seq")
    found: dict[bytes, Any] = {}
    for direction in ("ASC", "DESC"):
        sql = f"SELECT {rows.select(table)}, hash FROM {table} NOT INDEXED ORDER BY {order} {direction}"  # noqa: S608
        try:
            for *cells, seal in db.execute(sql):
                if seal not in found and rows.seal(cells) == seal:
                    found[seal] = value_of(cells)
        except (apsw.Error, StoreDamaged, ValueError, TypeError):
            continue
    return list(found.values())


def _removed(db: apsw.Connection) -> frozenset[str]:
    gone: set[str] = set()
    for cells in sorted(_read(db, "journal", tuple), key=lambda cells: int(cells[1])):
        for change in json.loads(cells[5] or "[]"):
            if change["do"] == "create":
                gone.discard(change["id"])
            elif change["do"] == "remove":
                gone.add(change["memory"]["id"])
    return frozenset(gone)
