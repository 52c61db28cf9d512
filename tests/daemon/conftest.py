from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.daemon.real import House


@pytest.fixture
def house(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[House]:
    """Its runtime folder is the test's own too."""
    runtime = tmp_path / "x"
    runtime.mkdir(mode=0o700)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(runtime))
    found = House(Path(os.environ["RECOLLECT_HOME"]), os.environ)
    yield found
    found.end()
