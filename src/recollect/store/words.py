"""Full-text look-up whose cost does not grow with the store.

A question is asked by its rarest terms: at most MAX_TERMS of them, and only as many as keep the postings
to read under MAX_POSTINGS. A single term more common than that is read in the newest passages alone.
User text never reaches MATCH: only terms that our own tokenizer made, each in quotes.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterable

import apsw

from recollect.model.evidence import TermEvidence, WordEvidence
from recollect.store import sql, tokenizer
from recollect.store.tokenizer import Analyse

EVERY = ""  # no term is empty: its count is the number of all passages
MAX_TERMS = 10
MAX_POSTINGS = 3_000
MAX_QUESTION_CHARS = 4_000  # a pasted log is asked by its beginning
BM25 = "bm25(words, 2.0, 1.0, 1.5)"  # a word in the title or among the topics says more than one in the body

Row = tuple[int, str, str, str]  # a passage as it is indexed: seq, title, body, topics

# Without meaning of their own; asked only when a question has nothing else.
STOP_WORDS = (
    "a an the and or but if then else of to in on at by for with from as is are was were be been being am do "
    "does did done have has had this that these those it its i me my we our us you your he him his she her they "
    "them their what which who whom whose when where why how can could should would will shall may might must "
    "not no yes so than too very just there here about into over under again please use using used get got"
).split()
# Questions are asked by terms, and these words have others than themselves.
STOP = frozenset(STOP_WORDS) | frozenset("ar doe els ha hi mai pleas thei thi veri wa ye".split())


def index(db: apsw.Connection, analyse: Analyse, rows: Iterable[Row], counts: Counter[str]) -> None:
    """Adds passages; their terms are added to `counts`, which `settle` writes."""
    for row in rows:
        db.execute("INSERT INTO words(rowid, title, body, topics) VALUES (?, ?, ?, ?)", row)
        counts.update(_distinct(analyse, row))


def unindex(db: apsw.Connection, analyse: Analyse, rows: Iterable[Row], counts: Counter[str]) -> None:
    """Takes passages out again; their text must be what it was when they went in."""
    for row in rows:
        db.execute("INSERT INTO words(words, rowid, title, body, topics) VALUES ('delete', ?, ?, ?, ?)", row)
        counts.subtract(_distinct(analyse, row))


def _distinct(analyse: Analyse, row: Row) -> set[str]:
    return {EVERY} | {term for text in row[1:] for term in tokenizer.terms(analyse, text)}


def settle(db: apsw.Connection, counts: Counter[str]) -> None:
    """Once a transaction, or when words are asked for in it; in order: neighbours in the table are then written
    together."""
    changed = sorted((term, count) for term, count in counts.items() if count)
    db.executemany(
        "INSERT INTO term VALUES (?1, ?2) ON CONFLICT (term) DO UPDATE SET passages = passages + ?2", changed
    )
    fewer = [(term,) for term, count in changed if count < 0]
    db.executemany("DELETE FROM term WHERE term = ? AND passages <= 0", fewer)
    counts.clear()


def evidence(db: apsw.Connection, analyse: Analyse, question: str, most: int = MAX_POSTINGS) -> WordEvidence:
    """Where the question's rarest terms stand. Terms that the store does not know are named, too: a question of
    which only the small change is known is not well answered by it."""
    passages = _count(db, EVERY)
    known, unknown = _asked(db, analyse, question)
    chosen = _affordable(known, most)
    postings = sum(count for count, _ in chosen)
    floor = 0
    if postings > most:
        newest = sql.value(db, "SELECT coalesce(max(seq), 0) FROM passage")
        floor = int(newest * (1 - most / postings))
    found = [_stands(db, term, count, passages, floor) for count, term in chosen]
    return WordEvidence(passages, (*found, *(TermEvidence(term, 0, ()) for term in unknown[:MAX_TERMS])))


def _asked(db: apsw.Connection, analyse: Analyse, question: str) -> tuple[list[tuple[int, str]], list[str]]:
    """The known terms with their counts, rarest first, and the unknown ones."""
    asked = dict.fromkeys(tokenizer.terms(analyse, question[:MAX_QUESTION_CHARS]))
    meaning = [term for term in asked if term not in STOP] or list(asked)
    wanted = "SELECT term, passages FROM term WHERE term IN (SELECT value FROM json_each(?))"
    standing = dict(sql.every(db, wanted, json.dumps(meaning)))
    counts = [(int(standing.get(term, 0)), term) for term in meaning]
    return sorted(pair for pair in counts if pair[0]), [term for count, term in counts if not count]


def _affordable(known: list[tuple[int, str]], most: int) -> list[tuple[int, str]]:
    chosen, postings = known[:1], known[0][0] if known else 0
    for count, term in known[1:MAX_TERMS]:
        if postings + count > most:
            break
        chosen.append((count, term))
        postings += count
    return chosen


def _count(db: apsw.Connection, term: str) -> int:
    row = sql.first(db, "SELECT passages FROM term WHERE term = ?", term)
    return int(row[0]) if row else 0


def _stands(db: apsw.Connection, term: str, count: int, passages: int, floor: int) -> TermEvidence:
    """BM25 of the one term, divided by the rarity that SQLite gave it: rarity is pooled over stores later."""
    rarity = max(1e-6, math.log((passages - count + 0.5) / (count + 0.5))) if passages >= count else 1e-6
    quoted = '"' + term.replace('"', '""') + '"'
    wanted = f"SELECT rowid, {BM25} FROM words WHERE words MATCH ? AND rowid > ?"  # noqa: S608
    return TermEvidence(term, count, tuple(sql.every(db, wanted, quoted, floor)), -1 / rarity)
