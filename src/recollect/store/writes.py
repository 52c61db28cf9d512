"""How the changes of a plan become rows. Each says whether it wrote anything: False means that it was so already, which
is why a plan can be applied twice. Runs inside the store's write transaction; never begins or ends one.

A compaction archives a hundred thousand threads in one plan, so updates that touch no words are read and written by the
hundred, and of each row only what changes is decoded, checked and written, with the row's new hash.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from typing import TypeGuard, get_origin

from recollect.base.errors import Conflict, IdTaken, StoreDamaged
from recollect.model.codec import FIELDS, decode_memory, encode, take
from recollect.model.memory import Bridge, Memory, Message
from recollect.model.passage import Span, spans, spans_said
from recollect.model.plan import (
    Alias,
    Change,
    Create,
    FileChange,
    Link,
    Move,
    Remove,
    Say,
    Unalias,
    Unlink,
    Unsay,
    Update,
)
from recollect.store import rows
from recollect.store.passages import Passages
from recollect.store.reads import Reads

_NOTHING = "Nothing was written."
_AT_ONCE = 500
_INDEXED = frozenset({"title", "body", "topics"})
_PLAIN = frozenset(
    name
    for name, one in FIELDS.items()
    if one.column and get_origin(one.type) is not tuple and name not in ("id", "title", "body")
)
_PLACE = {name: place for place, name in enumerate(rows.COLUMNS["memory"])}
_STANDING = f"""SELECT seq, {rows.select("memory")} FROM memory
                WHERE id IN (SELECT value FROM json_each(?))"""  # noqa: S608


class Writes(Reads):
    def _apply(self, changes: Iterable[Change]) -> list[Change]:
        """Those that wrote anything."""
        done: list[Change] = []
        for run in _runs(changes):
            if isinstance(run, list):
                done += self._update_many(run)
            elif self._apply_one(run):
                done.append(run)
        return done

    def _apply_one(self, change: Change) -> bool:
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
            case FileChange():
                return True  # the App writes files, in the same transaction

    def _create(self, memory: Memory, messages: tuple[Message, ...]) -> bool:
        standing = self.exact(memory.id)
        if standing is not None:
            if standing != memory:
                raise IdTaken(memory.id)
            return False
        seq = self._insert("memory", rows.memory_cells(memory))
        for message in messages:
            self._insert("message", rows.cells_of(message))
        self._passages.add(seq, spans(memory, messages))
        return True

    def _remove(self, memory: Memory, messages: tuple[Message, ...]) -> bool:
        standing = self.exact(memory.id)
        if standing is None:
            return False
        if standing != memory:
            raise _changed_since(memory.id)
        if {m.id for m in self.messages(memory.id)} != {m.id for m in messages}:
            raise _other_messages(memory.id)
        self._passages.remove(self._seq(memory.id))
        self._db.execute("DELETE FROM message WHERE thread_id = ?", (memory.id,))
        return self._delete("memory", (memory.id,))

    def _update(self, change: Update) -> bool:
        memory = self.exact(change.id)
        if memory is None:
            raise _gone(change.id)
        standing = encode(memory)
        now = {name: standing[name] for name in change.after}
        if now == change.after:
            return False
        if now != change.before:
            raise _changed_since(change.id)
        try:
            changed = decode_memory(standing | dict(change.after))
        except ValueError as problem:
            raise _unreadable(change.id, problem) from None
        with nullcontext() if _INDEXED.isdisjoint(change.after) else self._reindexed(change.id):
            self._db.execute(rows.update_sql("memory"), (*rows.sealed(rows.memory_cells(changed)), change.id))
        return True

    def _update_many(self, run: Sequence[Update]) -> list[Update]:
        """Plain ones, each of another memory. Those that were not so already."""
        standing = {row[1]: row for row in self._every(_STANDING, json.dumps([change.id for change in run]))}
        done: list[Update] = []
        made: dict[tuple[str, ...], list[tuple[rows.Cell, ...]]] = {}
        for change in run:
            if change.id not in standing:
                raise _gone(change.id)
            seq, *cells = standing[change.id]
            now = {name: encode(rows.READERS[name](cells[_PLACE[name]])) for name in change.after}
            if now == change.after:
                continue
            if now != change.before:
                raise _changed_since(change.id)
            names = tuple(change.after)
            for name in names:
                cells[_PLACE[name]] = _checked(change, name)
            made.setdefault(names, []).append((*(cells[_PLACE[name]] for name in names), rows.seal(cells), seq))
            done.append(change)
        for names, values in made.items():
            self._db.executemany(rows.update_sql("memory", names, by=("seq",)), values)
        return done

    def _move(self, message_ids: tuple[str, ...], source: str, target: str) -> bool:
        there = {m.id: m for m in self.messages(source)}
        moving = [there[id] for id in message_ids if id in there]
        if not moving and set(message_ids) <= {m.id for m in self.messages(target)}:
            return False
        if len(moving) < len(message_ids):
            raise _other_messages(source)
        seqs = {id: self._seq(id) for id in (source, target)}
        for seq in seqs.values():
            self._passages.remove(seq)
        for message in moving:
            cells = rows.cells_of(replace(message, thread_id=target))
            self._db.execute(rows.update_sql("message"), (*rows.sealed(cells), message.id))
        for id, seq in seqs.items():
            self._passages.add(seq, self._spans(id))
        return True

    def _say(self, thread_id: str, messages: tuple[Message, ...]) -> bool:
        if self.threads_of([m.id for m in messages]):
            if set(messages) <= set(self.messages(thread_id)):
                return False
            raise Conflict(f"Some messages to be added to {thread_id} already exist.", hint=_NOTHING)
        thread = self.exact(thread_id)
        if thread is None:
            raise _gone(thread_id)
        for message in messages:
            self._insert("message", rows.cells_of(message))
        self._passages.add(self._seq(thread_id), spans_said(thread, messages))
        return True

    def _unsay(self, thread_id: str, messages: tuple[Message, ...]) -> bool:
        ids = {m.id for m in messages}
        if not self.threads_of(list(ids)):
            return False
        if ids != {m.id for m in self.messages(thread_id) if m in messages}:
            raise _other_messages(thread_id)
        with self._reindexed(thread_id):
            self._db.executemany("DELETE FROM message WHERE id = ?", [(id,) for id in ids])
        return True

    def _link(self, bridge: Bridge) -> bool:
        standing = self._standing(bridge)
        if standing == bridge:
            return False
        if standing:
            raise Conflict(f"{bridge.source} and {bridge.target} are already linked as {bridge.type}.", hint=_NOTHING)
        self._insert("bridge", rows.cells_of(bridge))
        return True

    def _unlink(self, bridge: Bridge) -> bool:
        standing = self._standing(bridge)
        if standing is None:
            return False
        if standing != bridge:
            raise Conflict(f"The link from {bridge.source} to {bridge.target} has changed since.", hint=_NOTHING)
        return self._delete("bridge", bridge.key)

    def _standing(self, bridge: Bridge) -> Bridge | None:
        return next((b for b in self.bridges(bridge.source) if b.key == bridge.key), None)

    def _alias(self, old: str, new: str, was: str) -> bool:
        standing = self._resolve(old)
        if standing == new:
            return False
        if standing != (was or old):
            raise Conflict(f"{old} is already an alias of {standing}.", hint=_NOTHING)
        if was:
            self._delete("alias", (old,))
        self._insert("alias", (old, new))
        return True

    def _unalias(self, old: str, new: str) -> bool:
        standing = self._resolve(old)
        if standing not in (old, new):
            raise Conflict(f"{old} is now an alias of {standing}.", hint=_NOTHING)
        return self._delete("alias", (old,))

    def _delete(self, table: str, key: tuple[str, ...]) -> bool:
        where = " AND ".join(f'"{name}" = ?' for name in rows.KEYS[table])
        self._db.execute(f"DELETE FROM {table} WHERE {where}", key)  # noqa: S608
        return self._db.changes() > 0

    # The index

    @property
    def _passages(self) -> Passages:
        return Passages(self._db, self._analyse, self._term_counts)

    @contextmanager
    def _reindexed(self, id: str) -> Iterator[None]:
        """For what goes on, a little at a time: passages that stay as they are keep their place and their vectors."""
        seq = self._seq(id)
        before = self._passages.standing(seq)
        yield
        self._passages.renew(seq, before, self._spans(id))

    def _spans(self, id: str) -> tuple[Span, ...]:
        current = self._current(id)
        return spans(*current) if current else ()

    def _seq(self, id: str) -> int:
        row = self._first("SELECT seq FROM memory WHERE id = ?", id)
        if row is None:
            raise _gone(id)
        return int(row[0])


def _is_plain(change: Change) -> TypeGuard[Update]:
    return isinstance(change, Update) and change.after.keys() <= _PLAIN


def _runs(changes: Iterable[Change]) -> Iterator[Change | list[Update]]:
    """Plain updates that follow one another, each of another memory, together; all else one by one."""
    run: dict[str, Update] = {}
    for change in changes:
        if _is_plain(change) and change.id not in run and len(run) < _AT_ONCE:
            run[change.id] = change
            continue
        if run:
            yield list(run.values())
        run = {change.id: change} if _is_plain(change) else {}
        if not run:
            yield change
    if run:
        yield list(run.values())


def _checked(change: Update, name: str) -> rows.Cell:
    try:
        return rows.WRITERS[name](take(change.after, name, FIELDS[name].decode))
    except ValueError as problem:
        raise _unreadable(change.id, problem) from None


def _unreadable(id: str, problem: ValueError) -> StoreDamaged:
    return StoreDamaged(f"{id} would become unreadable: {problem}", hint=_NOTHING)


def _gone(id: str) -> Conflict:
    return Conflict(f"{id} no longer exists.", hint=_NOTHING)


def _changed_since(id: str) -> Conflict:
    return Conflict(f"{id} has changed since.", hint=f"{_NOTHING} `recollect log {id}` shows by whom.")


def _other_messages(id: str) -> Conflict:
    return Conflict(f"The messages of {id} have changed since.", hint=_NOTHING)
