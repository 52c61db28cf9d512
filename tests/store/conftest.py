"""The tests that use the fixture `store` are the contract of `recollect.store.Store`, which every engine must pass: a
new engine is one more entry of ENGINES. Those that use `local`, or open a file themselves, are about SQLite."""

from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from recollect.store import LocalStore, SqliteStore, Store, Tuning
from recollect.store.postgres_store import PostgresStore
from tests.store import postgres
from tests.store.helpers import HOUSE, do


def open_sqlite(path: Path) -> SqliteStore:
    """Not synced: these tests cut no power."""
    return SqliteStore(path, Tuning(busy_timeout_ms=150, synchronous="OFF"))


ENGINES: dict[str, Callable[[Path], Store]] = {
    "sqlite": open_sqlite,
    "postgres": lambda _path: PostgresStore(postgres.new_team().url),
}


@pytest.fixture(scope="session", autouse=True)
def _servers() -> Iterator[None]:
    yield
    postgres.stop_all()


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
def local(path: Path) -> Iterator[LocalStore]:
    with closing(open_sqlite(path)) as opened:
        yield opened
        assert opened.verify() == []


@pytest.fixture
def ours(store: Store, path: Path) -> Iterator[Store]:
    """A second connection to the store."""
    with closing(
        postgres.open_again(store) if isinstance(store, PostgresStore) else open_sqlite(path)
    ) as opened:
        yield opened


@pytest.fixture
def house(store: Store) -> Store:
    do(store, *HOUSE)
    return store
