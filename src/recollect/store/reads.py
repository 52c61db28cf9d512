"""Reading rows as values. Plain functions over a connection, shared by the store and its upkeep."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import apsw

from recollect.base.moment import Moment
from recollect.model.bridge import Bridge
from recollect.model.memory import Memory, Message
from recollect.model.query import Hit, Query
from recollect.model.report import Entry
from recollect.store import rows, sql, words
from recollect.store.tokenizer import Analyse

_CANDIDATES = 200  # passages read before filters and folding; all of them only where that leaves too few
_PAGE = 500


def exact(db: apsw.Connection, id: str) -> Memory | None:
    row = sql.first(db, f"SELECT {rows.select('memory')} FROM memory WHERE id = ?", id)  # noqa: S608
    return rows.to_memory(row) if row else None


def resolve(db: apsw.Connection, id: str) -> str:
    row = sql.first(db, "SELECT new FROM alias WHERE old = ?", id)
    return str(row[0]) if row else id


def messages(db: apsw.Connection, thread_id: str) -> tuple[Message, ...]:
    wanted = f"SELECT {rows.select('message')} FROM message WHERE thread_id = ? ORDER BY at, id"  # noqa: S608
    return tuple(rows.to_message(row) for row in sql.stream(db, wanted, thread_id))


def bridges(db: apsw.Connection, ids: Sequence[str]) -> tuple[Bridge, ...]:
    marks = ", ".join("?" * len(ids))
    where = f"WHERE source IN ({marks}) OR target IN ({marks})" if ids else ""
    wanted = f"SELECT {rows.select('bridge')} FROM bridge {where} ORDER BY created_at, source, target, type"  # noqa: S608
    return tuple(rows.to_bridge(row) for row in sql.stream(db, wanted, *ids, *ids))


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


def search(db: apsw.Connection, analyse: Analyse, query: Query) -> list[Hit]:
    asked = words.expression(db, analyse, query.text)
    if asked is None:
        return []
    where, values = _filters(query)
    # The best passage of each memory: where a group has a maximum, SQLite takes p.seq from that row.
    wanted = f"""
        WITH matched AS MATERIALIZED (
            SELECT rowid AS seq, -{words.BM25} AS score FROM words
            WHERE words MATCH ? AND rowid > ? ORDER BY score DESC LIMIT ?
        ), best AS MATERIALIZED (
            SELECT p.seq, max(matched.score) AS score
            FROM matched JOIN passage p ON p.seq = matched.seq JOIN memory m ON m.seq = p.memory_seq
            WHERE {where} GROUP BY p.memory_seq ORDER BY 2 DESC, 1 DESC LIMIT ?
        )
        SELECT best.score, p.start, p.length, g.content, {rows.select("memory", prefix="m")}
        FROM best JOIN passage p ON p.seq = best.seq JOIN memory m ON m.seq = p.memory_seq
        LEFT JOIN message g ON g.id = p.message_id ORDER BY best.score DESC, best.seq DESC"""  # noqa: S608
    found: list[Any] = []
    for candidates in (_CANDIDATES, -1):
        found = sql.every(db, wanted, asked.match, _floor(db, asked), candidates, *values, query.limit)
        if len(found) == query.limit or asked.postings <= _CANDIDATES:
            break
    return [_hit(*row) for row in found]


def _hit(score: float, start: int, length: int, content: str | None, *cells: Any) -> Hit:
    memory = rows.to_memory(cells)
    passage = (memory.body if content is None else content)[start : start + length]
    return Hit(memory, score, (("words", score),), passage)


def _floor(db: apsw.Connection, asked: words.Expression) -> int:
    if asked.newest_share >= 1:
        return 0
    newest = sql.value(db, "SELECT coalesce(max(seq), 0) FROM passage")
    return int(newest * (1 - asked.newest_share))


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
    if query.group:
        add('m."group" = ?', query.group)
    if query.since:
        add("m.last_active_at >= ?", query.since.micros)
    if query.until:
        add("m.last_active_at <= ?", query.until.micros)
    return " AND ".join(parts), values
