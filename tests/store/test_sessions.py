"""Session state in SQLite: hashed, pruned, purged, brought along. What any engine must do: session_contract.py."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import apsw
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.model.ledger import Way
from recollect.model.plan import Create
from recollect.store import SqliteStore, Tuning
from recollect.store.sessions import EVENTS_KEPT
from tests.store.files import traces
from tests.store.talkers import ME, pointer, session
from tests.values import NOW, act, plan, thread


@pytest.fixture
def path(tmp_path: Path) -> Path:
    folder = tmp_path / "store"
    folder.mkdir(mode=0o700)
    return folder / "memory.db"


@pytest.fixture
def store(path: Path) -> Iterator[SqliteStore]:
    with closing(SqliteStore(path, Tuning())) as opened:
        yield opened


def test_states_are_found_by_how_their_names_begin(store: SqliteStore):
    for name in ("past:b", "past:a", "past", "pasture", "Past:c", "past%"):
        store.sessions.put_state(name, name.upper())

    assert list(store.sessions.states("past:").items()) == [("past:a", "PAST:A"), ("past:b", "PAST:B")]
    assert store.sessions.states("none") == {}
    assert store.verify() == []


def test_a_purged_memory_stands_in_no_ledger(store: SqliteStore, path: Path):
    memory = thread("Billing")
    store.apply(plan(Create(memory)), act())
    store.sessions.show(ME, Way.TOLD, [memory.id], at=NOW)

    store.purge((memory.id,))

    assert store.sessions.shown(ME, Way.TOLD) == frozenset()
    assert traces(path.parent, memory.id) == []


@given(st.lists(st.text(max_size=3), min_size=5, max_size=7), st.lists(st.text(max_size=3), min_size=5, max_size=7))
def test_different_events_have_different_keys(one: list[str], other: list[str]):
    def key(parts: list[str]) -> str:
        host, name, agent, prompt, source, *calls = parts
        return pointer(host=host, name=name, agent=agent, prompt=prompt, source=source, calls=tuple(calls)).key

    assert (key(one) == key(other)) is (one == other)


def test_events_are_not_kept_for_ever(store: SqliteStore):
    with store.together():
        for number in range(EVENTS_KEPT + 20):
            store.sessions.receive(pointer(prompt=str(number)))

    assert len(store.sessions.received(limit=EVENTS_KEPT * 2)) == EVENTS_KEPT


@pytest.mark.parametrize("table", ["session", "shown", "state", "event"])
def test_a_changed_value_is_found(store: SqliteStore, path: Path, table: str):
    store.sessions.put_session(session(), at=NOW)
    store.sessions.show(ME, Way.TOLD, ["m1"], at=NOW)
    store.sessions.put_state("a", "1")
    store.sessions.receive(pointer())
    assert store.verify() == []
    column = {"session": "number", "shown": "at", "state": "value", "event": "size"}[table]
    with closing(apsw.Connection(str(path))) as db:
        db.execute(f"UPDATE {table} SET {column} = 77")

    assert [finding.table for finding in store.verify()] == [table]
