"""Many at once: nothing lost, nothing twice, nobody told that the database is locked."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

from recollect.model.plan import Create
from recollect.model.query import Query
from recollect.store import SqliteStore, Store, Tuning
from tests.store.helpers import do, search
from tests.values import note

UNSYNCED = Tuning(synchronous="OFF")


def together(count: int, work: Callable[[int, Store], object], path: Path) -> None:
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
    together(16, lambda thread, store: [do(store, Create(note(f"Note {thread:02} {i}"))) for i in range(6)], path)
    assert titles(path) == [f"Note {thread:02} {i}" for thread in range(16) for i in range(6)]


def test_readers_checks_and_backups_go_on_while_others_write(path: Path, tmp_path: Path):
    SqliteStore(path, UNSYNCED).close()
    findings: list[object] = []

    def work(number: int, store: Store) -> None:
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

    assert findings == []
    assert len(titles(path)) == 36
    for copy in (tmp_path / "copies").glob("*.db"):
        titles(copy)
