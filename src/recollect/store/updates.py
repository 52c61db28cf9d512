"""Many memories at once: updates that touch no words, a cell or two of each row.

A compaction archives a hundred thousand threads in one plan. Rows are read and written by the hundred, and of each
only what changes is decoded, checked and written, with the row's new hash. What touches words is changes.py's.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import TypeGuard

import apsw

from recollect.base.errors import Conflict, StoreDamaged
from recollect.model.codec import check_field
from recollect.model.plan import Change, Update
from recollect.store import rows, sql

NOTHING = "Nothing was written."
_AT_ONCE = 500
_PLAIN = frozenset({
    "status", "weight", "pinned", "boost", "seen", "frequency", "last_session", "activations", "origin", "lane",
    "superseded_by", "group", "created_at", "reinforced_at", "last_active_at",
})  # fmt: skip
_AT = {name: place for place, name in enumerate(rows.MEMORY)}
_STANDING = f"""SELECT seq, {rows.select("memory")} FROM memory
                WHERE id IN (SELECT value FROM json_each(?))"""  # noqa: S608


def is_plain(change: Change) -> TypeGuard[Update]:
    return isinstance(change, Update) and change.after.keys() <= _PLAIN


def runs(changes: Iterable[Change]) -> Iterator[Change | list[Update]]:
    """Plain updates that follow one another, each of another memory, together; all else one by one."""
    run: dict[str, Update] = {}
    for change in changes:
        if is_plain(change) and change.id not in run and len(run) < _AT_ONCE:
            run[change.id] = change
            continue
        if run:
            yield list(run.values())
        run = {change.id: change} if is_plain(change) else {}
        if not run:
            yield change
    if run:
        yield list(run.values())


def write(db: apsw.Connection, run: Sequence[Update]) -> list[Update]:
    """Those that were not so already."""
    standing = {row[1]: row for row in sql.stream(db, _STANDING, json.dumps([change.id for change in run]))}
    done: list[Update] = []
    made: dict[tuple[str, ...], list[tuple[rows.Cell, ...]]] = {}
    for change in run:
        if change.id not in standing:
            raise Conflict(f"{change.id} is no longer there.", hint=NOTHING)
        seq, *cells = standing[change.id]
        if _is_so(change, cells):
            continue
        names = tuple(change.after)
        for name in names:
            cells[_AT[name]] = _checked(change, name)
        made.setdefault(names, []).append((*(cells[_AT[name]] for name in names), rows.seal(cells), seq))
        done.append(change)
    for names, values in made.items():
        db.executemany(rows.update_some_sql("memory", names), values)
    return done


def _is_so(change: Update, cells: Sequence[rows.Cell]) -> bool:
    now = {name: rows.field_json(name, cells[_AT[name]]) for name in change.after}
    if now == change.after:
        return True
    if now != change.before:
        raise moved_on(change.id)
    return False


def _checked(change: Update, name: str) -> rows.Cell:
    value = change.after[name]
    try:
        check_field(name, value)
    except ValueError as problem:
        raise StoreDamaged(f"{change.id} would become unreadable: {problem}", hint=NOTHING) from None
    return rows.field_cell(name, value)


def moved_on(id: str) -> Conflict:
    return Conflict(f"{id} has changed since.", hint=f"{NOTHING} `recollect log {id}` shows by whom.")
