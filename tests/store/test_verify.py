"""Damage that SQLite itself does not see is found, named, and mended where it can be derived again."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import apsw
import pytest

from recollect.base.errors import StoreBusy
from recollect.base.structs import replace
from recollect.model.plan import Alias, Create, Link, Update
from recollect.model.session import Ending, Outcome, StateRecord
from recollect.store import LocalStore, salvage, tokenizer
from tests.store.conftest import open_sqlite
from tests.store.helpers import (
    AUTH,
    DEPLOY,
    DEPLOYED,
    HOUSE,
    LINK,
    ME,
    OLD,
    SAID,
    TABS,
    do,
    pointer,
    session,
    show,
    state,
    vector,
)
from tests.values import NOW, rule


@pytest.fixture
def store(path: Path) -> Iterator[LocalStore]:
    with closing(open_sqlite(path)) as store:
        do(store, *HOUSE)
        store.put_vectors(
            "small", [(seq, vector(1, 0)) for seq, _ in store.vectorless("small", 100)]
        )
        outcome = Outcome(kind=Ending.FAILURE, at=NOW, session="s-1", act="toolu_1")
        store.put(session(), StateRecord("a", "1"), pointer(), outcome)
        show(store, ME, ["m1"])
        assert store.verify() == []
        yield store


def damage(store: LocalStore, *statements: str):
    """As something other than us would."""
    with closing(apsw.Connection(str(store.path))) as db:
        tokenizer.register(db)
        db.execute(
            "PRAGMA foreign_keys = OFF; PRAGMA writable_schema = ON; PRAGMA trusted_schema = ON"
        )
        for statement in statements:
            db.execute(statement)


# What was done to the file, and what verify must name: the table, and the key where it is one row.
TRUTH: dict[str, tuple[str, str, str | None]] = {
    "a changed body": (
        "UPDATE memory SET body = 'getUserNama and user_name' WHERE kind = 'thread'",
        "memory",
        AUTH.id,
    ),
    "a changed weight": (
        "UPDATE memory SET weight = 1.0000001 WHERE kind = 'rule'",
        "memory",
        TABS.id,
    ),
    "a changed status": (
        "UPDATE memory SET status = 'archived' WHERE kind = 'rule'",
        "memory",
        TABS.id,
    ),
    "a changed time": (
        "UPDATE memory SET created_at = created_at + 1 WHERE kind = 'rule'",
        "memory",
        TABS.id,
    ),
    "a changed own field": (
        "UPDATE memory SET own = '{\"drift\":[\"x\"]}' WHERE kind = 'thread'",
        "memory",
        AUTH.id,
    ),
    "an unreadable list": (
        "UPDATE memory SET topics = '[\"auth' WHERE kind = 'thread'",
        "memory",
        AUTH.id,
    ),
    "a changed message": (
        "UPDATE message SET content = 'auth fails at noon' WHERE seq = 1",
        "message",
        SAID[0].id,
    ),
    "a message of another": (
        f"UPDATE message SET thread_id = '{TABS.id}' WHERE seq = 1",
        "message",
        SAID[0].id,
    ),
    "a changed bridge": (
        "UPDATE bridge SET weight = 0.6",
        "bridge",
        f"{AUTH.id} {DEPLOY.id} DEPENDS",
    ),
    "a changed alias": (f"UPDATE alias SET new = '{AUTH.id}'", "alias", OLD),
    "a changed plan": (
        "UPDATE journal SET plan = replace(plan, 'create', 'remove')",
        "journal",
        "1",
    ),
    "a changed summary": ("UPDATE journal SET summary = 'x'", "journal", "1"),
    "a changed vector": ("UPDATE vector SET data = x'00' WHERE passage_seq = 1", "vector", "1"),
    "a changed session": ("UPDATE session SET number = 77", "session", "s-1 "),
    "a changed ledger": ("UPDATE shown SET at = 77", "shown", None),
    "a changed state": ("UPDATE state SET value = 77", "state", "a"),
    "a changed event": ("UPDATE event SET size = 77", "event", None),
    "a changed outcome": ("UPDATE outcome SET action = 77", "outcome", None),
    "a text where a number was": (
        "UPDATE memory SET seen = 'x' WHERE kind = 'rule'",
        "memory",
        TABS.id,
    ),
    "a bridge to nobody": ("DELETE FROM memory WHERE title = 'Deploy'", "bridge", None),
    "the journal's index of memories": (
        "DELETE FROM journal_memory WHERE id LIKE 'rule_2%'",
        "journal_memory",
        None,
    ),
    "an index dropped": ("DROP INDEX memory_by_activity", "schema", None),
    "a table dropped": ("DROP TABLE vector", "schema", None),
    "the full text dropped": ("DROP TABLE words", "schema", None),
    "the view dropped": ("DROP VIEW passage_text", "schema", None),
    "a trigger added": (
        "CREATE TRIGGER t AFTER INSERT ON memory BEGIN DELETE FROM journal; END",
        "schema",
        None,
    ),
    "a table added": ("CREATE TABLE extra (a)", "schema", None),
}


@pytest.mark.parametrize(("statement", "table", "key"), TRUTH.values(), ids=TRUTH)
def test_a_changed_value_or_structure_is_found_where_it_stands(
    store: LocalStore, statement: str, table: str, key: str | None
):
    damage(store, statement)
    assert (table, key) in {(f.table, f.key if key is not None else None) for f in store.verify()}


DERIVED = {
    "a term too few": ("DELETE FROM term WHERE term = 'night'", "term"),
    "a term too many": ("INSERT INTO term VALUES ('zeppelin', 1)", "term"),
    "a wrong count": ("UPDATE term SET passages = passages + 1 WHERE term = 'tab'", "term"),
    "a row of the full text missing": ("DELETE FROM words_docsize WHERE id = 1", "words"),
    "the full text emptied": ("INSERT INTO words (words) VALUES ('delete-all')", "words"),
    "a passage missing": ("DELETE FROM passage WHERE message_seq = 2", "passage"),
    "a passage moved": ("UPDATE passage SET start = 1 WHERE seq = 1", "passage"),
    "a passage of nobody": (
        "INSERT INTO passage (memory_seq, start, length, voice) VALUES (99, 0, 1, 0)",
        "passage",
    ),
}


@pytest.mark.parametrize(("statement", "table"), DERIVED.values(), ids=DERIVED)
def test_what_is_derived_is_found_wrong_and_made_right(
    store: LocalStore, statement: str, table: str
):
    before = state(store)
    damage(store, statement)
    assert table in {f.table for f in store.verify()}
    store.reindex()
    assert state(store) == before


def test_reindexing_keeps_the_vectors_of_passages_that_are_right(store: LocalStore):
    had = store.counts().vectors
    damage(store, "DELETE FROM term", "UPDATE passage SET length = 1 WHERE message_seq = 1")
    store.reindex()
    assert store.counts().vectors == had - 4, "those of the one memory whose passages were wrong"
    assert len(store.vectorless("small", 100)) == 4


@pytest.mark.parametrize(
    "body", ["another summary", f"it says: {SAID[0].content}!", "", "word " * 600]
)
def test_a_memory_s_own_text_can_change_alone_and_messages_that_it_repeats_are_found_once(
    store: LocalStore, body: str
):
    for now, then in ((AUTH, replace(AUTH, body=body)), (replace(AUTH, body=body), AUTH)):
        do(store, Update.between(now, then))
        assert store.verify() == []
    store.reindex()
    assert store.get(AUTH.id) == AUTH


def test_hundreds_of_findings_are_reported_as_a_hundred(store: LocalStore):
    do(store, *(Create(rule(f"Rule {i}")) for i in range(250)))
    damage(store, "UPDATE memory SET body = body || '!'", "DELETE FROM term")
    found = store.verify()
    assert {"memory", "term"} <= {f.table for f in found}
    assert len([f for f in found if f.table == "memory"]) == 100
    assert all(f.problem for f in found)


def test_looking_changes_nothing_and_a_store_held_by_another_is_not_damaged(store: LocalStore):
    with closing(apsw.Connection(str(store.path))) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(StoreBusy):
            store.verify()
        other.execute("ROLLBACK")
        damage(store, "UPDATE bridge SET weight = 0.6")
        before = other.pragma("data_version")
        assert store.verify() != []
        assert other.pragma("data_version") == before


def test_what_is_sound_in_a_damaged_file_can_be_read_again(store: LocalStore):
    rot = (
        "UPDATE memory SET body = 'changed' WHERE kind = 'rule'",
        "UPDATE message SET content = 'x' WHERE seq = 1",
    )
    damage(store, *rot)
    assert store.path is not None
    before = store.path.read_bytes()
    sound = ([AUTH, DEPLOY], [*SAID[1:], *DEPLOYED], [Link(LINK), Alias(OLD, DEPLOY.id)])
    assert salvage([store.path]) == sound
    assert store.path.read_bytes() == before
