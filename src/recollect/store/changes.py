"""How one change of a plan becomes rows. Each function says whether it wrote anything: False means that it
was so already, which is why a plan can be applied twice.

Runs inside the store's write transaction; never begins or ends one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, nullcontext

import apsw

from recollect.base.errors import Conflict, IdTaken, StoreDamaged
from recollect.model.bridge import Bridge
from recollect.model.codec import decode_memory
from recollect.model.memory import Memory, Message
from recollect.model.passage import spans, spans_said
from recollect.model.plan import Alias, Change, Create, Link, Move, Remove, Say, Unalias, Unlink, Unsay, Update
from recollect.store import care, reads, rows, updates, words
from recollect.store.tokenizer import Analyse
from recollect.store.updates import NOTHING, moved_on

_INDEXED = frozenset({"title", "body", "topics"})


class Changes:
    def __init__(self, db: apsw.Connection, analyse: Analyse) -> None:
        self._db = db
        self._analyse = analyse
        self._counts: Counter[str] = Counter()

    def settle(self) -> None:
        """Before the transaction ends, or asks for words: what its changes did to the counts of terms."""
        if self._counts:
            words.settle(self._db, self._counts)

    def forget(self) -> None:
        """The transaction was rolled back, and the counts with it."""
        self._counts.clear()

    def counts(self) -> Counter[str]:
        """As they stand before a part of the transaction, for `recount` should that be taken back."""
        return self._counts.copy()

    def recount(self, counts: Counter[str]) -> None:
        self._counts.clear()
        self._counts.update(counts)

    def do_all(self, changes: Iterable[Change]) -> list[Change]:
        """Those that wrote anything."""
        done: list[Change] = []
        for run in updates.runs(changes):
            if isinstance(run, list):
                done += updates.write(self._db, run)
            elif self.do(run):
                done.append(run)
        return done

    def do(self, change: Change) -> bool:
        match change:
            case Create(memory, messages):
                return self._create(memory, messages)
            case Remove(memory, messages):
                return self._remove(memory, messages)
            case Update():
                return self._update(change)
            case Move(message_ids, source, target):
                return self._move(message_ids, source, target)
            case Say(id, messages):
                return self._say(id, messages)
            case Unsay(id, messages):
                return self._unsay(id, messages)
            case Link(bridge):
                return self._link(bridge)
            case Unlink(bridge):
                return self._unlink(bridge)
            case Alias(old, new, was):
                return self._alias(old, new, was)
            case Unalias(old, new):
                return self._unalias(old, new)

    def _create(self, memory: Memory, messages: tuple[Message, ...]) -> bool:
        standing = reads.exact(self._db, memory.id)
        if standing is not None:
            if standing != memory:
                raise IdTaken(memory.id)
            return False
        self._insert("memory", rows.memory_cells(memory))
        seq = self._db.last_insert_rowid()
        for message in messages:
            self._insert("message", rows.message_cells(message))
        self._index_new(seq, memory, messages)
        return True

    def _remove(self, memory: Memory, messages: tuple[Message, ...]) -> bool:
        standing = reads.exact(self._db, memory.id)
        if standing is None:
            return False
        if standing != memory:
            raise moved_on(memory.id)
        if {m.id for m in reads.messages(self._db, memory.id)} != {m.id for m in messages}:
            raise Conflict(f"{memory.id} has other messages by now.", hint=NOTHING)
        self._unindex(memory.id)
        self._db.execute("DELETE FROM message WHERE thread_id = ?", (memory.id,))
        return self._delete("memory", (memory.id,))

    def _update(self, change: Update) -> bool:
        if updates.is_plain(change):
            return bool(updates.write(self._db, [change]))
        sql = f"SELECT {rows.select('memory')} FROM memory WHERE id = ?"  # noqa: S608
        row = self._db.execute(sql, (change.id,)).fetchone()
        if row is None:
            raise Conflict(f"{change.id} is no longer there.", hint=NOTHING)
        standing = rows.memory_json(row)
        now = {name: standing[name] for name in change.after}
        if now == change.after:
            return False
        if now != change.before:
            raise moved_on(change.id)
        try:
            memory = decode_memory(standing | dict(change.after))
        except ValueError as problem:
            raise StoreDamaged(f"{change.id} would become unreadable: {problem}", hint=NOTHING) from None
        indexed = not _INDEXED.isdisjoint(change.after)
        with self._reindexed(change.id) if indexed else nullcontext():
            self._db.execute(rows.update_sql("memory"), (*rows.sealed(rows.memory_cells(memory)), change.id))
        return True

    def _move(self, message_ids: tuple[str, ...], source: str, target: str) -> bool:
        there = {m.id: m for m in reads.messages(self._db, source)}
        moving = [there[id] for id in message_ids if id in there]
        if not moving and set(message_ids) <= {m.id for m in reads.messages(self._db, target)}:
            return False
        if len(moving) < len(message_ids):
            raise Conflict(f"{source} has other messages by now.", hint=NOTHING)
        for id in (source, target):
            self._unindex(id)
        for message in moving:
            cells = rows.message_cells(Message(message.id, target, message.at, message.source, message.content))
            self._db.execute(rows.update_sql("message"), (*rows.sealed(cells), message.id))
        for id in (source, target):
            self._index(id)
        return True

    def _say(self, thread_id: str, messages: tuple[Message, ...]) -> bool:
        if reads.spoken(self._db, [m.id for m in messages]):
            if set(messages) <= set(reads.messages(self._db, thread_id)):
                return False
            raise Conflict(f"Some of what is to be added to {thread_id} stands somewhere already.", hint=NOTHING)
        thread = reads.exact(self._db, thread_id)
        if thread is None:
            raise Conflict(f"{thread_id} is no longer there.", hint=NOTHING)
        for message in messages:
            self._insert("message", rows.message_cells(message))
        more = spans_said(thread, messages)
        care.index_more(self._db, self._analyse, self._seq(thread_id), more, self._counts)
        return True

    def _unsay(self, thread_id: str, messages: tuple[Message, ...]) -> bool:
        ids = {m.id for m in messages}
        standing = reads.spoken(self._db, list(ids))
        if not standing:
            return False
        if ids != {m.id for m in reads.messages(self._db, thread_id) if m in messages}:
            raise Conflict(f"{thread_id} has other messages by now.", hint=NOTHING)
        with self._reindexed(thread_id):
            self._db.executemany("DELETE FROM message WHERE id = ?", [(id,) for id in ids])
        return True

    def _link(self, bridge: Bridge) -> bool:
        standing = self._standing(bridge)
        if standing == bridge:
            return False
        if standing:
            raise Conflict(f"{bridge.source} and {bridge.target} are already linked as {bridge.type}.", hint=NOTHING)
        self._insert("bridge", rows.bridge_cells(bridge))
        return True

    def _unlink(self, bridge: Bridge) -> bool:
        standing = self._standing(bridge)
        if standing is None:
            return False
        if standing != bridge:
            raise Conflict(f"The bridge from {bridge.source} to {bridge.target} has changed since.", hint=NOTHING)
        return self._delete("bridge", bridge.key)

    def _standing(self, bridge: Bridge) -> Bridge | None:
        return next((b for b in reads.bridges(self._db, (bridge.source,)) if b.key == bridge.key), None)

    def _alias(self, old: str, new: str, was: str) -> bool:
        standing = reads.resolve(self._db, old)
        if standing == new:
            return False
        if standing != (was or old):
            raise Conflict(f"{old} already answers as {standing}.", hint=NOTHING)
        if was:
            self._delete("alias", (old,))
        self._insert("alias", (old, new))
        return True

    def _unalias(self, old: str, new: str) -> bool:
        standing = reads.resolve(self._db, old)
        if standing not in (old, new):
            raise Conflict(f"{old} answers as {standing} by now.", hint=NOTHING)
        return self._delete("alias", (old,))

    def _insert(self, table: str, cells: tuple[rows.Cell, ...]) -> None:
        self._db.execute(rows.insert_sql(table), rows.sealed(cells))

    def _delete(self, table: str, key: tuple[str, ...]) -> bool:
        where = " AND ".join(f'"{name}" = ?' for name in rows.KEYS[table])
        self._db.execute(f"DELETE FROM {table} WHERE {where}", key)  # noqa: S608
        return self._db.changes() > 0

    def _index(self, id: str) -> None:
        memory = reads.exact(self._db, id)
        if memory is not None:
            self._index_new(self._seq(id), memory, reads.messages(self._db, id))

    def _index_new(self, seq: int, memory: Memory, messages: tuple[Message, ...]) -> None:
        care.index_memory(self._db, self._analyse, seq, spans(memory, messages), self._counts)

    def _unindex(self, id: str) -> None:
        care.unindex_memory(self._db, self._analyse, self._seq(id), self._counts)

    @contextmanager
    def _reindexed(self, id: str) -> Iterator[None]:
        """For what goes on, a little at a time: passages that stay as they are keep their place and their vectors."""
        seq = self._seq(id)
        before = care.indexed(self._db, seq)
        yield
        memory = reads.exact(self._db, id)
        if memory is not None:
            wanted = spans(memory, reads.messages(self._db, id))
            care.index_again(self._db, self._analyse, seq, before, wanted, self._counts)

    def _seq(self, id: str) -> int:
        row = self._db.execute("SELECT seq FROM memory WHERE id = ?", (id,)).fetchone()
        if row is None:
            raise Conflict(f"{id} is no longer there.", hint=NOTHING)
        return int(row[0])
