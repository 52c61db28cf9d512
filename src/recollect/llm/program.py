"""Runs a program that answers: text on its standard input, the answer from its standard output, no shell.

Its time and its output are limited, and when the call returns, neither it nor anything that it started is there any
more (keeper.py). Nothing of ours reaches it but the text: descriptors are closed, the environment is handed in, and
what it says on standard error is thrown away. Which program that is, and what its output means, is not known here.
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

MOST_BYTES = 1_000_000
"""Of an answer: hundreds of times what any job asks for."""
_ENDS_WITHIN_S = 8.0  # more than the keeper takes to sweep
_KEEPER = str(Path(__file__).with_name("keeper.py"))
_CHUNK = 65_536
_CODES = {127: "not found", 126: "cannot be run"}
_LATE = "no answer in time"


@dataclass(frozen=True, slots=True)
class Ran:
    out: bytes = b""
    """All that it said, also where it ended badly; nothing where it was ended."""
    problem: str = ""


def found(word: str, path: str, user_home: Path) -> str:
    """The program that a word names, as an absolute path; nothing where there is none that can be run. Of a PATH only
    absolute folders count: another would be a folder of whatever project we stand in."""
    if word.startswith("~/"):
        word = str(user_home) + word[1:]
    if os.sep in word:
        return word if os.path.isabs(word) and _can_run(word) else ""
    places = (os.path.join(folder, word) for folder in path.split(os.pathsep) if os.path.isabs(folder))
    return next((place for place in places if _can_run(place)), "")


def _can_run(path: str) -> bool:
    return os.path.isfile(path) and os.access(path, os.X_OK)


def run(argv: Sequence[str], *, text: str, environ: Mapping[str, str], folder: str, seconds: float) -> Ran:
    """`argv[0]` is an absolute path."""
    if sys.platform == "win32":
        return Ran(problem="programs are not run on this system")
    until_s = time.monotonic() + seconds
    try:
        with _started(argv, text, environ, folder) as (process, output):
            out, problem = _read(output, until_s)
            if not problem:
                code = process.wait(max(0.0, until_s - time.monotonic()))
                problem = "" if code == 0 else _CODES.get(code, f"exit code {code}")
    except subprocess.TimeoutExpired:
        return Ran(problem=_LATE)
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else str(error)
        return Ran(problem=f"cannot be started ({why or type(error).__name__})")
    return Ran(out, problem or "")


@contextmanager
def _started(
    argv: Sequence[str], text: str, environ: Mapping[str, str], folder: str
) -> Iterator[tuple[subprocess.Popen[bytes], IO[bytes]]]:
    held, line = os.pipe()  # we keep `line` and never write; letting go of it is the order to end
    process = None
    try:
        # A file, not a pipe: a program that does not read, or stops reading, cannot make us wait.
        with tempfile.TemporaryFile() as said:
            said.write(text.encode("utf-8", "replace"))
            said.seek(0)
            process = subprocess.Popen(
                [sys.executable, "-I", "-S", _KEEPER, str(held), *argv],
                stdin=said,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                env=dict(environ),
                cwd=folder,
                pass_fds=(held,),
                start_new_session=True,
            )
        os.close(held)
        held = -1
        assert process.stdout is not None  # noqa: S101 for the type: it was asked for
        with process.stdout as output:
            yield process, output
    finally:
        if held >= 0:
            os.close(held)
        os.close(line)
        if process is not None:
            _end(process)


def _end(process: subprocess.Popen[bytes]) -> None:
    try:
        process.wait(_ENDS_WITHIN_S)
    except subprocess.TimeoutExpired:
        process.kill()  # the kernel then kills the program
        process.wait()


def _read(output: IO[bytes], until_s: float) -> tuple[bytes, str]:
    """Until its end, its limit or its time."""
    found = bytearray()
    fd = output.fileno()
    while True:
        left_s = until_s - time.monotonic()
        if left_s <= 0 or not select.select([fd], [], [], left_s)[0]:
            return b"", _LATE
        piece = os.read(fd, _CHUNK)
        if not piece:
            return bytes(found), ""
        found += piece
        if len(found) > MOST_BYTES:
            return b"", f"more than {MOST_BYTES:,} bytes of output"
