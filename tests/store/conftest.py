"""A place for a store's file, and a store in it, not synced: these tests cut no power."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from recollect.store import Store, Tuning


@pytest.fixture
def path(tmp_path: Path) -> Path:
    folder = tmp_path / "store"
    folder.mkdir(mode=0o700)
    return folder / "memory.db"


@pytest.fixture
def store(path: Path) -> Iterator[Store]:
    with closing(Store(path, Tuning(busy_timeout_ms=150, synchronous="OFF"))) as opened:
        yield opened
