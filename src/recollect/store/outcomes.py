"""How things went. Like session state these are no plans: nobody would undo them one by one. They hold short texts
(already redacted), so `purge` looks here too, and only the latest are kept."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from pathlib import Path

import apsw

from recollect.base.moment import Moment
from recollect.model.outcome import Ending, Outcome
from recollect.store import rows, sql
from recollect.store.connect import in_our_words

OUTCOMES_KEPT = 5_000
KEPT_DAYS = 90


class SqliteOutcomes:
    def __init__(
        self, db: apsw.Connection, path: Path | None, writing: Callable[[], AbstractContextManager[None]]
    ) -> None:
        self._db = db
        self._path = path
        self._writing = writing

    def record(self, outcome: Outcome) -> bool:
        who = (outcome.session, outcome.act, outcome.agent, outcome.actor)
        said = (outcome.action, outcome.next_state, json.dumps(outcome.tags), json.dumps(outcome.shown))
        with self._writing():
            if sql.first(self._db, "SELECT 1 FROM outcome WHERE key = ?", outcome.key):
                return False
            cells = (outcome.key, str(outcome.kind), outcome.at.micros, *who, *said)
            self._db.execute(rows.insert_sql("outcome"), rows.sealed(cells))
            newest = self._db.last_insert_rowid()
            oldest = outcome.at.plus(days=-KEPT_DAYS).micros
            self._db.execute("DELETE FROM outcome WHERE seq <= ?", (newest - OUTCOMES_KEPT,))
            self._db.execute("DELETE FROM outcome WHERE at < ? AND seq < ?", (oldest, newest))
            return True

    def recorded(
        self, *, session: str = "", kinds: Sequence[Ending] = (), limit: int = 1_000, after: int = 0
    ) -> list[tuple[int, Outcome]]:
        where, given = ["seq > ?"], [after]
        wanted: list[str] = []
        if session:
            where.append("session = ?")
            wanted.append(session)
        if kinds:
            where.append(f"kind IN ({', '.join('?' * len(kinds))})")
            wanted += [str(kind) for kind in kinds]
        asked = f"SELECT seq, {rows.select('outcome')} FROM outcome WHERE {' AND '.join(where)}"  # noqa: S608
        with in_our_words(self._path):
            found = sql.every(self._db, f"{asked} ORDER BY seq DESC LIMIT ?", *given, *wanted, limit)
        return [(seq, _outcome(*cells)) for seq, _, *cells in reversed(found)]


_FORGET = """
    WITH gone (id) AS (SELECT value FROM json_each(?1)),
    source (session) AS (
        SELECT "group" FROM memory WHERE id IN gone AND "group" <> '' UNION
        SELECT substr(value, 9) FROM memory, json_each(memory.tags) WHERE memory.id IN gone AND value LIKE 'session:%'),
    told (plan) AS (
        SELECT plan FROM journal JOIN journal_memory m USING (seq) WHERE m.id IN gone AND plan IS NOT NULL)
    DELETE FROM outcome WHERE session IN source
        OR EXISTS (SELECT 1 FROM told WHERE instr(told.plan, outcome.session))
        OR EXISTS (SELECT 1 FROM json_each(outcome.shown) WHERE value IN gone)"""


def forget(db: apsw.Connection, ids: Sequence[str]) -> None:
    """Those of the sessions that these memories came from, whose words they may share, and those that name them.
    Before the memories themselves go: they say which sessions these were, or, deleted ones, the journal does."""
    db.execute(_FORGET, (json.dumps(ids),))


def _outcome(
    kind: str, at: int, session: str, act: str, agent: str, actor: str, action: str, next_state: str, tags: str,
    shown: str,
) -> Outcome:  # fmt: skip
    return Outcome(
        kind=Ending(kind), at=Moment(at), session=session, act=act, agent=agent, actor=actor, action=action,
        next_state=next_state, tags=tuple(json.loads(tags)), shown=tuple(json.loads(shown)),
    )  # fmt: skip
