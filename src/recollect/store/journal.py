"""Plans applied and journalled, undone, and erased for good.

A created memory is journalled by its id and content hash alone (the store has the rest), a removed one with all it had.
"""

import json
from collections.abc import Iterable
from itertools import groupby
from typing import Any

from recollect.base.errors import Conflict, NotFound, StoreBusy
from recollect.base.moment import Moment
from recollect.model import plan as plans
from recollect.model.codec import USAGE, canonical, content_hash, encode
from recollect.model.plan import Change, FileChange, Plan
from recollect.model.result import Entry
from recollect.store import rows
from recollect.store.connect import translated_errors
from recollect.store.database import AMONG
from recollect.store.protocol import ChangeHeader
from recollect.store.writes import Writes

_NOTHING = "Nothing was written."
_PRUNED_AT_ONCE = 20


class Journal(Writes):
    def apply(self, plan: Plan, header: ChangeHeader) -> bool:
        """All of it or nothing, journalled. False: everything was already so, and nothing was written."""
        with self.transaction():
            done = Plan(tuple(self._apply(plan.changes)))
            if done:
                self._record(header, done)
            return bool(done)

    def undo(self, change: str, header: ChangeHeader, *, dry_run: bool = False) -> Plan:
        """Takes a change back and returns what that did."""
        with self.transaction(keep=not dry_run):
            journalled = self._every("SELECT plan FROM journal WHERE change = ? ORDER BY seq DESC", change)
            if not journalled:
                raise NotFound(f"No change has the id {change!r}.", hint="`recollect log` lists the changes.")
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
        match data:
            case {"do": "create", "id": id, "hash": hash, "messages": message_ids}:
                # Removed only as it was created: with other words or messages, something later depends on it.
                if memory is None or content_hash(memory) != hash or [m.id for m in messages] != message_ids:
                    raise _built_upon(id, "has changed since")
                return plans.Remove(memory, messages)
            case {"do": "say", "id": id, "messages": message_ids}:
                current = {m.id: m for m in messages}
                if not current.keys() >= set(message_ids):
                    raise _built_upon(id, "no longer has what was added to it")
                return plans.Unsay(id, tuple(current[one] for one in message_ids))
            case {"do": "update", "id": id, "after": after, "before": before} if memory is not None:
                # Usage counters that have moved on since are no reason to refuse: they stay as they are.
                fields = encode(memory)
                kept = [name for name in after if name not in USAGE or fields[name] == after[name]]
                return plans.Update(id, {name: after[name] for name in kept}, {name: before[name] for name in kept})
            case {"do": "file", "is_kept": False, "new_path": new_path, "old_path": old_path}:
                problem = "cannot be restored: its text held a secret and was not kept"
                raise Conflict(f"{new_path or old_path} {problem}.", hint=f"{_NOTHING} Change the file itself.")
            case _:
                return plans.inverse(plans.change_of(data))

    def _record(self, header: ChangeHeader, plan: Plan | None, ids: Iterable[str] = ()) -> None:
        """The oldest entries are removed, a few at a time, so that no write pays for all of them."""
        kept = (
            canonical([{"do": plans.verb_of(change), **_encode(change)} for change in plan.changes]) if plan else None
        )
        cells = (header.change, header.at.micros, header.op, header.actor, header.summary, kept, header.undoes)
        seq = self._insert("journal", cells)
        touched = plan.touched() if plan else ids
        self._db.executemany("INSERT INTO journal_memory VALUES (?, ?)", [(id, seq) for id in touched])
        before = header.at.plus(days=-self._tuning.journal_days)
        for old, at in self._every("SELECT seq, at FROM journal ORDER BY seq LIMIT ?", _PRUNED_AT_ONCE):
            if at >= before.micros:
                break
            self._db.execute("DELETE FROM journal WHERE seq = ?", (old,))

    def log(self, *, limit: int, memory: str = "", change: str = "") -> list[Entry]:
        """Newest first."""
        given = {"j.seq IN (SELECT seq FROM journal_memory WHERE id = ?)": memory, "j.change = ?": change}
        asked = {condition: value for condition, value in given.items() if value}
        sql = f"""
            SELECT j.change, min(j.at), j.op, j.actor, j.summary, j.undoes, sum(j.plan IS NULL) FROM journal j
            WHERE {" AND ".join(asked) or "1"} GROUP BY j.change ORDER BY max(j.seq) DESC LIMIT ?"""  # noqa: S608
        return [
            Entry(id, Moment(at), op, actor, summary, self._touched(id), undoes, self._undone_by(id), bool(purged))
            for id, at, op, actor, summary, undoes, purged in self._every(sql, *asked.values(), limit)
        ]

    def _undone_by(self, change: str) -> str | None:
        """The undo in effect. An undo can be undone, too: of such a chain every second one is in effect."""
        chain = [change]
        sql = "SELECT change FROM journal WHERE undoes = ? ORDER BY seq DESC LIMIT 1"
        while row := self._first(sql, chain[-1]):
            chain.append(str(row[0]))
        return chain[1] if len(chain) % 2 == 0 else None

    def _touched(self, change: str) -> tuple[str, ...]:
        sql = """SELECT DISTINCT id FROM journal_memory
                    WHERE seq IN (SELECT seq FROM journal WHERE change = ?) LIMIT 100"""
        return tuple(id for (id,) in self._every(sql, change))

    def purge(self, ids: tuple[str, ...], header: ChangeHeader | None = None) -> int:
        """Removes memories with every trace; there is no undo. Returns how many journal entries lost their plan. With
        a header, the journal keeps that it happened and to which ids, so that nothing brings them back."""
        with self.transaction():
            self._every(_FORGET_OUTCOMES, list(ids))
            for id in ids:
                found = self._current(id)
                if found is not None:
                    self._apply(plans.Unlink(bridge) for bridge in self.bridges(id))
                    self._db.execute("DELETE FROM alias WHERE old = ?1 OR new = ?1", (id,))
                    self._apply([plans.Remove(*found)])
            emptied = self._forget_plans(ids)
            if header is not None:
                self._record(header, None, ids)
        with translated_errors(self._path):
            self._wipe_deleted()
        return emptied

    def _forget_plans(self, ids: tuple[str, ...]) -> int:
        """Journal entries about these memories keep their place in the order and lose what they said."""
        sql = f"""SELECT seq, {rows.select("journal")} FROM journal
                     WHERE seq IN (SELECT seq FROM journal_memory WHERE id {AMONG})"""  # noqa: S608
        found = self._every(sql, list(ids))
        for seq, change, at, op, actor, _summary, _plan, undoes in found:
            cells = (change, at, op, actor, "purged", None, undoes)
            self._db.execute(rows.update_sql("journal"), (*rows.sealed(cells), seq))
        of_memory = "substr(memory, 1, instr(memory || '#', '#') - 1)"
        for gone in (
            f"journal_memory WHERE id {AMONG}",
            f"recall WHERE seq IN (SELECT seq FROM recall_memory WHERE id {AMONG})",  # noqa: S608
            f"shown WHERE {of_memory} {AMONG}",
        ):
            self._every(f"DELETE FROM {gone}", list(ids))  # noqa: S608
        return len(found)

    def _wipe_deleted(self) -> None:
        """Leaves no byte of what was deleted: in the index's old segments, in free pages, in the log."""
        self._db.execute("INSERT INTO words (words) VALUES ('optimize')")
        self._db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        self._db.execute("VACUUM")
        if self._value("PRAGMA wal_checkpoint(TRUNCATE)"):
            raise StoreBusy(
                "Deleted, but another process still reads the old data, so it stays on disk until that process ends.",
                hint="End other programs that use Recollect, then purge the same ids again.",
            )


# Outcomes of the sessions that these memories came from, whose words they may share, and those that name them. Before
# the memories themselves go: they say which sessions these were, or, deleted ones, the journal does.
_FORGET_OUTCOMES = """
    WITH gone (id) AS (SELECT value FROM json_each(?1)),
    source (session) AS (
        SELECT "group" FROM memory WHERE id IN gone AND "group" <> '' UNION
        SELECT substr(value, 9) FROM memory, json_each(memory.tags) WHERE memory.id IN gone AND value LIKE 'session:%'),
    journalled (plan) AS (
        SELECT plan FROM journal JOIN journal_memory m USING (seq) WHERE m.id IN gone AND plan IS NOT NULL)
    DELETE FROM outcome WHERE session IN source
        OR EXISTS (SELECT 1 FROM journalled WHERE instr(journalled.plan, outcome.session))
        OR EXISTS (SELECT 1 FROM json_each(outcome.shown) WHERE value IN gone)"""


def _encode(change: Change) -> Any:
    match change:
        case plans.Create(memory, messages):
            return {"id": memory.id, "hash": content_hash(memory), "messages": [m.id for m in messages]}
        case plans.Say(id, messages):
            return {"id": id, "messages": [m.id for m in messages]}
        case FileChange(is_kept=False):
            return {**encode(change), "old": "", "new": ""}
        case _:
            return encode(change)


def _looks_at_state(data: Any) -> bool:
    return data["do"] in ("create", "say") or (data["do"] == "update" and not USAGE.isdisjoint(data["after"]))


def _built_upon(id: str, problem: str) -> Conflict:
    return Conflict(f"{id} {problem}.", hint=f"Undo what came later first: `recollect log {id}`.")


def ids_in(changes: Any) -> set[str]:
    """The memories that journalled changes speak of."""
    found: set[str] = set()
    for data in changes:
        match data:
            case {"id": id} | {"memory": {"id": id}}:
                found.add(id)
            case {"source": one, "target": other} | {"bridge": {"source": one, "target": other}}:
                found |= {one, other}
            case _:
                found |= {data["old"], data["new"]}
    return found
