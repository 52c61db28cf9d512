"""Runs a command of the program in a process of its own, and kills it at a call that touches the disk.

The process counts its own calls to what reads and writes files and databases, so each moment between two of them can be
chosen; then it ends as by `kill -9`. Nothing is simulated but the moment.
"""

import json
import os
import random
import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

_CHILD = """
import json, os, re, signal, sys
at, told, within = int(sys.argv[1]), sys.argv[2], sys.argv[3]
sys.argv = ["recollect", *sys.argv[4:]]
TOUCHES = {
    "execute", "executemany", "replace", "rename", "fsync", "write", "unlink", "close", "flush", "step", "finish",
    "mkdir", "open", "link", "remove", "utime", "truncate", "write_text", "write_bytes", "backup",
}
calls = 0

def watch(frame, event, function):
    global calls
    if event != "c_call" or function.__name__ not in TOUCHES or not re.search(within, frame.f_code.co_filename):
        return
    calls += 1
    if calls == at:
        os.kill(os.getpid(), signal.SIGKILL)

program = compile(os.environ["KILLED_PROGRAM"], "program", "exec")
from recollect.cli import main
sys.setprofile(watch)
try:
    exec(program)
finally:
    sys.setprofile(None)
    with open(told, "w") as file:
        json.dump(calls, file)
"""


THE_COMMAND = "main()"
EVERYWHERE = "recollect"  # which files' calls count, as a pattern


def _run(
    at: int,
    told: Path,
    within: str,
    *command: str,
    program: str = THE_COMMAND,
    env: Mapping[str, str] | None = None,
    **options: Any,
) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [sys.executable, "-c", _CHILD, str(at), str(told), within, *command],
        capture_output=True,
        timeout=120,
        env={**(os.environ if env is None else env), "KILLED_PROGRAM": program},
        **options,
    )


def count_calls(told: Path, *command: str, within: str = EVERYWHERE, **options: Any) -> int:
    """Of the whole command, which is run to its end. `options`: another program, or of its process."""
    ended = _run(-1, told, within, *command, **options)
    assert ended.returncode == 0, ended.stderr
    return int(json.loads(told.read_text()))


def killed_at(
    call: int, told: Path, *command: str, within: str = EVERYWHERE, **options: Any
) -> None:
    ended = _run(call, told, within, *command, **options)
    # A run may take fewer calls than the one before; then it has ended.
    assert ended.returncode in (-signal.SIGKILL, 0), ended.stderr


def moments(calls: int, many: int, seed: str) -> list[int]:
    """Half of them in the second half, where things are put in place."""
    chance = random.Random(seed)
    early, late = range(1, calls // 2 + 1), range(calls // 2 + 1, calls + 1)
    half = many // 2
    return sorted(
        chance.sample(early, min(half, len(early)))
        + chance.sample(late, min(many - half, len(late)))
    )


def files_below(folder: Path) -> set[str]:
    return {
        os.path.relpath(os.path.join(within, name), folder)
        for within, _, names in os.walk(folder)
        for name in names
    }
