"""A place for a store's file, and a store in memory."""

from __future__ import annotations

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
def store() -> Iterator[Store]:
    with closing(Store(None, Tuning())) as opened:
        yield opened
