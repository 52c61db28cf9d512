"""What both engines do alike: reading memories, the filters of a query, and keeping passages in step with their text.

SQL that is shared is written as SQLite spells it; PostgreSQL's engine translates the few spellings that differ
(postgres_connection.py), and what has no common spelling is a method of the engine or a part of its dialect."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Any, NamedTuple, TypeVar

from recollect.base.errors import Conflict
from recollect.model.codec import content_hash
from recollect.model.memory import Bridge, Lane, Memory, Message, Sketch, Status
from recollect.model.passage import Span, spans
from recollect.model.query import Aged, Query
from recollect.store import rows

T = TypeVar("T")
AMONG = "IN (SELECT value FROM json_each(?))"  # of a list, which is bound as JSON
IndexRow = tuple[int, str, str, str]  # a passage as the full text has it: seq, title, body, topics
Indexed = dict[
    int, tuple[tuple[Span, str, str], IndexRow]
]  # where it is and the words it was embedded by; its row
SKETCH = "seq, id, status, weight, pinned, reinforced_at, last_active_at, lane"
AGING = "kind = 'thread' AND status IN ('active', 'suspended')"


class Dialect(NamedTuple):  # parts of conditions that the engines spell differently
    # To look into the JSON of every row takes as long as the rest; its text says which ones it could be in.
    listed: str
    # What lifecycle/strength.py makes of age, for many memories at once: how many days a thread has been asleep.
    asleep: str
    is_pinned: str
    # Ten for each rating that it was of no use, and one for each time it went badly; a few too many at times.
    marks: str
    drifts: str
    likeness: str


SQLITE = Dialect(
    listed="instr(lower({0}), lower(?)) AND EXISTS (SELECT 1 FROM json_each({0}) t WHERE lower(t.value) = lower(?))",
    asleep="max(0, ? - reinforced_at) / 86400e6 - iif(weight >= ?, ? * max(1.0, log2(weight / ?)), 0.0)",
    is_pinned="pinned",
    marks="""(length(ratings) - length(replace(ratings, ':false', ''))) / 6 * 10
        + length(own) - length(replace(own, '-', '')) + iif(instr(ratings, '"never":true'), 1000, 0)""",
    drifts="json_array_length(own, '$.drift')",
    likeness="""instr(id, ?) > 0 OR instr(lower(title), lower(?)) > 0 DESC,
        substr(id, -6) = substr(?, -6) DESC, substr(id, 1, 15) = substr(?, 1, 15) DESC, seq DESC""",
)


def silent(_done: int, _total: int) -> None:
    pass


class Engine(ABC):
    dialect: Dialect

    @abstractmethod
    def transaction(self, *, keep: bool = True) -> AbstractContextManager[None]: ...

    # Cells have no static type: `Any` ends at the callers of these.

    @abstractmethod
    def _every(self, sql: str, *values: object) -> list[Any]: ...

    @abstractmethod
    def _write(self, sql: str, *values: Sequence[Any]) -> None:
        """Once for each row of values, inside a transaction."""

    @abstractmethod
    def _insert(self, table: str, cells: tuple[rows.Cell, ...], *, replace: bool = False) -> int:
        """The number of the new row."""

    @abstractmethod
    def _indexed(self, seq: int, own: bool = False) -> Indexed:
        """The passages of a memory by number. `own`: those of its body alone."""

    @abstractmethod
    def _put_passages(self, seq: int, found: Iterable[Span]) -> None: ...

    @abstractmethod
    def _index(self, gone: Iterable[IndexRow] = (), new: Iterable[IndexRow] = ()) -> None:
        """What is gone must be given as it was when it was indexed."""

    @abstractmethod
    def _add_passages(
        self, memory: Memory, found: Iterable[Span], messages: Sequence[Message]
    ) -> None:
        """The memory's other passages are not looked at: a thread grows at the same cost however long it is."""

    @abstractmethod
    def _remove_passages(self, id: str) -> None:
        """Before the memory changes: the index must be told what the text was."""

    def _first(self, sql: str, *values: object) -> Any:
        """None where there is no row."""
        return next(iter(self._every(sql, *values)), None)

    def _value(self, sql: str, *values: object) -> Any:
        return self._first(sql, *values)[0]

    def _read(self, kind: type[T], rest: str, *values: object) -> list[T]:
        sql = f"SELECT {rows.select(rows.TABLES[kind])} FROM {rows.TABLES[kind]} {rest}"  # noqa: S608
        return [rows.to_value(kind, row) for row in self._every(sql, *values)]

    def _seq(self, id: str) -> int:
        row = self._first("SELECT seq FROM memory WHERE id = ?", id)
        if row is None:
            raise Conflict(f"{id} no longer exists.", hint="Nothing was written.")
        return int(row[0])

    def get(self, id: str, *, follow: bool = True) -> Memory | None:
        new = self._first("SELECT new FROM alias WHERE old = ?", id) if follow else None
        return next(iter(self._read(Memory, "WHERE id = ?", new[0] if new else id)), None)

    def find(self, query: Query) -> list[Memory]:
        where, values = conditions(query, self.dialect)
        order = self.dialect.likeness if query.like else "last_active_at DESC, seq DESC"
        values += [query.like] * order.count("?")
        return self._read(Memory, f"WHERE {where} ORDER BY {order} LIMIT ?", *values, query.limit)

    def messages(self, thread_id: str = "", *, ids: Sequence[str] = ()) -> tuple[Message, ...]:
        where, given = (f"id {AMONG}", list(ids)) if ids else ("thread_id = ?", thread_id)
        return tuple(self._read(Message, f"WHERE {where} ORDER BY at, id", given))

    def bridges(self, *ids: str) -> tuple[Bridge, ...]:
        where = f"WHERE source {AMONG} OR target {AMONG}" if ids else ""
        given = [list(ids)] * 2 if ids else []
        return tuple(
            self._read(Bridge, f"{where} ORDER BY created_at, source, target, type", *given)
        )

    def each(self) -> Iterator[tuple[Memory, tuple[Message, ...]]]:
        return ((memory, messages) for _, memory, messages in self._everything())

    def _everything(self) -> Iterator[tuple[int, Memory, tuple[Message, ...]]]:
        """Oldest first, a page at a time, so that no read lock is held while the caller works."""
        last = 0
        sql = (
            f"SELECT seq, {rows.select('memory')} FROM memory WHERE seq > ? ORDER BY seq LIMIT 500"  # noqa: S608
        )
        while page := self._every(sql, last):
            said = self._messages_of([str(cells[0]) for _, *cells in page])
            for last, *cells in page:
                yield last, rows.to_value(Memory, cells), said(str(cells[0]))

    def _messages_of(self, ids: Sequence[str]) -> Callable[[str], tuple[Message, ...]]:
        """By memory, for some that are about to be asked for."""
        return self.messages

    def _current(self, id: str) -> tuple[Memory, tuple[Message, ...]] | None:
        memory = self.get(id, follow=False)
        return None if memory is None else (memory, self.messages(id))

    def use(self, ids: Sequence[str], used: Callable[[Memory], Memory]) -> None:
        with self.transaction():
            for id in dict.fromkeys(ids):
                memory = self.get(id, follow=False)
                if memory is None:
                    continue
                after = used(memory)
                if content_hash(after) != content_hash(memory):
                    raise ValueError(f"the use of {id} would change what it says")
                self._write(rows.update_sql("memory"), (*rows.sealed(rows.cells_of(after)), id))

    def read_units(self, units: Sequence[int]) -> list[tuple[int, Memory, Message | None]]:
        sql = f"""
            SELECT -g.seq, m.seq, {rows.select("message", prefix="g.")} FROM json_each(?) w
            JOIN message g ON g.seq = -w.value JOIN memory m ON m.id = g.thread_id"""  # noqa: S608
        turns = {
            unit: (seq, rows.to_value(Message, cells))
            for unit, seq, *cells in self._every(sql, list(units))
        }
        found: dict[int, tuple[int, Message | None]] = {
            unit: turns.get(unit, (unit, None)) for unit in units
        }
        sql = f"SELECT seq, {rows.select('memory')} FROM memory WHERE seq {AMONG}"  # noqa: S608
        listed = list({seq for seq, _ in found.values()})
        memories = {seq: rows.to_value(Memory, cells) for seq, *cells in self._every(sql, listed)}
        return [
            (unit, memories[seq], turn) for unit, (seq, turn) in found.items() if seq in memories
        ]

    @contextmanager
    def _reindexed(self, *ids: str, own: bool = False) -> Iterator[None]:
        """Around a change of these memories' text. Passages that stay the same keep their number and their vectors;
        vectors and index files go by a passage's number, so with other words, title or topics it gets another. `own`:
        messages are found as before, only the memory's own text is another one."""
        indexed = {id: self._indexed(self._seq(id), own) for id in ids}
        yield
        for id, before in indexed.items():
            seq, memory = self._seq(id), self.get(id, follow=False)
            messages = self.messages(id) if not own else ()
            wanted, now = set(spans(memory, messages) if memory else ()), self._indexed(seq, own)
            same = {
                passage
                for passage, held in before.items()
                if held[0][0] in wanted and now.get(passage) == held
            }
            self._put_passages(seq, sorted(wanted - {before[passage][0][0] for passage in same}))
            gone, put = before.keys() - same, self._indexed(seq, own).items() - now.items()
            # Where only the title or the topics are other ones, it means the same.
            means = {words: new for new, (words, _) in put}
            moved = [(means[before[old][0]], old) for old in gone if before[old][0] in means]
            self._write("UPDATE vector SET passage_seq = ? WHERE passage_seq = ?", *moved)
            self._write("DELETE FROM passage WHERE seq = ?", *[(passage,) for passage in gone])
            self._index(sorted(before[old][1] for old in gone), sorted(row for _, (_, row) in put))

    def _within(self, known: list[tuple[int, str]], most: int) -> tuple[list[tuple[int, str]], int]:
        """The terms that together are in no more than so many passages, and after which passage."""
        chosen, postings = list[tuple[int, str]](), 0
        for count, term in known:
            if chosen and postings + count > most:
                break
            chosen.append((count, term))
            postings += count
        newest = self._value("SELECT coalesce(max(seq), 0) FROM passage") if postings > most else 0
        return chosen, int(newest * (1 - most / postings)) if newest else 0


def sketches_of(found: Iterable[Any]) -> list[Sketch]:
    """From rows of SKETCH."""
    statuses, lanes = {str(one): one for one in Status}, {str(one): one for one in Lane}
    return [
        Sketch(seq, id, statuses[status], weight, bool(pinned), reinforced, active, lanes[lane])
        for seq, id, status, weight, pinned, reinforced, active, lane in found
    ]


def conditions(query: Query, dialect: Dialect) -> tuple[str, list[object]]:
    """The filters of a query, and their values."""
    topic, tag = (json.dumps(given, ensure_ascii=False) for given in (query.topic, query.tag))
    # One value in parentheses is an equation to SQLite: the index then gives the order, too.
    kinds, statuses = (", ".join("?" * len(given)) for given in (query.kinds, query.statuses))
    filters: tuple[tuple[object, str, tuple[object, ...]], ...] = (
        (query.kinds, f"kind IN ({kinds})", tuple(map(str, query.kinds))),
        (query.statuses, f"status IN ({statuses})", tuple(map(str, query.statuses))),
        (query.topic, dialect.listed.format("topics"), (topic, query.topic)),
        (query.tag, dialect.listed.format("tags"), (tag, query.tag)),
        (query.group, '"group" = ? AND "group" <> \'\'', (query.group,)),
        (query.lane, "lane = ?", (query.lane and str(query.lane),)),
        # A quote inside a text is escaped in JSON, so no text can pass for the field.
        (query.rule_type, "own LIKE ?", (f'%"rule_type":"{query.rule_type}"%',)),
        (query.since, "last_active_at >= ?", (query.since and query.since.micros,)),
        (query.until, "last_active_at <= ?", (query.until and query.until.micros,)),
        (query.body, "lower(body) = lower(?)", (query.body,)),
        (
            query.marks_against, f"(ratings <> '[]' OR length(own) > 12) AND {dialect.marks} >= ?",
            (query.marks_against,),
        ),
        # The length first: most never drifted, and looking into their JSON would cost a second.
        (query.drifts_over, f"length(own) > 12 AND {dialect.drifts} > ?", (query.drifts_over,)),
        (query.aged, *(_aged_condition(query.aged, dialect) if query.aged else ("", ()))),
    )  # fmt: skip
    asked = [(condition, values) for is_asked, condition, values in filters if is_asked]
    where = " AND ".join(["TRUE", *(condition for condition, _ in asked)])
    return where, [one for _, given in asked for one in given]


def _aged_condition(aged: Aged, dialect: Dialect) -> tuple[str, tuple[object, ...]]:
    figures = (aged.now.micros, aged.suspend_below, aged.half_life_days, aged.suspend_below)
    statuses, later = tuple(map(str, aged.statuses)), "ELSE 'suspended'"
    more: tuple[float, ...] = ()
    if (
        len({Status.SUSPENDED, Status.ARCHIVED}.intersection(aged.statuses)) == 1
    ):  # else either will do
        later = f"WHEN {dialect.asleep} < ? THEN 'suspended' ELSE 'archived'"
        more = (*figures, aged.archive_after_days)
    wanted = ", ".join("?" * len(statuses))
    awake = f"kind <> 'thread' OR {dialect.is_pinned} OR status NOT IN ('active', 'suspended') OR {dialect.asleep} < 0"
    return f"CASE WHEN {awake} THEN status {later} END IN ({wanted})", (*figures, *more, *statuses)
