"""The tests that use the fixture `store` are the contract of `recollect.store.Store`, which every engine must pass: a
new engine is one more entry of ENGINES. Tests that open a file themselves are about SQLite."""

from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from recollect.store import SqliteStore, Store, Tuning
from tests.store.helpers import HOUSE, do

# Not synced: these tests cut no power.
ENGINES: dict[str, Callable[[Path], Store]] = {
    "sqlite": lambda path: SqliteStore(path, Tuning(busy_timeout_ms=150, synchronous="OFF")),
}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    folder = tmp_path / "store"
    folder.mkdir(mode=0o700)
    return folder / "memory.db"


@pytest.fixture(params=ENGINES)
def store(path: Path, request: pytest.FixtureRequest) -> Iterator[Store]:
    with closing(ENGINES[request.param](path)) as opened:
        yield opened
        assert opened.verify() == [], "whatever a test does, a sound store stays sound"


@pytest.fixture
def house(store: Store) -> Store:
    do(store, *HOUSE)
    return store
