"""What is purged leaves no byte; what is old leaves the journal."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import apsw
import pytest

from recollect.base.errors import StoreBusy
from recollect.lifecycle import edits
from recollect.lifecycle.reshape import Whole
from recollect.model.plan import Create, Link, Update
from recollect.model.query import Query
from recollect.store import Store, Tuning
from tests.store.files import traces
from tests.values import NOW, act, bridge, messages, note, plan, renamed, thread

CANARY = "xylocarp"


@pytest.fixture
def folder(path: Path) -> Path:
    return path.parent


@pytest.fixture
def store(path: Path) -> Iterator[Store]:
    with closing(Store(path, Tuning(busy_timeout_ms=150, synchronous="OFF"))) as opened:
        yield opened


def fill(store: Store) -> str:
    """A memory whose every part holds the canary, with a life behind it, among others."""
    others = [note(f"Other {i}", body="some words " * 50) for i in range(50)]
    secret = thread(CANARY, body=f"{CANARY} " * 400, topics=(CANARY,), tags=(CANARY,), origin=CANARY, group=CANARY)
    said = messages(secret, CANARY, f"say {CANARY}", *(f"{CANARY} {i}" for i in range(30)))
    store.apply(plan(*map(Create, others[:25])), act())
    store.apply(plan(Create(secret, said)), act("pin", summary=f"pinned {CANARY}"))
    store.apply(plan(*map(Create, others[25:]), Link(bridge(secret, others[0]))), act())
    renaming = act(summary=CANARY)
    store.apply(plan(Update.between(secret, renamed(secret, f"{CANARY} again"))), renaming)
    own = [seq for seq, text in store.vectorless("small", 500) if CANARY in text]
    store.put_vectors("small", [(seq, CANARY.encode() * 8) for seq in own])
    store.undo(renaming.change, act("undo", undoes=renaming.change))
    return secret.id


def test_a_purge_leaves_no_byte_in_any_file(store: Store, folder: Path) -> None:
    id = fill(store)
    assert traces(folder, CANARY), "or this proves nothing"

    store.purge((id,))

    assert traces(folder, CANARY) == []
    assert store.verify() == []
    assert len(store.find(Query(limit=100))) == 50


def test_a_deleted_memory_leaves_no_byte_once_it_is_purged(store: Store, folder: Path) -> None:
    secret = note("Quiet", body=f"{CANARY} and more")
    store.apply(plan(Create(secret), *(Create(note(f"Other {i}")) for i in range(20))), act())
    store.apply(edits.delete(Whole(secret)), act("delete"))
    assert traces(folder, CANARY)

    store.purge((secret.id,))

    assert traces(folder, CANARY) == []
    store.close()
    assert traces(folder, CANARY) == []


def test_a_revised_word_leaves_no_byte_once_it_is_purged(store: Store, folder: Path) -> None:
    old = note("Quiet", body=f"{CANARY} and more")
    new = note("Quiet", id=old.id, body="nothing to see")
    store.apply(plan(Create(old)), act())
    store.apply(plan(Update.between(old, new)), act())

    store.purge((old.id,))

    assert traces(folder, CANARY) == []


def test_a_purge_that_a_reader_holds_up_says_so(store: Store, folder: Path) -> None:
    id = fill(store)
    with closing(apsw.Connection(str(store.path))) as reader:
        reader.execute("BEGIN")
        reader.execute("SELECT count(*) FROM memory").fetchall()

        with pytest.raises(StoreBusy) as busy:
            store.purge((id,))

        assert busy.value.hint
    assert store.get(id) is None
    store.purge((id,))
    assert traces(folder, CANARY) == []
    assert store.verify() == []


# Retention


def test_old_changes_leave_the_journal_a_few_at_a_time_and_their_memories_stay(folder: Path) -> None:
    store = Store(folder / "memory.db", Tuning(journal_days=30, synchronous="OFF"))
    for i in range(50):
        store.apply(plan(Create(note(f"Note {i}"))), act(at=NOW.plus(days=-100)))

    store.apply(plan(Create(note("New"))), act())
    left = store.counts().changes
    assert 0 < 51 - left <= 20, "no write pays for all of them"

    for i in range(3):
        store.apply(plan(Create(note(f"Newer {i}"))), act())

    assert store.counts().changes == 4
    assert len(store.find(Query(limit=100))) == 54
    assert store.verify() == []
    store.close()


def test_changes_within_the_time_stay(folder: Path) -> None:
    store = Store(folder / "memory.db", Tuning(journal_days=30, synchronous="OFF"))
    for age in (29, 10, 0):
        store.apply(plan(Create(note("Note"))), act(at=NOW.plus(days=-age)))
    assert store.counts().changes == 3
    store.close()
