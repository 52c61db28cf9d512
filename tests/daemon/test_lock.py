"""The lock is held by one, freed by the end of its process, and its holder can be proved."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from recollect.daemon import lock
from recollect.daemon.requests import version_key
from tests.daemon.real import LINUX, soon

HOLD = "import sys, time; from pathlib import Path; from recollect.daemon import lock; "
HOLD += "assert lock.take(Path(sys.argv[1])); print('held', flush=True); time.sleep(60)"


def test_one_at_a_time(tmp_path: Path):
    path = tmp_path / "lock"
    assert not lock.is_held(path)
    first = lock.take(path)
    assert first
    assert lock.take(path) is None
    assert lock.is_held(path)
    first.release()
    second = lock.take(path)
    assert second
    second.release()


def test_a_deleted_or_replaced_file_no_longer_stands(tmp_path: Path):
    path = tmp_path / "lock"
    held = lock.take(path)
    assert held
    assert held.stands()
    path.unlink()
    assert not held.stands()
    path.touch()
    assert not held.stands()
    held.release()


def test_a_link_is_not_followed(tmp_path: Path):
    (tmp_path / "lock").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(OSError, match="symbolic links"):
        lock.take(tmp_path / "lock")
    assert not (tmp_path / "elsewhere").exists()


@pytest.mark.skipif(not LINUX, reason="asks /proc")
def test_the_holder_is_known_and_a_kill_frees_it(tmp_path: Path):
    path = tmp_path / "lock"
    assert lock.holder(path) is None
    with subprocess.Popen([sys.executable, "-c", HOLD, str(path)], stdout=subprocess.PIPE) as process:
        assert process.stdout
        assert process.stdout.readline() == b"held\n"
        assert lock.holder(path) == process.pid
        process.kill()
    assert soon(lambda: lock.holder(path) is None)
    mine = lock.take(path)
    assert mine
    assert lock.holder(path) == os.getpid()
    mine.release()


@pytest.mark.parametrize(
    ("older", "newer"), [("0.9.1", "0.10.0"), ("0.1.0", "0.1.1"), ("", "0.0.1"), ("nonsense", "0.0.1"), ("1", "1.1")]
)
def test_versions_are_compared_by_number(older: str, newer: str):
    assert version_key(older) < version_key(newer)
