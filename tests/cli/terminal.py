"""The program at a terminal of its own."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from collections.abc import Mapping

import pytest

needs_pty = pytest.mark.skipif(sys.platform == "win32", reason="no pty there")


def at_terminal(*args: str, typed: bytes = b"", env: Mapping[str, str] | None = None) -> tuple[int, bytes]:
    """Exit code, and every byte that the terminal was given."""
    code, shown = with_keys(*args, keys=[], typed=typed, env=env or {})
    return code, shown.encode()


def with_keys(
    *args: str, keys: list[bytes], typed: bytes = b"", env: Mapping[str, str] | None = None
) -> tuple[int, str]:
    """One key at a time, each when the program waits for one; what ends with a newline is a line."""
    screen, line = os.openpty()
    running = subprocess.Popen(
        [sys.executable, "-m", "recollect", *args],
        stdin=line, stdout=line, stderr=line, start_new_session=True,
        env={**os.environ, "TERM": "xterm-256color", "COLUMNS": "200", **(env or {})},
    )  # fmt: skip
    if typed:
        os.write(screen, typed)
    pieces: list[bytes] = []
    reader = threading.Thread(target=_collect, args=(screen, pieces))
    reader.start()
    heard = 0
    for key in keys:
        _until_it_waits(running, line, pieces, heard, for_line=key.endswith(b"\n"))
        heard = len(pieces)
        os.write(screen, key)
    code = running.wait(timeout=120)
    os.close(line)
    reader.join(timeout=10)
    os.close(screen)
    return code, b"".join(pieces).decode()


def _until_it_waits(
    running: subprocess.Popen[bytes], line: int, pieces: list[bytes], heard: int, *, for_line: bool
) -> None:
    """Until it reads keys (or lines), has answered the key before, and says nothing more for a moment."""
    import termios

    end_s, said = time.monotonic() + 60, -1
    while running.poll() is None and time.monotonic() < end_s:
        waits_for_lines = bool(termios.tcgetattr(line)[3] & termios.ICANON)
        if waits_for_lines == for_line and heard < len(pieces) == said:
            return
        said = len(pieces)
        time.sleep(0.2)


def _collect(screen: int, pieces: list[bytes]) -> None:
    while True:
        try:
            piece = os.read(screen, 65_536)
        except OSError:  # Linux's way of saying that the other end is gone
            return
        if not piece:
            return
        pieces.append(piece)
