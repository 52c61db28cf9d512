"""Takes out of a whole database what a cleaning function does not let through: in memories, messages, bridges, the
journal, noted recalls and state. Rows keep their places and get new seals; what is derived from changed words is made
anew. Knows no secret: `clean` is handed in.

A journalled plan is cleaned field by field with the same function as the rows it speaks of, so that what could be
undone before can still be undone, without the secret; all but the making of a memory that held one and was changed
since, for of that the journal knows only a hash.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

import apsw

from recollect.model.codec import Json, canonical, content_hash
from recollect.store import reads, rows, sql
from recollect.store.changes import Changes
from recollect.store.protocol import Progress, Scrubbed

Clean = Callable[[str], str]

# Everything that could hold what somebody said; ids, kinds and times are the program's own. The journal comes after
# the memories: it names them by the hash of their words.
_TEXTS: dict[str, tuple[str, ...]] = {
    "memory": ("title", "body", "topics", "tags", "ratings", "origin", "group", "anchors", "own"),
    "message": ("source", "content"),
    "bridge": ("origin",),
    "journal": ("summary", "plan"),
    "recall": ("answer",),
    "state": ("value",),
    "event": ("source", "transcript", "cwd"),
    "outcome": ("actor", "action", "next_state", "tags"),
}
_LISTS = frozenset({"topics", "tags", "ratings", "anchors", "own", "plan", "answer", "value"})


class _Row(NamedTuple):
    table: str
    key: tuple[Any, ...]
    before: dict[str, Any]
    after: dict[str, Any]


def look(db: apsw.Connection, clean: Clean, progress: Progress) -> Scrubbed:
    """What `take_out` would change."""
    return _counted(_changed(db, clean, progress))


def take_out(db: apsw.Connection, changes: Changes, clean: Clean, progress: Progress) -> Scrubbed:
    """Inside the store's write transaction."""
    changed = _changed(db, clean, progress)
    found = _counted(changed)
    standing = [id for id in found.memories if reads.exact(db, id) is not None]

    def write() -> None:
        for row in changed:
            cells = rows.sealed([row.after[name] for name in rows.COLUMNS[row.table]])
            db.execute(rows.update_sql(row.table), (*cells, *row.key))

    changes.reword(standing, write)
    return found


def _counted(changed: list[_Row]) -> Scrubbed:
    counts = Counter(row.table for row in changed)
    owners = {"memory": "id", "message": "thread_id"}
    touched = dict.fromkeys(str(row.before[owners[row.table]]) for row in changed if row.table in owners)
    return Scrubbed(tuple((table, counts[table]) for table in _TEXTS if counts[table]), tuple(touched))


def _changed(db: apsw.Connection, clean: Clean, progress: Progress) -> list[_Row]:
    """Read to the end before anything is written, and only what changes is held."""
    total = sum(int(sql.value(db, f"SELECT count(*) FROM {table}")) for table in _TEXTS)  # noqa: S608
    changed: list[_Row] = []
    hashes: dict[tuple[str, str], str] = {}
    done = 0
    for table in _TEXTS:
        for key, before in _rows(db, table):
            after = _cleaned(table, before, clean)
            if table == "journal" and hashes and after["plan"]:
                after["plan"] = _under_new_hashes(after["plan"], hashes)
            if after != before:
                changed.append(_Row(table, key, before, after))
            if table == "memory" and after != before:
                old, new = (rows.to_memory([cells[name] for name in rows.MEMORY]) for cells in (before, after))
                hashes[old.id, content_hash(old)] = content_hash(new)
            done += 1
            progress(done, total)
    return changed


def _rows(db: apsw.Connection, table: str) -> Iterator[tuple[tuple[Any, ...], dict[str, Any]]]:
    keys = rows.KEYS[table]
    listed = ", ".join(f'"{name}"' for name in keys)
    for cells in sql.stream(db, f"SELECT {listed}, {rows.select(table)} FROM {table}"):  # noqa: S608
        yield tuple(cells[: len(keys)]), dict(zip(rows.COLUMNS[table], cells[len(keys) :], strict=True))


def _cleaned(table: str, cells: Mapping[str, Any], clean: Clean) -> dict[str, Any]:
    texts = {name: cells[name] for name in _TEXTS[table] if isinstance(cells[name], str)}
    return {**cells, **{name: _clean_cell(name, text, clean) for name, text in texts.items()}}


def _clean_cell(name: str, text: str, clean: Clean) -> str:
    if name not in _LISTS:
        return clean(text)
    try:
        held: Json = json.loads(text)
    except ValueError:
        return clean(text)
    cleaned = _clean_json(held, clean)
    return text if cleaned == held else canonical(cleaned)


def _clean_json(held: Json, clean: Clean) -> Json:
    match held:
        case str():
            return clean(held)
        case list():
            return [_clean_json(part, clean) for part in held]
        case dict():
            return {name: _clean_json(part, clean) for name, part in held.items()}
        case _:
            return held


def _under_new_hashes(plan: str, hashes: Mapping[tuple[str, str], str]) -> str:
    """A created memory is journalled by the hash of its words, and those are others now."""
    held = json.loads(plan)
    fresh: list[Json] = [_under_new_hash(change, hashes) for change in held]
    return plan if fresh == held else canonical(fresh)


def _under_new_hash(change: dict[str, Json], hashes: Mapping[tuple[str, str], str]) -> dict[str, Json]:
    fresh = hashes.get((str(change.get("id")), str(change.get("hash")))) if change.get("do") == "create" else None
    return {**change, "hash": fresh} if fresh else change
