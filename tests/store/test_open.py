"""What stands where the database should be: damaged, foreign, newer, no file at all, held by another."""

from __future__ import annotations

import os
import sqlite3
import sys
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path

import apsw
import pytest

from recollect.base.errors import (
    Conflict,
    RecollectError,
    StoreBusy,
    StoreDamaged,
    StoreError,
    StoreForeign,
    StoreReadOnly,
    StoreTooNew,
)
from recollect.model.memory import Note
from recollect.model.plan import Create
from recollect.model.query import Query
from recollect.store import Store, Tuning, migrate
from recollect.store.connect import APPLICATION_ID
from tests.store.asking import search
from tests.store.files import contents, finished, start
from tests.values import act, note, plan

QUICK = Tuning(busy_timeout_ms=150)


def built(path: Path, notes: int = 30) -> list[Note]:
    kept = [note(f"Note {i}", body=f"words of note number {i} " * 20) for i in range(notes)]
    with closing(Store(path, Tuning())) as store:
        store.apply(plan(*map(Create, kept)), act())
    return kept


def check_refused(path: Path, error: type[RecollectError]) -> None:
    """By readers and writers alike, with a hint, and with every byte as it was."""
    before = contents(path.parent)
    for read_only in (True, False):
        with pytest.raises(error) as refused:
            Store(path, QUICK, read_only=read_only)
        assert refused.value.hint
    assert contents(path.parent) == before


# Damaged


@pytest.mark.parametrize(
    "garbage",
    [os.urandom(2), os.urandom(99), os.urandom(100_000), b"hello world\n" * 50, bytes(5_000), b"SQLite format 3\x00"],
    ids=["two bytes", "a few bytes", "chance", "text", "zeros", "half a header"],
)
def test_a_file_of_something_else_is_damaged_and_left_as_it_is(path: Path, garbage: bytes) -> None:
    path.write_bytes(garbage)
    check_refused(path, StoreDamaged)


@pytest.mark.parametrize("kept", [100, 200, 1_000, 4_096])
def test_a_sound_header_with_garbage_behind_it_is_damaged(path: Path, kept: int) -> None:
    built(path)
    data = path.read_bytes()
    path.write_bytes(data[:kept] + os.urandom(len(data) - kept))
    try:
        store = Store(path, QUICK)
    except StoreDamaged:
        return
    assert store.verify() != []
    with pytest.raises(StoreDamaged):
        list(store.each())
    store.close()


def test_a_file_cut_off_anywhere_is_damaged_or_seen_to_be(path: Path) -> None:
    built(path, 60)
    whole = path.read_bytes()
    for share in range(1, 48):
        path.write_bytes(whole[: len(whole) * share // 48])
        try:
            store = Store(path, QUICK)
        except StoreDamaged:
            continue
        assert store.verify() != [], f"{share}/48 of the file and nothing is seen"
        store.close()


def test_reads_of_a_damaged_page_are_errors_of_ours(path: Path) -> None:
    built(path, 60)
    whole = path.read_bytes()
    for page in range(2, len(whole) // 4_096, 3):
        path.write_bytes(whole[: page * 4_096] + os.urandom(4_096) + whole[(page + 1) * 4_096 :])
        try:
            with closing(Store(path, QUICK)) as store:
                store.verify()
                for ask in (lambda s: list(s.each()), lambda s: search(s, Query(text="number words")), _write):
                    with suppress(RecollectError):
                        ask(store)
        except StoreError:
            continue


def _write(store: Store) -> None:
    store.apply(plan(Create(note("New"))), act())


def test_an_empty_file_is_a_store_to_be(path: Path) -> None:
    path.touch()
    with closing(Store(path, QUICK)) as store:
        _write(store)
        assert store.verify() == []
    assert int.from_bytes(path.read_bytes()[68:72], "big") == APPLICATION_ID


# Foreign


def foreign(path: Path, mode: str) -> None:
    with closing(sqlite3.connect(path)) as db:
        db.execute(f"PRAGMA journal_mode = {mode}")
        db.execute("CREATE TABLE memory (id TEXT, title TEXT)")
        db.execute("INSERT INTO memory VALUES ('a', 'somebody else''s')")
        db.commit()


@pytest.mark.parametrize("version", [0, 1])
@pytest.mark.parametrize("mode", ["delete", "wal"])
def test_a_database_of_another_program_stays_as_it_is(path: Path, mode: str, version: int) -> None:
    foreign(path, mode)
    with closing(sqlite3.connect(path)) as db:
        db.execute(f"PRAGMA user_version = {version}")
        db.execute(f"PRAGMA application_id = {version}")
        db.commit()

    check_refused(path, StoreForeign)

    with closing(sqlite3.connect(path)) as db:
        assert db.execute("PRAGMA journal_mode").fetchone() == (mode,)
        assert db.execute("SELECT title FROM memory").fetchall() == [("somebody else's",)]


# Newer


def bump(path: Path, version: int) -> None:
    db = apsw.Connection(str(path))
    db.execute(f"PRAGMA user_version = {version}")
    db.close()


def test_a_newer_database_is_refused_and_one_that_becomes_newer_is_not_written_again(path: Path) -> None:
    built(path)
    store = Store(path, QUICK)
    bump(path, migrate.current_version() + 1)
    before = contents(path.parent)

    for write in (_write, Store.reindex, lambda s: s.purge(("x",)), lambda s: s.put_vectors("m", [(1, b"v")])):
        with pytest.raises(StoreTooNew):
            write(store)

    assert contents(path.parent) == before
    store.close()
    check_refused(path, StoreTooNew)


def test_a_database_replaced_by_an_older_one_while_it_is_open_is_not_written(path: Path) -> None:
    built(path)
    store = Store(path, QUICK)
    bump(path, 0)
    with pytest.raises(Conflict):
        _write(store)
    store.close()


# Not a file


@pytest.fixture
def elsewhere(tmp_path: Path) -> Path:
    target = tmp_path / "elsewhere.db"
    built(target)
    return target


@pytest.mark.parametrize("target", ["elsewhere.db", "notes.txt", "nothing.db"])
def test_a_link_is_not_followed(path: Path, elsewhere: Path, tmp_path: Path, target: str) -> None:
    (tmp_path / "notes.txt").write_text("dear diary\n" * 100)
    before = contents(tmp_path)
    path.symlink_to(tmp_path / target)

    check_refused(path, StoreForeign)

    path.unlink()
    assert contents(tmp_path) == before


@pytest.mark.parametrize("make", [Path.mkdir, getattr(os, "mkfifo", Path.mkdir)], ids=["a folder", "a pipe"])
def test_what_is_no_file_is_refused_without_waiting(path: Path, make: Callable[[Path], None]) -> None:
    make(path)
    check_refused(path, StoreForeign)


def test_a_missing_folder_or_file_is_not_made_by_a_look(path: Path, tmp_path: Path) -> None:
    for place, read_only, error in (
        (tmp_path / "missing" / "memory.db", False, StoreReadOnly),
        (path, True, StoreError),
    ):
        with pytest.raises(error):
            Store(place, QUICK, read_only=read_only)
        assert not place.exists()
        assert not (tmp_path / "missing").exists()


@pytest.mark.parametrize(
    "name", ["a b.db", "100%.db", "what?.db", "#1.db", "ünïcödé 日本.db", "-x.db", "a'b\"c.db", "%20.db"]
)
def test_any_name_of_a_file_will_do(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    kept = built(path, 2)
    with closing(Store(path, QUICK, read_only=True)) as store:
        assert [m for m, _ in store.each()] == kept
    assert [p.name for p in tmp_path.glob("*.db")] == [name]


# Read-only


def test_a_reader_reads_and_does_not_write(path: Path) -> None:
    kept = built(path)
    before = contents(path.parent)
    with closing(Store(path, QUICK, read_only=True)) as store:
        assert [m for m, _ in store.each()] == kept
        assert search(store, Query(text="number"))
        with pytest.raises(StoreReadOnly):
            _write(store)
        assert store.verify() == [], "looking for damage writes nothing"
    assert contents(path.parent) == before


# As somebody who is not root: root may write everything, so as root this proves nothing.
_AS_NOBODY = """
import os, sys
from pathlib import Path
from recollect.base.errors import RecollectError
from recollect.model.query import Query
from recollect.store import Store, Tuning
from tests.store.asking import search
if os.geteuid() == 0:
    os.setgroups([]); os.setgid(65534); os.setuid(65534)
path = Path(sys.argv[1])
try:
    store = Store(path, Tuning(busy_timeout_ms=150), read_only=sys.argv[2] == "read")
    print(len(store.find(Query(limit=1000))))
    store.close()
except RecollectError as problem:
    print(type(problem).__name__, problem.hint != "")
"""


def as_nobody(path: Path, how: str) -> str:
    return finished(start(_AS_NOBODY, str(path), how)).strip()


@pytest.fixture
def open_folder(path: Path) -> Path:
    """One that anybody may read and nobody but us may write."""
    if sys.platform == "win32":
        pytest.skip("permissions are not bits here")
    for parent in path.parents:
        if parent.stat().st_uid == os.getuid() and parent != Path(parent.root):
            parent.chmod(parent.stat().st_mode | 0o055)
    return path.parent


def test_a_read_only_file_and_folder_can_still_be_read(path: Path, open_folder: Path) -> None:
    built(path, 7)
    path.chmod(0o444)
    open_folder.chmod(0o555)
    before = contents(open_folder)

    assert as_nobody(path, "read") == "7"
    assert as_nobody(path, "write") == "StoreReadOnly True"

    assert contents(open_folder) == before
    open_folder.chmod(0o700)


def test_what_may_not_be_read_or_written_is_an_error_of_ours(path: Path, open_folder: Path) -> None:
    open_folder.chmod(0o555)
    assert as_nobody(path, "write") == "StoreReadOnly True"
    assert list(open_folder.iterdir()) == []
    open_folder.chmod(0o755)
    built(path, 7)
    path.chmod(0o600 if os.geteuid() == 0 else 0)
    assert as_nobody(path, "read") == as_nobody(path, "write") == "StoreReadOnly True"
    open_folder.chmod(0o700)


# Private


@pytest.mark.skipif(sys.platform == "win32", reason="permissions are not bits here")
def test_every_file_is_private_whatever_the_umask(path: Path) -> None:
    os.umask(0)
    store = Store(path, QUICK)
    _write(store)
    store.backup(path.parent / "backups" / "deep" / "one.db")

    modes = {str(p.relative_to(path.parent)): oct(p.stat().st_mode & 0o777) for p in path.parent.rglob("*")}

    assert modes == {
        "memory.db": "0o600",
        "memory.db-wal": "0o600",
        "memory.db-shm": "0o600",
        "backups": "0o700",
        "backups/deep": "0o700",
        "backups/deep/one.db": "0o600",
    }
    store.close()
    path.chmod(0o644)
    Store(path, QUICK).close()
    assert path.stat().st_mode & 0o777 == 0o600, "a file that others could read is made private"


# Held by another

_HOLD = """
import sys, apsw
db = apsw.Connection(sys.argv[1])
db.execute(sys.argv[2])
print("held", flush=True)
sys.stdin.readline()
"""


@pytest.mark.parametrize("lock", ["BEGIN IMMEDIATE", "BEGIN EXCLUSIVE"])
def test_a_database_held_by_another_is_busy_after_the_wait_and_nothing_is_lost(path: Path, lock: str) -> None:
    kept = built(path, 3)
    store = Store(path, QUICK)
    other = start(_HOLD, str(path), lock)
    assert other.stdout is not None
    assert other.stdout.readline() == "held\n"

    for write in (_write, Store.reindex):
        with pytest.raises(StoreBusy) as busy:
            write(store)
        assert busy.value.hint
    assert [m for m, _ in store.each()] == kept, "readers do not wait for writers"
    with closing(Store(path, QUICK)) as second:
        assert [m for m, _ in second.each()] == kept

    other.communicate("\n", timeout=60)
    _write(store)
    assert store.verify() == []
    store.close()


# Where WAL cannot be used


def test_a_network_mount_gets_no_log_and_its_killed_writer_is_rolled_back(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("recollect.store.connect.on_network_mount", lambda _path: True)
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

    with closing(Store(path, QUICK)) as store:
        assert [m for m, _ in store.each()] == kept
        assert store.verify() == []
