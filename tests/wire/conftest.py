"""A home, a runtime folder with a short name, the hook as it is installed, and agents' way of calling it."""

import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from recollect.wire import pointer, stub
from recollect.wire.place import Place, find_place


def leave(place: Place, said: dict[str, object]) -> str:
    """As a hook that has ended would have left it."""
    path = pointer.leave(place, said)
    gone = f"{path.rpartition('.')[0]}.gone" if path else ""
    if path:
        os.rename(path, gone)
    return gone


class Ran(NamedTuple):
    code: int
    out: bytes
    err: bytes
    took_s: float


class World(NamedTuple):
    home: str
    runtime: str
    place: Place

    def environ(self, **more: str) -> dict[str, str]:
        kept = {name: os.environ[name] for name in ("HOME", "PATH", "LANG") if name in os.environ}
        return {**kept, "XDG_RUNTIME_DIR": self.runtime, **more}

    def hook(
        self,
        *words: str,
        body: bytes = b"{}",
        environ: dict[str, str] | None = None,
        cwd: str | None = None,
        shell: str = '"$0" "$@" || :',
        stdin: int | None = None,
        stdout: int = subprocess.PIPE,
    ) -> Ran:
        """Run the hook as agents do, through a shell. `stdin`: instead of the body."""
        command = ["/bin/sh", "-c", shell, stub.script_path(self.home), *words]
        given: dict[str, Any] = {"input": body} if stdin is None else {"stdin": stdin}
        environ = self.environ() if environ is None else environ
        began_s = time.monotonic()
        ran = subprocess.run(
            command,
            stdout=stdout,
            stderr=subprocess.PIPE,
            env=environ,
            cwd=cwd,
            timeout=120,
            check=False,
            **given,
        )
        return Ran(ran.returncode, ran.stdout or b"", ran.stderr, time.monotonic() - began_s)


@pytest.fixture
def runtime() -> Iterator[str]:
    """Not in the test's own folder: the path of a socket has to be short."""
    folder = tempfile.mkdtemp(prefix="rc")
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def world(tmp_path: Path, runtime: str) -> World:
    """The hook is installed, and no daemon can be started: what stands where its package should be is broken, and
    hides one that may be installed."""
    broken = tmp_path / "broken" / "recollect"
    broken.mkdir(parents=True)
    (broken / "__init__.py").write_text("raise SystemExit(1)")
    return make_world(tmp_path, runtime, package=str(broken.parent))


@pytest.fixture
def make(tmp_path: Path, runtime: str) -> Callable[[str], World]:
    return lambda package: make_world(tmp_path, runtime, package)


def make_world(tmp_path: Path, runtime: str, package: str) -> World:
    home = tmp_path / "home" / ".recollect"
    home.mkdir(mode=0o700)
    stub.write_hook(str(home), sys.executable, package)
    return World(str(home), runtime, find_place(str(home), {"XDG_RUNTIME_DIR": runtime}))
