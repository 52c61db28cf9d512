"""Upkeep of a database: its derived parts, its copies, and the removal of traces."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

import apsw

from recollect.base.errors import StoreBusy, StoreDamaged, StoreFull
from recollect.base.files import make_private_folder
from recollect.base.moment import Moment
from recollect.model.passage import Span, spans
from recollect.model.report import Counts
from recollect.store import reads, rows, sql, words
from recollect.store.connect import os_trouble
from recollect.store.protocol import Progress
from recollect.store.tokenizer import Analyse

_PRUNED_AT_ONCE = 20
_INDEXED = """
    SELECT p.seq, g.id, p.start, p.length, p.voice, t.title, t.body, t.topics, t.own_title
    FROM passage p JOIN passage_text t ON t.seq = p.seq LEFT JOIN message g ON g.seq = p.message_seq
    WHERE p.memory_seq = ?"""
_TEXTS = "SELECT seq, title, body, topics FROM passage_text WHERE seq IN (SELECT seq FROM passage WHERE memory_seq = ?)"


def index_memory(
    db: apsw.Connection, analyse: Analyse, seq: int, found: tuple[Span, ...], counts: Counter[str]
) -> None:
    _put_passages(db, seq, found)
    words.index(db, analyse, sql.every(db, _TEXTS, seq), counts)


def index_more(db: apsw.Connection, analyse: Analyse, seq: int, more: tuple[Span, ...], counts: Counter[str]) -> None:
    """Whatever else the memory holds is not looked at: a thread goes on at the same cost however long it is."""
    last = int(sql.value(db, "SELECT coalesce(max(seq), 0) FROM passage WHERE memory_seq = ?", seq))
    _put_passages(db, seq, more)
    words.index(db, analyse, sql.every(db, f"{_TEXTS} AND seq > ?", seq, last), counts)


def unindex_memory(db: apsw.Connection, analyse: Analyse, seq: int, counts: Counter[str]) -> None:
    """Before the text changes: the index is told what it was."""
    words.unindex(db, analyse, sql.every(db, _TEXTS, seq), counts)
    db.execute("DELETE FROM passage WHERE memory_seq = ?", (seq,))


class Indexed(NamedTuple):
    """What the index holds of a memory: by passage, where it stands, its row, and the title it was embedded under."""

    spans: dict[Span, int]
    rows: dict[int, words.Row]
    titles: dict[int, str]


def indexed(db: apsw.Connection, seq: int) -> Indexed:
    spans, rows, titles = {}, {}, {}
    for passage, message_id, start, length, voice, title, body, topics, own_title in sql.every(db, _INDEXED, seq):
        spans[Span(message_id or "", start, length, voice)] = passage
        rows[passage] = (passage, title, body, topics)
        titles[passage] = own_title
    return Indexed(spans, rows, titles)


def index_again(
    db: apsw.Connection,
    analyse: Analyse,
    seq: int,
    before: Indexed,
    wanted: tuple[Span, ...],
    counts: Counter[str],
) -> None:
    """After the text changed: what means the same as before keeps its place and its vector; vectors in memory go by
    a passage's number, so other words get another."""
    now = indexed(db, seq)
    same = {
        span
        for span, passage in before.spans.items()
        if passage in now.rows
        and (now.rows[passage][2], now.titles[passage]) == (before.rows[passage][2], before.titles[passage])
    } & set(wanted)
    gone = [(passage,) for span, passage in before.spans.items() if span not in same]
    db.executemany("DELETE FROM passage WHERE seq = ?", gone)
    _put_passages(db, seq, tuple(span for span in wanted if span not in same))
    after = indexed(db, seq).rows
    words.unindex(db, analyse, (row for row in before.rows.values() if after.get(row[0]) != row), counts)
    words.index(db, analyse, (row for row in after.values() if before.rows.get(row[0]) != row), counts)


def _put_passages(db: apsw.Connection, seq: int, found: tuple[Span, ...]) -> None:
    db.executemany(
        """INSERT INTO passage (memory_seq, message_seq, start, length, voice)
           VALUES (?, (SELECT seq FROM message WHERE id = ?), ?, ?, ?)""",
        [(seq, span.message_id, span.start, span.length, span.voice) for span in found],
    )


def reindex(db: apsw.Connection, analyse: Analyse, progress: Progress) -> int:
    """Passages that are still right keep their vectors; full text and term counts are built anew."""
    total = sql.value(db, "SELECT count(*) FROM memory")
    for done, (seq, memory, messages) in enumerate(reads.everything(db), start=1):
        wanted = spans(memory, messages)
        if passages_of(db, seq) != in_order(wanted):
            db.execute("DELETE FROM passage WHERE memory_seq = ?", (seq,))
            _put_passages(db, seq, wanted)
        progress(done, total)
    db.execute("DELETE FROM passage WHERE memory_seq NOT IN (SELECT seq FROM memory)")
    db.execute("DELETE FROM vector WHERE passage_seq NOT IN (SELECT seq FROM passage)")
    db.execute("INSERT INTO words (words) VALUES ('rebuild')")
    db.execute("DELETE FROM term")
    open_vocabulary(db)
    db.execute("INSERT INTO term SELECT term, doc FROM temp.vocabulary")
    db.execute("INSERT INTO term SELECT '', count(*) FROM passage HAVING count(*) > 0")
    return _count(db, "passage")


def passages_of(db: apsw.Connection, seq: int) -> tuple[Span, ...]:
    wanted = """SELECT coalesce(g.id, iif(p.message_seq IS NULL, '', '?')), p.start, p.length, p.voice FROM passage p
                LEFT JOIN message g ON g.seq = p.message_seq WHERE p.memory_seq = ?"""
    return in_order(Span(*cells) for cells in sql.stream(db, wanted, seq))


def in_order(found: Iterable[Span]) -> tuple[Span, ...]:
    """One order to compare by: a thread that goes on gets its passages in no order of their own."""
    return tuple(sorted(found, key=lambda span: (span.message_id, span.start, span.length, span.voice)))


def open_vocabulary(db: apsw.Connection) -> None:
    db.execute("CREATE VIRTUAL TABLE IF NOT EXISTS temp.vocabulary USING fts5vocab(main, words, row)")


def copy_to(db: apsw.Connection, target: Path) -> None:
    """A compact, consistent copy under its final name only when it is whole and checked."""
    unfinished = target.with_name(target.name + ".unfinished")
    try:
        for missing in reversed([p for p in (target.parent, *target.parent.parents) if not p.exists()]):
            make_private_folder(missing)
        unfinished.unlink(missing_ok=True)
        os.close(os.open(unfinished, os.O_CREAT | os.O_EXCL | os.O_RDWR | getattr(os, "O_NOFOLLOW", 0), 0o600))
        seen = db.pragma("data_version")
        db.execute("VACUUM INTO ?", (str(unfinished),))
        _check_copy(db, unfinished, seen)
        _sync(unfinished)
        unfinished.rename(target)
    except OSError as problem:
        raise os_trouble(target, problem) from None
    except apsw.FullError:
        raise StoreFull(f"No space left for the backup {target}.", hint="Nothing else was changed.") from None
    finally:
        unfinished.unlink(missing_ok=True)


def _check_copy(db: apsw.Connection, copy: Path, seen: object) -> None:
    """`seen` is the database's version before: where others have written since, counts may differ."""
    twin = apsw.Connection(str(copy), flags=apsw.SQLITE_OPEN_READONLY)
    try:
        sound = twin.execute("PRAGMA integrity_check(1)").fetchall()[0][0] == "ok"
        # One that is about to be migrated has not yet every table.
        there = {name for (name,) in sql.every(db, "SELECT name FROM sqlite_schema WHERE type = 'table'")}
        same = all(_count(twin, table) == _count(db, table) for table in rows.COLUMNS.keys() & there)
        same = same or db.pragma("data_version") != seen
    finally:
        twin.close()
    if not (sound and same):
        raise StoreDamaged("The backup does not hold what the database holds.", hint="`recollect verify` looks closer.")


def counts(db: apsw.Connection) -> Counts:
    kinds = sql.every(db, "SELECT kind, status, count(*) FROM memory GROUP BY kind, status ORDER BY kind, status")
    return Counts(
        by_kind_and_status=tuple((kind, status, count) for kind, status, count in kinds),
        messages=_count(db, "message"),
        bridges=_count(db, "bridge"),
        passages=_count(db, "passage"),
        vectors=_count(db, "vector"),
        changes=sql.value(db, "SELECT count(DISTINCT change) FROM journal"),
        bytes=db.pragma("page_count") * db.pragma("page_size"),
    )


def _count(db: apsw.Connection, table: str) -> int:
    return int(sql.value(db, f"SELECT count(*) FROM {table}"))  # noqa: S608


def _sync(path: Path) -> None:
    handle = os.open(path, os.O_RDWR)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def free_name(folder: Path, label: str) -> Path:
    """`memory-<label>.db`, with a number behind it where that is taken."""
    path = folder / f"memory-{label}.db"
    number = 2
    while path.exists():
        path = folder / f"memory-{label}-{number}.db"
        number += 1
    return path


def forget_plans(db: apsw.Connection, ids: tuple[str, ...]) -> int:
    """Journal entries that speak of these memories keep their place in the order and lose what they said."""
    # As one value: a statement takes some thousands of values only.
    these, named = "(SELECT value FROM json_each(?))", (json.dumps(ids),)
    found = db.execute(
        f"SELECT seq, {rows.select('journal')} FROM journal"  # noqa: S608
        f" WHERE seq IN (SELECT seq FROM journal_memory WHERE id IN {these})",
        named,
    ).fetchall()
    for seq, change, at, op, actor, _summary, _plan, undoes in found:
        cells = (change, at, op, actor, "purged", None, undoes)
        db.execute(rows.update_sql("journal"), (*rows.sealed(cells), seq))
    db.execute(f"DELETE FROM journal_memory WHERE id IN {these}", named)  # noqa: S608
    db.execute(f"DELETE FROM recall WHERE seq IN (SELECT seq FROM recall_memory WHERE id IN {these})", named)  # noqa: S608
    of_memory = "substr(memory, 1, instr(memory || '#', '#') - 1)"
    db.execute(f"DELETE FROM shown WHERE {of_memory} IN {these}", named)  # noqa: S608
    return len(found)


def wipe_deleted(db: apsw.Connection) -> None:
    """Leaves no byte of what was deleted: in the index's old segments, in free pages, in the log."""
    db.execute("INSERT INTO words (words) VALUES ('optimize')")
    db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    db.execute("VACUUM")
    if sql.value(db, "PRAGMA wal_checkpoint(TRUNCATE)"):
        raise StoreBusy(
            "They are gone, but another process still reads what was: its bytes stay in the log until it ends.",
            hint="End other programs that use Recollect, then purge the same ids again.",
        )


def prune_journal(db: apsw.Connection, *, before: Moment) -> None:
    """The oldest entries go, a few at a time, so that no write pays for all of them."""
    oldest = sql.every(db, "SELECT seq, at FROM journal ORDER BY seq LIMIT ?", _PRUNED_AT_ONCE)
    for seq, at in oldest:
        if at >= before.micros:
            break
        db.execute("DELETE FROM journal WHERE seq = ?", (seq,))
