"""Damage that SQLite itself does not see is found, named, and mended where it can be derived again."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import apsw
import pytest

from recollect.base.errors import StoreBusy
from recollect.model.plan import Alias, Create, Link
from recollect.store import Store, Tuning, tokenizer
from recollect.store.salvage import salvage
from tests.store.asking import vector
from tests.store.state import state
from tests.values import act, bridge, messages, plan, rule, thread

AUTH = thread("Auth", body="getUserName and user_name", topics=("auth",))
SAID = messages(AUTH, "dark mode at night", "日本語")
TABS = rule("Tabs", body="We use tabs here")


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    store = Store(tmp_path / "memory.db", Tuning(busy_timeout_ms=150, synchronous="OFF"))
    store.apply(plan(Create(AUTH, SAID), Create(TABS), Link(bridge(AUTH, TABS)), Alias("rule_old", TABS.id)), act())
    store.put_vectors("small", [(seq, vector(1, 0)) for seq, _ in store.vectorless("small", 100)])
    assert store.verify() == []
    yield store
    store.close()


def damage(store: Store, *statements: str) -> None:
    """As something other than us would."""
    with closing(apsw.Connection(str(store.path))) as db:
        tokenizer.register(db)
        db.execute("PRAGMA foreign_keys = OFF; PRAGMA writable_schema = ON; PRAGMA trusted_schema = ON")
        for statement in statements:
            db.execute(statement)


# What was done to the file, and what verify must name: the table, and the key where it is one row.
TRUTH: dict[str, tuple[str, str, str | None]] = {
    "a changed body": ("UPDATE memory SET body = 'getUserNama and user_name' WHERE kind = 'thread'", "memory", AUTH.id),
    "a changed weight": ("UPDATE memory SET weight = 1.0000001 WHERE kind = 'rule'", "memory", TABS.id),
    "a changed status": ("UPDATE memory SET status = 'archived' WHERE kind = 'rule'", "memory", TABS.id),
    "a changed time": ("UPDATE memory SET created_at = created_at + 1 WHERE kind = 'rule'", "memory", TABS.id),
    "a changed own field": ("UPDATE memory SET own = '{\"drift\":[\"x\"]}' WHERE kind = 'thread'", "memory", AUTH.id),
    "an unreadable list": ("UPDATE memory SET topics = '[\"auth' WHERE kind = 'thread'", "memory", AUTH.id),
    "a changed message": ("UPDATE message SET content = 'dark made at night' WHERE seq = 1", "message", SAID[0].id),
    "a message of another": (f"UPDATE message SET thread_id = '{TABS.id}' WHERE seq = 1", "message", SAID[0].id),
    "a changed bridge": ("UPDATE bridge SET weight = 0.6", "bridge", f"{AUTH.id} {TABS.id} EXTENDS"),
    "a changed alias": (f"UPDATE alias SET new = '{AUTH.id}'", "alias", "rule_old"),
    "a changed plan": ("UPDATE journal SET plan = replace(plan, 'create', 'remove')", "journal", ""),
    "a changed summary": ("UPDATE journal SET summary = 'x'", "journal", ""),
    "a changed vector": ("UPDATE vector SET data = x'00' WHERE passage_seq = 1", "vector", "1"),
    "a text where a number was": ("UPDATE memory SET seen = 'x' WHERE kind = 'rule'", "memory", TABS.id),
    "a bridge to nobody": ("DELETE FROM memory WHERE kind = 'rule'", "bridge", None),
    "the journal's index of memories": ("DELETE FROM journal_memory WHERE id LIKE 'rule_2%'", "journal_memory", None),
    "an index dropped": ("DROP INDEX memory_by_activity", "schema", None),
    "a table dropped": ("DROP TABLE vector", "schema", None),
    "the full text dropped": ("DROP TABLE words", "schema", None),
    "the view dropped": ("DROP VIEW passage_text", "schema", None),
    "a trigger added": ("CREATE TRIGGER t AFTER INSERT ON memory BEGIN DELETE FROM journal; END", "schema", None),
    "a table added": ("CREATE TABLE extra (a)", "schema", None),
}


@pytest.mark.parametrize("name", TRUTH)
def test_a_changed_value_or_structure_is_found_where_it_stands(store: Store, name: str) -> None:
    statement, table, key = TRUTH[name]
    damage(store, statement)
    assert (table, key) in {(f.table, f.key if key is not None else None) for f in store.verify()}


DERIVED = {
    "a term too few": ("DELETE FROM term WHERE term = 'dark'", "term"),
    "a term too many": ("INSERT INTO term VALUES ('zeppelin', 1)", "term"),
    "a wrong count": ("UPDATE term SET passages = passages + 1 WHERE term = 'tab'", "term"),
    "a row of the full text missing": ("DELETE FROM words_docsize WHERE id = 1", "words"),
    "the full text emptied": ("INSERT INTO words (words) VALUES ('delete-all')", "words"),
    "a passage missing": ("DELETE FROM passage WHERE message_seq = 2", "passage"),
    "a passage moved": ("UPDATE passage SET start = 1 WHERE seq = 1", "passage"),
    "a passage of nobody": ("INSERT INTO passage (memory_seq, start, length, voice) VALUES (99, 0, 1, 0)", "passage"),
}


@pytest.mark.parametrize("name", DERIVED)
def test_what_is_derived_is_found_wrong_and_made_right(store: Store, name: str) -> None:
    before = state(store)
    statement, table = DERIVED[name]
    damage(store, statement)

    assert table in {f.table for f in store.verify()}

    store.reindex()
    assert store.verify() == []
    assert state(store) == before


def test_reindexing_keeps_the_vectors_of_passages_that_are_right(store: Store) -> None:
    had = store.counts().vectors
    damage(store, "DELETE FROM term", "UPDATE passage SET length = 1 WHERE message_seq = 1")

    store.reindex()

    wanting = store.vectorless("small", 100)
    assert store.counts().vectors == had - 3, "those of the one memory whose passages were wrong"
    assert len(wanting) == 3


def test_every_finding_is_of_something_that_is_named(store: Store) -> None:
    damage(store, "UPDATE memory SET body = body || '!'", "DELETE FROM term", "UPDATE journal SET op = 'x'")
    found = store.verify()
    assert {"memory", "journal", "term"} <= {f.table for f in found}
    assert all(f.problem for f in found)


def test_hundreds_of_findings_are_told_as_a_hundred(store: Store) -> None:
    store.apply(plan(*(Create(rule(f"Rule {i}")) for i in range(250))), act())
    damage(store, "UPDATE memory SET body = body || '!'")
    assert len([f for f in store.verify() if f.table == "memory"]) == 100


def test_a_store_held_by_another_is_busy_and_not_damaged(store: Store) -> None:
    with closing(apsw.Connection(str(store.path))) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(StoreBusy):
            store.verify()
    assert store.verify() == []


def test_looking_changes_nothing_and_holds_nothing(store: Store) -> None:
    damage(store, "UPDATE bridge SET weight = 0.6")
    assert store.path is not None
    store.verify()
    with closing(apsw.Connection(str(store.path))) as other:
        other.execute("BEGIN IMMEDIATE; ROLLBACK")
        before = other.pragma("data_version")
        assert store.verify() != []
        assert other.pragma("data_version") == before


def test_what_is_sound_in_a_damaged_file_can_be_read_again(store: Store) -> None:
    damage(
        store,
        "UPDATE memory SET body = 'changed' WHERE kind = 'rule'",
        "UPDATE message SET content = 'x' WHERE seq = 1",
    )
    assert store.path is not None
    before = store.path.read_bytes()

    found = salvage(store.path)

    assert found.memories == (AUTH,)
    assert found.messages == SAID[1:]
    assert len(found.bridges) == 1
    assert store.path.read_bytes() == before
