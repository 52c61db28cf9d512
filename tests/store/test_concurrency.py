"""Many at once: nothing lost, nothing twice, nobody told that the database is locked."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import pytest

from recollect.base.errors import Conflict
from recollect.model.plan import Create, Update
from recollect.model.query import Query
from recollect.store import Store, Tuning
from tests.store.asking import search
from tests.store.files import finished, start
from tests.values import act, note, plan, renamed

UNSYNCED = Tuning(synchronous="OFF")


def together(count: int, work: Callable[[int], None]) -> None:
    with ThreadPoolExecutor(count) as pool:
        for done in [pool.submit(work, i) for i in range(count)]:
            done.result()


def titles(path: Path) -> list[str]:
    with closing(Store(path, UNSYNCED)) as store:
        assert store.verify() == []
        return sorted(memory.title for memory, _ in store.each())


def test_sixteen_threads_open_a_new_store_and_write_to_it_at_once(path: Path) -> None:
    def work(thread: int) -> None:
        with closing(Store(path, UNSYNCED)) as store:
            for i in range(6):
                store.apply(plan(Create(note(f"Note {thread:02} {i}"))), act())

    together(16, work)

    assert titles(path) == [f"Note {thread:02} {i}" for thread in range(16) for i in range(6)]


_WRITER = """
import sys
from pathlib import Path
from recollect.base.clock import SystemClock
from recollect.base.ids import Mint
from recollect.model.plan import Create, Plan
from recollect.store import ChangeHeader, Store, Tuning
from tests.values import NOW, note
from tests.store.asking import search
mint = Mint(SystemClock())
print("ready", flush=True)
sys.stdin.readline()
store = Store(Path(sys.argv[1]), Tuning(synchronous="OFF"))
for i in range(10):
    new = note(f"Note {sys.argv[2]} {i}", id=f"note_{sys.argv[2]}_{i}")
    store.apply(Plan((Create(new),)), ChangeHeader(mint.draw("change"), "test", "user", "", NOW))
store.close()
"""


def test_processes_that_start_at_once_lose_nothing(path: Path) -> None:
    writers = [start(_WRITER, str(path), str(i)) for i in range(8)]
    for writer in writers:
        assert writer.stdout is not None
        assert writer.stdout.readline() == "ready\n"
    for writer in writers:
        assert writer.stdin is not None
        writer.stdin.write("\n")
        writer.stdin.flush()
    for writer in writers:
        finished(writer)

    assert titles(path) == sorted(f"Note {writer} {i}" for writer in range(8) for i in range(10))


def test_of_two_revisions_of_one_state_one_is_refused(path: Path) -> None:
    with closing(Store(path, UNSYNCED)) as mine, closing(Store(path, UNSYNCED)) as theirs:
        memory = note("Plan")
        mine.apply(plan(Create(memory)), act())
        seen = theirs.get(memory.id)
        assert seen is not None
        mine.apply(plan(Update.between(memory, renamed(memory, "Mine"))), act())

        with pytest.raises(Conflict):
            theirs.apply(plan(Update.between(seen, renamed(seen, "Theirs"))), act())

        assert theirs.get(memory.id) == renamed(memory, "Mine")


def test_readers_checks_and_backups_go_on_while_others_write(path: Path, tmp_path: Path) -> None:
    Store(path, UNSYNCED).close()
    findings: list[object] = []

    def work(thread: int) -> None:
        with closing(Store(path, UNSYNCED)) as store:
            for i in range(12):
                if thread < 3:
                    store.apply(plan(Create(note(f"Note {thread} {i}", body="words " * 30))), act())
                elif thread == 3:
                    findings.extend(store.verify())
                elif thread == 4:
                    store.backup(tmp_path / "copies" / f"{i}.db")
                else:
                    search(store, Query(text="words"))
                    list(store.each())

    together(6, work)

    assert findings == []
    assert len(titles(path)) == 36
    for copy in (tmp_path / "copies").glob("*.db"):
        titles(copy)
