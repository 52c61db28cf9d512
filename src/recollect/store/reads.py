"""Reading memories: by id, by filters, by what joins them. Rows become values here."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

from recollect.model.memory import Bridge, Lane, Memory, Message, Sketch, Status
from recollect.model.query import Query
from recollect.store import rows
from recollect.store.database import Database

_PAGE = 500
_MEMORY = f"SELECT {rows.select('memory')} FROM memory m"  # noqa: S608


class Reads(Database):
    def get(self, id: str) -> Memory | None:
        """A merged memory answers as what it became."""
        return self.exact(self._resolve(id))

    def exact(self, id: str) -> Memory | None:
        """The memory itself; aliases are not followed."""
        row = self._first(f"{_MEMORY} WHERE id = ?", id)
        return rows.to_memory(row) if row else None

    def _resolve(self, id: str) -> str:
        row = self._first("SELECT new FROM alias WHERE old = ?", id)
        return str(row[0]) if row else id

    def find(self, query: Query) -> list[Memory]:
        """By filters alone, most recently active first."""
        where, values = _filters(query)
        wanted = f"{_MEMORY} WHERE {where} ORDER BY last_active_at DESC, seq DESC LIMIT ?"
        return [rows.to_memory(row) for row in self._every(wanted, *values, query.limit)]

    def messages(self, thread_id: str) -> tuple[Message, ...]:
        wanted = f"SELECT {rows.select('message')} FROM message WHERE thread_id = ? ORDER BY at, id"  # noqa: S608
        return tuple(rows.to_value(Message, row) for row in self._every(wanted, thread_id))

    def threads_of(self, message_ids: Sequence[str]) -> dict[str, str]:
        """Which of these messages exist, and the thread of each."""
        wanted = "SELECT id, thread_id FROM message WHERE id IN (SELECT value FROM json_each(?))"
        return dict(self._every(wanted, json.dumps(list(message_ids))))

    def bridges(self, *ids: str) -> tuple[Bridge, ...]:
        """Those that touch any of the ids; all of them when none is given."""
        given = "(SELECT value FROM json_each(?1))"
        where = f"WHERE source IN {given} OR target IN {given}" if ids else ""
        wanted = f"SELECT {rows.select('bridge')} FROM bridge {where} ORDER BY created_at, source, target, type"  # noqa: S608
        return tuple(rows.to_value(Bridge, row) for row in self._every(wanted, *([json.dumps(ids)] if ids else [])))

    def aliases(self, id: str) -> tuple[str, ...]:
        """The ids that answer as this one."""
        return tuple(old for (old,) in self._every("SELECT old FROM alias WHERE new = ? ORDER BY old", id))

    def near(self, text: str) -> tuple[tuple[str, str], ...]:
        """Ids and titles that contain this text, then a few ids that look like it, for did-you-mean."""
        wanted = """SELECT id, title FROM memory
                    ORDER BY instr(id, ?1) > 0 OR instr(lower(title), lower(?1)) > 0 DESC,
                             substr(id, -6) = substr(?1, -6) DESC, substr(id, 1, 15) = substr(?1, 1, 15) DESC, seq DESC
                    LIMIT 50"""
        return tuple(self._every(wanted, text))

    def each(self) -> Iterator[tuple[Memory, tuple[Message, ...]]]:
        """Everything, oldest first, for exports."""
        for _, memory, messages in self._everything():
            yield memory, messages

    def _everything(self) -> Iterator[tuple[int, Memory, tuple[Message, ...]]]:
        """Oldest first, a page at a time, so that no read lock is held while the caller works."""
        last = 0
        wanted = f"SELECT seq, {rows.select('memory')} FROM memory WHERE seq > ? ORDER BY seq LIMIT {_PAGE}"  # noqa: S608
        while page := self._every(wanted, last):
            for last, *cells in page:
                yield last, rows.to_memory(cells), self.messages(str(cells[0]))

    def sketches(self) -> list[Sketch]:
        """The active and suspended threads, as far as ageing needs them."""
        wanted = """SELECT seq, id, status, weight, pinned, reinforced_at, last_active_at, lane FROM memory
                    WHERE kind = 'thread' AND status IN ('active', 'suspended')"""
        statuses, lanes = {str(one): one for one in Status}, {str(one): one for one in Lane}
        return [
            Sketch(seq, id, statuses[status], weight, bool(pinned), reinforced, active, lanes[lane])
            for seq, id, status, weight, pinned, reinforced, active, lane in self._every(wanted)
        ]

    def _current(self, id: str) -> tuple[Memory, tuple[Message, ...]] | None:
        memory = self.exact(id)
        return None if memory is None else (memory, self.messages(id))


def _filters(query: Query) -> tuple[str, list[Any]]:
    listed = "EXISTS (SELECT 1 FROM json_each(m.{}) t WHERE lower(t.value) = lower(?))"
    known: tuple[tuple[Any, str, Sequence[Any]], ...] = (
        (query.kinds, f"m.kind IN ({', '.join('?' * len(query.kinds))})", [*map(str, query.kinds)]),
        (query.statuses, f"m.status IN ({', '.join('?' * len(query.statuses))})", [*map(str, query.statuses)]),
        (query.topic, listed.format("topics"), [query.topic]),
        (query.tag, listed.format("tags"), [query.tag]),
        (query.group, 'm."group" = ? AND m."group" <> \'\'', [query.group]),
        (query.since, "m.last_active_at >= ?", [query.since and query.since.micros]),
        (query.until, "m.last_active_at <= ?", [query.until and query.until.micros]),
        (query.body, "lower(m.body) = lower(?)", [query.body]),
        (query.judged, "(m.ratings <> '[]' OR instr(m.own, '\"outcomes\"'))", []),
        # The length first: most never drifted, and to look into their JSON would cost a second.
        (query.drifts_over, "length(m.own) > 12 AND json_array_length(m.own, '$.drift') > ?", [query.drifts_over]),
    )
    asked = [(condition, values) for is_asked, condition, values in known if is_asked]
    return " AND ".join(["1", *(condition for condition, _ in asked)]), [one for _, values in asked for one in values]
