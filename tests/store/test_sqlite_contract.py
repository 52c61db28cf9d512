"""SQLite keeps the contract, in a file and in memory."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.register_assert_rewrite("tests.store.contract", "tests.store.session_contract")

from recollect.store import Store, Tuning  # noqa: E402
from tests.store.contract import StoreContract  # noqa: E402
from tests.store.session_contract import SessionContract  # noqa: E402


class Sqlite(StoreContract, SessionContract):
    def reopened(self, target: Path) -> Store:
        return Store(target, Tuning())


class TestInAFile(Sqlite):
    @pytest.fixture
    def store(self, tmp_path: Path) -> Iterator[Store]:
        # Not synced: these tests cut no power, and a disk's own pace is not what they measure.
        store = Store(tmp_path / "memory.db", Tuning(synchronous="OFF"))
        yield store
        store.close()


class TestInMemory(Sqlite):
    @pytest.fixture
    def store(self) -> Iterator[Store]:
        store = Store(None, Tuning())
        yield store
        store.close()
