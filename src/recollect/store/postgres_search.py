"""The evidence that a team's store has on a question: by words, by vectors, and where each thing that was found is.
Ranks nothing. As search.py does it for SQLite; nearness is computed by the server, which sends numbers, not vectors."""

from __future__ import annotations

import struct
from collections.abc import Sequence

from recollect.base.moment import Moment
from recollect.model.passage import embeddable
from recollect.model.query import (
    Background,
    Nearness,
    Owner,
    PassageEvidence,
    Place,
    TermEvidence,
    VectorEvidence,
    WordEvidence,
)
from recollect.store import rows, search, tokenizer
from recollect.store.engine import AMONG
from recollect.store.postgres_database import TeamDatabase, analyse, key_of

EXACT_UP_TO = 50_000  # passages of a tenant that are all compared, in some 60 ms; beyond that the index is asked
_SAMPLED = 500  # passages that tell how near a store is to a question on the whole
_INDEXED_DIM = 384
_K1, _B = 1.2, 0.75  # as in FTS5
_LARGEST_HALF = 65_504.0


class TeamSearch(TeamDatabase):
    # Words

    def words(self, question: str, *, most: int = 0) -> WordEvidence:
        if self._db.in_transaction:  # it finds what was written in it
            self._settle()
        asked = {
            key_of(term): term
            for term in tokenizer.terms(analyse(), question[: search.MAX_QUESTION_CHARS])
        }
        meaning = [key for key, term in asked.items() if term not in search.STOP_TERMS] or list(
            asked
        )
        sql = f"SELECT term, passages FROM term WHERE term {AMONG}"  # noqa: S608
        counts = dict(self._every(sql, ["", *meaning]))
        passages = counts.pop("", 0)
        known = sorted((count, key) for key, count in counts.items() if count)[: search.MAX_TERMS]
        chosen, floor = self._within(known, most or search.MAX_POSTINGS)
        strengths: dict[str, list[tuple[int, float]]] = {key: [] for _, key in chosen}
        if chosen:
            sql = f"""SELECT term, passage_seq, frequency, size, (SELECT words FROM counter) FROM posting
                      WHERE term {AMONG} AND passage_seq > ? ORDER BY passage_seq DESC"""  # noqa: S608
            for key, passage, frequency, size, total in self._every(sql, list(strengths), floor):
                average = max(
                    1.0,
                    (total if not self._db.in_transaction else self._counters["words"]) / passages,
                )
                length = 1 - _B + _B * size / average
                strengths[key].append((passage, frequency * (_K1 + 1) / (frequency + _K1 * length)))
        found = [TermEvidence(asked[key], count, tuple(strengths[key])) for count, key in chosen]
        unknown = [asked[key] for key in meaning if not counts.get(key)]
        return WordEvidence(
            passages,
            (*found, *(TermEvidence(term, 0, ()) for term in unknown[: search.MAX_UNKNOWN])),
        )

    def about(self, topic: str, limit: int) -> list[int]:
        if self._db.in_transaction:
            self._settle()
        by_id = self._first("SELECT seq FROM memory WHERE id = ?", topic)
        terms = list(
            dict.fromkeys(map(key_of, tokenizer.terms(analyse(), topic)[: search.MAX_TERMS]))
        )
        if by_id or not terms:
            return [int(by_id[0])] if by_id else []
        # A title that was made from the text is not indexed as one: its words are at the head of the body.
        sql = f"""WITH fitting AS (SELECT passage_seq, bool_and(is_name) AS is_name FROM posting WHERE term {AMONG}
                      GROUP BY passage_seq HAVING count(*) = ?2)
                  SELECT DISTINCT m.seq FROM (
                      (SELECT passage_seq, '' AS part FROM fitting WHERE is_name ORDER BY passage_seq DESC LIMIT ?3)
                      UNION ALL (SELECT passage_seq, ?4 FROM fitting ORDER BY passage_seq DESC LIMIT ?3)) w
                  JOIN passage p ON p.seq = w.passage_seq JOIN memory m ON m.seq = p.memory_seq
                  WHERE m.status IN ('active', 'suspended') AND strpos(lower(m.title), lower(w.part COLLATE "C")) > 0
                  ORDER BY m.seq DESC"""  # noqa: S608
        return [seq for (seq,) in self._every(sql, terms, len(terms), limit, topic)]

    # Vectors

    def nearest(
        self, model: str, question: bytes, count: int, also: Sequence[int], *, voice: float = 0.0
    ) -> VectorEvidence:
        sql = """SELECT coalesce((SELECT passages FROM term WHERE term = ''), 0),
                 coalesce((SELECT max(seq) FROM passage), 0)"""
        passages, last = self._first(sql)
        _, asked = _half(question)
        dim, near = len(question) // 4, self._near("v.data")
        sql = f"""SELECT count(*), count(near), coalesce(sum(near), 0), coalesce(sum(near * near), 0) FROM (
                  SELECT {near.format("?1")} AS near FROM passage p
                  LEFT JOIN vector v ON v.passage_seq = p.seq AND v.model = ?2 AND v.dim = ?3
                  WHERE p.seq = ANY(?4::bigint[])) sample"""  # noqa: S608
        step = max(1, -(-last // _SAMPLED))
        looked_at, *sums = self._first(sql, asked, model, dim, list(range(step, last + 1, step)))
        if is_small := passages <= EXACT_UP_TO:
            vectors = self._value("SELECT count(*) FROM vector WHERE model = ?", model)
        else:  # to count them would take longer than the search
            vectors = passages * sums[0] // max(1, looked_at)
        missing = max(0, passages - vectors)
        if is_small and not vectors:
            return VectorEvidence({}, missing)
        units = [*self._nearest_units(model, asked, dim, count, is_small=is_small), *also]
        # The mean of several passages is their sum, made as long as the question: its length is the divisor.
        length = f"{self._vector}.vector_norm({self._vector}.sum(data::{self._vector}.vector))"
        sql = f"""SELECT unit, max(near), sum(near) / CASE WHEN count(*) > 1 THEN greatest({length}, 1e-9) ELSE 1 END,
                      max(memory_seq), max(near * (1 + ?4::float8 / 100 * voice))
                  FROM (SELECT p.unit, p.memory_seq, p.voice, v.data, {near.format("?1")} AS near
                        FROM passage p JOIN vector v ON v.passage_seq = p.seq
                        WHERE v.model = ?2 AND v.dim = ?3 AND p.unit = ANY(?5)) one GROUP BY unit"""  # noqa: S608
        found = self._every(sql, asked, model, dim, voice, list(set(units)))
        return VectorEvidence(
            {unit: Nearness(*cells) for unit, *cells in found}, missing, Background(*sums)
        )

    def _near(self, column: str) -> str:
        """How near a column is to the question, whose place is still to be named."""
        return f"-({column} OPERATOR({self._vector}.<#>) {{0}}::{self._vector}.halfvec)"

    def _nearest_units(
        self, model: str, asked: str, dim: int, count: int, *, is_small: bool
    ) -> list[int]:
        def find(column: str, *settings: str) -> list[int]:
            sql = f"""SELECT p.unit FROM (SELECT passage_seq FROM vector v WHERE v.model = ?1 AND v.dim = {dim}
                          ORDER BY {column} OPERATOR({self._vector}.<=>) ?2::{self._vector}.halfvec({dim}) LIMIT ?3) n
                      JOIN passage p ON p.seq = n.passage_seq"""  # noqa: S608
            with self._reading(*settings):
                return [unit for (unit,) in self._every(sql, model, asked, count)]

        # Of data itself no index is made. The planner does not know which tenant asks, and would read those of all.
        exact = ("v.data", "SET LOCAL enable_seqscan = off")
        if is_small or dim != _INDEXED_DIM:
            return find(*exact)
        # The index is shared: without these it would give up before it has found enough of this tenant's. It need not
        # keep the order, for which it would leave out some; nor stop at `count`: recall@5 at a million is .97, not .93.
        found = find(
            f"(v.data::{self._vector}.halfvec({dim}))", "SET LOCAL hnsw.iterative_scan = relaxed_order",
            "SET LOCAL hnsw.max_scan_tuples = 200000",
            f"SET LOCAL hnsw.ef_search = {min(1_000, max(40, 2 * count))}",
        )  # fmt: skip
        return found if len(found) >= count else find(*exact)

    def load_vectors(self, model: str) -> None:
        """The server has them."""

    def similarity(
        self,
        model: str,
        question: bytes,
        ids: Sequence[str],
        more: Sequence[tuple[str, bytes]] = (),
    ) -> dict[str, float]:
        """By the nearest passage of its body and of the heads of its messages."""
        sql = f"""SELECT m.id, max({self._near("v.data").format("?1")}) FROM memory m
                  JOIN passage p ON p.memory_seq = m.seq JOIN vector v ON v.passage_seq = p.seq
                  WHERE v.model = ?2 AND v.dim = ?3 AND (p.message_seq IS NULL OR p.start < ?4) AND m.id = ANY(?5)
                  GROUP BY m.id"""  # noqa: S608
        asked = (_half(question)[1], model, len(question) // 4, search.HEAD_CHARS, list(ids))
        found: dict[str, float] = dict(self._every(sql, *asked))
        if more:
            from recollect.store.vectors import closest, pack

            for id, near in closest(question, ((id, pack(vector)) for id, vector in more)).items():
                found[id] = max(near, found.get(id, -1.0))
        return found

    def vectorless(self, model: str, limit: int) -> list[tuple[int, str]]:
        condition = """NOT EXISTS (SELECT 1 FROM vector v WHERE v.passage_seq = p.seq AND v.model = ?)
                       ORDER BY p.seq LIMIT ?"""
        found = self._passages(condition, model, limit)
        return [(seq, embeddable(own_title, body)) for seq, _, (_, body, _, own_title) in found]

    def put_vectors(
        self, model: str, vectors: list[tuple[int, bytes]], *, drop_others: int = 0
    ) -> int:
        if not vectors and not self._first("SELECT 1 FROM vector WHERE model <> ? LIMIT 1", model):
            return 0
        with self.transaction():
            self._has_written = True
            halves = [
                (seq, len(vector) // 4, *_half(vector)) for seq, vector in dict(vectors).items()
            ]
            sql = f"""INSERT INTO vector (tenant, passage_seq, model, dim, data, hash)
                      SELECT ?1, v.seq, ?2, v.dim, v.data::{self._vector}.halfvec, v.hash
                      FROM unnest(?3::bigint[], ?4::integer[], ?5::text[], ?6::bytea[]) v (seq, dim, data, hash)
                      WHERE EXISTS (SELECT 1 FROM passage p WHERE p.seq = v.seq)
                      ON CONFLICT (tenant, passage_seq, model)
                      DO UPDATE SET dim = excluded.dim, data = excluded.data, hash = excluded.hash"""  # noqa: S608
            if halves:
                seqs, dims, data, texts = map(list, zip(*halves, strict=True))
                hashes = [rows.seal((model, one)) for one in data]
                self._every(sql, self.tenant, model, seqs, dims, texts, hashes)
            if not drop_others:
                return 0
            sql = """DELETE FROM vector WHERE (passage_seq, model) IN
                     (SELECT passage_seq, model FROM vector WHERE model <> ? ORDER BY 1 LIMIT ?) RETURNING 1"""
            return len(self._every(sql, model, drop_others))

    # Where it is

    def owners(self, passages: Sequence[int]) -> dict[int, Owner]:
        sql = f"SELECT seq, memory_seq, unit, voice FROM passage WHERE seq {AMONG}"  # noqa: S608
        return {seq: Owner(*cells) for seq, *cells in self._every(sql, list(passages))}

    def pieces(
        self, units: Sequence[int], model: str = "", question: bytes = b""
    ) -> list[PassageEvidence]:
        near = (
            f"CASE WHEN v.dim = ?3 THEN {self._near('v.data').format('?2')} ELSE 0.0 END"
            if model
            else "0.0"
        )
        joined = "LEFT JOIN vector v ON v.passage_seq = p.seq AND v.model = ?4" if model else ""
        sql = f"""SELECT p.unit, p.seq, p.start, p.length, coalesce({near}, 0.0)::float8 FROM passage p {joined}
                  WHERE p.unit = ANY(?1) ORDER BY p.unit < 0, p.unit, p.start"""  # noqa: S608
        more = (_half(question)[1], len(question) // 4, model) if model else ()
        return [PassageEvidence(*cells) for cells in self._every(sql, list(units), *more)]

    def places(self, units: Sequence[int], *, neighbours: int) -> dict[int, Place]:
        asks = "octet_length({0}) <= ?2 AND right(rtrim({0}, E' \\n'), 1) IN (chr(63), chr(65311))"
        sql = f"""SELECT seq, {asks.format("body")}, "group", CASE WHEN "group" = '' THEN 0 ELSE octet_length(body) END,
                    created_at, last_active_at FROM memory WHERE seq = ANY(?1)
                    UNION ALL SELECT -seq, {asks.format("content")}, thread_id, 0, at, at FROM message
                    WHERE seq = ANY(?3)"""  # noqa: S608
        read = self._every(sql, list(units), search.SHORT_QUESTION, [-unit for unit in units])
        asking = {unit for unit, is_question, *_ in read if is_question}
        found = {
            unit: Place(group, (), (), size, (Moment(created), Moment(active)))
            for unit, _, group, size, created, active in read
        }
        near = [unit for unit in units[:neighbours] if unit in found and found[unit].group]
        for unit, before, after in self._beside(near):
            found[unit] = found[unit]._replace(
                before=() if before is None else (before,), after=() if after is None else (after,)
            )
        answered = [unit for unit in near if unit in asking and found[unit].after]
        sizes = self._sizes([found[unit].after[0] for unit in answered])
        for unit in answered:
            is_short = sizes.get(found[unit].after[0], 0) <= search.SHORT_ANSWER
            found[unit] = found[unit]._replace(asks=is_short)
        return found

    def _beside(self, units: list[int]) -> list[tuple[int, int | None, int | None]]:
        same = 'm.group_head = u.group_head AND m."group" = u."group" AND m."group" <> \'\''
        memories = f"""SELECT u.seq, (SELECT max(m.seq) FROM memory m WHERE {same} AND m.seq < u.seq),
                       (SELECT min(m.seq) FROM memory m WHERE {same} AND m.seq > u.seq)
                       FROM memory u WHERE u.seq = ANY(?)"""  # noqa: S608
        messages = """SELECT -g.seq,
            (SELECT -m.seq FROM message m WHERE m.thread_id = g.thread_id AND (m.at, m.id) < (g.at, g.id)
             ORDER BY m.at DESC, m.id DESC LIMIT 1),
            (SELECT -m.seq FROM message m WHERE m.thread_id = g.thread_id AND (m.at, m.id) > (g.at, g.id)
             ORDER BY m.at, m.id LIMIT 1) FROM message g WHERE g.seq = ANY(?)"""
        bodies, turns = [unit for unit in units if unit > 0], [-unit for unit in units if unit < 0]
        return [
            *(self._every(memories, bodies) if bodies else ()),
            *(self._every(messages, turns) if turns else ()),
        ]

    def _sizes(self, units: list[int]) -> dict[int, int]:
        sql = """SELECT -seq, octet_length(content) FROM message WHERE seq = ANY(?1)
                 UNION ALL SELECT seq, octet_length(body) FROM memory WHERE seq = ANY(?2)"""
        return dict(self._every(sql, [-unit for unit in units], units)) if units else {}


def _half(vector: bytes) -> tuple[bytes, str]:
    """A vector of 32-bit floats in 16 bits each: as the server sends it, and as it reads it."""
    count = len(vector) // 4
    values = struct.unpack(f"<{count}f", vector)
    limited = (
        0.0 if one != one else max(-_LARGEST_HALF, min(_LARGEST_HALF, one)) for one in values
    )
    packed = struct.pack(f">{count}e", *limited)
    return packed, f"[{','.join(map(repr, struct.unpack(f'>{count}e', packed)))}]"
