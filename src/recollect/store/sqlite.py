"""The store on SQLite: one connection, reads, and the one way to write.

Opening is connect.py's, versions are migrate.py's, changes.py turns changes into rows, verify.py and care.py
look after them.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from recollect.base.errors import Conflict, NotFound, StoreError
from recollect.base.moment import Moment
from recollect.model.bridge import Bridge
from recollect.model.evidence import Background, Owner, PassageEvidence, Place, VectorEvidence, WordEvidence
from recollect.model.memory import Memory, Message, Sketch, Status, Thread
from recollect.model.passage import embeddable
from recollect.model.plan import Change, Plan, Remove, Unlink
from recollect.model.query import Query
from recollect.model.report import Counts, Entry, Finding
from recollect.store import care, journal, migrate, outcomes, reads, rows, sql, tokenizer, verify, words
from recollect.store.changes import Changes
from recollect.store.connect import Tuning, connect, in_our_words, use_wal
from recollect.store.outcomes import SqliteOutcomes
from recollect.store.protocol import Act, Progress, Store, silent
from recollect.store.sessions import SqliteSessions

if TYPE_CHECKING:
    from recollect.store.vectors import Vectors

_RECALLS_KEPT = 1_000


class SqliteStore:
    def __init__(self, path: Path | None, tuning: Tuning, *, read_only: bool = False) -> None:
        self._path = path
        self._tuning = tuning
        if path is not None and path.with_name(path.name + "-journal").exists():
            read_only = False  # a write was cut off before the log was in use: only a writer can take it back
        elif path is not None and path.is_file() and path.stat().st_size:
            # A look that cannot write, before anything that could: a newer or foreign file stays as it is.
            version = _looked_at(path, tuning)
            read_only = read_only and version == migrate.current_version()
        self._db = connect(path, tuning, read_only=read_only)
        self._analyse = tokenizer.register(self._db)
        self._changes = Changes(self._db, self._analyse)
        self._vectors: dict[str, Vectors] = {}
        self._sessions = SqliteSessions(self._db, path, self._writing)
        self._outcomes = SqliteOutcomes(self._db, path, self._writing)
        if read_only:
            return
        try:
            with in_our_words(path):
                migrate.inspect(self._db, path)
                use_wal(self._db, path, tuning.busy_timeout_ms)
                migrate.bring_up(self._db, path, self._analyse)
        except BaseException:
            with suppress(StoreError):  # a full disk can refuse this too; the first refusal is the one to tell
                self.close()
            raise

    @property
    def path(self) -> Path | None:
        return self._path

    @property
    def sessions(self) -> SqliteSessions:
        return self._sessions

    @property
    def outcomes(self) -> SqliteOutcomes:
        return self._outcomes

    def together(self) -> AbstractContextManager[None]:
        return self._writing()

    def close(self) -> None:
        with in_our_words(self._path):
            self._db.close()

    # Reading

    def get(self, id: str) -> Memory | None:
        with in_our_words(self._path):
            return reads.exact(self._db, reads.resolve(self._db, id))

    def exact(self, id: str) -> Memory | None:
        with in_our_words(self._path):
            return reads.exact(self._db, id)

    def faded(
        self, status: Status, *, at: Moment, half_life_days: float, below: float, idle_since: Moment, limit: int
    ) -> list[str]:
        with in_our_words(self._path):
            return reads.faded(self._db, status, at, half_life_days, below, idle_since, limit)

    def judged(self, limit: int) -> list[Memory]:
        with in_our_words(self._path):
            return reads.judged(self._db, limit)

    def find(self, query: Query) -> list[Memory]:
        with in_our_words(self._path):
            return reads.find(self._db, query)

    def words(self, question: str, *, most: int = 0) -> WordEvidence:
        with in_our_words(self._path):
            if self._db.in_transaction:  # it finds what was written in it
                self._changes.settle()
            return words.evidence(self._db, self._analyse, question, most or words.MAX_POSTINGS)

    def nearest(
        self, model: str, question: bytes, count: int, also: Sequence[int], *, voice: float = 0.0
    ) -> VectorEvidence:
        with in_our_words(self._path):
            vectors = self._refreshed(model)
            missing = vectors.missing(self._db)
            near = vectors.nearest(question, count, also, voice)
            while vectors.stale and near and self._forgotten(vectors, {one.memory for one in near.values()}):
                near = vectors.nearest(question, count, also, voice)
            return VectorEvidence(near, missing, vectors.background(question))

    def _forgotten(self, vectors: Vectors, memories: set[int]) -> bool:
        return vectors.forget(memories, reads.passages_of(self._db, list(memories)))

    def pieces(self, units: Sequence[int], model: str = "", question: bytes = b"") -> list[PassageEvidence]:
        with in_our_words(self._path):
            found = reads.pieces(self._db, units)
            if not model:
                return found
            near = self._refreshed(model).closeness_of(question, [one.passage for one in found])
            return [one._replace(near=how) for one, how in zip(found, near, strict=True)]

    def nearness(self, model: str, question: bytes, ids: Sequence[str]) -> tuple[dict[str, float], Background]:
        with in_our_words(self._path):
            seqs = reads.seqs(self._db, ids)
        found = self.nearest(model, question, 1, list(seqs))
        return {id: found.near[seq].best for seq, id in seqs.items() if seq in found.near}, found.background

    def closeness(
        self, model: str, question: bytes, ids: Sequence[str], more: Sequence[tuple[str, bytes]] = ()
    ) -> dict[str, float]:
        from recollect.store.vectors import closest, pack

        with in_our_words(self._path):
            kept = reads.vectors_of(self._db, model, ids)
        return closest(question, [*kept, *((id, pack(vector)) for id, vector in more)])

    def pairs(
        self, model: str, memories: Sequence[int], above: float, more: list[tuple[int, int, bytes]]
    ) -> list[tuple[int, int, float]]:
        with in_our_words(self._path):
            return self._refreshed(model).with_more(more).pairs(memories, above)

    def borrow_vectors(self, other: Store) -> None:
        if isinstance(other, SqliteStore):
            self._vectors = {model: copy.copy(vectors) for model, vectors in other._vectors.items()}

    def _refreshed(self, model: str) -> Vectors:
        from recollect.store.vectors import Vectors

        vectors = self._vectors[model] if model in self._vectors else Vectors(model)
        self._vectors = {model: vectors}  # whoever asks by another model does so from now on
        vectors.refresh(self._db)
        return vectors

    def sketches(self) -> list[Sketch]:
        with in_our_words(self._path):
            return reads.sketches(self._db)

    def drifted(self, more_than: int) -> list[Thread]:
        with in_our_words(self._path):
            return reads.drifted(self._db, more_than)

    def about(self, topic: str, limit: int) -> list[int]:
        with in_our_words(self._path):
            return reads.about(self._db, tokenizer.terms(self._analyse, topic), topic, limit)

    def owners(self, passages: Sequence[int]) -> dict[int, Owner]:
        with in_our_words(self._path):
            return reads.owners(self._db, passages)

    def places(self, units: Sequence[int], *, beside: int) -> dict[int, Place]:
        with in_our_words(self._path):
            return reads.places(self._db, units, beside=beside)

    def whole(self, units: Sequence[int]) -> list[tuple[int, Memory, Message | None]]:
        with in_our_words(self._path):
            return reads.whole(self._db, units)

    def same_words(self, kind: str, body: str) -> Memory | None:
        with in_our_words(self._path):
            return reads.same_words(self._db, kind, body)

    def messages(self, thread_id: str) -> tuple[Message, ...]:
        with in_our_words(self._path):
            return reads.messages(self._db, thread_id)

    def spoken(self, message_ids: Sequence[str]) -> dict[str, str]:
        with in_our_words(self._path):
            return reads.spoken(self._db, message_ids)

    def bridges(self, *ids: str) -> tuple[Bridge, ...]:
        with in_our_words(self._path):
            return reads.bridges(self._db, ids)

    def aliases(self, id: str) -> tuple[str, ...]:
        with in_our_words(self._path):
            found = self._db.execute("SELECT old FROM alias WHERE new = ? ORDER BY old", (id,))
            return tuple(row[0] for row in found)

    def near_ids(self, id: str) -> tuple[str, ...]:
        with in_our_words(self._path):
            return reads.near_ids(self._db, id)

    def log(self, *, limit: int, memory: str = "", change: str = "") -> list[Entry]:
        with in_our_words(self._path):
            return reads.log(self._db, limit=limit, memory=memory, change=change)

    def each(self) -> Iterator[tuple[Memory, tuple[Message, ...]]]:
        with in_our_words(self._path):
            for _, memory, messages in reads.everything(self._db):
                yield memory, messages

    def vectorless(self, model: str, limit: int) -> list[tuple[int, str]]:
        wanted = """
            SELECT t.seq, t.own_title, t.body FROM passage_text t
            WHERE NOT EXISTS (SELECT 1 FROM vector v WHERE v.passage_seq = t.seq AND v.model = ?)
            ORDER BY t.seq LIMIT ?"""
        with in_our_words(self._path):
            return [
                (int(seq), embeddable(title, body)) for seq, title, body in sql.stream(self._db, wanted, model, limit)
            ]

    def recalls(self, *, limit: int, id: str = "", memory: str = "") -> list[str]:
        with in_our_words(self._path):
            return reads.recalls(self._db, limit=limit, id=id, memory=memory)

    def counts(self) -> Counts:
        with in_our_words(self._path):
            return care.counts(self._db)

    # Writing

    def apply(self, plan: Plan, act: Act) -> bool:
        with self._writing():
            done = Plan(tuple(self._changes.do_all(plan.changes)))
            if done:
                self._record(act, journal.encode_plan(done), done.touched())
            return bool(done)

    def undo(self, change: str, act: Act, *, dry_run: bool = False) -> Plan:
        with self._writing(keep=not dry_run):
            plans = sql.every(self._db, "SELECT plan FROM journal WHERE change = ? ORDER BY seq DESC", change)
            if not plans:
                raise NotFound(f"No change has the id {change!r}.", hint="`recollect log` lists the changes.")
            if any(plan is None for (plan,) in plans):
                raise Conflict(f"{change} was purged and cannot be undone.", hint="Nothing was written.")
            taken: list[Change] = []
            for (plan,) in plans:
                for run in journal.runs(reversed(json.loads(plan))):
                    taken += self._changes.do_all([journal.inverse(data, self._current) for data in run])
            plan = Plan(tuple(taken))
            if plan:
                self._record(act, journal.encode_plan(plan), plan.touched())
            return plan

    def purge(self, ids: tuple[str, ...], act: Act | None = None) -> int:
        with self._writing():
            outcomes.forget(self._db, ids)
            for id in ids:
                self._purge_one(id)
            emptied = care.forget_plans(self._db, ids)
            if act is not None:
                self._record(act, None, ids)
        with in_our_words(self._path):
            care.wipe_deleted(self._db)
        return emptied

    def put_vectors(self, model: str, vectors: list[tuple[int, bytes]]) -> None:
        from recollect.store.vectors import pack

        with self._writing():
            self._db.executemany(
                """INSERT INTO vector SELECT ?1, ?2, ?3, ?4
                   WHERE EXISTS (SELECT 1 FROM passage WHERE seq = ?1)
                   ON CONFLICT DO UPDATE SET data = excluded.data, hash = excluded.hash""",
                [(seq, *rows.sealed((model, pack(vector)))) for seq, vector in vectors],
            )

    def vector_counts(self) -> dict[str, int]:
        with in_our_words(self._path):
            return dict(sql.every(self._db, "SELECT model, vectors FROM vector_count WHERE vectors > 0 ORDER BY model"))

    def drop_vectors(self, keep: str, most: int) -> int:
        if not self.vector_counts().keys() - {keep}:
            return 0
        with self._writing():
            self._db.execute(
                """DELETE FROM vector WHERE (passage_seq, model) IN
                   (SELECT passage_seq, model FROM vector WHERE model <> ? LIMIT ?)""",
                (keep, most),
            )
            return self._db.changes()

    def note_recall(self, id: str, at: Moment, answer: str, ids: Sequence[str]) -> None:
        with self._writing():
            self._db.execute(rows.insert_sql("recall"), rows.sealed((id, at.micros, answer)))
            seq = self._db.last_insert_rowid()
            self._db.executemany("INSERT OR IGNORE INTO recall_memory VALUES (?, ?)", [(m, seq) for m in ids])
            self._db.execute("DELETE FROM recall WHERE seq <= ?", (seq - _RECALLS_KEPT,))

    # Upkeep

    def verify(self, progress: Progress = silent) -> list[Finding]:
        with in_our_words(self._path):
            return verify.findings(self._db, progress)

    def reindex(self, progress: Progress = silent) -> int:
        with self._writing():
            return care.reindex(self._db, self._analyse, progress)

    def backup(self, target: Path) -> None:
        with in_our_words(self._path):
            care.copy_to(self._db, target)

    # How a write is held together

    @contextmanager
    def _writing(self, *, keep: bool = True) -> Iterator[None]:
        """One transaction that takes the write lock at once: waiting is then the busy timeout's work, and a
        read can never turn into a failed write. The schema version is looked at inside, because another
        program may have migrated the file since we opened it. Inside another one it is a part of that, and one that
        fails takes back what it did itself, whatever becomes of the rest."""
        if self._db.in_transaction:
            with self._part(keep=keep):
                yield
            return
        with in_our_words(self._path):
            self._db.execute("BEGIN IMMEDIATE")
            try:
                migrate.refuse_other_version(self._db, self._path)
                yield
                self._changes.settle()
                self._db.execute("COMMIT" if keep else "ROLLBACK")
            except BaseException:
                self._changes.forget()
                if self._db.in_transaction:
                    self._db.execute("ROLLBACK")
                raise

    @contextmanager
    def _part(self, *, keep: bool) -> Iterator[None]:
        counts = self._changes.counts()
        self._db.execute("SAVEPOINT part")
        try:
            yield
            if not keep:
                raise _NotKept
        except BaseException as problem:
            self._changes.recount(counts)
            if self._db.in_transaction:  # a full disk, for one, takes back everything at once
                self._db.execute("ROLLBACK TO part")
                self._db.execute("RELEASE part")
            if not isinstance(problem, _NotKept):
                raise
        else:
            self._db.execute("RELEASE part")

    def _record(self, act: Act, plan: str | None, ids: tuple[str, ...]) -> None:
        cells = (act.change, act.at.micros, act.op, act.actor, act.summary, plan, act.undoes)
        self._db.execute(rows.insert_sql("journal"), rows.sealed(cells))
        seq = self._db.last_insert_rowid()
        self._db.executemany("INSERT INTO journal_memory VALUES (?, ?)", [(id, seq) for id in ids])
        care.prune_journal(self._db, before=act.at.plus(days=-self._tuning.journal_days))

    def _current(self, id: str) -> tuple[Memory, tuple[Message, ...]] | None:
        memory = reads.exact(self._db, id)
        return None if memory is None else (memory, reads.messages(self._db, id))

    def _purge_one(self, id: str) -> None:
        found = self._current(id)
        if found is None:
            return
        for bridge in reads.bridges(self._db, (id,)):
            self._changes.do(Unlink(bridge))
        self._db.execute("DELETE FROM alias WHERE old = ?1 OR new = ?1", (id,))
        self._changes.do(Remove(*found))


class _NotKept(Exception):
    """A dry run came to its end."""


def _looked_at(path: Path, tuning: Tuning) -> int:
    db = connect(path, tuning, read_only=True)
    try:
        with in_our_words(path):
            return migrate.inspect(db, path)
    finally:
        db.close()
