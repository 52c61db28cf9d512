"""Passages and their words: the index that follows the text of memories, and how it is asked.

Everything here is derived and can be rebuilt (`reindex`). Writing runs inside a write transaction.

The cost of a question does not grow with the store: it is asked by its rarest terms, at most MAX_TERMS of them, and
only as many as keep the postings to read under MAX_POSTINGS. A single term more common than that is read in the newest
passages alone. User text never reaches MATCH: only terms that our own tokenizer made, each in quotes.
"""

import math
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import NamedTuple

from recollect.base.errors import Conflict
from recollect.model.passage import Span, spans
from recollect.model.query import TermEvidence, WordEvidence
from recollect.store import tokenizer
from recollect.store.connect import translated_errors
from recollect.store.database import Database

MAX_TERMS = 10
MAX_POSTINGS = 3_000
MAX_QUESTION_CHARS = 4_000  # a pasted log is asked by its beginning
_ALL = ""  # no term is empty: its count is the number of all passages
_BM25 = "bm25(words, 2.0, 1.0, 1.5)"  # a word in the title or among the topics says more than one in the body

# Without meaning of their own; asked only when a question has nothing else.
STOP_WORDS = (
    "a an the and or but if then else of to in on at by for with from as is are was were be been being am do "
    "does did done have has had this that these those it its i me my we our us you your he him his she her they "
    "them their what which who whom whose when where why how can could should would will shall may might must "
    "not no yes so than too very just there here about into over under again please use using used get got"
).split()
# Questions are asked by terms, and the terms of these words differ from the words.
STOP_TERMS = frozenset(STOP_WORDS) | frozenset("ar doe els ha hi mai pleas thei thi veri wa ye".split())

_TEXTS = "SELECT seq, title, body, topics FROM passage_text WHERE seq IN (SELECT seq FROM passage WHERE memory_seq = ?)"
_Row = tuple[int, str, str, str]  # a passage as it is indexed: seq, title, body, topics


class _Passage(NamedTuple):
    """A passage as the index holds it."""

    span: Span
    row: _Row
    own_title: str  # under which it was embedded


class Words(Database):
    def _add_passages(self, seq: int, found: Iterable[Span]) -> None:
        """The memory's other passages are not looked at: a thread grows at the same cost however long it is."""
        [last] = self._first("SELECT coalesce(max(seq), 0) FROM passage WHERE memory_seq = ?", seq)
        self._put_passages(seq, found)
        self._index(self._every(f"{_TEXTS} AND seq > ?", seq, last))

    def _remove_passages(self, seq: int) -> None:
        """Before the text changes: the index must be told what it was."""
        self._unindex(self._every(_TEXTS, seq))
        self._db.execute("DELETE FROM passage WHERE memory_seq = ?", (seq,))

    @contextmanager
    def _reindexed(self, *ids: str) -> Iterator[None]:
        """Around a change of these memories' text. Passages that stay the same keep their place and their vectors;
        vectors in memory go by a passage's number, so other words get another number."""
        indexed = {id: (seq, self._indexed(seq)) for id in ids for seq in [self._seq(id)]}
        yield
        for id, (seq, before) in indexed.items():
            current = self._current(id)
            self._renew_passages(seq, before, set(spans(*current) if current else ()))

    def _renew_passages(self, seq: int, before: dict[int, _Passage], wanted: set[Span]) -> None:
        now = self._indexed(seq)
        same = {
            passage
            for passage, (span, row, title) in before.items()
            if span in wanted and passage in now and (now[passage].row[2], now[passage].own_title) == (row[2], title)
        }
        self._db.executemany("DELETE FROM passage WHERE seq = ?", [(passage,) for passage in before.keys() - same])
        self._put_passages(seq, sorted(wanted - {before[passage].span for passage in same}))
        old, new = ({one.row for one in indexed.values()} for indexed in (before, self._indexed(seq)))
        self._unindex(sorted(old - new))
        self._index(sorted(new - old))

    def _indexed(self, seq: int) -> dict[int, _Passage]:
        sql = """
            SELECT coalesce(g.id, ''), p.start, p.length, p.voice, p.seq, t.title, t.body, t.topics, t.own_title
            FROM passage p JOIN passage_text t ON t.seq = p.seq LEFT JOIN message g ON g.seq = p.message_seq
            WHERE p.memory_seq = ?"""
        found = self._every(sql, seq)
        return {row[4]: _Passage(Span(*row[:4]), row[4:8], row[8]) for row in found}

    def _seq(self, id: str) -> int:
        row = self._first("SELECT seq FROM memory WHERE id = ?", id)
        if row is None:
            raise Conflict(f"{id} no longer exists.", hint="Nothing was written.")
        return int(row[0])

    def _has_passages(self, seq: int, wanted: Iterable[Span]) -> bool:
        """In any order: those of a thread that grew are in the order they came."""
        found = """SELECT coalesce(g.id, iif(p.message_seq IS NULL, '', '?')), p.start, p.length, p.voice
                   FROM passage p LEFT JOIN message g ON g.seq = p.message_seq WHERE p.memory_seq = ?"""
        return sorted(Span(*cells) for cells in self._every(found, seq)) == sorted(wanted)

    def _put_passages(self, seq: int, found: Iterable[Span]) -> None:
        self._db.executemany(
            """INSERT INTO passage (memory_seq, message_seq, start, length, voice)
               VALUES (?, (SELECT seq FROM message WHERE id = ?), ?, ?, ?)""",
            [(seq, span.message_id, span.start, span.length, span.voice) for span in found],
        )

    def _index(self, rows: Iterable[_Row]) -> None:
        for row in rows:
            self._db.execute("INSERT INTO words(rowid, title, body, topics) VALUES (?, ?, ?, ?)", row)
            self._term_counts.update(self._terms_of(row))

    def _unindex(self, rows: Iterable[_Row]) -> None:
        """The text must be what it was when it was indexed."""
        for row in rows:
            self._db.execute("INSERT INTO words(words, rowid, title, body, topics) VALUES ('delete', ?, ?, ?, ?)", row)
            self._term_counts.subtract(self._terms_of(row))

    def _terms_of(self, row: _Row) -> set[str]:
        return {_ALL} | {term for text in row[1:] for term in tokenizer.terms(self._analyse, text)}

    def _rebuild_words(self) -> None:
        """Full text and the counts of terms, from the passages."""
        self._db.execute("DELETE FROM passage WHERE memory_seq NOT IN (SELECT seq FROM memory)")
        self._db.execute("DELETE FROM vector WHERE passage_seq NOT IN (SELECT seq FROM passage)")
        self._db.execute("INSERT INTO words (words) VALUES ('rebuild')")
        self._db.execute("DELETE FROM term")
        self._db.execute(f"INSERT INTO term {self._counted_terms()}")

    def _counted_terms(self) -> str:
        """A query for what the table of terms should hold."""
        self._db.execute("CREATE VIRTUAL TABLE IF NOT EXISTS temp.vocabulary USING fts5vocab(main, words, row)")
        return "SELECT term, doc FROM temp.vocabulary UNION ALL SELECT '', count(*) FROM passage HAVING count(*) > 0"

    # Asking

    def words(self, question: str, *, most: int = 0) -> WordEvidence:
        """Where the rarest terms of the question are: as many of them as are in at most `most` passages together
        (0: as many as a recall looks at). Unknown terms are named, too: a question of which only the small change is
        known is not well answered by it."""
        most = most or MAX_POSTINGS
        with translated_errors(self._path):
            if self._db.in_transaction:  # it finds what was written in it
                self._settle_terms()
            asked = dict.fromkeys(tokenizer.terms(self._analyse, question[:MAX_QUESTION_CHARS]))
            meaning = [term for term in asked if term not in STOP_TERMS] or list(asked)
            sql = "SELECT term, passages FROM term WHERE term IN (SELECT value FROM json_each(?))"
            counts = dict(self._every(sql, [_ALL, *meaning]))
            passages = counts.pop(_ALL, 0)
            chosen, postings = _affordable(sorted((count, term) for term, count in counts.items() if count), most)
            floor = 0
            if postings > most:
                newest = self._value("SELECT coalesce(max(seq), 0) FROM passage")
                floor = int(newest * (1 - most / postings))
            found = [self._find_term(term, count, passages, floor) for count, term in chosen]
            unknown = [term for term in meaning if not counts.get(term)]
            return WordEvidence(passages, (*found, *(TermEvidence(term, 0, ()) for term in unknown[:MAX_TERMS])))

    def _find_term(self, term: str, count: int, passages: int, floor: int) -> TermEvidence:
        """BM25 of the one term, divided by the rarity that SQLite gave it: rarity is pooled over stores later."""
        rarity = max(1e-6, math.log((passages - count + 0.5) / (count + 0.5))) if passages >= count else 1e-6
        sql = f"SELECT rowid, {_BM25} FROM words WHERE words MATCH ? AND rowid > ?"  # noqa: S608
        return TermEvidence(term, count, tuple(self._every(sql, quoted(term), floor)), -1 / rarity)


def quoted(term: str) -> str:
    return '"' + term.replace('"', '""') + '"'


def _affordable(known: list[tuple[int, str]], most: int) -> tuple[list[tuple[int, str]], int]:
    """The terms to look up, rarest first, and how many postings they have together."""
    chosen, postings = known[:1], known[0][0] if known else 0
    for count, term in known[1:MAX_TERMS]:
        if postings + count > most:
            break
        chosen.append((count, term))
        postings += count
    return chosen, postings
