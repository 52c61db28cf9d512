"""The index that follows the text of memories, and the evidence that a store has on a question: by words, by vectors
(loaded when first asked for), and where each thing that was found is. Ranks nothing.

A question is asked by its rarest terms, at most MAX_TERMS of them; without the index file (passage_index.py) only by as
many as keep the postings to read under MAX_POSTINGS, and a single term more common than that is read in the newest
passages alone. User text never reaches MATCH: only terms that our own tokenizer made, each in quotes."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from recollect.base.ids import fresh_key
from recollect.base.moment import Moment
from recollect.model.memory import Memory, Message
from recollect.model.passage import Span, embeddable
from recollect.model.query import (
    Owner,
    PassageEvidence,
    Place,
    TermEvidence,
    VectorEvidence,
    WordEvidence,
)
from recollect.model.session import StateRecord
from recollect.store import rows, tokenizer
from recollect.store.connect import translated_errors
from recollect.store.database import Database
from recollect.store.engine import AMONG, Indexed, IndexRow

if TYPE_CHECKING:
    from recollect.store.passage_index import PassageIndex
    from recollect.store.vectors import Vectors

MAX_TERMS, MAX_UNKNOWN = 16, 10  # a key or a hash falls into many terms that no passage has
MAX_POSTINGS = 3_000
INDEXED_FROM = 2_000  # passages: with fewer the database's own index is as fast
_INDEX = "passage_index"  # the state that says which index file belongs to the database
MAX_QUESTION_CHARS = 4_000  # a pasted log is asked by its beginning
HEAD_CHARS = 400  # of a message: where a turn record says what was asked, found and decided, before all that was said
SHORT_QUESTION, SHORT_ANSWER = (
    250,
    500,
)  # bytes: people talk; a request and an agent's reply are longer
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
STOP_TERMS = frozenset(STOP_WORDS) | frozenset(
    "ar doe els ha hi mai pleas thei thi veri wa ye".split()
)

# The last condition says what the index on groups is made of; without it SQLite would not use it.
_BESIDE = """
    SELECT (SELECT max(seq) FROM memory WHERE "group" = ?1 AND seq < ?2 AND "group" <> ''),
           (SELECT min(seq) FROM memory WHERE "group" = ?1 AND seq > ?2 AND "group" <> '')"""
_BESIDE_MESSAGE = """
    SELECT (SELECT -seq FROM message WHERE thread_id = ?1 AND (at, id) < (g.at, g.id)
            ORDER BY at DESC, id DESC LIMIT 1),
           (SELECT -seq FROM message WHERE thread_id = ?1 AND (at, id) > (g.at, g.id) ORDER BY at, id LIMIT 1)
    FROM message g WHERE g.seq = -?2"""
_SIZE = """SELECT octet_length(content) FROM message WHERE seq = -?1
           UNION ALL SELECT octet_length(body) FROM memory WHERE seq = ?1"""
# What the view `passage_text` says of the passages of one memory. A text is read once and cut here: SQLite would walk
# through all of it for each of its passages.
_TITLES = """
    SELECT title, substr(body, 1, length(rtrim(title, '…'))) = rtrim(title, '…'),
           iif(instr(substr(body, 1, 200), rtrim(title, '…')), '', title), topics, body
    FROM memory WHERE seq = ?"""
_PASSAGES = "FROM passage p LEFT JOIN message g ON g.seq = p.message_seq WHERE p.memory_seq = ? AND p.seq > ?"
_SPANS = f"SELECT p.seq, coalesce(g.id, ''), p.start, p.length, p.voice {_PASSAGES}"
_CONTENTS = f"SELECT DISTINCT g.id, g.content {_PASSAGES} AND g.seq IS NOT NULL"


def _quoted(terms: Iterable[str]) -> str:
    return " AND ".join('"' + term.replace('"', '""') + '"' for term in terms)


class Search(Database):
    def _add_passages(
        self, memory: Memory, found: Iterable[Span], messages: Sequence[Message]
    ) -> None:
        seq = self._seq(memory.id)
        [last] = self._first("SELECT coalesce(max(seq), 0) FROM passage WHERE memory_seq = ?", seq)
        self._put_passages(seq, found)
        self._index(new=[row for _, row in self._indexed(seq, after=last).values()])

    def _remove_passages(self, id: str) -> None:
        seq = self._seq(id)
        self._index(gone=[row for _, row in self._indexed(seq).values()])
        self._db.execute("DELETE FROM passage WHERE memory_seq = ?", (seq,))

    def _indexed(self, seq: int, own: bool = False, after: int = 0) -> Indexed:
        """`after`: only passages with a higher number."""
        memory = self._first(_TITLES, seq)
        if memory is None:
            return {}
        title, begins_with_title, own_title, topics, body = memory
        condition = " AND p.message_seq IS NULL" if own else ""
        contents = dict(self._every(_CONTENTS + condition, seq, after))
        indexed: Indexed = {}
        for number, *cells in self._every(_SPANS + condition, seq, after):
            span = Span(*cells)
            is_head = begins_with_title and not span.message_id and span.start == 0
            text = span.of(contents.get(span.message_id, body))
            row = (number, "" if is_head else title, text, topics)
            indexed[number] = ((span, own_title, text), row)
        return indexed

    def _put_passages(self, seq: int, found: Iterable[Span]) -> None:
        sql = """INSERT INTO passage (memory_seq, message_seq, start, length, voice)
                 VALUES (?, (SELECT seq FROM message WHERE id = ?), ?, ?, ?)"""
        self._db.executemany(
            sql, [(seq, one.message_id, one.start, one.length, one.voice) for one in found]
        )

    def _index(self, gone: Iterable[IndexRow] = (), new: Iterable[IndexRow] = ()) -> None:
        for row in gone:
            self._db.execute(
                "INSERT INTO words(words, rowid, title, body, topics) VALUES ('delete', ?, ?, ?, ?)",
                row,
            )
            self._term_counts.subtract(self._terms_of(row))
        for row in new:
            self._db.execute(
                "INSERT INTO words(rowid, title, body, topics) VALUES (?, ?, ?, ?)", row
            )
            self._term_counts.update(self._terms_of(row))

    def _terms_of(self, row: IndexRow) -> set[str]:
        return {_ALL} | {term for text in row[1:] for term in tokenizer.terms(self._analyse, text)}

    def words(self, question: str, *, most: int = 0) -> WordEvidence:
        """Unknown terms are named, too: a question of which only the small change is known is not well answered."""
        index = None
        with translated_errors(self.path):
            if self._db.in_transaction:  # it finds what was written in it
                self._settle_terms()
            else:
                index = self._index_in_use()
            asked = dict.fromkeys(tokenizer.terms(self._analyse, question[:MAX_QUESTION_CHARS]))
            meaning = [term for term in asked if term not in STOP_TERMS] or list(asked)
            sql = f"SELECT term, passages FROM term WHERE term {AMONG}"  # noqa: S608
            counts = dict(self._every(sql, [_ALL, *meaning]))
            passages = counts.pop(_ALL, 0)
            known = sorted((count, term) for term, count in counts.items() if count)[:MAX_TERMS]
            later, is_whole = self._compare(index) if index else (passages, True)
            chosen, floor = (
                (known, index.last) if index else self._within(known, most or MAX_POSTINGS)
            )
            sql = f"SELECT rowid, {_BM25} FROM words WHERE words MATCH ? AND rowid > ? ORDER BY rowid DESC LIMIT ?"  # noqa: S608
            found = []
            for count, term in chosen:
                # BM25 of the one term, divided by the rarity that SQLite gave it: rarity is pooled over stores later.
                rarity = (
                    max(1e-6, math.log((passages - count + 0.5) / (count + 0.5)))
                    if passages >= count
                    else 1e-6
                )
                rows = (
                    self._every(sql, _quoted([term]), floor, MAX_POSTINGS if index else -1)
                    if later
                    else []
                )
                found.append(TermEvidence(term, count, tuple(rows), -1 / rarity))
            unknown = [term for term in meaning if not counts.get(term)]
            evidence = WordEvidence(
                passages, (*found, *(TermEvidence(term, 0, ()) for term in unknown[:MAX_UNKNOWN]))
            )
            if index is None:
                return evidence
            from recollect.store.passage_index import IndexedWords

            totals = self._value("SELECT block FROM words_data WHERE id = 1")
            return IndexedWords.of(evidence, index, totals, None if is_whole else self._gone)

    def _compare(self, index: PassageIndex) -> tuple[int, bool]:
        """How many passages came after the file was made, and whether none of its own was deleted."""
        sql = "SELECT (SELECT count(*) FROM passage WHERE seq > ?), (SELECT passages FROM term WHERE term = ?)"
        later, all_passages = self._first(sql, index.last, _ALL)
        return later, (all_passages or 0) - later == len(index.passages)

    def _gone(self, passages: list[int]) -> set[int]:
        sql = f"SELECT seq FROM passage WHERE seq {AMONG}"  # noqa: S608
        return set(passages) - {seq for (seq,) in self._every(sql, passages)}

    # The index file (passage_index.py). It is opened when vectors are asked for: to check it takes as long as a few
    # questions by words.

    def _index_key(self) -> str:
        found = self._first("SELECT value FROM state WHERE name = ?", _INDEX)
        return str(found[0]) if found else ""

    def _index_in_use(self) -> PassageIndex | None:
        return self._file if self._file and self._file.key == self._index_key() else None

    def _open_index(self) -> PassageIndex | None:
        key = self._index_key()
        if key != self._tried_key and self.path is not None:
            from recollect.store.passage_index import open_index

            self._tried_key, self._file = key, open_index(self._index_path, key) if key else None
        return self._file

    @property
    def _index_path(self) -> Path:
        return Path(self.path or "").with_suffix(".index")

    def lacks_index(self, model: str) -> bool:
        """Whether a new index file would be worth its while."""
        [passages] = self._first("SELECT coalesce((SELECT passages FROM term WHERE term = ''), 0)")
        if self.path is None or passages < INDEXED_FROM:
            return False
        index, spare = self._open_index(), INDEXED_FROM + passages // 50
        if index is None:
            return True
        vectors = self._value(
            "SELECT coalesce((SELECT vectors FROM vector_count WHERE model = ?), 0)", model
        )
        held = len(index.vectors) if index.model == model else 0
        later, _ = self._compare(index)
        return bool(
            max(later, vectors - held, (len(index.passages) + later - passages) // 5) > spare
        )

    def build_index(self, model: str) -> Iterator[None]:
        """In small steps. Nothing where the database was purged or reindexed meanwhile."""
        if self.path is None:
            return
        from recollect.store.passage_index import open_index, write_index

        self._remove_index_files(".*")  # of builds that were cut off
        before, key = self._index_key(), fresh_key()
        unfinished = self._index_path.with_name(f"{self._index_path.name}.{key}")
        try:
            yield from write_index(unfinished, self._every, model, key)
            is_sound = open_index(unfinished, key) is not None
            with self.transaction():
                if is_sound and self._index_key() == before:
                    unfinished.replace(self._index_path)
                    self.put(StateRecord(_INDEX, key))
        finally:
            unfinished.unlink(missing_ok=True)

    def _drop_index(self) -> None:
        """Another key, so that none that is being built is used."""
        if self.path is not None:
            self.put(StateRecord(_INDEX, fresh_key()))
            self._remove_index_files("*")

    def _remove_index_files(self, ending: str) -> None:
        for file in self._index_path.parent.glob(f"{self._index_path.name}{ending}"):
            file.unlink(missing_ok=True)

    def about(self, topic: str, limit: int) -> list[int]:
        by_id = self._first("SELECT seq FROM memory WHERE id = ?", topic)
        terms = tokenizer.terms(self._analyse, topic)[:MAX_TERMS]
        if by_id or not terms:
            return [int(by_id[0])] if by_id else []
        asked = _quoted(dict.fromkeys(terms))
        sql = """SELECT DISTINCT p.memory_seq FROM
                    (SELECT rowid FROM words WHERE words MATCH ? ORDER BY rowid DESC LIMIT ?) w
                    JOIN passage p ON p.seq = w.rowid JOIN memory m ON m.seq = p.memory_seq
                    WHERE m.status IN ('active', 'suspended') AND instr(lower(m.title), lower(?))"""
        # A title that was made from the text is not indexed as one: its words are at the head of the body.
        asked_in = ((f"{{title topics}} : ({asked})", ""), (asked, topic))
        found = {
            int(seq) for match, part in asked_in for (seq,) in self._every(sql, match, limit, part)
        }
        return sorted(found, reverse=True)

    def nearest(
        self, model: str, question: bytes, count: int, also: Sequence[int], *, voice: float = 0.0
    ) -> VectorEvidence:
        vectors = self._refreshed(model)
        while near := vectors.nearest(question, count, also, voice):
            # Of those near, some may have been deleted since the index file was made: without them others come up.
            found = set(vectors.passages_of(near)) if vectors.stale else set()
            sql = f"SELECT passage_seq FROM vector WHERE model = ? AND passage_seq {AMONG}"  # noqa: S608
            gone = (
                found - {seq for (seq,) in self._every(sql, model, list(found))} if found else found
            )
            if not gone:
                break
            vectors.forget(gone)
        missing = """SELECT max(0, coalesce((SELECT passages FROM term WHERE term = ''), 0)
                     - coalesce((SELECT vectors FROM vector_count WHERE model = ?), 0))"""
        return VectorEvidence(near, self._value(missing, model), vectors.background(question))

    def similarity(
        self,
        model: str,
        question: bytes,
        ids: Sequence[str],
        more: Sequence[tuple[str, bytes]] = (),
    ) -> dict[str, float]:
        """By the nearest passage of its body and of the heads of its messages."""
        from recollect.store.vectors import closest, pack

        sql = """SELECT m.id, v.data FROM memory m JOIN passage p ON p.memory_seq = m.seq
                    JOIN vector v ON v.passage_seq = p.seq AND v.model = ?
                    WHERE m.id IN (SELECT value FROM json_each(?)) AND (p.message_seq IS NULL OR p.start < ?)"""
        kept = self._every(sql, model, list(ids), HEAD_CHARS)
        return closest(question, [*kept, *((id, pack(vector)) for id, vector in more)])

    def similar_pairs(
        self, model: str, memories: Sequence[int], above: float, more: list[tuple[int, int, bytes]]
    ) -> list[tuple[int, int, float]]:
        return self._refreshed(model).pairs(memories, above, more)

    def load_vectors(self, model: str) -> None:
        self._refreshed(model)

    def _refreshed(self, model: str) -> Vectors:
        from recollect.store.vectors import Vectors

        index, vectors = self._open_index(), self._vectors.get(model)
        base = index.vectors if index and index.model == model else None
        if vectors is None or vectors.taken_from is not base:
            vectors = Vectors(model, base)
        self._vectors = {model: vectors}  # whoever asks by another model does so from now on
        vectors.refresh(self._every)
        return vectors

    def vectorless(self, model: str, limit: int) -> list[tuple[int, str]]:
        sql = """SELECT t.seq, t.own_title, t.body FROM passage_text t
                    WHERE NOT EXISTS (SELECT 1 FROM vector v WHERE v.passage_seq = t.seq AND v.model = ?)
                    ORDER BY t.seq LIMIT ?"""
        return [
            (int(seq), embeddable(title, body))
            for seq, title, body in self._every(sql, model, limit)
        ]

    def put_vectors(
        self, model: str, vectors: list[tuple[int, bytes]], *, drop_others: int = 0
    ) -> int:
        if not vectors and not self._first(
            "SELECT 1 FROM vector_count WHERE model <> ? AND vectors > 0", model
        ):
            return 0
        from recollect.store.vectors import pack

        with self.transaction():
            sql = """INSERT INTO vector SELECT ?1, ?2, ?3, ?4 WHERE EXISTS (SELECT 1 FROM passage WHERE seq = ?1)
                     ON CONFLICT DO UPDATE SET data = excluded.data, hash = excluded.hash"""
            self._db.executemany(
                sql, [(seq, *rows.sealed((model, pack(vector)))) for seq, vector in vectors]
            )
            if not drop_others:
                return 0
            others = "SELECT passage_seq, model FROM vector WHERE model <> ? LIMIT ?"
            sql = f"DELETE FROM vector WHERE (passage_seq, model) IN ({others})"  # noqa: S608
            self._db.execute(sql, (model, drop_others))
            return self._db.changes()

    def owners(self, passages: Sequence[int]) -> dict[int, Owner]:
        sql = f"SELECT seq, memory_seq, unit, voice FROM passage WHERE seq {AMONG}"  # noqa: S608
        index = self._index_in_use()
        found = index.owners(passages) if index and self._compare(index)[1] else {}
        missing = [seq for seq in passages if seq not in found]
        return found | {
            seq: Owner(*cells) for seq, *cells in (self._every(sql, missing) if missing else ())
        }

    def pieces(
        self, units: Sequence[int], model: str = "", question: bytes = b""
    ) -> list[PassageEvidence]:
        bodies = """SELECT unit, seq, start, length, 0.0 FROM json_each(?) w
                    JOIN passage ON memory_seq = w.value AND message_seq IS NULL ORDER BY unit, start"""
        turns = """SELECT p.unit, p.seq, p.start, p.length, 0.0 FROM json_each(?) w JOIN message g ON g.seq = -w.value
                  JOIN memory m ON m.id = g.thread_id JOIN passage p ON p.memory_seq = m.seq AND p.message_seq = g.seq
                  ORDER BY p.unit, p.start"""
        found = [
            PassageEvidence(*cells)
            for sql in (bodies, turns)
            for cells in self._every(sql, list(units))
        ]
        if not model:
            return found
        near = self._refreshed(model).closeness_of(question, [one.passage for one in found])
        return [one._replace(near=how) for one, how in zip(found, near, strict=True)]

    def places(self, units: Sequence[int], *, neighbours: int) -> dict[int, Place]:
        asks = (
            "octet_length({0}) <= ?2 AND substr(rtrim({0}, ' ' || char(10)), -1) IN ('?', '\uff1f')"
        )
        sql = f"""SELECT seq, {asks.format("body")}, "group", iif("group" = '', 0, octet_length(body)), created_at,
                    last_active_at FROM memory WHERE seq IN (SELECT value FROM json_each(?1))
                    UNION ALL SELECT -seq, {asks.format("content")}, thread_id, 0, at, at FROM message
                    WHERE seq IN (SELECT -value FROM json_each(?1) WHERE value < 0)"""  # noqa: S608
        read = self._every(sql, list(units), SHORT_QUESTION)
        asking = {unit for unit, is_question, *_ in read if is_question}
        found = {
            unit: Place(group, (), (), size, (Moment(created), Moment(active)))
            for unit, _, group, size, created, active in read
        }
        for unit in units[:neighbours]:
            if (place := found.get(unit)) and place.group:
                pair = self._first(_BESIDE if unit > 0 else _BESIDE_MESSAGE, place.group, unit)
                before, after = (() if one is None else (one,) for one in pair)
                is_answered = (
                    unit in asking and after and self._value(_SIZE, *after) <= SHORT_ANSWER
                )
                found[unit] = place._replace(before=before, after=after, asks=bool(is_answered))
        return found
