"""Passages of a memory in the index: the ranges of its text that are searched, and their words.

Everything here is derived and can be built anew (`reindex`). Runs inside a write transaction.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any, NamedTuple

import apsw

from recollect.model.passage import Span
from recollect.store import words
from recollect.store.tokenizer import Analyse

_INDEXED = """
    SELECT p.seq, g.id, p.start, p.length, p.voice, t.title, t.body, t.topics, t.own_title
    FROM passage p JOIN passage_text t ON t.seq = p.seq LEFT JOIN message g ON g.seq = p.message_seq
    WHERE p.memory_seq = ?"""
_TEXTS = "SELECT seq, title, body, topics FROM passage_text WHERE seq IN (SELECT seq FROM passage WHERE memory_seq = ?)"


class Passages:
    def __init__(self, db: apsw.Connection, analyse: Analyse, counts: Counter[str]) -> None:
        self._db = db
        self._analyse = analyse
        self._counts = counts  # of terms: added to here, written by the transaction

    def add(self, seq: int, found: tuple[Span, ...]) -> None:
        """Whatever else the memory holds is not looked at: a thread goes on at the same cost however long it is."""
        [(last,)] = self._db.execute("SELECT coalesce(max(seq), 0) FROM passage WHERE memory_seq = ?", (seq,))
        put_passages(self._db, seq, found)
        new: list[Any] = self._db.execute(f"{_TEXTS} AND seq > ?", (seq, last)).fetchall()
        words.index(self._db, self._analyse, new, self._counts)

    def remove(self, seq: int) -> None:
        """Before the text changes: the index is told what it was."""
        old: list[Any] = self._db.execute(_TEXTS, (seq,)).fetchall()
        words.unindex(self._db, self._analyse, old, self._counts)
        self._db.execute("DELETE FROM passage WHERE memory_seq = ?", (seq,))

    def standing(self, seq: int) -> Indexed:
        spans, rows, titles = {}, {}, {}
        for passage, message_id, start, length, voice, title, body, topics, own in self._db.execute(_INDEXED, (seq,)):
            spans[Span(message_id or "", start, length, voice)] = passage
            rows[passage] = (passage, title, body, topics)
            titles[passage] = own
        return Indexed(spans, rows, titles)

    def renew(self, seq: int, before: Indexed, wanted: tuple[Span, ...]) -> None:
        """After the text changed: what means the same as before keeps its place and its vector; vectors in memory go by
        a passage's number, so other words get another."""
        now = self.standing(seq)
        same = {
            span
            for span, passage in before.spans.items()
            if passage in now.rows
            and (now.rows[passage][2], now.titles[passage]) == (before.rows[passage][2], before.titles[passage])
        } & set(wanted)
        gone = [(passage,) for span, passage in before.spans.items() if span not in same]
        self._db.executemany("DELETE FROM passage WHERE seq = ?", gone)
        put_passages(self._db, seq, tuple(span for span in wanted if span not in same))
        after = self.standing(seq).rows
        old = (row for row in before.rows.values() if after.get(row[0]) != row)
        words.unindex(self._db, self._analyse, old, self._counts)
        new = (row for row in after.values() if before.rows.get(row[0]) != row)
        words.index(self._db, self._analyse, new, self._counts)


class Indexed(NamedTuple):
    """What the index holds of a memory: by passage, where it stands, its row, and the title it was embedded under."""

    spans: dict[Span, int]
    rows: dict[int, words.Row]
    titles: dict[int, str]


def put_passages(db: apsw.Connection, seq: int, found: tuple[Span, ...]) -> None:
    db.executemany(
        """INSERT INTO passage (memory_seq, message_seq, start, length, voice)
           VALUES (?, (SELECT seq FROM message WHERE id = ?), ?, ?, ?)""",
        [(seq, span.message_id, span.start, span.length, span.voice) for span in found],
    )


def passages_of(db: apsw.Connection, seq: int) -> tuple[Span, ...]:
    wanted = """SELECT coalesce(g.id, iif(p.message_seq IS NULL, '', '?')), p.start, p.length, p.voice FROM passage p
                LEFT JOIN message g ON g.seq = p.message_seq WHERE p.memory_seq = ?"""
    return in_order(Span(*cells) for cells in db.execute(wanted, (seq,)))


def in_order(found: Iterable[Span]) -> tuple[Span, ...]:
    """One order to compare by: a thread that goes on gets its passages in no order of their own."""
    return tuple(sorted(found, key=lambda span: (span.message_id, span.start, span.length, span.voice)))


def rebuild_words(db: apsw.Connection) -> None:
    """Full text and the counts of terms, from the passages that stand."""
    db.execute("DELETE FROM passage WHERE memory_seq NOT IN (SELECT seq FROM memory)")
    db.execute("DELETE FROM vector WHERE passage_seq NOT IN (SELECT seq FROM passage)")
    db.execute("INSERT INTO words (words) VALUES ('rebuild')")
    db.execute("DELETE FROM term")
    db.execute(f"INSERT INTO term {counted_terms(db)}")


def counted_terms(db: apsw.Connection) -> str:
    """A query for what the table of terms should hold."""
    db.execute("CREATE VIRTUAL TABLE IF NOT EXISTS temp.vocabulary USING fts5vocab(main, words, row)")
    return "SELECT term, doc FROM temp.vocabulary UNION ALL SELECT '', count(*) FROM passage HAVING count(*) > 0"
