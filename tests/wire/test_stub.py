"""What agents call stays harmless whatever becomes of Python or the package."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from recollect.wire import stub
from tests.wire.conftest import World
from tests.wire.echo import EchoServer


def test_what_was_written_is_private_and_writing_again_changes_nothing(world: World, tmp_path: Path):
    package = str(tmp_path / "broken")
    for _ in range(2):
        assert stub.is_current(world.home, sys.executable, package)
        modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in Path(world.home, "bin").iterdir()}
        assert modes == dict.fromkeys(("hook", "hook.pyc", "mcp", "recollect"), 0o700)
        stub.write_hook(world.home, sys.executable, package)


@pytest.mark.parametrize("change", ["python", "package", "script gone", "code gone", "code cut"])
def test_a_hook_that_would_be_written_otherwise_is_noticed(world: World, tmp_path: Path, change: str):
    python = "/other/python" if change == "python" else sys.executable
    package = "/other/package" if change == "package" else str(tmp_path / "broken")
    match change:
        case "script gone":
            Path(stub.script_path(world.home)).unlink()
        case "code gone":
            Path(stub.code_path(world.home)).unlink()
        case "code cut":
            Path(stub.code_path(world.home)).write_bytes(b"")
        case _:
            pass
    assert not stub.is_current(world.home, python, package)


@pytest.mark.parametrize("name", ["py thon", "py'thon", 'py"thon', "py$HOME", "py\nthon", "é"])
def test_any_name_of_python_and_home_is_called_as_it_is(tmp_path: Path, runtime: str, name: str):
    home = tmp_path / name
    home.mkdir()
    python = tmp_path / f"its {name}"
    python.write_text('#!/bin/sh\nprintf %s "$4"\n')
    python.chmod(0o700)

    stub.write_hook(str(home), str(python))

    assert subprocess.run([stub.script_path(str(home)), "Stop"], capture_output=True).stdout == b"Stop"


NO_PYTHON = {
    "gone": None,
    "forbidden": (b"", 0o600),
    "not a program": (b"\x7fELF nonsense", 0o700),
    "crashes": (b"#!/bin/sh\necho oops >&2\nkill -SEGV $$\n", 0o700),
}


@pytest.mark.parametrize("fate", [*NO_PYTHON, "of another version", "half"])
def test_no_python_no_harm(tmp_path: Path, world: World, fate: str):
    python = tmp_path / "python"
    python.symlink_to(sys.executable)
    stub.write_hook(world.home, str(python))
    code = Path(stub.code_path(world.home))
    if fate == "of another version":
        code.write_bytes(b"\0\0\r\n" + code.read_bytes()[4:])
    elif fate == "half":
        code.write_bytes(code.read_bytes()[:1000])
    else:
        python.unlink()
        if left := NO_PYTHON[fate]:
            python.write_bytes(left[0])
            python.chmod(left[1])

    ran = world.hook("Stop", body=b"hello")

    assert (ran.code, ran.out, ran.err) == (0, b"", b"")


def test_removing_leaves_nothing_of_ours_and_what_stands_beside_it(world: World):
    mine = Path(world.home, "bin", "mine")
    mine.write_text("")
    stub.remove_hook(world.home)
    assert os.listdir(mine.parent) == ["mine"]
    mine.unlink()
    stub.remove_hook(world.home)
    assert os.listdir(world.home) == []


# What any Python has loaded before the first line, what is built into it, and one extension.
LIGHT = set("_json binascii _socket marshal posix time sys _signal errno _thread _codecs _weakref".split())


def test_with_a_daemon_a_hook_loads_next_to_nothing(world: World):
    with EchoServer(world.place):
        hook = loaded(world, stub.code_path(world.home), "Stop")
    bare = loaded(world, "-c", "pass")
    assert hook - bare <= LIGHT


def loaded(world: World, *arguments: str) -> set[str]:
    """The modules that Python says it imported."""
    said = subprocess.run(
        [sys.executable, "-I", "-S", "-X", "importtime", *arguments],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        env=world.environ(),
    ).stderr
    return {line.rpartition("|")[2].strip() for line in said.splitlines()[1:]}
