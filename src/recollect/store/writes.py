"""How the changes of a plan become rows. A change that is already in place writes nothing, which is why a plan can be
applied twice; one that was made from another state is refused. Runs inside the store's write transaction.

A compaction archives a hundred thousand threads in one plan, so updates are read and written by the hundred, and of
rows whose words stay only the cells that change are decoded, checked and written, with the row's new hash.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any, get_origin

from recollect.base.errors import Conflict, IdTaken, StoreDamaged
from recollect.model import plan as plans
from recollect.model.codec import FIELDS, decode_memory, encode, encode_field, read_field
from recollect.model.memory import Memory
from recollect.model.passage import message_spans, spans
from recollect.model.plan import Change, Update
from recollect.store import rows
from recollect.store.database import AMONG
from recollect.store.words import Words

_NOTHING = "Nothing was written."
_AT_ONCE = 500
_INDEXED = frozenset({"title", "body", "topics"})
_PLAIN = frozenset(
    name
    for name, one in FIELDS.items()
    if one.column and get_origin(one.type) is not tuple and name not in ("id", "title", "body")
)
_PLACE = {name: place for place, name in enumerate(rows.COLUMNS["memory"])}
_Pair = tuple[Any, Any]  # a value before and after; None where there is none


class Writes(Words):
    def _apply(self, changes: Iterable[Change]) -> list[Change]:
        """Returns the changes that wrote anything."""
        done: list[Change] = []
        for run in _runs(changes):
            if isinstance(run, list):
                done += self._update(run)
            elif self._apply_one(run):
                done.append(run)
        return done

    def _apply_one(self, change: Change) -> bool:
        if isinstance(change, plans.FileChange):
            return True  # the App writes files, in the same transaction
        pairs = self._pairs(change)
        current = [self._current_value(before or after) for before, after in pairs]
        if current == [after for _, after in pairs]:
            return False
        if current != [before for before, _ in pairs]:
            raise _conflict(change)
        match change:
            case plans.Move(_, source, target):
                with self._reindexed(source, target):
                    self._put(pairs)
            case plans.Unsay(id):
                with self._reindexed(id):
                    self._put(pairs)
            case plans.Remove(memory, messages):
                if {m.id for m in self.messages(memory.id)} != {m.id for m in messages}:
                    raise _conflict(change)
                self._remove_passages(self._seq(memory.id))
                self._put(pairs)
            case plans.Create(memory, messages):
                self._put(pairs)
                self._add_passages(self._seq(memory.id), spans(memory, messages))
            case plans.Say(id, messages):
                seq, thread = self._seq(id), self.get(id, follow=False)
                self._put(pairs)
                self._add_passages(seq, message_spans(thread, messages) if thread else ())
            case _:
                self._put(pairs)
        return True

    def _pairs(self, change: Change) -> list[_Pair]:
        """The rows of a change, before and after."""
        match change:
            case plans.Create(memory, messages):
                return [(None, memory), *((None, message) for message in messages)]
            case plans.Remove(memory, messages):
                return [(memory, None), *((message, None) for message in messages)]
            case plans.Say(_, messages):
                return [(None, message) for message in messages]
            case plans.Unsay(id, messages):
                return [(replace(message, thread_id=id), None) for message in messages]
            case plans.Move(ids, source, target):
                found = {m.id: m for id in (source, target) for m in self.messages(id)}
                if not found.keys() >= set(ids):
                    raise _conflict(change)
                moved = [found[id] for id in ids]
                return [(replace(m, thread_id=source), replace(m, thread_id=target)) for m in moved]
            case plans.Link(bridge):
                return [(None, bridge)]
            case plans.Unlink(bridge):
                return [(bridge, None)]
            case plans.Alias(old, new, was):
                return [(plans.Alias(old, was) if was else None, plans.Alias(old, new))]
            case plans.Unalias(old, new):
                return [(plans.Alias(old, new), None)]
            case _:
                raise TypeError(change)

    def _current_value(self, value: Any) -> Any:
        """The value that has this one's key; None where there is none."""
        kind = Memory if isinstance(value, Memory) else type(value)
        return next(iter(self._read(kind, rows.where(rows.table_of(value)), *rows.key_of(value))), None)

    def _put(self, pairs: Iterable[_Pair]) -> None:
        for before, after in pairs:
            table = rows.table_of(before or after)
            if before is None:
                self._insert(table, rows.cells_of(after))
            elif after is None:
                self._db.execute(f"DELETE FROM {table} {rows.where(table)}", rows.key_of(before))  # noqa: S608
            else:
                cells = (*rows.sealed(rows.cells_of(after)), *rows.key_of(before))
                self._db.execute(rows.update_sql(table), cells)

    def _update(self, run: Sequence[Update]) -> list[Update]:
        """Each of another memory. Returns those that were not in place already."""
        sql = f"SELECT seq, {rows.select('memory')} FROM memory WHERE id {AMONG}"  # noqa: S608
        current = {row[1]: row for row in self._every(sql, [change.id for change in run])}
        done: list[Update] = []
        written: dict[tuple[str, ...], list[tuple[rows.Cell, ...]]] = {}
        for change in run:
            if change.id not in current:
                raise Conflict(f"{change.id} no longer exists.", hint=_NOTHING)
            seq, *cells = current[change.id]
            is_plain = change.after.keys() <= _PLAIN
            memory = None if is_plain else rows.to_value(Memory, cells)
            now = {
                name: encode(rows.READERS[name](cells[_PLACE[name]])) if is_plain else encode_field(memory, name)
                for name in change.after
            }
            if now == change.after:
                continue
            if now != change.before:
                raise _conflict(change)
            names = tuple(change.after) if is_plain else rows.COLUMNS["memory"]
            try:
                if memory is not None:
                    cells = [*rows.cells_of(decode_memory(encode(memory) | dict(change.after)))]
                for name in names if is_plain else ():
                    cells[_PLACE[name]] = rows.WRITERS[name](read_field(change.after, name, FIELDS[name].decode))
            except ValueError as problem:
                raise StoreDamaged(f"{change.id} would become unreadable: {problem}", hint=_NOTHING) from None
            written.setdefault(names, []).append((*(cells[_PLACE[name]] for name in names), rows.seal(cells), seq))
            done.append(change)
        with self._reindexed(*(change.id for change in done if not _INDEXED.isdisjoint(change.after))):
            for names, values in written.items():
                self._db.executemany(rows.update_sql("memory", names), values)
        return done


def _runs(changes: Iterable[Change]) -> Iterator[Change | list[Update]]:
    """Updates that follow one another, each of another memory, together; all else one by one."""
    run: dict[str, Update] = {}
    for change in changes:
        if run and (not isinstance(change, Update) or change.id in run or len(run) == _AT_ONCE):
            yield list(run.values())
            run = {}
        if isinstance(change, Update):
            run[change.id] = change
        else:
            yield change
    if run:
        yield list(run.values())


def _conflict(change: Change) -> Conflict:
    match change:
        case plans.Create(memory):
            return IdTaken(memory.id)
        case plans.Link(bridge):
            return Conflict(f"{bridge.source} and {bridge.target} are already linked as {bridge.type}.", hint=_NOTHING)
        case _:
            ids = plans.ids_of(change)
            hint = f"{_NOTHING} `recollect log {ids[0]}` shows by whom."
            return Conflict(f"{' or '.join(ids)} has changed since.", hint=hint)
