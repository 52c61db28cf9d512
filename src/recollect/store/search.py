"""What a store knows about a question by vectors, and where each thing that was found is. Ranks nothing.

Full text is words.py's, the matrix of vectors vectors.py's (loaded when vectors are first asked for).
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import TYPE_CHECKING

from recollect.base.moment import Moment
from recollect.model.memory import Memory, Message
from recollect.model.passage import embeddable
from recollect.model.query import Owner, PassageEvidence, Place, VectorEvidence
from recollect.store import rows, tokenizer
from recollect.store.database import AMONG
from recollect.store.words import Words, quoted

if TYPE_CHECKING:
    from recollect.store.vectors import Vectors

_TOPIC_TERMS = 10
HEAD_CHARS = 400  # of a message: where a turn record says what was asked, found and decided, before all that was said
# The last condition says what the index on groups is made of; without it SQLite would not use it.
_BESIDE = """
    SELECT (SELECT max(seq) FROM memory WHERE "group" = ?1 AND seq < ?2 AND "group" <> ''),
           (SELECT min(seq) FROM memory WHERE "group" = ?1 AND seq > ?2 AND "group" <> '')"""
_BESIDE_MESSAGE = """
    SELECT (SELECT -seq FROM message WHERE thread_id = ?1 AND (at, id) < (g.at, g.id)
            ORDER BY at DESC, id DESC LIMIT 1),
           (SELECT -seq FROM message WHERE thread_id = ?1 AND (at, id) > (g.at, g.id) ORDER BY at, id LIMIT 1)
    FROM message g WHERE g.seq = -?2"""


class Search(Words):
    def about(self, topic: str, limit: int) -> list[int]:
        """Memories with this id, or with the words of the topic in their title or topics; newest first."""
        by_id = self._first("SELECT seq FROM memory WHERE id = ?", topic)
        terms = tokenizer.terms(self._analyse, topic)[:_TOPIC_TERMS]
        if by_id or not terms:
            return [int(by_id[0])] if by_id else []
        asked = " AND ".join(map(quoted, dict.fromkeys(terms)))
        # A title that was made from the text is not indexed as one: its words are at the head of the body.
        sql = """SELECT DISTINCT p.memory_seq FROM
                    (SELECT rowid FROM words WHERE words MATCH ?1 ORDER BY rowid DESC LIMIT ?3) w
                    JOIN passage p ON p.seq = w.rowid JOIN memory m ON m.seq = p.memory_seq
                    WHERE m.status IN ('active', 'suspended')
                    UNION SELECT p.memory_seq FROM
                    (SELECT rowid FROM words WHERE words MATCH ?2 ORDER BY rowid DESC LIMIT ?3) w
                    JOIN passage p ON p.seq = w.rowid JOIN memory m ON m.seq = p.memory_seq
                    WHERE m.status IN ('active', 'suspended') AND instr(lower(m.title), lower(?4))
                    ORDER BY 1 DESC"""
        return [int(seq) for (seq,) in self._every(sql, f"{{title topics}} : ({asked})", asked, limit, topic)]

    # Vectors

    def nearest(
        self, model: str, question: bytes, count: int, also: Sequence[int], *, voice: float = 0.0
    ) -> VectorEvidence:
        """By 32-bit floats: the nearest units, and how near those of `also` are. `voice`: how much more a passage
        counts that is all in the first person."""
        vectors = self._refreshed(model)
        near = vectors.nearest(question, count, also, voice)
        # Of those near, some may have been deleted since they were loaded: without them others come up.
        passages = f"SELECT seq FROM passage WHERE memory_seq {AMONG}"  # noqa: S608
        while vectors.stale and near:
            memories = list({one.memory for one in near.values()})
            if not vectors.forget(memories, [seq for (seq,) in self._every(passages, list(memories))]):
                break
            near = vectors.nearest(question, count, also, voice)
        missing = """SELECT max(0, coalesce((SELECT passages FROM term WHERE term = ''), 0)
                     - coalesce((SELECT vectors FROM vector_count WHERE model = ?), 0))"""
        return VectorEvidence(near, self._value(missing, model), vectors.background(question))

    def similarity(
        self, model: str, question: bytes, ids: Sequence[str], more: Sequence[tuple[str, bytes]] = ()
    ) -> dict[str, float]:
        """The cosine of each of these memories, by the nearest passage of its body and of the heads of its messages;
        those without a vector are left out. `more`: vectors of theirs that are not stored."""
        from recollect.store.vectors import closest, pack

        sql = """SELECT m.id, v.data FROM memory m JOIN passage p ON p.memory_seq = m.seq
                    JOIN vector v ON v.passage_seq = p.seq AND v.model = ?
                    WHERE m.id IN (SELECT value FROM json_each(?)) AND (p.message_seq IS NULL OR p.start < ?)"""
        kept = self._every(sql, model, list(ids), HEAD_CHARS)
        return closest(question, [*kept, *((id, pack(vector)) for id, vector in more)])

    def similar_pairs(
        self, model: str, memories: Sequence[int], above: float, more: list[tuple[int, int, bytes]]
    ) -> list[tuple[int, int, float]]:
        """Those pairs of these memories that are nearer than `above`, nearest first. Found among neighbours, so a
        few may be missed. `more`: vectors that are not stored (passage, memory, floats)."""
        return self._refreshed(model).with_more(more).pairs(memories, above)

    def share_vectors(self, other: Search) -> None:
        """Take over what another connection to the same file has in memory: reading it takes seconds in a
        large store. From then on each refreshes its own."""
        self._vectors = {model: copy.copy(vectors) for model, vectors in other._vectors.items()}

    def _refreshed(self, model: str) -> Vectors:
        from recollect.store.vectors import Vectors

        vectors = self._vectors[model] if model in self._vectors else Vectors(model)
        self._vectors = {model: vectors}  # whoever asks by another model does so from now on
        vectors.refresh(self._every)
        return vectors

    def vectorless(self, model: str, limit: int) -> list[tuple[int, str]]:
        """Passages (number, text) that have no vector of this model yet."""
        sql = """SELECT t.seq, t.own_title, t.body FROM passage_text t
                    WHERE NOT EXISTS (SELECT 1 FROM vector v WHERE v.passage_seq = t.seq AND v.model = ?)
                    ORDER BY t.seq LIMIT ?"""
        return [(int(seq), embeddable(title, body)) for seq, title, body in self._every(sql, model, limit)]

    def put_vectors(self, model: str, vectors: list[tuple[int, bytes]], *, drop_others: int = 0) -> int:
        """By passage; also removes up to so many vectors of other models, and returns how many."""
        others = "SELECT 1 FROM vector_count WHERE model <> ? AND vectors > 0"
        if not vectors and not self._first(others, model):
            return 0
        from recollect.store.vectors import pack

        with self.transaction():
            self._db.executemany(
                """INSERT INTO vector SELECT ?1, ?2, ?3, ?4
                   WHERE EXISTS (SELECT 1 FROM passage WHERE seq = ?1)
                   ON CONFLICT DO UPDATE SET data = excluded.data, hash = excluded.hash""",
                [(seq, *rows.sealed((model, pack(vector)))) for seq, vector in vectors],
            )
            if not drop_others:
                return 0
            self._db.execute(
                """DELETE FROM vector WHERE (passage_seq, model) IN
                   (SELECT passage_seq, model FROM vector WHERE model <> ? LIMIT ?)""",
                (model, drop_others),
            )
            return self._db.changes()

    # Passages and units

    def owners(self, passages: Sequence[int]) -> dict[int, Owner]:
        sql = f"SELECT seq, memory_seq, unit, voice FROM passage WHERE seq {AMONG}"  # noqa: S608
        found = self._every(sql, list(passages))
        return {seq: Owner(memory, unit, voice) for seq, memory, unit, voice in found}

    def pieces(self, units: Sequence[int], model: str = "", question: bytes = b"") -> list[PassageEvidence]:
        """The passages of these units in the order of their text, and how near each is."""
        bodies = """SELECT unit, seq, start, length, 0.0 FROM json_each(?) w
                    JOIN passage ON memory_seq = w.value AND message_seq IS NULL ORDER BY unit, start"""
        turns = """SELECT p.unit, p.seq, p.start, p.length, 0.0 FROM json_each(?) w JOIN message g ON g.seq = -w.value
                  JOIN memory m ON m.id = g.thread_id JOIN passage p ON p.memory_seq = m.seq AND p.message_seq = g.seq
                  ORDER BY p.unit, p.start"""
        listed = list(units)
        found = [PassageEvidence(*cells) for sql in (bodies, turns) for cells in self._every(sql, listed)]
        if not model:
            return found
        near = self._refreshed(model).closeness_of(question, [one.passage for one in found])
        return [one._replace(near=how) for one, how in zip(found, near, strict=True)]

    def places(self, units: Sequence[int], *, neighbours: int) -> dict[int, Place]:
        """The groups and times of units; for the first `neighbours` of them also their neighbours."""
        sql = """SELECT seq, "group", iif("group" = '', 0, octet_length(body)), created_at, last_active_at
                    FROM memory WHERE seq IN (SELECT value FROM json_each(?1))
                    UNION ALL SELECT -seq, thread_id, 0, at, at FROM message
                    WHERE seq IN (SELECT -value FROM json_each(?1) WHERE value < 0)"""
        found = {
            unit: Place(group, (), (), size, (Moment(created), Moment(active)))
            for unit, group, size, created, active in self._every(sql, list(units))
        }
        for unit in units[:neighbours]:
            if (place := found.get(unit)) and place.group:
                pair = self._first(_BESIDE if unit > 0 else _BESIDE_MESSAGE, place.group, unit)
                before, after = (() if one is None else (one,) for one in pair)
                found[unit] = place._replace(before=before, after=after)
        return found

    def read_units(self, units: Sequence[int]) -> list[tuple[int, Memory, Message | None]]:
        """Each unit with its memory, and its message where it is one; in the order asked for."""
        turns: dict[int, tuple[int, Message]] = {}
        if any(unit < 0 for unit in units):
            sql = f"""
                SELECT -g.seq, m.seq, {rows.select("message", prefix="g.")} FROM json_each(?) w
                JOIN message g ON g.seq = -w.value JOIN memory m ON m.id = g.thread_id"""  # noqa: S608
            found = self._every(sql, [unit for unit in units if unit < 0])
            turns = {unit: (seq, rows.to_value(Message, cells)) for unit, seq, *cells in found}
        owners = {unit: turns[unit][0] if unit in turns else unit for unit in units}
        sql = f"SELECT seq, {rows.select('memory')} FROM memory WHERE seq {AMONG}"  # noqa: S608
        listed = list(set(owners.values()))
        memories = {seq: rows.to_value(Memory, cells) for seq, *cells in self._every(sql, listed)}
        return [
            (unit, memories[seq], turns[unit][1] if unit in turns else None)
            for unit, seq in owners.items()
            if seq in memories
        ]
