"""What the hook loads: the standard library alone, and of that next to nothing while a daemon answers."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

from recollect.wire import stub
from tests.wire.conftest import World
from tests.wire.echo import EchoServer

ROOM = Path(stub.__file__).parent
# What any Python has loaded before the first line, what is built into it, and one extension.
LIGHT = set("_json binascii _socket marshal posix time sys _signal errno _thread _codecs _weakref".split())


@pytest.mark.parametrize("path", sorted(ROOM.glob("*.py")), ids=lambda path: path.name)
def test_wire_imports_the_standard_library_and_itself(path: Path):
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        match node:
            case ast.Import():
                names = [alias.name for alias in node.names]
            case ast.ImportFrom():
                names = [node.module or ""]
            case _:
                continue
        for name in names:
            ours = name == "recollect" or name == "recollect.wire" or name.startswith("recollect.wire.")
            assert ours or name.partition(".")[0] in sys.stdlib_module_names, name


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
