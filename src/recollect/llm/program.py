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
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO

MAX_BYTES = 1_000_000
"""Of an answer: hundreds of times what any use asks for."""
_ENDS_WITHIN_S = 8.0  # more than the keeper takes to sweep
_KEEPER = str(Path(__file__).with_name("keeper.py"))
_CHUNK = 65_536
_CODES = {127: "not found", 126: "cannot be run"}
_LATE = "no answer in time"


@dataclass(frozen=True, slots=True)
class Run:
    out: bytes = b""
    """All that it printed, also if it failed; empty if it was stopped."""
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
    try:
        with _start(argv, text, environ, folder) as (process, output):
            out, problem = _read(output, deadline_s)
            if not problem:
                code = process.wait(max(0.0, deadline_s - time.monotonic()))
                problem = "" if code == 0 else _CODES.get(code, f"exit code {code}")
    except subprocess.TimeoutExpired:
        return Run(problem=_LATE)
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else str(error)
        return Run(problem=f"cannot be started ({why or type(error).__name__})")
    return Run(out, problem)


@contextmanager
def _start(
    argv: Sequence[str], text: str, environ: Mapping[str, str], folder: str
) -> Iterator[tuple[subprocess.Popen[bytes], IO[bytes]]]:
    lifeline, ours = os.pipe()  # nothing is ever written: closing our end tells the keeper to stop
    process = None
    try:
        # A file, not a pipe: a program that does not read, or stops reading, cannot make us wait.
        with tempfile.TemporaryFile() as question:
            question.write(text.encode("utf-8", "replace"))
            question.seek(0)
            process = subprocess.Popen(
                [sys.executable, "-I", "-S", _KEEPER, str(lifeline), *argv],
                stdin=question,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                env=dict(environ),
                cwd=folder,
                pass_fds=(lifeline,),
                start_new_session=True,
            )
        os.close(lifeline)
        lifeline = -1
        assert process.stdout is not None  # noqa: S101 for the type: it was asked for
        with process.stdout as output:
            yield process, output
    finally:
        if lifeline >= 0:
            os.close(lifeline)
        os.close(ours)
        if process is not None:
            _end(process)


def _end(process: subprocess.Popen[bytes]) -> None:
    try:
        process.wait(_ENDS_WITHIN_S)
    except subprocess.TimeoutExpired:
        process.kill()  # the kernel then kills the program
        process.wait()


def _read(output: IO[bytes], deadline_s: float) -> tuple[bytes, str]:
    """Until the end, the limit or the deadline."""
    read = bytearray()
    fd = output.fileno()
    while True:
        left_s = deadline_s - time.monotonic()
        if left_s <= 0 or not select.select([fd], [], [], left_s)[0]:
            return b"", _LATE
        piece = os.read(fd, _CHUNK)
        if not piece:
            return bytes(read), ""
        read += piece
        if len(read) > MAX_BYTES:
            return b"", f"more than {MAX_BYTES:,} bytes of output"
