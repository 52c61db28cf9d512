"""An older database becomes current after a backup, whole or not at all."""

from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import apsw
import pytest

from recollect.base.errors import StoreFull, StoreTooNew
from recollect.model.memory import Note
from recollect.model.plan import Create
from recollect.store import SqliteStore, Tuning, connect
from tests.store.helpers import contents
from tests.values import act, note, plan

STEPS = (
    "CREATE TABLE extra (a TEXT)",
    "INSERT INTO extra SELECT id FROM memory",
    "ALTER TABLE memory ADD COLUMN mood TEXT NOT NULL DEFAULT 'calm'",
    "UPDATE memory SET mood = 'glad'",
    "CREATE INDEX memory_by_mood ON memory (mood)",
)


class Killed(BaseException):
    """Not an Exception: nothing may catch it on the way."""


class Steps:
    """A later migration of several statements that can be stopped before any of them."""

    def __init__(self, stop_before: int | None = None):
        self.stop_before = stop_before
        self.runs = 0

    def __call__(self, db: apsw.Connection):
        self.runs += 1
        for number, step in enumerate(STEPS):
            if number == self.stop_before:
                raise Killed
            db.execute(step)
        if self.stop_before == len(STEPS):
            raise Killed


def learn(monkeypatch: pytest.MonkeyPatch, *steps: Callable[[apsw.Connection], object]):
    """From here on this program is a later one, which knows these migrations too."""
    monkeypatch.setattr(connect, "MIGRATIONS", (*connect.MIGRATIONS, *steps))


@pytest.fixture
def kept(path: Path) -> list[Note]:
    made = [note(f"Note {i}") for i in range(20)]
    with closing(SqliteStore(path, Tuning())) as store:
        store.apply(plan(*map(Create, made)), act())
    return made


def read(path: Path, sql: str) -> list[tuple[Any, ...]]:
    with closing(apsw.Connection(str(path))) as db:
        return db.execute(sql).fetchall()


def version(path: Path) -> int:
    return int(read(path, "PRAGMA user_version")[0][0])


def backups(path: Path) -> list[str]:
    return sorted(p.name for p in (path.parent / "backups").glob("*"))


def check_whole(path: Path, kept: list[Note]) -> None:
    with closing(SqliteStore(path, Tuning())) as store:
        assert [m for m, _ in store.each()] == kept
        assert store.verify() == []


def test_an_older_database_is_migrated_once_after_a_backup_and_a_new_one_needs_none(
    path: Path, kept: list[Note], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    old, migration, new = version(path), Steps(), tmp_path / "new.db"
    learn(monkeypatch, migration)

    for each, notes in ((path, kept), (path, kept), (new, [])):
        check_whole(each, notes)

    assert (migration.runs, backups(new)) == (5, []), "a file each, and verify three times"
    schema = "SELECT type, name, tbl_name, sql FROM sqlite_schema"
    assert set(read(path, schema)) == set(read(new, schema))
    assert version(path) == version(new) == connect.current_version() == old + 1
    assert backups(path) == [f"memory-before-v{old + 1}.db"]
    read(path, "DROP INDEX memory_by_mood")
    with closing(SqliteStore(path, Tuning())) as store:
        assert [finding.key for finding in store.verify()] == ["memory_by_mood"]

    monkeypatch.undo()
    check_whole(path.parent / "backups" / backups(path)[0], kept)
    with pytest.raises(StoreTooNew):
        SqliteStore(path, Tuning())


def test_several_are_applied_in_their_order_and_what_is_derived_is_rebuilt(
    path: Path, kept: list[Note], monkeypatch: pytest.MonkeyPatch
):
    old = version(path)
    learn(monkeypatch, Steps(), lambda db: db.execute("ALTER TABLE extra ADD COLUMN b TEXT"))
    learn(monkeypatch, lambda db: db.execute("DELETE FROM term; DELETE FROM passage"))

    with closing(SqliteStore(path, Tuning())) as store:
        assert store.verify() == []
        assert store.words("Note 7").passages == len(kept)

    assert version(path) == old + 3


@pytest.mark.parametrize("stop_before", range(len(STEPS) + 1))
def test_a_migration_that_is_stopped_anywhere_leaves_the_old_version_whole(
    path: Path, kept: list[Note], monkeypatch: pytest.MonkeyPatch, stop_before: int
):
    old = version(path)
    learn(monkeypatch, Steps(stop_before))
    for _ in range(2):
        with pytest.raises(Killed):
            SqliteStore(path, Tuning())

    monkeypatch.undo()
    assert version(path) == old
    names = [f"memory-before-v{old + 1}-2.db", f"memory-before-v{old + 1}.db"]
    assert backups(path) == names, "a backup came first, and none overwrites another"
    check_whole(path, kept)


def test_without_a_backup_there_is_no_migration(path: Path, kept: list[Note], monkeypatch: pytest.MonkeyPatch):
    migration = Steps()
    learn(monkeypatch, migration)

    def full(*_: object):
        raise StoreFull("No space left for the backup.")

    monkeypatch.setattr("recollect.store.connect.copy_to", full)
    before = contents(path.parent)

    with pytest.raises(StoreFull):
        SqliteStore(path, Tuning())

    assert migration.runs == 0
    assert contents(path.parent) == before
