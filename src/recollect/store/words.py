"""Full-text look-up whose cost does not grow with the store.

A question is asked by its rarest terms: at most MAX_TERMS of them, and only as many as keep the postings
to read under MAX_POSTINGS. A single term more common than that is read in the newest passages alone.
User text never reaches MATCH: only terms that our own tokenizer made, each in quotes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

import apsw

from recollect.store import tokenizer
from recollect.store.tokenizer import Analyse

MAX_TERMS = 8
MAX_POSTINGS = 5_000
MAX_QUESTION_CHARS = 4_000  # a pasted log is asked by its beginning
BM25 = "bm25(words, 2.0, 1.0, 1.5)"  # a word in the title or among the topics says more than one in the body

# Without meaning of their own; asked only when a question has nothing else.
STOP_WORDS = (
    "a an the and or but if then else of to in on at by for with from as is are was were be been being am do "
    "does did done have has had this that these those it its i me my we our us you your he him his she her they "
    "them their what which who whom whose when where why how can could should would will shall may might must "
    "not no yes so than too very just there here about into over under again please use using used get got"
).split()
# Questions are asked by terms, and these words have others than themselves.
STOP = frozenset(STOP_WORDS) | frozenset("ar doe els ha hi mai pleas thei thi veri wa ye".split())


@dataclass(frozen=True, slots=True)
class Expression:
    match: str
    newest_share: float
    """Below 1: only this newest part of the passages is read."""
    postings: int
    """At most so many passages hold one of the terms."""


def index(connection: apsw.Connection, analyse: Analyse, rows: Iterable[tuple[int, str, str, str]]) -> None:
    """Adds passages (seq, title, body, topics) and counts their terms."""
    _write(connection, analyse, rows, "INSERT INTO words(rowid, title, body, topics) VALUES (?, ?, ?, ?)", +1)


def unindex(connection: apsw.Connection, analyse: Analyse, rows: Iterable[tuple[int, str, str, str]]) -> None:
    """Takes passages out again; their text must be what it was when they went in."""
    sql = "INSERT INTO words(words, rowid, title, body, topics) VALUES ('delete', ?, ?, ?, ?)"
    gone = _write(connection, analyse, rows, sql, -1)
    connection.executemany("DELETE FROM term WHERE term = ? AND passages <= 0", ((term,) for term in gone))


def _write(
    connection: apsw.Connection,
    analyse: Analyse,
    rows: Iterable[tuple[int, str, str, str]],
    sql: str,
    sign: int,
) -> Iterable[str]:
    counts: Counter[str] = Counter()
    for row in rows:
        connection.execute(sql, row)
        counts.update({term for text in row[1:] for term in tokenizer.terms(analyse, text)})
    connection.executemany(
        "INSERT INTO term VALUES (?1, ?2) ON CONFLICT (term) DO UPDATE SET passages = passages + ?2",
        ((term, sign * count) for term, count in counts.items()),
    )
    return counts


def expression(connection: apsw.Connection, analyse: Analyse, question: str) -> Expression | None:
    """None: the question has no term that the store knows."""
    asked = list(dict.fromkeys(tokenizer.terms(analyse, question[:MAX_QUESTION_CHARS])))
    meaning = [term for term in asked if term not in STOP] or asked
    known: list[tuple[int, str]] = []
    for term in meaning:
        row = connection.execute("SELECT passages FROM term WHERE term = ?", (term,)).fetchone()
        if row:
            known.append((int(row[0]), term))
    if not known:
        return None
    known.sort()
    chosen, postings = [known[0][1]], known[0][0]
    for count, term in known[1:MAX_TERMS]:
        if postings + count > MAX_POSTINGS:
            break
        chosen.append(term)
        postings += count
    quoted = " OR ".join('"' + term.replace('"', '""') + '"' for term in chosen)
    return Expression(quoted, min(1.0, MAX_POSTINGS / postings), postings)
