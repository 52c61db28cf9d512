"""Reading rows as values. Plain functions over a connection, shared by the store and its upkeep."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

import apsw

from recollect.base.moment import DAY_SECONDS, Moment
from recollect.model.bridge import Bridge
from recollect.model.evidence import Owner, PassageEvidence, Place
from recollect.model.memory import Lane, Memory, Message, Sketch, Status, Thread
from recollect.model.query import Query
from recollect.model.report import Entry
from recollect.store import rows, sql

_PAGE = 500
_TOPIC_TERMS = 10
# The last condition says what the index on groups is made of; without it SQLite would not use it.
_BESIDE = """
    SELECT (SELECT max(seq) FROM memory WHERE "group" = ?1 AND seq < ?2 AND "group" <> ''),
           (SELECT min(seq) FROM memory WHERE "group" = ?1 AND seq > ?2 AND "group" <> '')"""
_BESIDE_MESSAGE = """
    SELECT (SELECT -seq FROM message WHERE thread_id = ?1 AND (at, id) < (g.at, g.id)
            ORDER BY at DESC, id DESC LIMIT 1),
           (SELECT -seq FROM message WHERE thread_id = ?1 AND (at, id) > (g.at, g.id) ORDER BY at, id LIMIT 1)
    FROM message g WHERE g.seq = -?2"""


def exact(db: apsw.Connection, id: str) -> Memory | None:
    row = sql.first(db, f"SELECT {rows.select('memory')} FROM memory WHERE id = ?", id)  # noqa: S608
    return rows.to_memory(row) if row else None


def resolve(db: apsw.Connection, id: str) -> str:
    row = sql.first(db, "SELECT new FROM alias WHERE old = ?", id)
    return str(row[0]) if row else id


def messages(db: apsw.Connection, thread_id: str) -> tuple[Message, ...]:
    wanted = f"SELECT {rows.select('message')} FROM message WHERE thread_id = ? ORDER BY at, id"  # noqa: S608
    return tuple(rows.to_message(row) for row in sql.stream(db, wanted, thread_id))


def spoken(db: apsw.Connection, ids: Sequence[str]) -> dict[str, str]:
    wanted = "SELECT id, thread_id FROM message WHERE id IN (SELECT value FROM json_each(?))"
    return dict(sql.every(db, wanted, json.dumps(list(ids))))


def bridges(db: apsw.Connection, ids: Sequence[str]) -> tuple[Bridge, ...]:
    given = "(SELECT value FROM json_each(?1))"
    where = f"WHERE source IN {given} OR target IN {given}" if ids else ""
    wanted = f"SELECT {rows.select('bridge')} FROM bridge {where} ORDER BY created_at, source, target, type"  # noqa: S608
    return tuple(rows.to_bridge(row) for row in sql.stream(db, wanted, *([json.dumps(ids)] if ids else [])))


def everything(db: apsw.Connection) -> Iterator[tuple[int, Memory, tuple[Message, ...]]]:
    """Oldest first, a page at a time, so that no read lock is held while the caller works."""
    last = 0
    wanted = f"SELECT seq, {rows.select('memory')} FROM memory WHERE seq > ? ORDER BY seq LIMIT {_PAGE}"  # noqa: S608
    while page := sql.every(db, wanted, last):
        for last, *cells in page:
            yield last, rows.to_memory(cells), messages(db, str(cells[0]))


def find(db: apsw.Connection, query: Query) -> list[Memory]:
    where, values = _filters(query)
    wanted = (
        f"SELECT {rows.select('memory')} FROM memory m WHERE {where} ORDER BY last_active_at DESC, seq DESC LIMIT ?"  # noqa: S608
    )
    return [rows.to_memory(row) for row in sql.every(db, wanted, *values, query.limit)]


def faded(
    db: apsw.Connection, status: Status, at: Moment, half_life_days: float, below: float, idle_since: Moment, limit: int
) -> list[str]:
    wanted = """
        SELECT id FROM memory
        WHERE kind = 'thread' AND status = ?1 AND last_active_at <= ?2 AND pinned = 0 AND reinforced_at <= ?3
              AND weight * pow(0.5, (?3 - reinforced_at) / ?4) < ?5 AND (weight < ?5 OR reinforced_at <= ?3 - ?4)
        ORDER BY last_active_at LIMIT ?6"""
    half_life = float(half_life_days * DAY_SECONDS * 1_000_000)  # else SQLite divides whole numbers
    found = sql.every(db, wanted, str(status), idle_since.micros, at.micros, half_life, below, limit)
    return [row[0] for row in found]


def judged(db: apsw.Connection, limit: int) -> list[Memory]:
    wanted = f"""SELECT {rows.select("memory")} FROM memory WHERE ratings <> '[]' OR instr(own, '"outcomes"')
                 ORDER BY last_active_at DESC LIMIT ?"""  # noqa: S608
    return [rows.to_memory(row) for row in sql.every(db, wanted, limit)]


def seqs(db: apsw.Connection, ids: Sequence[str]) -> dict[int, str]:
    wanted = "SELECT seq, id FROM memory WHERE id IN (SELECT value FROM json_each(?))"
    return dict(sql.every(db, wanted, json.dumps(list(ids))))


def owners(db: apsw.Connection, passages: Sequence[int]) -> dict[int, Owner]:
    wanted = "SELECT seq, memory_seq, unit, voice FROM passage WHERE seq IN (SELECT value FROM json_each(?))"
    found = sql.every(db, wanted, json.dumps(list(passages)))
    return {seq: Owner(memory, unit, voice) for seq, memory, unit, voice in found}


HEAD_CHARS = 400
"""Of a message: where a turn record says what was asked, found and decided, before all that was said."""


def vectors_of(db: apsw.Connection, model: str, ids: Sequence[str]) -> list[tuple[str, bytes]]:
    wanted = """SELECT m.id, v.data FROM memory m JOIN passage p ON p.memory_seq = m.seq
                JOIN vector v ON v.passage_seq = p.seq AND v.model = ?
                WHERE m.id IN (SELECT value FROM json_each(?)) AND (p.message_seq IS NULL OR p.start < ?)"""
    return sql.every(db, wanted, model, json.dumps(list(ids)), HEAD_CHARS)


def passages_of(db: apsw.Connection, memories: Sequence[int]) -> list[int]:
    wanted = "SELECT seq FROM passage WHERE memory_seq IN (SELECT value FROM json_each(?))"
    return [row[0] for row in sql.every(db, wanted, json.dumps(list(memories)))]


def places(db: apsw.Connection, units: Sequence[int], *, beside: int) -> dict[int, Place]:
    """Of all: the group and the time. Of the first `beside`: who stands next to them in it."""
    listed = json.dumps(list(units))
    wanted = """SELECT seq, "group", iif("group" = '', 0, octet_length(body)), created_at, last_active_at FROM memory
                WHERE seq IN (SELECT value FROM json_each(?1))
                UNION ALL SELECT -seq, thread_id, 0, at, at FROM message
                WHERE seq IN (SELECT -value FROM json_each(?1) WHERE value < 0)"""
    found = {
        unit: Place(group, (), (), size, (Moment(created), Moment(active)))
        for unit, group, size, created, active in sql.every(db, wanted, listed)
    }
    for unit in units[:beside]:
        place = found.get(unit)
        if place is not None and place.group:
            before, after = sql.first(db, _BESIDE if unit > 0 else _BESIDE_MESSAGE, place.group, unit)
            found[unit] = place._replace(before=_one(before), after=_one(after))
    return found


def _one(seq: int | None) -> tuple[int, ...]:
    return () if seq is None else (seq,)


def whole(db: apsw.Connection, units: Sequence[int]) -> list[tuple[int, Memory, Message | None]]:
    """Each unit with its memory, and the message that it is where it is one."""
    turns: dict[int, tuple[int, Message]] = {}
    if any(unit < 0 for unit in units):
        said = f"""
            SELECT -g.seq, m.seq, {rows.select("message", prefix="g")} FROM json_each(?) w
            JOIN message g ON g.seq = -w.value JOIN memory m ON m.id = g.thread_id"""  # noqa: S608
        found = sql.every(db, said, json.dumps([unit for unit in units if unit < 0]))
        turns = {unit: (seq, rows.to_message(cells)) for unit, seq, *cells in found}
    owners = {unit: turns[unit][0] if unit in turns else unit for unit in units}
    wanted = f"SELECT seq, {rows.select('memory')} FROM memory WHERE seq IN (SELECT value FROM json_each(?))"  # noqa: S608
    listed = json.dumps(list(set(owners.values())))
    memories = {seq: rows.to_memory(cells) for seq, *cells in sql.every(db, wanted, listed)}
    return [
        (unit, memories[seq], turns[unit][1] if unit in turns else None)
        for unit, seq in owners.items()
        if seq in memories
    ]


def pieces(db: apsw.Connection, units: Sequence[int]) -> list[PassageEvidence]:
    """The passages of these units, in the order of their text."""
    bodies = """SELECT unit, seq, start, length, 0.0 FROM json_each(?) w
                JOIN passage ON memory_seq = w.value AND message_seq IS NULL ORDER BY unit, start"""
    said = """SELECT p.unit, p.seq, p.start, p.length, 0.0 FROM json_each(?) w JOIN message g ON g.seq = -w.value
              JOIN memory m ON m.id = g.thread_id JOIN passage p ON p.memory_seq = m.seq AND p.message_seq = g.seq
              ORDER BY p.unit, p.start"""
    listed = json.dumps(list(units))
    return [PassageEvidence(*cells) for wanted in (bodies, said) for cells in sql.every(db, wanted, listed)]


def sketches(db: apsw.Connection) -> list[Sketch]:
    wanted = """SELECT seq, id, status, weight, pinned, reinforced_at, last_active_at, lane FROM memory
                WHERE kind = 'thread' AND status IN ('active', 'suspended')"""
    statuses, lanes = {str(one): one for one in Status}, {str(one): one for one in Lane}
    return [
        Sketch(seq, id, statuses[status], weight, bool(pinned), reinforced, active, lanes[lane])
        for seq, id, status, weight, pinned, reinforced, active, lane in sql.every(db, wanted)
    ]


def drifted(db: apsw.Connection, more_than: int) -> list[Thread]:
    # The length first: most never drifted, and to look into their JSON would cost a second.
    wanted = f"""SELECT {rows.select("memory")} FROM memory
                 WHERE kind = 'thread' AND status IN ('active', 'suspended')
                 AND length(own) > 12 AND json_array_length(own, '$.drift') > ? ORDER BY seq"""  # noqa: S608
    found = (rows.to_memory(row) for row in sql.every(db, wanted, more_than))
    return [memory for memory in found if isinstance(memory, Thread)]


def about(db: apsw.Connection, terms: list[str], topic: str, limit: int) -> list[int]:
    by_id = sql.first(db, "SELECT seq FROM memory WHERE id = ?", topic)
    if by_id:
        return [int(by_id[0])]
    if not terms:
        return []
    quoted = " AND ".join('"' + term.replace('"', '""') + '"' for term in dict.fromkeys(terms[:_TOPIC_TERMS]))
    # A title that was made from the text is not indexed as one: there the words stand at the head of the body.
    wanted = """SELECT DISTINCT p.memory_seq FROM
                (SELECT rowid FROM words WHERE words MATCH ?1 ORDER BY rowid DESC LIMIT ?3) w
                JOIN passage p ON p.seq = w.rowid JOIN memory m ON m.seq = p.memory_seq
                WHERE m.status IN ('active', 'suspended')
                UNION SELECT p.memory_seq FROM
                (SELECT rowid FROM words WHERE words MATCH ?2 ORDER BY rowid DESC LIMIT ?3) w
                JOIN passage p ON p.seq = w.rowid JOIN memory m ON m.seq = p.memory_seq
                WHERE m.status IN ('active', 'suspended') AND instr(lower(m.title), lower(?4))
                ORDER BY 1 DESC"""
    named = f"{{title topics}} : ({quoted})"
    return [int(seq) for (seq,) in sql.every(db, wanted, named, quoted, limit, topic)]


def recalls(db: apsw.Connection, *, limit: int, id: str, memory: str) -> list[str]:
    wanted = """
        SELECT answer FROM recall WHERE (?1 = '' OR id = ?1)
        AND (?2 = '' OR seq IN (SELECT seq FROM recall_memory WHERE id = ?2)) ORDER BY seq DESC LIMIT ?3"""
    return [row[0] for row in sql.every(db, wanted, id, memory, limit)]


def same_words(db: apsw.Connection, kind: str, body: str) -> Memory | None:
    """An active memory of this kind that says exactly this, whatever its case."""
    wanted = f"""SELECT {rows.select("memory")} FROM memory
                 WHERE kind = ? AND status = 'active' AND lower(body) = lower(?) ORDER BY seq LIMIT 1"""  # noqa: S608
    row = sql.first(db, wanted, kind, body)
    return rows.to_memory(row) if row else None


def near_ids(db: apsw.Connection, id: str) -> tuple[str, ...]:
    """Those that share its last digits or its beginning first, then the newest."""
    wanted = """SELECT id FROM memory
             ORDER BY substr(id, -6) = substr(?1, -6) DESC, substr(id, 1, 15) = substr(?1, 1, 15) DESC, seq DESC
             LIMIT 50"""
    return tuple(row[0] for row in sql.stream(db, wanted, id))


def log(db: apsw.Connection, *, limit: int, memory: str, change: str) -> list[Entry]:
    where, values = ["1"], []
    if memory:
        where.append("j.seq IN (SELECT seq FROM journal_memory WHERE id = ?)")
        values.append(memory)
    if change:
        where.append("j.change = ?")
        values.append(change)
    wanted = f"""
        SELECT j.change, min(j.at), j.op, j.actor, j.summary, j.undoes, sum(j.plan IS NULL)
        FROM journal j WHERE {" AND ".join(where)} GROUP BY j.change ORDER BY max(j.seq) DESC LIMIT ?"""  # noqa: S608
    return [
        Entry(name, Moment(at), op, actor, summary, _memories_of(db, name), undoes, _undone_by(db, name), bool(purged))
        for name, at, op, actor, summary, undoes, purged in sql.every(db, wanted, *values, limit)
    ]


def _undone_by(db: apsw.Connection, change: str) -> str | None:
    """The undo that stands. An undo can be undone too, and so on: of such a chain every second one stands."""
    chain = [change]
    wanted = "SELECT change FROM journal WHERE undoes = ? ORDER BY seq DESC LIMIT 1"
    while row := sql.first(db, wanted, chain[-1]):
        chain.append(str(row[0]))
    return chain[1] if len(chain) % 2 == 0 else None


def _memories_of(db: apsw.Connection, change: str) -> tuple[str, ...]:
    wanted = (
        """SELECT DISTINCT id FROM journal_memory WHERE seq IN (SELECT seq FROM journal WHERE change = ?) LIMIT 100"""
    )
    return tuple(row[0] for row in sql.stream(db, wanted, change))


def _filters(query: Query) -> tuple[str, list[Any]]:
    parts: list[str] = ["1"]
    values: list[Any] = []

    def add(condition: str, *given: Any) -> None:
        parts.append(condition)
        values.extend(given)

    if query.kinds:
        add(f"m.kind IN ({', '.join('?' * len(query.kinds))})", *map(str, query.kinds))
    if query.statuses:
        add(f"m.status IN ({', '.join('?' * len(query.statuses))})", *map(str, query.statuses))
    if query.topic:
        add("EXISTS (SELECT 1 FROM json_each(m.topics) t WHERE lower(t.value) = lower(?))", query.topic)
    if query.tag:
        add("EXISTS (SELECT 1 FROM json_each(m.tags) t WHERE lower(t.value) = lower(?))", query.tag)
    if query.group:
        add('m."group" = ? AND m."group" <> \'\'', query.group)
    if query.since:
        add("m.last_active_at >= ?", query.since.micros)
    if query.until:
        add("m.last_active_at <= ?", query.until.micros)
    return " AND ".join(parts), values
