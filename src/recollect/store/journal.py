"""Applies and journals plans, undoes changes, and erases memories for good. A change that is already in place writes
nothing, so a plan can be applied twice; one that was made from another state is refused.

A compaction archives a hundred thousand threads in one change, which is one statement and reads no words. The journal
keeps a created memory by its id and content hash alone (the store has the rest), a removed one with all it had.

Decides for every engine; how an engine writes is its own (engine.py and the abstract methods below)."""

import json
from abc import abstractmethod
from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import Any, get_origin

from recollect.base.errors import Conflict, IdTaken, NotFound, StoreDamaged
from recollect.base.moment import Moment
from recollect.base.structs import replace
from recollect.model import codec
from recollect.model import plan as plans
from recollect.model.codec import (
    FIELDS,
    USAGE,
    canonical,
    content_hash,
    decode_memory,
    encode,
    encode_field,
)
from recollect.model.passage import message_spans, spans
from recollect.model.plan import Change, Fields, FileChange, Plan, Update, UpdateAll
from recollect.model.result import Entry
from recollect.store import rows
from recollect.store.engine import AMONG, Engine
from recollect.store.protocol import ChangeHeader

_NOTHING = "Nothing was written."
_MOST_LISTED = 100  # memories of one change
_REPEATED = "SELECT 1 FROM message WHERE thread_id = ?1 AND (instr(?2, content) > 0 OR instr(?3, content) > 0) LIMIT 1"
_PLAIN = frozenset(
    name
    for name, one in FIELDS.items()
    if one.column and get_origin(one.type) is not tuple and name not in ("id", "title", "body")
)


class Journal(Engine):
    journal_days: float = 365

    @abstractmethod
    def _update_alike(
        self, names: tuple[str, ...], cells: list[rows.Cell], ids: tuple[str, ...]
    ) -> set[str]:
        """Sets columns of these memories where they are as expected, and gives the ids of those. `cells`: the new ones,
        then what they must be now."""

    @abstractmethod
    def _entries(self, asked: dict[str, str], limit: int) -> list[Any]:
        """The newest changes that meet these conditions: id, time, op, actor, summary, what it undoes, and how many of
        its rows were purged."""

    @abstractmethod
    def _plan_parts(self, change: str, memory: str, limit: int) -> list[str]:
        """The changes of a plan in order, those that hold this text."""

    @abstractmethod
    def _forget_sessions(self, ids: Sequence[str]) -> None:
        """What is known from sessions about memories that are about to be purged."""

    def apply(self, plan: Plan, header: ChangeHeader) -> bool:
        with self.transaction():
            done = Plan(tuple(self._apply(plan.changes)))
            if done:
                self._record(header, done)
            return bool(done)

    def _apply(self, changes: Iterable[Change]) -> list[Change]:
        """Returns the changes that wrote anything."""
        done: list[Change] = []
        for change in changes:
            if isinstance(change, UpdateAll):
                _, before, after = alike = change.ids, change.before, change.after
                written = self._update_plain(*alike)
                ids = [
                    id
                    for id in change.ids
                    if id in written or self._update(Update(id, before, after))
                ]
                done += [replace(change, ids=tuple(ids))] if ids else []
            elif self._apply_one(change):
                done.append(change)
        return done

    def _update_plain(self, ids: tuple[str, ...], before: Fields, after: Fields) -> set[str]:
        """Returns those that were as before: none where words change, which are indexed."""
        if not after.keys() <= _PLAIN or before.keys() != after.keys():
            return set()
        try:
            cells = [
                rows.WRITERS[name](codec.read_field(fields, name, codec.decoder(FIELDS[name].type)))
                for fields in (after, before)
                for name in after
            ]
        except ValueError:
            return set()  # it is refused with its reason (_update)
        return self._update_alike(tuple(after), cells, ids)

    def _apply_one(self, change: Change) -> bool:
        if isinstance(change, FileChange):
            return True  # the App writes files, in the same transaction
        if isinstance(change, Update):
            return self._update(change)
        pairs = self._pairs(change)
        values = [before or after for before, after in pairs]
        keyed = [(type(one), rows.TABLES[type(one)], rows.key_of(one)) for one in values]
        current = self._stored(keyed)
        if current == [after for _, after in pairs]:
            return False
        if current != [before for before, _ in pairs]:
            raise _conflict(change)
        if isinstance(change, plans.Remove):
            if {m.id for m in self.messages(change.memory.id)} != {m.id for m in change.messages}:
                raise _conflict(change)
            self._remove_passages(change.memory.id)
        with self._reindexed(
            *(plans.ids_of(change) if isinstance(change, plans.Move | plans.Unsay) else ())
        ):
            for (before, after), (_, table, key) in zip(pairs, keyed, strict=True):
                if before is None:
                    self._insert(table, rows.cells_of(after))
                elif after is None:
                    self._write(f"DELETE FROM {table} {rows.where(table)}", key)  # noqa: S608
                else:
                    self._write(rows.update_sql(table), (*rows.sealed(rows.cells_of(after)), *key))
        if isinstance(change, plans.Create):
            self._add_passages(
                change.memory, spans(change.memory, change.messages), change.messages
            )
        elif isinstance(change, plans.Say):
            thread = self.get(change.id, follow=False)
            if thread is None:
                raise _missing(change.id)
            self._add_passages(thread, message_spans(thread, change.messages), change.messages)
        return True

    def _stored(self, keyed: list[tuple[type[Any], str, tuple[str, ...]]]) -> list[Any]:
        """The values with these keys; None where there is none."""
        return [
            next(iter(self._read(kind, rows.where(table), *key)), None)
            for kind, table, key in keyed
        ]

    def _pairs(self, change: Change) -> list[tuple[Any, Any]]:
        """The rows of a change, before and after; None where there is none."""
        match change:
            case plans.Create(memory, messages):
                return [(None, one) for one in (memory, *messages)]
            case plans.Say(id, messages):
                return [(None, replace(message, thread_id=id)) for message in messages]
            case plans.Link(bridge):
                return [(None, bridge)]
            case plans.Alias(old, new, was):
                return [(plans.Alias(old, was) if was else None, plans.Alias(old, new))]
            case plans.Move(ids, source, target):
                found = {m.id: m for id in (source, target) for m in self.messages(id)}
                if not found.keys() >= set(ids):
                    raise _conflict(change)
                return [
                    (replace(found[id], thread_id=source), replace(found[id], thread_id=target))
                    for id in ids
                ]
            case _:  # what takes one of these back
                return [(after, before) for before, after in self._pairs(plans.inverse(change))]

    def _update(self, change: Update) -> bool:
        memory = self.get(change.id, follow=False)
        if memory is None:
            raise _missing(change.id)
        now = {name: encode_field(memory, name) for name in change.after}
        if now == change.after:
            return False
        if now != change.before:
            raise _conflict(change)
        try:
            after = decode_memory(encode(memory) | dict(change.after))
        except ValueError as problem:
            raise StoreDamaged(
                f"{change.id} would become unreadable: {problem}", hint=_NOTHING
            ) from None
        told = {"title", "body", "topics"} & change.after.keys()
        # A message that the body repeats is not found twice.
        is_own = told == {"body"} and not self._first(_REPEATED, change.id, memory.body, after.body)
        with self._reindexed(*((change.id,) if told else ()), own=is_own):
            self._write(rows.update_sql("memory"), (*rows.sealed(rows.cells_of(after)), change.id))
        return True

    def undo(self, change: str, header: ChangeHeader, *, dry_run: bool = False) -> Plan:
        with self.transaction(keep=not dry_run):
            journalled = self._every(
                "SELECT plan FROM journal WHERE change = ? ORDER BY seq DESC", change
            )
            if not journalled:
                raise NotFound(
                    f"No change has the id {change!r}.", hint="`recollect log` lists the changes."
                )
            if any(plan is None for (plan,) in journalled):
                raise Conflict(f"{change} was purged and cannot be undone.", hint=_NOTHING)
            done: list[Change] = []
            for (plan,) in journalled:
                for looks_at_state, run in groupby(reversed(json.loads(plan)), _looks_at_state):
                    # What depends on the state is reversed one by one, the rest together.
                    for part in [[data] for data in run] if looks_at_state else [run]:
                        done += self._apply([self._inverse(data) for data in part])
            if done:
                self._record(header, Plan(tuple(done)))
            return Plan(tuple(done))

    def _inverse(self, data: Any) -> Change:
        """What takes one journalled change back, given the state as it is at that step."""
        memory, messages = (_looks_at_state(data) and self._current(data["id"])) or (None, ())
        later = f"Undo what came later first: `recollect log {data.get('id')}`."
        match data:
            case {"do": "create", "id": id, "hash": hash, "messages": message_ids}:
                # Removed only as it was created: with other words or messages, something later depends on it.
                if (
                    memory is None
                    or content_hash(memory) != hash
                    or [m.id for m in messages] != message_ids
                ):
                    raise Conflict(f"{id} has changed since.", hint=later)
                return plans.Remove(memory, messages)
            case {"do": "say", "id": id, "messages": message_ids}:
                current = {m.id: m for m in messages}
                if not current.keys() >= set(message_ids):
                    raise Conflict(f"{id} no longer has what was added to it.", hint=later)
                return plans.Unsay(id, tuple(current[one] for one in message_ids))
            case {"do": "update", "id": id, "after": after, "before": before} if (
                memory or not _looks_at_state(data)
            ):
                # Usage counters that have moved on since are no reason to refuse: they stay as they are.
                fields = encode(memory) if memory else {}
                kept = [name for name in after if name not in USAGE or fields[name] == after[name]]
                return Update(
                    id, {name: after[name] for name in kept}, {name: before[name] for name in kept}
                )
            case {"do": "file", "is_kept": False, "new_path": new_path, "old_path": old_path}:
                problem = "cannot be restored: its text held a secret and was not kept"
                raise Conflict(
                    f"{new_path or old_path} {problem}.", hint=f"{_NOTHING} Change the file itself."
                )
            case _:
                return plans.inverse(plans.change_of(data))

    def _record(self, header: ChangeHeader, plan: Plan | None, ids: Iterable[str] = ()) -> int:
        """The oldest entries are removed, a few at a time, so that no write pays for all of them."""
        done = plan.changes if plan else ()
        kept = (
            canonical([{"do": plans.VERBS[type(one)], **_encode(one)} for one in done])
            if plan
            else None
        )
        cells = (
            header.change,
            header.at.micros,
            header.op,
            header.actor,
            header.summary,
            kept,
            header.undoes,
        )
        seq = self._insert("journal", cells)
        touched = plan.touched() if plan else ids
        self._every(
            "INSERT INTO journal_memory (id, seq) SELECT value, ? FROM json_each(?)",
            seq,
            list(touched),
        )
        before = header.at.plus(days=-self.journal_days)
        for old, at in self._every("SELECT seq, at FROM journal ORDER BY seq LIMIT 20"):
            if at >= before.micros:
                break
            self._write("DELETE FROM journal WHERE seq = ?", (old,))
        return seq

    def log(self, *, limit: int, memory: str = "", change: str = "") -> list[Entry]:
        given = {
            "seq IN (SELECT seq FROM journal_memory WHERE id = ?)": memory,
            "change = ?": change,
        }
        asked = {condition: value for condition, value in given.items() if value}
        touched = f"""SELECT DISTINCT id FROM journal_memory
                      WHERE seq IN (SELECT seq FROM journal WHERE change = ?)
                      ORDER BY id LIMIT {_MOST_LISTED}"""  # noqa: S608
        touched_count = """SELECT count(DISTINCT id) FROM journal_memory
                           WHERE seq IN (SELECT seq FROM journal WHERE change = ?)"""
        undoing = "SELECT change FROM journal WHERE undoes = ? ORDER BY seq DESC LIMIT 1"
        found = []
        for id, at, op, actor, summary, undoes, purged in self._entries(asked, limit):
            ids = tuple(memory for (memory,) in self._every(touched, id))
            unlisted = 0
            if len(ids) == _MOST_LISTED:
                [(all_memories,)] = self._every(touched_count, id)
                unlisted = all_memories - len(ids)
            # An undo can be undone, too: of such a chain every second one is in effect.
            chain = [id]
            while row := self._first(undoing, chain[-1]):
                chain.append(row[0])
            undone_by = chain[1] if len(chain) % 2 == 0 else None
            found.append(
                Entry(
                    id,
                    Moment(at),
                    op,
                    actor,
                    summary,
                    ids,
                    undoes,
                    undone_by,
                    bool(purged),
                    unlisted=unlisted,
                )
            )
        return found

    def journalled(
        self, change: str, *, memory: str = "", limit: int = 100
    ) -> list[dict[str, Any]]:
        found = []
        for data in map(json.loads, self._plan_parts(change, memory, limit)):
            alike = {"do": "update", "before": data.get("before"), "after": data.get("after")}
            is_alike = data["do"] == plans.VERBS[UpdateAll]
            found += (
                [alike | {"id": id} for id in data["ids"] if memory in ("", id)]
                if is_alike
                else [data]
            )
        return [one for one in found[:limit] if not memory or memory in ids_in([one])]

    def purge(self, ids: tuple[str, ...], header: ChangeHeader | None = None) -> int:
        """With a header, the journal keeps that it happened and to which ids, so that nothing brings them back."""
        listed = list(ids)
        with self.transaction():
            self._forget_sessions(ids)
            there = {id for (id,) in self._every(f"SELECT id FROM memory WHERE id {AMONG}", listed)}  # noqa: S608
            for id in ids:
                if id in there and (whole := self._current(id)):
                    self._apply(plans.Unlink(bridge) for bridge in self.bridges(id))
                    self._write("DELETE FROM alias WHERE old = ?1 OR new = ?1", (id,))
                    self._apply([plans.Remove(*whole)])
            # Journal entries about these memories keep their place in the order and lose what they said.
            sql = f"""SELECT seq, {rows.select("journal")} FROM journal
                      WHERE seq IN (SELECT seq FROM journal_memory WHERE id {AMONG})"""  # noqa: S608
            emptied = self._every(sql, listed)
            for seq, change, at, op, actor, _summary, _plan, undoes in emptied:
                cells = (change, at, op, actor, "purged", None, undoes)
                self._write(rows.update_sql("journal"), (*rows.sealed(cells), seq))
            self._every(f"DELETE FROM journal_memory WHERE id {AMONG}", listed)  # noqa: S608
            if header is not None:
                self._record(header, None, ids)
        return len(emptied)


def _missing(id: str) -> Conflict:
    return Conflict(f"{id} no longer exists.", hint=_NOTHING)


def _conflict(change: Change) -> Conflict:
    match change:
        case plans.Create(memory):
            return IdTaken(memory.id)
        case plans.Link(bridge):
            return Conflict(
                f"{bridge.source} and {bridge.target} are already linked as {bridge.type}.",
                hint=_NOTHING,
            )
        case _:
            ids = plans.ids_of(change)
            hint = f"{_NOTHING} `recollect log {ids[0]}` shows by whom."
            return Conflict(f"{' or '.join(ids)} has changed since.", hint=hint)


def _encode(change: Change) -> Any:
    match change:
        case plans.Create(memory, messages):
            return {
                "id": memory.id,
                "hash": content_hash(memory),
                "messages": [m.id for m in messages],
            }
        case plans.Say(id, messages):
            return {"id": id, "messages": [m.id for m in messages]}
        case FileChange(is_kept=False):
            return {**encode(change), "old": "", "new": ""}
        case _:
            return encode(change)


def _looks_at_state(data: Any) -> bool:
    return data["do"] in ("create", "say") or (
        data["do"] == "update" and not USAGE.isdisjoint(data["after"])
    )


def ids_in(changes: Any) -> set[str]:
    """The memories that journalled changes speak of."""
    found: set[str] = set()
    for data in changes:
        match data:
            case {"id": id} | {"memory": {"id": id}}:
                found.add(id)
            case {"ids": ids, "after": _}:
                found.update(ids)
            case {"source": one, "target": other} | {"bridge": {"source": one, "target": other}}:
                found |= {one, other}
            case _:
                found |= {data["old"], data["new"]}
    return found
