"""SqliteStore, the whole store with its upkeep (counts, backup, reindex, verify); and what can be read out of a damaged
file, or another program's.

Damage is what SQLite's own check sees, and the flipped bits that it does not: every row is hashed again, the full-text
index is compared with its text, and passages, term counts and the journal's index are derived a second time."""

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

import apsw

from recollect.base.errors import BadInput, NotFound, StoreBusy, StoreDamaged
from recollect.base.moment import Moment
from recollect.model.memory import Bridge, Memory, Message
from recollect.model.passage import Span, spans
from recollect.model.plan import Alias, Change, Link
from recollect.model.result import Counts, Finding
from recollect.store import connect, rows, tokenizer
from recollect.store.connect import translated_errors
from recollect.store.engine import AMONG, silent
from recollect.store.journal import Journal, ids_in
from recollect.store.protocol import ChangeHeader, Progress
from recollect.store.search import Search

_MENDS = "(`recollect reindex` repairs it)"
_VOCABULARY = "CREATE VIRTUAL TABLE IF NOT EXISTS temp.vocabulary USING fts5vocab(main, words, row)"
# What the table of terms should hold.
_TERMS = "SELECT term, doc FROM temp.vocabulary UNION ALL SELECT '', count(*) FROM passage HAVING count(*) > 0"
_COUNTED = "SELECT model, vectors FROM vector_count WHERE vectors <> 0"
_VECTORS = "SELECT model, count(*) FROM vector GROUP BY model"
# Each gives the table, the key and the problem of what is wrong.
_QUERIES = {
    "database": "SELECT 'database', '', integrity_check FROM pragma_integrity_check WHERE integrity_check <> 'ok'",
    "references": """SELECT "table", rowid, 'refers to a ' || parent || ' that does not exist'
                     FROM pragma_foreign_key_check""",
    "vectors": f"""SELECT 'vector_count', '', 'does not count the vectors' WHERE
                   EXISTS ({_COUNTED} EXCEPT {_VECTORS}) OR EXISTS ({_VECTORS} EXCEPT {_COUNTED})""",
    "terms": f"""SELECT 'term', term, 'its count is wrong {_MENDS}' FROM
                 (SELECT term FROM (SELECT * FROM ({_TERMS}) EXCEPT SELECT term, passages FROM term) UNION
                  SELECT term FROM (SELECT term, passages FROM term EXCEPT SELECT * FROM ({_TERMS})))""",  # noqa: S608
}  # fmt: skip


# Outcomes of the sessions that these memories came from, whose words they may share, and those that name them. Before
# the memories themselves go: they say which sessions these were, or, deleted ones, the journal does.
_FORGET_OUTCOMES = """
    WITH gone (id) AS (SELECT value FROM json_each(?1)),
    source (session) AS (
        SELECT "group" FROM memory WHERE id IN gone AND "group" <> '' UNION
        SELECT substr(value, 9) FROM memory, json_each(memory.tags) WHERE memory.id IN gone AND value LIKE 'session:%'),
    journalled (plan) AS (
        SELECT plan FROM journal JOIN journal_memory m USING (seq) WHERE m.id IN gone AND plan IS NOT NULL)
    DELETE FROM outcome WHERE session IN source
        OR EXISTS (SELECT 1 FROM journalled WHERE instr(journalled.plan, outcome.session))
        OR EXISTS (SELECT 1 FROM json_each(outcome.shown) WHERE value IN gone)"""


class SqliteStore(Journal, Search):
    def _update_alike(
        self, names: tuple[str, ...], cells: list[rows.Cell], ids: tuple[str, ...]
    ) -> set[str]:
        return {id for (id,) in self._every(rows.update_plain_sql(names), *cells, list(ids))}

    def _entries(self, asked: dict[str, str], limit: int) -> list[Any]:
        # From the newest on, and no further than the limit: a journal has a row for every turn of every session.
        newest = f"SELECT DISTINCT change FROM journal WHERE {' AND '.join(asked) or '1'} ORDER BY seq DESC LIMIT ?"  # noqa: S608
        among = " AND ".join([f"change IN ({newest})", *asked])
        sql = f"""
            SELECT change, min(at), op, actor, summary, undoes, sum(plan IS NULL) FROM journal
            WHERE {among} GROUP BY change ORDER BY max(seq) DESC"""  # noqa: S608
        return self._every(sql, *asked.values(), limit, *asked.values())

    def _plan_parts(self, change: str, memory: str, limit: int) -> list[str]:
        sql = """SELECT one.value FROM journal, json_each(plan) AS one
                 WHERE change = ?1 AND (?2 = '' OR instr(one.value, ?2)) ORDER BY seq, one.key LIMIT ?3"""
        return [part for (part,) in self._every(sql, change, memory, limit)]

    def _forget_sessions(self, ids: Sequence[str]) -> None:
        self._drop_index()
        self._every(_FORGET_OUTCOMES, list(ids))
        for gone in (
            f"recall WHERE seq IN (SELECT seq FROM recall_memory WHERE id {AMONG})",  # noqa: S608
            f"shown WHERE substr(memory, 1, instr(memory || '#', '#') - 1) {AMONG}",
        ):
            self._every(f"DELETE FROM {gone}", list(ids))  # noqa: S608

    def holds_traces(self, ids: Sequence[str], sessions: Sequence[str]) -> bool:
        """Of memories of any store: what was told of them, and what the sessions that they came from asked."""
        memory = "substr(memory, 1, instr(memory || '#', '#') - 1)"
        asked = {
            f"SELECT 1 FROM recall_memory WHERE id {AMONG} LIMIT 1": ids,  # noqa: S608
            f"SELECT 1 FROM journal_memory WHERE id {AMONG} LIMIT 1": ids,  # noqa: S608
            f"SELECT 1 FROM shown WHERE {memory} {AMONG} LIMIT 1": ids,  # noqa: S608
            f"SELECT 1 FROM recall WHERE answer ->> '$.session' {AMONG} LIMIT 1": sessions,  # noqa: S608
        }
        return any(self._first(sql, [*values]) for sql, values in asked.items())

    def forget_recalls(self, sessions: Sequence[str]) -> None:
        """What these sessions asked may quote what is erased."""
        if sessions:
            with self.transaction():
                self._every(f"DELETE FROM recall WHERE answer ->> '$.session' {AMONG}", [*sessions])  # noqa: S608

    def purge(self, ids: tuple[str, ...], header: ChangeHeader | None = None) -> int:
        emptied = super().purge(ids, header)
        with translated_errors(self.path):
            # No byte of what was deleted may stay: in the index's old segments, in free pages, in the log.
            self._db.execute("INSERT INTO words (words) VALUES ('optimize')")
            self._db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
            self._db.execute("VACUUM")
            if self._value("PRAGMA wal_checkpoint(TRUNCATE)"):
                problem = "Deleted, but another process still reads the old data, which stays on disk until that ends."
                raise StoreBusy(
                    problem,
                    hint="It is finished by itself once other programs that use Recollect have ended.",
                )
        return emptied

    def counts(self) -> Counts:
        kinds = self._every(
            "SELECT kind, status, count(*) FROM memory GROUP BY kind, status ORDER BY kind, status"
        )
        models = self._every(
            "SELECT model, vectors FROM vector_count WHERE vectors > 0 ORDER BY model"
        )
        wanted = """
            SELECT (SELECT count(*) FROM message), (SELECT count(*) FROM bridge), (SELECT count(*) FROM passage),
                   (SELECT count(*) FROM vector), (SELECT count(DISTINCT change) FROM journal)"""
        messages, bridges, passages, vectors, changes = self._first(wanted)
        bytes = self._value("PRAGMA page_count") * self._value("PRAGMA page_size")
        return Counts(
            tuple(kinds), dict(models), messages, bridges, passages, vectors, changes, bytes
        )

    def tally(self, since: Moment) -> tuple[dict[str, int], dict[str, int], dict[str, int]]:
        """Minutes by the ids, which hold the time and are indexed: a table of long texts is slow to go through."""
        counted = "SELECT {0}, count(*) FROM memory GROUP BY {0} ORDER BY {0}"
        kinds, lanes = (dict(self._every(counted.format(name))) for name in ("kind", "lane"))
        minutes: Counter[str] = Counter()
        sql = "SELECT substr(id, -22, 13), count(*) FROM memory WHERE id > ? AND id < ? GROUP BY 1"
        for kind in kinds:
            minutes.update(dict(self._every(sql, f"{kind}_{since.stamp()}", f"{kind}_a")))
        return kinds, lanes, minutes

    def backup(self, target: Path) -> None:
        with translated_errors(self.path):
            connect.copy_to(self._db, target)

    def reindex(self, progress: Progress = silent) -> int:
        """Passages that are still right keep their vectors; full text and term counts are built anew."""
        with self.transaction():
            self._drop_index()
            total = self._value("SELECT count(*) FROM memory")
            for done, (seq, memory, messages) in enumerate(self._everything(), start=1):
                wanted = spans(memory, messages)
                if not self._has_passages(seq, wanted):
                    self._db.execute("DELETE FROM passage WHERE memory_seq = ?", (seq,))
                    self._put_passages(seq, wanted)
                progress(done, total)
            for statement in (
                "DELETE FROM passage WHERE memory_seq NOT IN (SELECT seq FROM memory)",
                "DELETE FROM vector WHERE passage_seq NOT IN (SELECT seq FROM passage)",
                "INSERT INTO words (words) VALUES ('rebuild')",
                "DELETE FROM term",
                _VOCABULARY,
                f"INSERT INTO term {_TERMS}",
            ):
                self._db.execute(statement)
            return int(self._value("SELECT count(*) FROM passage"))

    def _has_passages(self, seq: int, wanted: Iterable[Span]) -> bool:
        """In any order: those of a thread that grew are in the order they came."""
        found = """SELECT coalesce(g.id, iif(p.message_seq IS NULL, '', '?')), p.start, p.length, p.voice
                   FROM passage p LEFT JOIN message g ON g.seq = p.message_seq WHERE p.memory_seq = ?"""
        return sorted(Span(*cells) for cells in self._every(found, seq)) == sorted(wanted)

    def verify(self, progress: Progress = silent) -> list[Finding]:
        """All checks but the last see one moment: others may write meanwhile."""
        checks: dict[str, Callable[[], Iterator[Finding]]] = {
            **{name: partial(self._ask, sql) for name, sql in _QUERIES.items()}, "schema": self._check_schema,
            "rows": self._check_rows, "journal": self._check_journal, "check_passages": self._check_passages,
        }  # fmt: skip
        found: list[Finding] = []
        with translated_errors(self.path):
            self._db.execute("BEGIN")
            try:
                for step, (name, check) in enumerate(checks.items()):
                    progress(step, len(checks) + 1)
                    found += _findings_of(name, check)
            finally:
                for _ in range(2):  # after a bad page the first ROLLBACK may fail
                    if self._db.in_transaction:
                        with suppress(apsw.Error):
                            self._db.execute("ROLLBACK")
            found += _findings_of("full_text", partial(_check_full_text, self._db))
            progress(len(checks) + 1, len(checks) + 1)
        return found

    def _ask(self, sql: str) -> Iterator[Finding]:
        self._db.execute(_VOCABULARY)
        for row in self._db.execute(sql):
            yield Finding(*map(str, row))

    def _check_schema(self) -> Iterator[Finding]:
        with closing(apsw.Connection(":memory:")) as fresh:
            tokenizer.register(fresh)
            connect.build(fresh)
            sql = "SELECT type, name, tbl_name, sql FROM sqlite_schema"
            differing = set(fresh.execute(sql)) ^ set(self._db.execute(sql))
            for kind, name, table, text in sorted(differing, key=str):
                yield Finding(
                    "schema",
                    str(name),
                    f"the {kind} of {table} is not as it should be: {str(text)[:60]}",
                )

    def _check_rows(self) -> Iterator[Finding]:
        for table, key in rows.KEYS.items():
            named = ", ".join(f'"{name}"' for name in key)
            for row in self._db.execute(f"SELECT {named}, {rows.select(table)}, hash FROM {table}"):  # noqa: S608
                if rows.seal(row[len(key) : -1]) != row[-1]:
                    yield Finding(
                        table,
                        " ".join(map(str, row[: len(key)])),
                        "its values are not what was written",
                    )

    def _check_journal(self) -> Iterator[Finding]:
        listed: dict[int, set[str]] = {}
        for id, seq in self._db.execute("SELECT id, seq FROM journal_memory"):
            listed.setdefault(seq, set()).add(id)
        for seq, plan in self._db.execute("SELECT seq, plan FROM journal WHERE plan IS NOT NULL"):
            if listed.get(seq, set()) != ids_in(json.loads(plan)):
                yield Finding(
                    "journal_memory", str(seq), "does not list the memories of its change"
                )

    def _check_passages(self) -> Iterator[Finding]:
        for seq, memory, messages in self._everything():
            if not self._has_passages(seq, spans(memory, messages)):
                yield Finding("passage", memory.id, f"its passages do not match its text {_MENDS}")


def _findings_of(name: str, check: Callable[[], Iterator[Finding]]) -> list[Finding]:
    found: list[Finding] = []
    try:
        found.extend(islice(check(), 100))  # findings of one kind; a file with more is lost anyway
    except apsw.BusyError:
        raise  # held by another process, not damaged
    except (apsw.Error, StoreDamaged, ValueError, TypeError, KeyError, OverflowError) as problem:
        found.append(Finding(name, "", f"cannot be read: {problem}"))
    return found


def _check_full_text(db: apsw.Connection) -> Iterator[Finding]:
    if db.readonly(
        "main"
    ):  # FTS5 runs its check as a write, though it changes nothing: it gets a copy
        with closing(apsw.Connection(":memory:")) as copy:
            with copy.backup("main", db, "main") as whole:
                whole.step()
            tokenizer.register(copy)
            yield from _check_full_text(copy)
        return
    try:
        db.execute("INSERT INTO words (words, rank) VALUES ('integrity-check', 1)")
    except (apsw.CorruptError, apsw.SQLError):
        yield Finding("words", "", f"the full-text index does not match the text {_MENDS}")


# Files that are not opened as a store: even reading one may write beside it, so a copy is read.


@contextmanager
def _copy_of(path: Path) -> Iterator[Path]:
    """With its log beside it."""
    import shutil
    import tempfile

    with tempfile.TemporaryDirectory(prefix="recollect-") as folder:
        copy = Path(folder) / "copy.db"
        shutil.copyfile(path, copy)
        with suppress(FileNotFoundError):
            shutil.copyfile(f"{path}-wal", f"{copy}-wal")
        yield copy


def read_tables(path: Path, names: tuple[str, ...]) -> dict[str, list[dict[str, object]]]:
    """Of another program: the rows of those tables that exist, in the order they were written. NotFound, or BadInput
    for what is no database."""
    try:
        with _copy_of(path) as copy, closing(apsw.Connection(str(copy))) as db:
            columns = {
                name: [row[1] for row in db.execute(f'PRAGMA table_info("{name}")')]
                for name in names
            }
            return {
                name: [
                    dict(zip(listed, row, strict=True))
                    for row in db.execute(f'SELECT * FROM "{name}" ORDER BY rowid')  # noqa: S608
                ]
                for name, listed in columns.items()
                if listed
            }
    except OSError as problem:
        raise NotFound(
            f"{path} cannot be read: {problem.strerror}.", hint="Name the file."
        ) from None
    except apsw.Error as problem:
        raise BadInput(
            f"{path} cannot be read: {problem}.", hint="Is it the database of that program?"
        ) from None


def salvage(paths: Sequence[Path]) -> tuple[list[Memory], list[Message], list[Change]]:
    """Out of damaged files: memories, messages and what ties memories together. Only rows whose hash holds count; of
    several versions that of the first file, and what the journal says was removed on purpose stays away."""
    found: dict[type[Any], dict[tuple[str, ...], Any]] = {
        kind: {} for kind in (Memory, Message, Bridge, Alias)
    }
    removed: set[tuple[str, ...]] = set()
    for path in paths:
        with _copy_of(path) as copy, suppress(apsw.Error):
            with copy.open("r+b") as file:
                file.write(
                    b"SQLite format 3\x00"
                )  # a file without it is refused, although what follows may be sound
            with closing(apsw.Connection(str(copy))) as db:
                for kind in found:
                    sound = {}
                    for cells in _sound_rows(db, rows.TABLES[kind]):
                        with suppress(StoreDamaged, ValueError, TypeError):
                            one = rows.to_value(kind, cells)
                            sound[rows.key_of(one)] = one
                    if kind is Memory:
                        sound = {key: one for key, one in sound.items() if key not in removed}
                    found[kind] = sound | found[kind]
                removed |= _removed(db) - found[Memory].keys()
    memories, messages, bridges, aliases = (list(one.values()) for one in found.values())
    return memories, messages, [*map(Link, bridges), *aliases]


def _sound_rows(db: apsw.Connection, table: str) -> list[Any]:
    """From both ends: a bad page in the middle hides only what is on it."""
    order = {"bridge": "source", "alias": "old"}.get(table, "seq")
    found: dict[bytes, Any] = {}
    for direction in ("ASC", "DESC"):
        sql = f"SELECT {rows.select(table)}, hash FROM {table} NOT INDEXED ORDER BY {order} {direction}"  # noqa: S608
        with suppress(apsw.Error, ValueError, TypeError):
            for *cells, seal in db.execute(sql):
                if seal not in found and rows.seal(cells) == seal:
                    found[seal] = cells
    return list(found.values())


def _removed(db: apsw.Connection) -> set[tuple[str, ...]]:
    gone: set[tuple[str, ...]] = set()
    for cells in sorted(_sound_rows(db, "journal"), key=lambda cells: int(cells[1])):
        for change in json.loads(cells[5] or "[]"):
            if change["do"] == "create":
                gone.discard((change["id"],))
            elif change["do"] == "remove":
                gone.add((change["memory"]["id"],))
    return gone
