"""A team's database: logging in, reading, the one way to write (a transaction), and the index of passages. The tables
are in team_schema.sql.

Writers of one tenant take turns, so what a transaction reads stays so. Row numbers are drawn here, and writes wait
until something is read or the transaction ends: a change of many memories then takes few round trips."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from functools import cache
from typing import Any, NamedTuple

from recollect.base.errors import BadInput, StoreError, StoreTooNew, TeamRefused
from recollect.base.text import blake2b
from recollect.model.memory import Memory, Message, Sketch
from recollect.model.passage import Span
from recollect.model.query import Query
from recollect.store import rows, tokenizer
from recollect.store.engine import (
    AGING,
    AMONG,
    SKETCH,
    Dialect,
    Engine,
    Indexed,
    IndexRow,
    conditions,
    sketches_of,
)
from recollect.store.postgres_connection import Connection, parse_url, translated

SCHEMA_VERSION = 1
_WEIGHTS = (
    (2.0, True),
    (1.0, False),
    (1.5, True),
)  # of title, body and topics, as in search.py; whether it is a name
_MAX_TERM_BYTES = 500  # an index row takes some 2,700
_MAX_WAITING = 50_000  # postings
_NUMBERED = frozenset({"memory", "message", "journal"})
_COUNTERS = ("memory", "message", "passage", "journal", "words", "writes")

POSTGRES = Dialect(
    listed="""strpos(lower({0}), lower(?)) > 0
        AND EXISTS (SELECT 1 FROM json_array_elements_text({0}::json) t (value)
            WHERE lower(t.value COLLATE "C") = lower(?))""",
    asleep="""greatest(0, ?::bigint - reinforced_at) / 86400e6::float8
        - CASE WHEN weight >= ? THEN ?::float8 * greatest(1.0, ln(weight / ?::float8) / ln(2.0)) ELSE 0.0 END""",
    is_pinned="pinned <> 0",
    marks="""(length(ratings) - length(replace(ratings, ':false', ''))) / 6 * 10
        + length(own) - length(replace(own, '-', ''))
        + CASE WHEN strpos(ratings, '"never":true') > 0 THEN 1000 ELSE 0 END""",
    drifts="json_array_length(own::json -> 'drift')",
    likeness="""strpos(id, ?) > 0 OR strpos(lower(title), lower(?)) > 0 DESC,
        right(id, 6) = right(?, 6) DESC, left(id, 15) = left(?, 15) DESC, seq DESC""",
)


class Words(NamedTuple):  # of one passage
    size: int
    terms: dict[
        str, tuple[float, bool]
    ]  # by key: its weighted frequency, and whether it is in the title or the topics


class TeamDatabase(Engine):
    dialect = POSTGRES

    def __init__(self, url: str, *, team: str = "", timeout_s: float = 5.0) -> None:
        self._db = Connection(parse_url(url), timeout_s)
        self._counters: dict[str, int] = {}  # in a transaction; so are the following
        self._numbers: dict[
            tuple[str, rows.Cell], int
        ] = {}  # of memories and messages that it wrote
        self._absent: set[tuple[str, str]] = set()  # ids that are known to be free
        self._waiting: list[tuple[str, list[Sequence[Any]]]] = []
        self._new_postings: dict[tuple[str, int], tuple[float, int, bool]] = {}
        self._old_postings: list[tuple[str, int]] = []
        self._term_counts: Counter[str] = Counter()
        self._has_written = False
        self._picks = False
        try:
            self.tenant, self.team, self.role = self._log_in(team)
        except BaseException:
            self._db.close()
            raise

    def _log_in(self, team: str) -> tuple[str, str, str]:
        sql = """SELECT recollect.schema_version(), r.rolsuper OR r.rolbypassrls, r.rolname,
                 (SELECT quote_ident(nspname) FROM pg_extension JOIN pg_namespace n ON n.oid = extnamespace
                  WHERE extname = 'vector') FROM pg_roles r WHERE r.rolname = current_user"""
        [(version, is_above, role, self._vector)] = self._db.run(sql)
        check_version(version)
        if is_above:
            problem = f"{role} is an administrator, who is above the walls between teams."
            raise TeamRefused(
                problem, hint="Join the team with it: that makes a login of your own."
            )
        found = self._db.run("SELECT id, name FROM recollect.tenant ORDER BY name")
        fitting = [row for row in found if team in ("", row[1])]
        if not fitting:
            problem = f"This login ({role}) does not belong to {f'the team {team!r}' if team else 'a team'}."
            raise TeamRefused(problem, hint="Use the login that the team gave you.")
        if len(fitting) > 1:
            names = ", ".join(name for _, name in fitting)
            raise BadInput(f"This login belongs to several teams: {names}.", hint="Name one.")
        self._picks = len(found) > 1
        [(tenant, name)] = fitting
        if not re.fullmatch(r"[0-9a-z]{6,40}", tenant):
            raise StoreError(
                "The team's id is not one of ours.", hint="Tell the administrator of the server."
            )
        return tenant, name, role

    @property
    def channel(self) -> str:
        return f"recollect_{self.tenant}"

    def close(self) -> None:
        self._db.close()

    def within(self, seconds: float) -> AbstractContextManager[None]:
        return self._db.within(seconds)

    # Statements and transactions

    def _every(self, sql: str, *values: object) -> list[Any]:
        self._flush()
        spelt, taken = translated(sql)
        bound = [values[place] for place in taken]
        if not self._picks or self._db.in_transaction:
            return self._db.run(spelt, bound)
        with self._reading():
            return self._db.run(spelt, bound)

    @contextmanager
    def _reading(self, *settings: str) -> Iterator[None]:
        """Several statements that see one moment, under these settings. Part of a transaction where there is one."""
        pick = (
            [f"SELECT set_config('recollect.tenant', '{self.tenant}', true)"] if self._picks else []
        )
        if self._db.in_transaction:
            if settings:
                self._db.run("; ".join(settings))
            yield
            return
        self._db.begin(
            "; ".join(["BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY", *pick, *settings])
        )
        try:
            yield
        finally:
            self._db.roll_back()

    def _write(self, sql: str, *values: Sequence[Any]) -> None:
        """Rows of several tables that are only added can be written in any order: they are written table by table."""
        self._has_written |= bool(values)
        for other, waiting in reversed(self._waiting):
            if other == sql:
                waiting.extend(values)
                return
            if not (sql.startswith("INSERT") and other.startswith("INSERT")):
                break
        if values:
            self._waiting.append((sql, list(values)))

    def _insert(self, table: str, cells: tuple[rows.Cell, ...], *, replace: bool = False) -> int:
        names, given = rows.select(table) + ", hash", rows.sealed(cells)
        seq = self._draw(table) if table in _NUMBERED else 0
        if seq:
            names, given = f"seq, {names}", (seq, *given)
            self._numbers[table, cells[0]] = seq
            self._absent.discard((table, str(cells[0])))
        sql = f"INSERT INTO {table} (tenant, {names}) VALUES ({', '.join('?' * (len(given) + 1))})"  # noqa: S608
        if replace:
            changed = ", ".join(
                f'"{name}" = excluded."{name}"' for name in (*rows.COLUMNS[table], "hash")
            )
            sql += f" ON CONFLICT (tenant, {', '.join(rows.KEYS[table])}) DO UPDATE SET {changed}"
        self._write(sql, (self.tenant, *given))
        return seq

    def _draw(self, table: str) -> int:
        self._counters[table] += 1
        return self._counters[table]

    def _flush(self) -> None:
        while self._waiting:
            sql, values = self._waiting.pop(0)
            spelt, taken = translated(sql)
            self._db.run_many(spelt, [[row[place] for place in taken] for row in values])

    def _settle(self) -> None:
        """Everything that waits is written, the index, too."""
        self._flush()
        if self._new_postings:
            keys, cells = (
                zip(*self._new_postings, strict=True),
                zip(*self._new_postings.values(), strict=True),
            )
            columns, self._new_postings = [*map(list, keys), *map(list, cells)], {}
            sql = """INSERT INTO posting (tenant, term, passage_seq, frequency, size, is_name) SELECT ?, * FROM
                     unnest(?::text[], ?::bigint[], ?::real[], ?::integer[], ?::boolean[])"""
            self._every(sql, self.tenant, *columns)
        if self._old_postings:
            old, self._old_postings = [*map(list, zip(*self._old_postings, strict=True))], []
            sql = """DELETE FROM posting USING unnest(?::text[], ?::bigint[]) AS gone (term, seq)
                     WHERE posting.term = gone.term AND posting.passage_seq = gone.seq"""
            self._every(sql, *old)
        changed = sorted((term, count) for term, count in self._term_counts.items() if count)
        self._term_counts.clear()
        if changed:
            terms, counts = map(list, zip(*changed, strict=True))
            sql = """INSERT INTO term (tenant, term, passages) SELECT ?, * FROM unnest(?::text[], ?::bigint[])
                     ON CONFLICT (tenant, term) DO UPDATE SET passages = term.passages + excluded.passages"""
            self._every(sql, self.tenant, terms, counts)
            fewer = [term for term, count in changed if count < 0]
            self._every(f"DELETE FROM term WHERE passages <= 0 AND term {AMONG}", fewer)  # noqa: S608

    @contextmanager
    def transaction(self, *, keep: bool = True) -> Iterator[None]:
        """One writer of a tenant at a time. The schema version is checked inside: another program may have brought the
        database up since we connected. A part of another transaction that fails takes back only its own work."""
        is_part = self._db.in_transaction
        if is_part:
            self._settle()
        before = dict(self._counters)
        self._db.run("SAVEPOINT part") if is_part else self._begin()
        try:
            yield
            if keep:
                self._settle()
                self._db.run("RELEASE part") if is_part else self._commit()
        except BaseException:
            keep = False
            raise
        finally:
            if not keep:
                self._counters = before
                for waiting in (
                    self._waiting,
                    self._new_postings,
                    self._old_postings,
                    self._term_counts,
                ):
                    waiting.clear()
                self._numbers.clear()
                self._db.roll_back("ROLLBACK TO part; RELEASE part" if is_part else "ROLLBACK")

    def _begin(self) -> None:
        limit = math.ceil(
            self._db.timeout_s * 800
        )  # before our own deadline, so that the connection is kept
        pick = (
            f"SELECT set_config('recollect.tenant', '{self.tenant}', true); " if self._picks else ""
        )
        # In READ COMMITTED each statement sees what was committed before it: the last one, after the lock was taken.
        sql = f"""BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE;
            SET LOCAL lock_timeout = {limit}; SET LOCAL statement_timeout = {max(limit, 60_000)}; {pick}
            INSERT INTO recollect.counter (tenant) VALUES ('{self.tenant}')
                ON CONFLICT (tenant) DO UPDATE SET tenant = excluded.tenant;
            SELECT recollect.schema_version(), recollect.current_tenant(), {", ".join(_COUNTERS)}
                FROM (SELECT) AS one LEFT JOIN recollect.counter ON TRUE"""  # noqa: S608
        found = self._db.begin(sql)
        self._has_written = False
        self._numbers.clear()
        [(version, tenant, *numbers)] = found
        self._counters = {
            name: number or 0 for name, number in zip(_COUNTERS, numbers, strict=True)
        }
        try:
            check_version(version)
            if tenant != self.tenant:
                raise TeamRefused(
                    "This login no longer belongs to the team.", hint="Nothing was written."
                )
        except StoreError:
            self._db.roll_back()
            raise

    def _commit(self) -> None:
        """Whoever waits for changes is told the number of the last one, no more: anybody may listen."""
        if not self._has_written:
            self._db.commit()
            return
        self._counters["writes"] += 1
        names, places = ", ".join(self._counters), ", ".join("?" * (len(self._counters) + 1))
        changed = ", ".join(f"{name} = excluded.{name}" for name in self._counters)
        sql = f"""INSERT INTO counter (tenant, {names}) VALUES ({places})
                  ON CONFLICT (tenant) DO UPDATE SET {changed}"""  # noqa: S608
        self._every(sql, self.tenant, *self._counters.values())
        self._every("SELECT pg_notify(?, ?)", self.channel, str(self._counters["journal"]))
        self._db.commit()

    # Reading

    def order(self, query: Query) -> list[tuple[int, int]]:
        where, values = conditions(query, self.dialect)
        sql = f"SELECT last_active_at, seq FROM memory WHERE {where} ORDER BY last_active_at DESC, seq DESC LIMIT ?"  # noqa: S608
        return self._every(sql, *values, query.limit)

    def sketches(self) -> list[Sketch]:
        return sketches_of(self._every(f"SELECT {SKETCH} FROM memory WHERE {AGING} ORDER BY seq"))  # noqa: S608

    def version(self) -> int:
        return int(self._value("SELECT coalesce((SELECT writes FROM counter), 0)"))

    def _messages_of(self, ids: Sequence[str]) -> Callable[[str], tuple[Message, ...]]:
        said: dict[str, list[Message]] = {}
        for message in self._read(Message, f"WHERE thread_id {AMONG} ORDER BY at, id", list(ids)):
            said.setdefault(message.thread_id, []).append(message)
        return lambda id: tuple(said.get(id, ()))

    def _seq(self, id: str) -> int:
        return self._numbers.get(("memory", id)) or super()._seq(id)

    # The index

    def _put_passages(self, seq: int, found: Iterable[Span]) -> None:
        listed = list(found)
        numbers: dict[str, int | None] = {"": None}
        said = {one.message_id for one in listed} - {""}
        numbers |= {
            id: self._numbers[("message", id)] for id in said if ("message", id) in self._numbers
        }
        if missing := list(said - numbers.keys()):
            numbers |= dict(self._every(f"SELECT id, seq FROM message WHERE id {AMONG}", missing))  # noqa: S608
        sql = """INSERT INTO passage (tenant, seq, memory_seq, message_seq, start, length, voice)
                 VALUES (?, ?, ?, ?, ?, ?, ?)"""
        cells = [(seq, numbers[one.message_id], one.start, one.length, one.voice) for one in listed]
        self._write(sql, *[(self.tenant, self._draw("passage"), *one) for one in cells])

    def _add_passages(
        self, memory: Memory, found: Iterable[Span], messages: Sequence[Message]
    ) -> None:
        listed, last = list(found), self._counters["passage"]
        self._put_passages(self._seq(memory.id), listed)
        texts = {"": memory.body} | {message.id: message.content for message in messages}
        self._index(new=[
            (number, *_texts(memory, texts[span.message_id], span)[:3]) for number, span in enumerate(listed, last + 1)
        ])  # fmt: skip

    def _remove_passages(self, id: str) -> None:
        seq = self._seq(id)
        self._numbers.pop(("memory", id), None)
        self._index(gone=[row for _, row in self._indexed(seq).values()])
        self._write("DELETE FROM passage WHERE memory_seq = ?", (seq,))

    def _indexed(self, seq: int, own: bool = False) -> Indexed:
        condition = f"p.memory_seq = ?{' AND p.message_seq IS NULL' if own else ''}"
        return {
            number: ((span, own_title, body), (number, title, body, topics))
            for number, span, (title, body, topics, own_title) in self._passages(condition, seq)
        }

    def _passages(
        self, condition: str, *values: object
    ) -> list[tuple[int, Span, tuple[str, str, str, str]]]:
        """Each with its texts (_texts). A body is read once, however many passages it has."""
        sql = f"""SELECT p.seq, p.memory_seq, coalesce(g.id, ''), p.start, p.length, p.voice
                  FROM passage p LEFT JOIN message g ON g.seq = p.message_seq WHERE {condition}"""  # noqa: S608
        found = [(seq, owner, Span(*cells)) for seq, owner, *cells in self._every(sql, *values)]
        read = f"SELECT seq, {rows.select('memory')} FROM memory WHERE seq {AMONG}"  # noqa: S608
        owners = list({owner for _, owner, _ in found})
        memories = {seq: rows.to_value(Memory, cells) for seq, *cells in self._every(read, owners)}
        said = list({span.message_id for *_, span in found} - {""})
        contents = {
            message.id: message.content for message in (self.messages(ids=said) if said else ())
        }
        return [
            (
                seq,
                span,
                _texts(memories[owner], contents.get(span.message_id, memories[owner].body), span),
            )
            for seq, owner, span in found
        ]

    def _index(self, gone: Iterable[IndexRow] = (), new: Iterable[IndexRow] = ()) -> None:
        for row in gone:
            words = words_of(row)
            for term in words.terms:
                if self._new_postings.pop((term, row[0]), None) is None:
                    self._old_postings.append((term, row[0]))
            self._term_counts.subtract(["", *words.terms])
            self._counters["words"] -= words.size
        for row in new:
            words = words_of(row)
            for term, (frequency, is_name) in words.terms.items():
                self._new_postings[term, row[0]] = (frequency, words.size, is_name)
            self._term_counts.update(["", *words.terms])
            self._counters["words"] += words.size
        if len(self._new_postings) + len(self._old_postings) > _MAX_WAITING:
            self._settle()


def check_version(version: int) -> None:
    if version > SCHEMA_VERSION:
        problem = f"The team's database has schema version {version}; this Recollect knows none after {SCHEMA_VERSION}."
        raise StoreTooNew(problem, hint="Upgrade this Recollect. Nothing was written.")
    if version < SCHEMA_VERSION:
        problem = f"The team's database has schema version {version}; this Recollect needs {SCHEMA_VERSION}."
        raise StoreError(
            problem,
            hint="An administrator creates the team again, which brings the database up to date.",
        )


def _texts(memory: Memory, text: str, span: Span) -> tuple[str, str, str, str]:
    """What the view `passage_text` of SQLite says: title, words, topics, and the title if it says something new."""
    title = memory.title.rstrip("\u2026")
    is_head = not span.message_id and span.start == 0 and memory.body.startswith(title)
    own = "" if title in memory.body[:200] else memory.title
    return (
        "" if is_head else memory.title,
        span.of(text),
        str(rows.WRITERS["topics"](memory.topics)),
        own,
    )


@cache
def analyse() -> tokenizer.Analyse:
    import apsw

    return tokenizer.register(apsw.Connection(":memory:"))


def key_of(term: str) -> str:
    """A very long term by its check sum."""
    spelt = term.encode()
    return (
        term
        if len(spelt) <= _MAX_TERM_BYTES
        else f"{term[:40]} {blake2b(spelt, digest_size=16).hexdigest()}"
    )


def words_of(row: IndexRow) -> Words:
    size, terms = 0, dict[str, tuple[float, bool]]()
    for text, (weight, is_name) in zip(row[1:], _WEIGHTS, strict=True):
        tokens = analyse()(text.encode())
        size += len(tokens)
        for key in (key_of(term) for token in tokens for term in token[2:]):
            frequency, was_name = terms.get(key, (0.0, False))
            terms[key] = (frequency + weight, was_name or is_name)
    return Words(size, terms)
