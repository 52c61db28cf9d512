"""What stands where the database should be: damaged, foreign, newer, older, no file at all, held by another, opened by
many at once."""

import os
import sqlite3
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import apsw
import pytest

from recollect.base import errors
from recollect.base.errors import (
    RecollectError,
    StoreDamaged,
    StoreForeign,
    StoreFull,
    StoreReadOnly,
    StoreTooNew,
)
from recollect.model.memory import Note
from recollect.model.plan import Create
from recollect.model.query import Query
from recollect.store import LocalStore, SqliteStore, Tuning, connect
from tests.store.helpers import contents, do, finished, search, start
from tests.values import note

QUICK = Tuning(busy_timeout_ms=150)
UNSYNCED = Tuning(synchronous="OFF")


def built(path: Path, notes: int = 30) -> list[Note]:
    kept = [note(f"Note {i}", body=f"words of note number {i} " * 20) for i in range(notes)]
    with closing(SqliteStore(path, UNSYNCED)) as store:
        do(store, *map(Create, kept))
    return kept


def check_whole(path: Path, kept: list[Note]) -> None:
    with closing(SqliteStore(path, QUICK)) as store:
        assert [m for m, _ in store.each()] == kept
        assert store.verify() == []


def write(store: LocalStore) -> None:
    do(store, Create(note("New")))


def check_refused(path: Path, error: type[RecollectError]):
    """By readers and writers alike, with a hint, and with every byte as it was, there and around it."""
    before = contents(path.parents[1])
    for read_only in (True, False):
        with pytest.raises(error) as refused:
            SqliteStore(path, QUICK, read_only=read_only)
        assert refused.value.hint
    assert contents(path.parents[1]) == before


# Damaged


@pytest.mark.parametrize(
    "garbage",
    [
        os.urandom(2),
        os.urandom(99),
        os.urandom(100_000),
        b"hello world\n" * 50,
        bytes(5_000),
        b"SQLite format 3\x00",
    ],
    ids=["two bytes", "a few bytes", "chance", "text", "zeros", "half a header"],
)
def test_a_file_of_something_else_is_damaged_and_left_as_it_is(path: Path, garbage: bytes):
    path.write_bytes(garbage)
    check_refused(path, StoreDamaged)


def check_damage_is_seen(path: Path, content: bytes, *, is_sure: bool = True) -> None:
    """Refused, or found by `verify`; whatever is asked, no error but ours."""
    path.write_bytes(content)
    with suppress(errors.StoreError), closing(SqliteStore(path, QUICK)) as store:
        assert store.verify() != [] or not is_sure
        for ask in (
            lambda s: list(s.each()),
            lambda s: search(s, Query(text="number words")),
            write,
        ):
            with suppress(RecollectError):
                ask(store)


def test_garbage_anywhere_and_a_file_cut_off_anywhere_are_seen(path: Path):
    built(path, 60)
    whole = path.read_bytes()
    for share in range(1, 48):
        check_damage_is_seen(path, whole[: len(whole) * share // 48])
    for kept in (100, 200, 1_000, 4_096):
        check_damage_is_seen(path, whole[:kept] + os.urandom(len(whole) - kept))
    for page in range(2, len(whole) // 4_096, 3):
        damaged = whole[: page * 4_096] + os.urandom(4_096) + whole[(page + 1) * 4_096 :]
        check_damage_is_seen(path, damaged, is_sure=False)  # the page may be a free one


def test_an_empty_file_is_a_store_to_be(path: Path):
    path.touch()
    with closing(SqliteStore(path, QUICK)) as store:
        write(store)
        assert store.verify() == []
    assert int.from_bytes(path.read_bytes()[68:72], "big") == connect.APPLICATION_ID


# Foreign


@pytest.mark.parametrize("mode", ["delete", "wal"])
@pytest.mark.parametrize("version", [0, 1, 99])
def test_a_database_of_another_program_is_not_touched(path: Path, mode: str, version: int):
    with closing(sqlite3.connect(path)) as db:
        db.executescript(f"""
            PRAGMA journal_mode = {mode}; CREATE TABLE memory (id TEXT, title TEXT);
            INSERT INTO memory VALUES ('a', 'somebody else''s');
            PRAGMA user_version = {version}; PRAGMA application_id = {version}""")
    check_refused(path, StoreForeign)
    assert read(path, "PRAGMA journal_mode") == [(mode,)]
    assert read(path, "SELECT title FROM memory") == [("somebody else's",)]


# Newer, or older: it becomes current after a backup, whole or not at all

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
    """A later migration of several statements that can be stopped before any of them, or after the last."""

    def __init__(self, stop_before: int | None = None):
        self.stop_before = stop_before
        self.runs = 0

    def __call__(self, db: apsw.Connection):
        self.runs += 1
        for number, step in enumerate((*STEPS, "SELECT 1")):
            if number == self.stop_before:
                raise Killed
            db.execute(step)


def learn(monkeypatch: pytest.MonkeyPatch, *steps: Callable[[apsw.Connection], object]):
    """From here on this program is a later one, which knows these migrations too."""
    monkeypatch.setattr(connect, "MIGRATIONS", (*connect.MIGRATIONS, *steps))


def read(path: Path, sql: str) -> list[tuple[Any, ...]]:
    with closing(apsw.Connection(str(path))) as db:
        return db.execute(sql).fetchall()


def version(path: Path) -> int:
    return int(read(path, "PRAGMA user_version")[0][0])


def backups(path: Path) -> list[str]:
    return sorted(p.name for p in (path.parent / "backups").glob("*"))


def test_a_database_that_becomes_newer_or_older_while_it_is_open_is_not_written(path: Path):
    built(path)
    with closing(SqliteStore(path, QUICK)) as store, closing(apsw.Connection(str(path))) as other:
        other.execute("PRAGMA user_version = 0")
        with pytest.raises(errors.Conflict):
            write(store)
        other.execute(f"PRAGMA user_version = {connect.current_version() + 1}")
        before = contents(path.parent)
        writes = (
            SqliteStore.reindex,
            lambda s: s.purge(("x",)),
            lambda s: s.put_vectors("m", [(1, b"v")]),
        )
        for change in (write, *writes):
            with pytest.raises(StoreTooNew):
                change(store)
        assert contents(path.parent) == before
    check_refused(path, StoreTooNew)


def test_an_older_database_is_migrated_once_after_a_backup_and_a_new_one_needs_none(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    kept = built(path)
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
    with closing(SqliteStore(path, QUICK)) as store:
        assert [finding.key for finding in store.verify()] == ["memory_by_mood"]

    monkeypatch.undo()
    check_whole(path.parent / "backups" / backups(path)[0], kept)
    with pytest.raises(StoreTooNew):
        SqliteStore(path, QUICK)


def test_several_are_applied_in_their_order_and_what_is_derived_is_rebuilt(
    path: Path, monkeypatch: pytest.MonkeyPatch
):
    kept = built(path)
    old = version(path)
    learn(monkeypatch, Steps(), lambda db: db.execute("ALTER TABLE extra ADD COLUMN b TEXT"))
    learn(monkeypatch, lambda db: db.execute("DELETE FROM term; DELETE FROM passage"))
    check_whole(path, kept)
    with closing(SqliteStore(path, QUICK)) as store:
        assert store.words("Note 7").passages == store.counts().passages >= len(kept)
    assert version(path) == old + 3


@pytest.mark.parametrize("stop_before", range(len(STEPS) + 1))
def test_a_migration_that_is_stopped_anywhere_leaves_the_old_version_whole(
    path: Path, monkeypatch: pytest.MonkeyPatch, stop_before: int
):
    kept = built(path)
    old = version(path)
    learn(monkeypatch, Steps(stop_before))
    for _ in range(2):
        with pytest.raises(Killed):
            SqliteStore(path, QUICK)
    monkeypatch.undo()
    assert version(path) == old
    names = [f"memory-before-v{old + 1}-2.db", f"memory-before-v{old + 1}.db"]
    assert backups(path) == names, "a backup came first, and none overwrites another"
    check_whole(path, kept)


def test_without_a_backup_there_is_no_migration(path: Path, monkeypatch: pytest.MonkeyPatch):
    built(path)
    migration, before = Steps(), contents(path.parent)
    learn(monkeypatch, migration)

    def full(*_: object):
        raise StoreFull("No space left for the backup.")

    monkeypatch.setattr(connect, "copy_to", full)
    with pytest.raises(StoreFull):
        SqliteStore(path, QUICK)
    assert (migration.runs, contents(path.parent)) == (0, before)


# Not a file


@pytest.mark.parametrize("target", ["elsewhere.db", "notes.txt", "nothing.db"])
def test_a_link_is_not_followed(path: Path, tmp_path: Path, target: str):
    built(tmp_path / "elsewhere.db")
    (tmp_path / "notes.txt").write_text("dear diary\n" * 100)
    path.symlink_to(tmp_path / target)
    check_refused(path, StoreForeign)


@pytest.mark.parametrize(
    "make", [Path.mkdir, getattr(os, "mkfifo", Path.mkdir)], ids=["a folder", "a pipe"]
)
def test_what_is_not_a_file_is_refused_without_waiting(path: Path, make: Callable[[Path], None]):
    make(path)
    check_refused(path, StoreForeign)


def test_a_missing_folder_or_file_is_not_made_by_a_look(path: Path, tmp_path: Path):
    missing = tmp_path / "missing" / "memory.db"
    for place, read_only, error in (
        (missing, False, StoreReadOnly),
        (path, True, errors.StoreError),
    ):
        with pytest.raises(error):
            SqliteStore(place, QUICK, read_only=read_only)
        assert not place.exists()
    assert not missing.parent.exists()


@pytest.mark.parametrize(
    "name",
    ["a b.db", "100%.db", "what?.db", "#1.db", "ünïcödé 日本.db", "-x.db", "a'b\"c.db", "%20.db"],
)
def test_any_name_of_a_file_will_do(tmp_path: Path, name: str):
    path = tmp_path / name
    kept = built(path, 2)
    with closing(SqliteStore(path, QUICK, read_only=True)) as store:
        assert [m for m, _ in store.each()] == kept
    assert [p.name for p in tmp_path.glob("*.db")] == [name]


# Read-only, private


def test_a_reader_reads_and_does_not_write(path: Path):
    kept = built(path)
    before = contents(path.parent)
    with closing(SqliteStore(path, QUICK, read_only=True)) as store:
        assert [m for m, _ in store.each()] == kept
        assert search(store, Query(text="number"))
        with pytest.raises(StoreReadOnly):
            write(store)
        assert store.verify() == [], "looking for damage writes nothing"
    assert contents(path.parent) == before


@pytest.mark.skipif(sys.platform == "win32", reason="permissions are not bits here")
def test_every_file_is_private_whatever_the_umask(path: Path):
    os.umask(0)
    store = SqliteStore(path, QUICK)
    write(store)
    store.backup(path.parent / "backups" / "deep" / "one.db")
    modes = {
        str(p.relative_to(path.parent)): oct(p.stat().st_mode & 0o777)
        for p in path.parent.rglob("*")
    }
    files = ("memory.db", "memory.db-wal", "memory.db-shm", "backups/deep/one.db")
    assert modes == dict.fromkeys(files, "0o600") | dict.fromkeys(
        ("backups", "backups/deep"), "0o700"
    )
    store.close()
    path.chmod(0o644)
    SqliteStore(path, QUICK).close()
    assert path.stat().st_mode & 0o777 == 0o600, "a file that others could read is made private"


# Held by another, or by many


@pytest.mark.parametrize("lock", ["BEGIN IMMEDIATE", "BEGIN EXCLUSIVE"])
def test_a_database_held_by_another_is_busy_after_the_wait_and_nothing_is_lost(
    path: Path, lock: str
):
    kept = built(path, 3)
    with closing(SqliteStore(path, QUICK)) as store, closing(apsw.Connection(str(path))) as other:
        other.execute(lock)
        for change in (write, SqliteStore.reindex):
            with pytest.raises(errors.StoreBusy) as busy:
                change(store)
            assert busy.value.hint
        with closing(SqliteStore(path, QUICK)) as second:
            for reader in (store, second):
                assert [m for m, _ in reader.each()] == kept, "readers do not wait for writers"
        other.execute("ROLLBACK")
        write(store)
        assert store.verify() == []


def together(count: int, work: Callable[[int, LocalStore], object], path: Path) -> None:
    def run(number: int) -> None:
        with closing(SqliteStore(path, UNSYNCED)) as store:
            work(number, store)

    with ThreadPoolExecutor(count) as pool:
        for done in [pool.submit(run, number) for number in range(count)]:
            done.result()


def titles(path: Path) -> list[str]:
    with closing(SqliteStore(path, UNSYNCED)) as store:
        assert store.verify() == []
        return sorted(memory.title for memory, _ in store.each())


def test_sixteen_threads_open_a_new_store_and_write_to_it_at_once(path: Path):
    together(
        16,
        lambda thread, store: [do(store, Create(note(f"Note {thread:02} {i}"))) for i in range(6)],
        path,
    )
    assert titles(path) == [f"Note {thread:02} {i}" for thread in range(16) for i in range(6)]


def test_readers_checks_and_backups_go_on_while_others_write(path: Path, tmp_path: Path):
    SqliteStore(path, UNSYNCED).close()
    findings: list[object] = []

    def work(number: int, store: LocalStore) -> None:
        for i in range(12):
            if number < 3:
                do(store, Create(note(f"Note {number} {i}", body="words " * 30)))
            elif number == 3:
                findings.extend(store.verify())
            elif number == 4:
                store.backup(tmp_path / "copies" / f"{i}.db")
            else:
                search(store, Query(text="words"))
                list(store.each())

    together(6, work, path)

    assert (findings, len(titles(path))) == ([], 36)
    for copy in (tmp_path / "copies").glob("*.db"):
        titles(copy)


# Where WAL cannot be used


def test_a_network_mount_gets_no_log_and_its_killed_writer_is_rolled_back(
    path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(connect, "on_network_mount", lambda _path: True)
    kept = built(path, 5)
    assert path.read_bytes()[18:20] == b"\x01\x01", "the header says: no WAL"
    killed = """
import sys, os, apsw
db = apsw.Connection(sys.argv[1])
db.execute("PRAGMA cache_size = 1; PRAGMA synchronous = OFF; BEGIN IMMEDIATE")
db.execute("UPDATE memory SET body = hex(randomblob(20000)), title = 'lost'")
os._exit(0)
"""
    finished(start(killed, str(path)))
    assert path.with_name("memory.db-journal").exists()
    check_whole(path, kept)
