"""A lock is held by one, freed by the end of its process, and its holder can be proved."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from recollect.daemon.control import find_holder
from recollect.wire import lockfile
from tests.daemon.real import LINUX, soon

HOLD = "import sys, time; from recollect.wire import lockfile; "
HOLD += "assert lockfile.acquire(sys.argv[1]); print('held', flush=True); time.sleep(60)"


@pytest.fixture
def path(tmp_path: Path) -> str:
    return str(tmp_path / "lock")


def test_one_at_a_time(path: str):
    assert not lockfile.is_held(path)
    for _ in range(2):
        held = lockfile.acquire(path)
        assert held
        assert lockfile.acquire(path) is None
        assert lockfile.is_held(path)
        lockfile.release(held)


def test_a_deleted_or_replaced_file_is_another(path: str):
    held = lockfile.acquire(path)
    assert held
    assert lockfile.is_same_file(path, held)
    os.unlink(path)
    assert not lockfile.is_same_file(path, held)
    Path(path).touch()
    assert not lockfile.is_same_file(path, held)
    lockfile.release(held)


def test_a_link_is_not_followed(path: str, tmp_path: Path):
    os.symlink(tmp_path / "elsewhere", path)
    with pytest.raises(OSError, match="symbolic links"):
        lockfile.acquire(path)
    assert not (tmp_path / "elsewhere").exists()


@pytest.mark.skipif(not LINUX, reason="asks /proc")
def test_the_holder_is_known_and_a_kill_frees_it(path: str):
    assert find_holder(path) is None
    with subprocess.Popen([sys.executable, "-c", HOLD, path], stdout=subprocess.PIPE) as process:
        assert process.stdout
        assert process.stdout.readline() == b"held\n"
        assert find_holder(path) == process.pid
        process.kill()
    assert soon(lambda: find_holder(path) is None)
    mine = lockfile.acquire(path)
    assert mine
    assert find_holder(path) == os.getpid()
    lockfile.release(mine)
