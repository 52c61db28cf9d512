import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from recollect.cli import extras
from recollect.daemon import control
from tests.daemon.real import PATIENCE_S, House
from tests.wire.conftest import runtime

__all__ = ["runtime"]


@pytest.fixture
def house(runtime: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[House]:
    """Its runtime folder is the test's own too. Who starts or ends a daemon here has time, however busy the machine."""
    monkeypatch.setenv("XDG_RUNTIME_DIR", runtime)
    for module, name in (
        (control, "_ANSWER_WITHIN_S"),
        (control, "_END_WITHIN_S"),
        (extras, "_TIMEOUT_S"),
    ):
        monkeypatch.setattr(module, name, PATIENCE_S)
    found = House(Path(os.environ["RECOLLECT_HOME"]), os.environ)
    yield found
    found.end()


@pytest.fixture(scope="session")
def common_house() -> Iterator[House]:
    # Not a folder of pytest's: the path of a socket has to be short.
    root = Path(tempfile.mkdtemp(prefix="rc"))
    (root / "run").mkdir(mode=0o700)
    found = House(root / "home", {"HOME": str(root), "XDG_RUNTIME_DIR": str(root / "run")})
    yield found
    found.end()
    shutil.rmtree(root, ignore_errors=True)


@pytest.fixture
def shared(common_house: House, monkeypatch: pytest.MonkeyPatch) -> Iterator[House]:
    """One daemon for all tests that only speak to it, each in a project of its own. It must live on."""
    monkeypatch.setenv("RECOLLECT_HOME", str(common_house.home.root))
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(Path(common_house.place.runtime).parent))
    monkeypatch.setenv("HOME", str(common_house.home.root.parent))
    pid = common_house.start()
    yield common_house
    common_house.home.conf.unlink(missing_ok=True)
    assert common_house.status()["pid"] == pid, common_house.log()[-2000:]
