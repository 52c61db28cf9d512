from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from recollect.cli import daemon as commands
from recollect.daemon import control
from tests.daemon.real import PATIENCE_S, House
from tests.wire.conftest import runtime

__all__ = ["runtime"]


@pytest.fixture
def house(runtime: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[House]:
    """Its runtime folder is the test's own too. Who starts or ends a daemon here has time, however busy the machine."""
    monkeypatch.setenv("XDG_RUNTIME_DIR", runtime)
    for module, name in ((control, "_ANSWER_WITHIN_S"), (control, "_END_WITHIN_S"), (commands, "_START_WITHIN_S")):
        monkeypatch.setattr(module, name, PATIENCE_S)
    found = House(Path(os.environ["RECOLLECT_HOME"]), os.environ)
    yield found
    found.end()
