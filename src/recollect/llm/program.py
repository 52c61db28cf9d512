"""Runs a program that answers: text on its standard input, the answer from its standard output, no shell.

Its time and its output are limited, and when the call returns, neither the program nor anything that it started is
still running (keeper.py). It gets nothing of ours but the text: descriptors are closed, the environment is passed in,
and its standard error is thrown away. Which program to run, and what its output means, is for the caller.
"""

from __future__ import annotations

import os
import select
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

MAX_BYTES = 1_000_000  # of an answer: hundreds of times what any use asks for
_ENDS_WITHIN_S = 8.0  # more than the keeper takes to sweep
_KEEPER = str(Path(__file__).with_name("keeper.py"))
_CHUNK = 65_536
_CODES = {127: "not found", 126: "cannot be run"}
_LATE = "no answer in time"


class Run(NamedTuple):
    out: bytes = b""  # all that it printed, also if it failed; empty if it was stopped
    problem: str = ""


def find(word: str, search_path: str, user_home: Path) -> str:
    """The absolute path of the program that a word names; empty if it cannot be run. Only absolute folders of PATH
    count: a relative one would be a folder of whatever project we are in."""
    if word.startswith("~/"):
        word = str(user_home) + word[1:]
    if os.sep in word:
        return word if os.path.isabs(word) and _can_run(word) else ""
    paths = (os.path.join(folder, word) for folder in search_path.split(os.pathsep) if os.path.isabs(folder))
    return next((path for path in paths if _can_run(path)), "")


def _can_run(path: str) -> bool:
    return os.path.isfile(path) and os.access(path, os.X_OK)


def run(argv: Sequence[str], *, text: str, environ: Mapping[str, str], folder: str, seconds: float) -> Run:
    """`argv[0]` is an absolute path."""
    if sys.platform == "win32":
        return Run(problem="programs are not run on this system")
    deadline_s = time.monotonic() + seconds
    lifeline, ours = os.pipe()  # nothing is ever written: closing our end tells the keeper to stop
    try:
        process = _start(argv, text, environ, folder, lifeline)
    except (OSError, ValueError) as error:
        os.close(ours)
        why = error.strerror if isinstance(error, OSError) else str(error)
        return Run(problem=f"cannot be started ({why or type(error).__name__})")
    finally:
        os.close(lifeline)
    try:
        return _read(process, deadline_s)
    finally:
        os.close(ours)
        with process:  # closes its output
            _end(process)


def _start(
    argv: Sequence[str], text: str, environ: Mapping[str, str], folder: str, lifeline: int
) -> subprocess.Popen[bytes]:
    # A file, not a pipe: a program that does not read, or stops reading, cannot make us wait.
    with tempfile.TemporaryFile() as question:
        question.write(text.encode("utf-8", "replace"))
        question.seek(0)
        return subprocess.Popen(
            [sys.executable, "-I", "-S", _KEEPER, str(lifeline), *argv],
            stdin=question,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=dict(environ),
            cwd=folder,
            pass_fds=(lifeline,),
            start_new_session=True,
        )


def _read(process: subprocess.Popen[bytes], deadline_s: float) -> Run:
    """Reads until the end, the limit or the deadline."""
    assert process.stdout is not None  # noqa: S101 for the type: it was asked for
    read, fd = bytearray(), process.stdout.fileno()
    while select.select([fd], [], [], max(0.0, deadline_s - time.monotonic()))[0]:
        piece = os.read(fd, _CHUNK)
        if not piece:
            break
        read += piece
        if len(read) > MAX_BYTES:
            return Run(problem=f"more than {MAX_BYTES:,} bytes of output")
    else:
        return Run(problem=_LATE)
    try:
        code = process.wait(max(0.0, deadline_s - time.monotonic()))
    except subprocess.TimeoutExpired:
        return Run(problem=_LATE)
    return Run(bytes(read), "" if code == 0 else _CODES.get(code, f"exit code {code}"))


def _end(process: subprocess.Popen[bytes]) -> None:
    try:
        process.wait(_ENDS_WITHIN_S)
    except subprocess.TimeoutExpired:
        process.kill()  # the kernel then kills the program
        process.wait()
