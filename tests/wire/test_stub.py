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


def test_a_hook_works_without_the_package(world: World):
    """The fixture's package is nowhere, and -S keeps the installed one out of reach."""
    with EchoServer(world.place):
        assert world.hook("Stop", body=b"hello").out == b"hello"


def test_what_was_written_is_private_and_leaves_no_rest(world: World):
    folder = Path(world.home, "bin")

    assert {path.name: stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir()} == {
        "hook": 0o700,
        "hook.pyc": 0o700,
        "mcp": 0o700,
        "recollect": 0o700,
    }


def test_writing_twice_changes_nothing_to_renew(world: World, tmp_path: Path):
    package = str(tmp_path / "broken")

    assert stub.is_current(world.home, sys.executable, package)
    stub.write_hook(world.home, sys.executable, package)
    assert stub.is_current(world.home, sys.executable, package)


@pytest.mark.parametrize("change", ["python", "package", "script", "code", "code cut"])
def test_a_hook_that_would_be_written_otherwise_is_noticed(world: World, tmp_path: Path, change: str):
    python, package = sys.executable, str(tmp_path / "broken")
    match change:
        case "python":
            python = "/other/python"
        case "package":
            package = "/other/package"
        case "script":
            Path(stub.script_path(world.home)).unlink()
        case "code":
            Path(stub.code_path(world.home)).unlink()
        case _:
            Path(stub.code_path(world.home)).write_bytes(b"")

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


@pytest.mark.parametrize("fate", ["gone", "forbidden", "not a program", "crashes", "of another version", "half"])
def test_no_python_no_harm(tmp_path: Path, world: World, fate: str):
    python = tmp_path / "python"
    python.symlink_to(sys.executable)
    stub.write_hook(world.home, str(python))
    code = Path(stub.code_path(world.home))
    match fate:
        case "gone":
            python.unlink()
        case "forbidden":
            python.unlink()
            python.write_text("")
        case "not a program":
            python.unlink()
            python.write_bytes(b"\x7fELF nonsense")
            python.chmod(0o700)
        case "crashes":
            python.unlink()
            python.write_text("#!/bin/sh\necho oops >&2\nkill -SEGV $$\n")
            python.chmod(0o700)
        case "of another version":
            code.write_bytes(b"\0\0\r\n" + code.read_bytes()[4:])
        case _:
            code.write_bytes(code.read_bytes()[:1000])

    ran = world.hook("Stop", body=b"hello")

    assert (ran.code, ran.out, ran.err) == (0, b"", b"")


def test_removing_leaves_nothing_of_ours(world: World):
    stub.remove_hook(world.home)
    stub.remove_hook(world.home)

    assert os.listdir(world.home) == []


def test_what_stands_beside_our_files_stays(world: World):
    Path(world.home, "bin", "mine").write_text("")

    stub.remove_hook(world.home)

    assert os.listdir(Path(world.home, "bin")) == ["mine"]
