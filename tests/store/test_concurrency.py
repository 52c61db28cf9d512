"""Many at once: nothing lost, nothing twice, nobody told that the database is locked."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

from recollect.model.plan import Create
from recollect.model.query import Query
from recollect.store import Store, Tuning
from tests.store.helpers import do, finished, search, start
from tests.values import note

UNSYNCED = Tuning(synchronous="OFF")


def together(count: int, work: Callable[[int, Store], object], path: Path) -> None:
    def run(number: int) -> None:
        with closing(Store(path, UNSYNCED)) as store:
            work(number, store)

    with ThreadPoolExecutor(count) as pool:
        for done in [pool.submit(run, number) for number in range(count)]:
            done.result()


def titles(path: Path) -> list[str]:
    with closing(Store(path, UNSYNCED)) as store:
        assert store.verify() == []
        return sorted(memory.title for memory, _ in store.each())


def test_sixteen_threads_open_a_new_store_and_write_to_it_at_once(path: Path):
    together(16, lambda thread, store: [do(store, Create(note(f"Note {thread:02} {i}"))) for i in range(6)], path)
    assert titles(path) == [f"Note {thread:02} {i}" for thread in range(16) for i in range(6)]


_WRITER = """
import sys
from pathlib import Path
from recollect.base.clock import SystemClock
from recollect.base.ids import Mint
from recollect.model.plan import Create, Plan
from recollect.store import ChangeHeader, Store, Tuning
from tests.values import NOW, note
mint = Mint(SystemClock())
print("ready", flush=True)
sys.stdin.readline()
store = Store(Path(sys.argv[1]), Tuning(synchronous="OFF"))
for i in range(10):
    new = note(f"Note {sys.argv[2]} {i}", id=f"note_{sys.argv[2]}_{i}")
    store.apply(Plan((Create(new),)), ChangeHeader(mint.draw("change"), "test", "user", "", NOW))
store.close()
"""


def test_processes_that_start_at_once_lose_nothing(path: Path):
    writers = [start(_WRITER, str(path), str(i)) for i in range(4)]
    for writer in writers:
        assert writer.stdout is not None
        assert writer.stdout.readline() == "ready\n"
    for writer in writers:
        assert writer.stdin is not None
        writer.stdin.write("\n")
        writer.stdin.flush()
    for writer in writers:
        finished(writer)

    assert titles(path) == sorted(f"Note {writer} {i}" for writer in range(4) for i in range(10))


def test_readers_checks_and_backups_go_on_while_others_write(path: Path, tmp_path: Path):
    Store(path, UNSYNCED).close()
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
