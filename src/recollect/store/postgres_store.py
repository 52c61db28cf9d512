"""PostgresStore: what a team shares, in PostgreSQL with pgvector. The same store as SQLite's for everything that plans
change, without what only a local file has: sessions, the queue of events, index files and backups, which are the
administrator's to make. Besides that, what a copy on another machine needs to follow it: the journal in order, whole
memories by their ids, and being told of a change.

Damage is found as in SQLite: every row is hashed again; passages, postings, term counts and the journal's index are
derived a second time."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import islice
from typing import Any, NamedTuple

from recollect.base.errors import StoreDamaged
from recollect.base.moment import Moment
from recollect.model.memory import Memory, Message
from recollect.model.passage import Span, spans
from recollect.model.plan import Change, Create, Say
from recollect.model.result import Counts, Finding
from recollect.model.session import StateRecord
from recollect.store import rows
from recollect.store.engine import AMONG, silent
from recollect.store.journal import Journal, ids_in
from recollect.store.postgres_connection import Listener
from recollect.store.postgres_database import Words, words_of
from recollect.store.postgres_search import TeamSearch
from recollect.store.protocol import ChangeHeader, Progress, Shared

UPKEEP_S = 600.0  # how long a purge, a check or a rebuilding may take
_PAGE = 500  # memories looked at together
_CONDITIONS = {"under": "name >= ? AND name < ? || chr(1114111)"}  # by the index, as in database.py
_MENDS = "(`recollect reindex` repairs it)"
_HASHED = ("memory", "message", "bridge", "alias", "journal", "state")
_TERMS = """SELECT term, count(*) AS passages FROM posting GROUP BY term
            UNION ALL SELECT '', count(*) FROM passage HAVING count(*) > 0"""
_HELD = "SELECT term, passages FROM term"
# Each gives the table, the key and the problem of what is wrong.
_QUERIES = {
    "references": "\nUNION ALL ".join(
        f"""SELECT '{table}', {key}::text, 'refers to a {target} that does not exist' FROM {table} one WHERE NOT EXISTS
            (SELECT 1 FROM {target} other WHERE other.{column} = one.{reference})"""  # noqa: S608
        for table, key, reference, target, column in (
            ("message", "id", "thread_id", "memory", "id"), ("bridge", "source", "source", "memory", "id"),
            ("bridge", "target", "target", "memory", "id"), ("alias", "old", "new", "memory", "id"),
            ("passage", "seq", "memory_seq", "memory", "seq"), ("journal_memory", "id", "seq", "journal", "seq"),
            ("vector", "passage_seq", "passage_seq", "passage", "seq"),
            ("posting", "term", "passage_seq", "passage", "seq"),
        )
    ),
    "terms": f"""SELECT 'term', term, 'its count is wrong {_MENDS}' FROM (
                 SELECT term FROM (({_TERMS}) EXCEPT {_HELD}) too_few UNION
                 SELECT term FROM ({_HELD} EXCEPT ({_TERMS})) too_many) wrong""",  # noqa: S608
    "counter": """SELECT 'counter', '', 'gives numbers a second time' FROM counter WHERE
                  memory < (SELECT coalesce(max(seq), 0) FROM memory) OR
                  message < (SELECT coalesce(max(seq), 0) FROM message) OR
                  passage < (SELECT coalesce(max(seq), 0) FROM passage) OR
                  journal < (SELECT coalesce(max(seq), 0) FROM journal)""",
}  # fmt: skip


class JournalRow(
    NamedTuple
):  # one row of the journal; a long piece of work has several with the same change
    seq: int
    header: ChangeHeader
    ids: tuple[str, ...]  # the memories that it touched


class PostgresStore(Journal, TeamSearch):
    journal_days: float = 36_500  # no member's clock decides what the team's journal keeps
    groups: frozenset[str] = frozenset()  # where any are named, only memories of these are found
    _listener: Listener | None = None

    def close(self) -> None:
        if self._listener is not None:
            self._listener.close()
        super().close()

    def read_units(self, units: Sequence[int]) -> list[tuple[int, Memory, Message | None]]:
        found = super().read_units(units)
        return [one for one in found if not self.groups or one[1].group in self.groups]

    # Following it

    def changes_after(self, seq: int, limit: int = 500) -> list[JournalRow]:
        sql = """SELECT j.seq, j.change, j.op, j.actor, j.summary, j.at, j.undoes,
                 ARRAY(SELECT m.id FROM journal_memory m WHERE m.seq = j.seq ORDER BY m.id)
                 FROM journal j WHERE j.seq > ? ORDER BY j.seq LIMIT ?"""
        return [
            JournalRow(
                number, ChangeHeader(change, op, actor, summary, Moment(at), undoes), tuple(ids)
            )
            for number, change, op, actor, summary, at, undoes, ids in self._every(sql, seq, limit)
        ]

    def last_change(self) -> int:
        return int(self._value("SELECT coalesce((SELECT journal FROM counter), 0)"))

    def read_memories(self, ids: Sequence[str]) -> dict[str, tuple[Memory, tuple[Message, ...]]]:
        found = self._read(Memory, f"WHERE id {AMONG}", list(ids))
        said = self._messages_of([memory.id for memory in found])
        return {memory.id: (memory, said(memory.id)) for memory in found}

    def wait(self, timeout_s: float) -> bool:
        """Whether something was written, by this login too. The first call says so at once: nobody listened before."""
        if self._listener is None:
            self._listener = Listener(self._db.params, self._db.timeout_s, self.channel)
        return self._listener.wait(timeout_s)

    # The journal

    def _apply(self, changes: Iterable[Change]) -> list[Change]:
        """What is to be added is looked for once, not memory by memory."""
        listed = list(changes)
        added = [change for change in listed if isinstance(change, Create | Say)]
        ids = {
            "memory": [change.memory.id for change in added if isinstance(change, Create)],
            "message": [message.id for change in added for message in change.messages],
        }
        for table, wanted in ids.items() if len(added) > 1 else ():
            sql = f"SELECT id FROM {table} WHERE id {AMONG}"  # noqa: S608
            there = {id for (id,) in self._every(sql, wanted)}
            self._absent |= {(table, id) for id in wanted if id not in there}
        try:
            return super()._apply(listed)
        finally:
            self._absent.clear()

    def _stored(self, keyed: list[tuple[type[Any], str, tuple[str, ...]]]) -> list[Any]:
        """Memories and messages all together."""
        found: dict[tuple[str, tuple[str, ...]], Any] = {}
        for kind, table in {
            (kind, table) for kind, table, _ in keyed if rows.KEYS[table] == ("id",)
        }:
            ids = [
                key[0]
                for _, other, key in keyed
                if other == table and (table, key[0]) not in self._absent
            ]
            found |= (
                {}
                if not ids
                else {
                    (table, rows.key_of(one)): one
                    for one in self._read(kind, f"WHERE id {AMONG}", ids)
                }
            )
        return [
            found.get((table, key))
            if rows.KEYS[table] == ("id",)
            else next(iter(self._read(kind, rows.where(table), *key)), None)
            for kind, table, key in keyed
        ]

    def _update_alike(
        self, names: tuple[str, ...], cells: list[rows.Cell], ids: tuple[str, ...]
    ) -> set[str]:
        new = dict(zip(names, cells, strict=False))
        as_before = " AND ".join(f'"{name}" IS NOT DISTINCT FROM ?' for name in names)
        sql = f"SELECT {rows.select('memory')} FROM memory WHERE {as_before} AND id = ANY(?)"  # noqa: S608
        found = self._every(sql, *cells[len(names) :], list(ids))
        sealed = {
            row[0]: rows.seal(
                [new.get(n, c) for n, c in zip(rows.COLUMNS["memory"], row, strict=True)]
            )
            for row in found
        }
        if sealed:
            self._has_written = True
            changed = ", ".join(f'"{name}" = ?' for name in names)
            sql = f"""UPDATE memory AS m SET {changed}, hash = sealed.hash
                      FROM unnest(?::text[], ?::bytea[]) AS sealed (id, hash) WHERE m.id = sealed.id"""  # noqa: S608
            self._every(sql, *new.values(), list(sealed), list(sealed.values()))
        return set(sealed)

    def _entries(self, asked: dict[str, str], limit: int) -> list[Any]:
        first = ", ".join(
            f"(array_agg({name} ORDER BY at, seq))[1]"
            for name in ("op", "actor", "summary", "undoes")
        )
        newest = f"""SELECT change FROM journal WHERE {" AND ".join(asked) or "TRUE"}
                     GROUP BY change ORDER BY max(seq) DESC LIMIT ?"""  # noqa: S608
        sql = f"""SELECT change, min(at), {first}, count(*) - count(plan) FROM journal
                  WHERE {" AND ".join([f"change IN ({newest})", *asked])} GROUP BY change ORDER BY max(seq) DESC"""  # noqa: S608
        return self._every(sql, *asked.values(), limit, *asked.values())

    def _plan_parts(self, change: str, memory: str, limit: int) -> list[str]:
        sql = """SELECT part.value::text FROM journal j,
                     json_array_elements(j.plan::json) WITH ORDINALITY part (value, place)
                 WHERE j.change = ?1 AND (?2 = '' OR strpos(part.value::text, ?2) > 0)
                 ORDER BY j.seq, part.place LIMIT ?3"""
        return [part for (part,) in self._every(sql, change, memory, limit)]

    def _forget_sessions(self, ids: Sequence[str]) -> None:
        """A team's store has no sessions."""

    def purge(self, ids: tuple[str, ...], header: ChangeHeader | None = None) -> int:
        """No row holds what was purged. Until the server's next VACUUM the old rows are still in its files, until its
        log is recycled in that, and in the administrator's backups for as long as he keeps them."""
        with self.within(UPKEEP_S):
            return super().purge(ids, header)

    # Records and counts

    def put(self, *records: StateRecord) -> int:
        with self.transaction():
            for record in records:
                if record.value is None:
                    self._write("DELETE FROM state WHERE name = ?", (record.name,))
                else:
                    self._insert("state", rows.cells_of(record), replace=True)
        return len(records)

    def records(self, kind: type[Shared], /, *, limit: int = -1, **filters: object) -> list[Shared]:
        conditions, values = ["TRUE"], list[object]()
        for name, value in filters.items():
            if value is not None:
                plain = f'"{name}" {AMONG}' if isinstance(value, list) else f'"{name}" = ?'
                conditions.append(_CONDITIONS.get(name, plain))
                values += [value] * conditions[-1].count("?")
        order = rows.KEYS[rows.TABLES[kind]][0]
        return self._read(
            kind, f"WHERE {' AND '.join(conditions)} ORDER BY {order} LIMIT ?", *values, limit
        )

    def counts(self) -> Counts:
        kinds = self._every(
            "SELECT kind, status, count(*) FROM memory GROUP BY kind, status ORDER BY kind, status"
        )
        models = self._every("SELECT model, count(*) FROM vector GROUP BY model ORDER BY model")
        size = "(SELECT coalesce(sum(pg_column_size(one.*)), 0) FROM {0} one)"
        wanted = f"""
            SELECT (SELECT count(*) FROM message), (SELECT count(*) FROM bridge), (SELECT count(*) FROM passage),
                   (SELECT count(*) FROM vector), (SELECT count(DISTINCT change) FROM journal),
                   {size.format("memory")} + {size.format("message")} + {size.format("vector")}"""  # noqa: S608
        messages, bridges, passages, vectors, changes, bytes = self._first(wanted)
        return Counts(
            tuple(kinds), dict(models), messages, bridges, passages, vectors, changes, int(bytes)
        )

    def tally(self, since: Moment) -> tuple[dict[str, int], dict[str, int], dict[str, int]]:
        counted = "SELECT {0}, count(*) FROM memory GROUP BY {0} ORDER BY {0}"
        kinds, lanes = (dict(self._every(counted.format(name))) for name in ("kind", "lane"))
        minutes: Counter[str] = Counter()
        sql = "SELECT left(right(id, 22), 13), count(*) FROM memory WHERE id > ? AND id < ? GROUP BY 1"
        for kind in kinds:
            minutes.update(dict(self._every(sql, f"{kind}_{since.stamp()}", f"{kind}_a")))
        return kinds, lanes, minutes

    # Upkeep

    def reindex(self, progress: Progress = silent) -> int:
        """Passages that are still right keep their vectors; postings and term counts are built anew."""
        with self.within(UPKEEP_S), self.transaction():
            total, held = self._value("SELECT count(*) FROM memory"), self._spans()
            for done, (seq, memory, messages) in enumerate(self._everything(), start=1):
                wanted = spans(memory, messages)
                if held.get(seq) != sorted(wanted):
                    self._write("DELETE FROM passage WHERE memory_seq = ?", (seq,))
                    self._put_passages(seq, wanted)
                progress(done, total)
            for table, condition in (
                ("passage", "memory_seq NOT IN (SELECT seq FROM memory)"),
                ("vector", "passage_seq NOT IN (SELECT seq FROM passage)"), ("posting", "TRUE"), ("term", "TRUE"),
            ):  # fmt: skip
                self._every(f"DELETE FROM {table} WHERE {condition}")  # noqa: S608
            self._counters["words"], self._has_written = 0, True
            for page in self._pages():
                self._index(new=[(seq, *texts[:3]) for seq, _, texts in page])
            return int(self._value("SELECT count(*) FROM passage"))

    def _spans(self) -> dict[int, list[Span]]:
        """Of each memory, in any order: those of a thread that grew are in the order they came."""
        sql = """SELECT p.memory_seq, CASE WHEN p.message_seq IS NULL THEN '' ELSE coalesce(g.id, 'gone') END,
                 p.start, p.length, p.voice FROM passage p LEFT JOIN message g ON g.seq = p.message_seq"""
        found: dict[int, list[Span]] = {}
        for seq, *cells in self._every(sql):
            found.setdefault(seq, []).append(Span(*cells))
        return {seq: sorted(listed) for seq, listed in found.items()}

    def _pages(self) -> Iterator[list[tuple[int, Span, tuple[str, str, str, str]]]]:
        """All passages with their texts, those of some memories at a time."""
        last, sql = (
            0,
            "SELECT max(seq) FROM (SELECT seq FROM memory WHERE seq > ? ORDER BY seq LIMIT ?) page",
        )
        while (to := self._value(sql, last, _PAGE)) is not None:
            yield self._passages("p.memory_seq > ? AND p.memory_seq <= ? ORDER BY p.seq", last, to)
            last = to

    def verify(self, progress: Progress = silent) -> list[Finding]:
        """Sees one moment: others may write meanwhile. The same damage is told in the same order."""
        checks: dict[str, Callable[[], Iterator[Finding]]] = {
            **{name: partial(self._ask, sql) for name, sql in _QUERIES.items()}, "rows": self._check_rows,
            "vectors": self._check_vectors, "journal": self._check_journal, "passages": self._check_passages,
            "postings": self._check_postings,
        }  # fmt: skip
        found: list[Finding] = []
        with self.within(UPKEEP_S), self._reading():
            for step, (name, check) in enumerate(checks.items(), start=1):
                try:
                    found += islice(check(), 100)  # findings of one kind
                except (StoreDamaged, ValueError, TypeError, KeyError, OverflowError) as problem:
                    found.append(Finding(name, "", f"cannot be read: {problem}"))
                progress(step, len(checks))
        return found

    def _ask(self, sql: str) -> Iterator[Finding]:
        return (Finding(*row) for row in sorted(self._every(sql)))

    def _check_rows(self) -> Iterator[Finding]:
        for table in _HASHED:
            key = rows.KEYS[table]
            named = ", ".join(f'"{name}"' for name in key)
            sql = f"SELECT {named}, {rows.select(table)}, hash FROM {table} ORDER BY {named}"  # noqa: S608
            for row in self._every(sql):
                if rows.seal(row[len(key) : -1]) != row[-1]:
                    yield Finding(
                        table,
                        " ".join(map(str, row[: len(key)])),
                        "its values are not what was written",
                    )

    def _check_vectors(self) -> Iterator[Finding]:
        sql = f"""SELECT passage_seq, model, {self._vector}.halfvec_send(data), dim, hash FROM vector
                  WHERE passage_seq > ? ORDER BY passage_seq LIMIT 5000"""  # noqa: S608
        last = -1
        while page := self._every(sql, last):
            for last, model, data, dim, seal in page:
                if rows.seal((model, data[4:])) != seal or dim != len(data) // 2 - 2:
                    yield Finding("vector", str(last), "its values are not what was written")

    def _check_journal(self) -> Iterator[Finding]:
        sql = """SELECT seq, plan, ARRAY(SELECT m.id FROM journal_memory m WHERE m.seq = j.seq)
                 FROM journal j WHERE plan IS NOT NULL ORDER BY seq"""
        for seq, plan, listed in self._every(sql):
            if set(listed) != ids_in(json.loads(plan)):
                yield Finding(
                    "journal_memory", str(seq), "does not list the memories of its change"
                )

    def _check_passages(self) -> Iterator[Finding]:
        held = self._spans()
        for seq, memory, messages in self._everything():
            if held.get(seq) != sorted(spans(memory, messages)):
                yield Finding("passage", memory.id, f"its passages do not match its text {_MENDS}")

    def _check_postings(self) -> Iterator[Finding]:
        spelt = "concat_ws(' ', term, (frequency * 2)::bigint, size, is_name::int)"
        sql = f"SELECT passage_seq, md5(string_agg({spelt}, ' ' ORDER BY term)) FROM posting GROUP BY passage_seq"  # noqa: S608
        held, total = dict(self._every(sql)), 0
        for page in self._pages():
            for seq, _, texts in page:
                words = words_of((seq, *texts[:3]))
                total += words.size
                if held.get(seq, "") != _check_sum(words):
                    yield Finding(
                        "posting",
                        str(seq),
                        f"the words of the passage are not indexed as they are {_MENDS}",
                    )
        if total != self._value("SELECT coalesce((SELECT words FROM counter), 0)"):
            yield Finding("counter", "words", f"does not count the words {_MENDS}")


def _check_sum(words: Words) -> str:
    spelt = " ".join(
        f"{term} {round(frequency * 2)} {words.size} {int(is_name)}"
        for term, (frequency, is_name) in sorted(words.terms.items())
    )
    return hashlib.md5(spelt.encode(), usedforsecurity=False).hexdigest() if words.terms else ""
