"""An older database becomes current after a backup, whole or not at all."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import apsw
import pytest

from recollect.base.errors import StoreFull, StoreTooNew
from recollect.model.memory import Note
from recollect.model.plan import Create
from recollect.store import SqliteStore, Tuning, migrate, tokenizer
from recollect.store.tokenizer import Analyse
from tests.store.files import contents, finished, start
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


class Migrations:
    """One migration of several statements that can be stopped before any of them."""

    def __init__(self, stop_before: int | None = None) -> None:
        self.stop_before = stop_before
        self.runs = 0

    def __call__(self, db: apsw.Connection, _analyse: Analyse) -> None:
        self.runs += 1
        for number, step in enumerate(STEPS):
            if number == self.stop_before:
                raise Killed
            db.execute(step)
        if self.stop_before == len(STEPS):
            raise Killed


@pytest.fixture
def path(tmp_path: Path) -> Path:
    folder = tmp_path / "store"
    folder.mkdir(mode=0o700)
    return folder / "memory.db"


@pytest.fixture
def kept(path: Path) -> list[Note]:
    made = [note(f"Note {i}") for i in range(20)]
    with closing(SqliteStore(path, Tuning())) as store:
        store.apply(plan(*map(Create, made)), act())
    return made


def version(path: Path) -> int:
    with closing(apsw.Connection(str(path))) as db:
        return int(db.pragma("user_version"))


def backups(path: Path) -> list[str]:
    folder = path.parent / "backups"
    return sorted(p.name for p in folder.iterdir()) if folder.is_dir() else []


def test_an_older_database_is_migrated_after_a_backup(
    path: Path, kept: list[Note], monkeypatch: pytest.MonkeyPatch
) -> None:
    old = version(path)
    monkeypatch.setattr(migrate, "MIGRATIONS", (*migrate.MIGRATIONS, Migrations()))

    with closing(SqliteStore(path, Tuning())) as store:
        assert [m for m, _ in store.each()] == kept

    assert version(path) == old + 1
    assert backups(path) == [f"memory-before-v{old + 1}.db"]
    monkeypatch.undo()
    with closing(SqliteStore(path.parent / "backups" / backups(path)[0], Tuning())) as backup:
        assert [m for m, _ in backup.each()] == kept
        assert backup.verify() == []
    with pytest.raises(StoreTooNew):
        SqliteStore(path, Tuning())


def test_a_current_database_is_not_migrated_again(
    path: Path, kept: list[Note], monkeypatch: pytest.MonkeyPatch
) -> None:
    migration = Migrations()
    monkeypatch.setattr(migrate, "MIGRATIONS", (*migrate.MIGRATIONS, migration))
    for _ in range(3):
        SqliteStore(path, Tuning()).close()
    assert migration.runs == 1
    assert len(backups(path)) == 1


def test_a_new_database_needs_no_migration_and_no_backup(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    migration = Migrations()
    monkeypatch.setattr(migrate, "MIGRATIONS", (*migrate.MIGRATIONS, migration))
    SqliteStore(path, Tuning()).close()
    assert (migration.runs, backups(path), version(path)) == (0, [], migrate.current_version())


@pytest.mark.parametrize("stop_before", range(len(STEPS) + 1))
def test_a_migration_that_is_stopped_anywhere_leaves_the_old_version_whole(
    path: Path, kept: list[Note], monkeypatch: pytest.MonkeyPatch, stop_before: int
) -> None:
    old = version(path)
    monkeypatch.setattr(migrate, "MIGRATIONS", (*migrate.MIGRATIONS, Migrations(stop_before)))

    with pytest.raises(Killed):
        SqliteStore(path, Tuning())

    monkeypatch.undo()
    assert version(path) == old
    assert len(backups(path)) == 1, "the backup came first"
    with closing(SqliteStore(path, Tuning())) as store:
        assert [m for m, _ in store.each()] == kept
        assert store.verify() == []


_KILLED = """
import os, sys
from pathlib import Path
from recollect.store import SqliteStore, Tuning, migrate, tokenizer
from tests.store.test_migrate import STEPS
def migration(db, analyse):
    db.execute("PRAGMA cache_size = 1")
    for number, step in enumerate(STEPS):
        if number == int(sys.argv[2]): os._exit(0)
        db.execute(step)
    os._exit(0)
migrate.MIGRATIONS = (*migrate.MIGRATIONS, migration)
SqliteStore(Path(sys.argv[1]), Tuning())
"""


@pytest.mark.parametrize("stop_before", range(1, len(STEPS) + 1, 2))
def test_a_program_that_is_killed_while_migrating_leaves_the_old_version_whole(
    path: Path, kept: list[Note], stop_before: int
) -> None:
    finished(start(_KILLED, str(path), str(stop_before)))

    with closing(SqliteStore(path, Tuning())) as store:
        assert [m for m, _ in store.each()] == kept
        assert store.verify() == []


def test_without_a_backup_there_is_no_migration(path: Path, kept: list[Note], monkeypatch: pytest.MonkeyPatch) -> None:
    migration = Migrations()
    monkeypatch.setattr(migrate, "MIGRATIONS", (*migrate.MIGRATIONS, migration))

    def full(*_: object) -> None:
        raise StoreFull("No space left for the backup.")

    monkeypatch.setattr("recollect.store.care.copy_to", full)
    before = contents(path.parent)

    with pytest.raises(StoreFull):
        SqliteStore(path, Tuning())

    assert migration.runs == 0
    assert contents(path.parent) == before


def test_backups_never_overwrite_each_other(path: Path, kept: list[Note], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(migrate, "MIGRATIONS", (*migrate.MIGRATIONS, Migrations(0)))
    for _ in range(3):
        with pytest.raises(Killed):
            SqliteStore(path, Tuning())
    v = migrate.current_version()
    assert backups(path) == [f"memory-before-v{v}-2.db", f"memory-before-v{v}-3.db", f"memory-before-v{v}.db"]


def test_a_file_of_version_1_is_sound_and_searchable_afterwards(path: Path, kept: list[Note]) -> None:
    with closing(apsw.Connection(str(path))) as db:
        tokenizer.register(db)
        for table in (
            "words",
            "vector",
            "vector_count",
            "term",
            "passage",
            "session",
            "shown",
            "state",
            "event",
            "outcome",
        ):
            db.execute(f"DROP TABLE {table}")
        db.execute("DROP VIEW passage_text")
        db.execute((Path(__file__).parent / "derived_v1.sql").read_text(encoding="utf-8"))
        db.execute("PRAGMA user_version = 1")

    with closing(SqliteStore(path, Tuning())) as store:
        assert store.verify() == []
        assert [memory.id for memory, _ in store.each()] == [one.id for one in kept]
        assert store.words("Note 7").passages == len(kept)
