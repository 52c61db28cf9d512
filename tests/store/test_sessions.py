"""Session state: ledgers by agent and epoch, counters of use, pointers once each, nothing for ever."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import apsw
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.base.errors import Conflict
from recollect.model.ledger import Pointer, Talker, Way
from recollect.model.memory import Memory
from recollect.model.plan import Create, Update
from recollect.model.session import Session
from recollect.store import SqliteStore, Tuning, migrate
from recollect.store.sessions import EVENTS_KEPT, KEPT_DAYS
from tests.store.asking import vector
from tests.store.files import traces
from tests.values import NOW, act, plan, thread

ME = Talker("s-1")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    folder = tmp_path / "store"
    folder.mkdir(mode=0o700)
    return folder / "memory.db"


@pytest.fixture
def store(path: Path) -> Iterator[SqliteStore]:
    with closing(SqliteStore(path, Tuning())) as opened:
        yield opened


def session(id: str = "s-1", **given: int) -> Session:
    return Session(id=id, host="claude-code", started_at=NOW, **given)


def pointer(**given: object) -> Pointer:
    return replace(Pointer(name="turn-ended", host="claude-code", session="s-1", at=NOW), **given)  # type: ignore[arg-type]


def test_a_session_is_known_again(store: SqliteStore):
    store.sessions.put_session(session(number=4, epoch=2), at=NOW)

    assert store.sessions.session("s-1") == session(number=4, epoch=2)
    assert store.sessions.session("s-1", "a1") is None
    assert store.sessions.session("s-2") is None


def test_a_ledger_is_that_of_one_agent_in_one_epoch_and_way(store: SqliteStore):
    store.sessions.show(ME, Way.TOLD, ["m1", "m2", "m1"], at=NOW)
    store.sessions.show(ME, Way.TOLD, ["m2"], at=NOW.plus(seconds=1))

    assert store.sessions.shown(ME, Way.TOLD) == {"m1", "m2"}
    for other in (Talker("s-2"), Talker("s-1", "a1"), Talker("s-1", epoch=1)):
        assert store.sessions.shown(other, Way.TOLD) == frozenset()
    assert store.sessions.shown(ME, Way.REMINDED) == frozenset()


def test_sessions_that_were_not_heard_of_for_long_go_with_their_ledgers(store: SqliteStore):
    store.sessions.put_session(session("old"), at=NOW.plus(days=-KEPT_DAYS - 1))
    store.sessions.show(Talker("old"), Way.TOLD, ["m1"], at=NOW)
    store.sessions.put_session(session("new"), at=NOW)
    store.sessions.show(Talker("new"), Way.TOLD, ["m1"], at=NOW)

    store.sessions.put_session(session("now"), at=NOW)

    assert store.sessions.session("old") is None
    assert store.sessions.shown(Talker("old"), Way.TOLD) == frozenset()
    assert store.sessions.shown(Talker("new"), Way.TOLD) == {"m1"}


def test_use_is_counted_and_not_journalled(store: SqliteStore):
    memory = thread("Billing")
    store.apply(plan(Create(memory)), act())

    store.sessions.use([memory.id, memory.id, "nobody"], lambda m: replace(m, frequency=m.frequency + 1))

    assert store.get(memory.id) == replace(memory, frequency=1)
    assert len(store.log(limit=10)) == 1
    assert store.verify() == []


def test_use_cannot_change_what_a_memory_says(store: SqliteStore):
    memory = thread("Billing")
    store.apply(plan(Create(memory)), act())

    with pytest.raises(ValueError, match="would change what it says"):
        store.sessions.use([memory.id], lambda m: replace(m, body="other words"))
    assert store.get(memory.id) == memory


def test_undo_leaves_what_was_counted_since(store: SqliteStore):
    memory = thread("Billing", weight=0.5)
    store.apply(plan(Create(memory)), act())
    changed = act()
    store.apply(plan(Update.between(memory, replace(memory, title="Invoices", weight=0.9))), changed)
    store.sessions.use([memory.id], lambda m: replace(m, weight=1.0, frequency=3))

    store.undo(changed.change, act())

    assert store.get(memory.id) == replace(memory, weight=1.0, frequency=3)


def test_undo_still_refuses_what_someone_changed_since(store: SqliteStore):
    memory = thread("Billing")
    store.apply(plan(Create(memory)), act())
    changed = act()
    store.apply(plan(Update.between(memory, replace(memory, title="Invoices"))), changed)
    store.apply(plan(Update.between(replace(memory, title="Invoices"), replace(memory, title="Bills"))), act())

    with pytest.raises(Conflict):
        store.undo(changed.change, act())


def test_a_purged_memory_stands_in_no_ledger(store: SqliteStore, path: Path):
    memory = thread("Billing")
    store.apply(plan(Create(memory)), act())
    store.sessions.show(ME, Way.TOLD, [memory.id], at=NOW)

    store.purge((memory.id,))

    assert store.sessions.shown(ME, Way.TOLD) == frozenset()
    assert traces(path.parent, memory.id) == []


def test_state_is_kept_by_name(store: SqliteStore):
    store.sessions.put_state("heartbeat", "{}")
    store.sessions.put_state("heartbeat", '{"beat": 1}')

    assert store.sessions.state("heartbeat") == '{"beat": 1}'
    assert store.sessions.state("focus") is None


def test_an_event_is_received_once(store: SqliteStore):
    assert store.sessions.receive(pointer())
    assert not store.sessions.receive(pointer(at=NOW.plus(seconds=9)))
    assert store.sessions.receive(pointer(prompt="p2", calls=("a", "b")))

    assert [p for _, p in store.sessions.received()] == [pointer(), pointer(prompt="p2", calls=("a", "b"))]


def test_an_event_with_more_to_read_stands_anew_at_the_end(store: SqliteStore):
    for said in ({"size": 5}, {"prompt": "p2"}, {"size": 9}, {"size": 7}):
        store.sessions.receive(pointer(**said))

    assert [(n, p.prompt, p.size) for n, p in store.sessions.received()] == [(2, "p2", 0), (3, "", 9)]
    assert [n for n, _ in store.sessions.received(after=2)] == [3]


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


def test_several_writes_are_one_or_none(store: SqliteStore):
    def both() -> None:
        with store.together():
            store.sessions.put_state("a", "1")
            store.apply(plan(Create(thread("Billing"))), act())
            raise KeyError

    with pytest.raises(KeyError):
        both()

    assert store.sessions.state("a") is None
    assert list(store.each()) == []
    assert store.verify() == []


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


def test_a_database_from_before_sessions_is_brought_along(path: Path):
    memory: Memory = thread("Billing")
    with closing(SqliteStore(path, Tuning())) as store:
        store.apply(plan(Create(memory)), act())
    with closing(apsw.Connection(str(path))) as db:
        for table in ("session", "shown", "state", "event"):
            db.execute(f"DROP TABLE {table}")
        db.execute("PRAGMA user_version = 1")

    with closing(SqliteStore(path, Tuning())) as store:
        assert store.get(memory.id) == memory
        assert store.sessions.receive(pointer())
        assert store.verify() == []
    assert (path.parent / "backups" / f"memory-before-v{migrate.current_version()}.db").exists()


def test_how_near_given_memories_are(store: SqliteStore):
    near, far = thread("near", body="x"), thread("far", body="y")
    store.apply(plan(Create(near), Create(far), Create(thread("other", body="z"))), act())
    seqs = [seq for seq, _ in store.vectorless("m", 10)]
    store.put_vectors("m", list(zip(seqs, [vector(1, 0), vector(0, 1), vector(1, 0)], strict=True)))

    found = store.nearness("m", vector(1, 0), [near.id, far.id, "nobody"])

    assert {id: round(how, 2) for id, how in found.items()} == {near.id: 1.0, far.id: 0.0}
