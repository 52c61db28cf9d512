"""The program at a terminal of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping


def at_terminal(*args: str, typed: bytes = b"", env: Mapping[str, str] | None = None) -> tuple[int, bytes]:
    """Exit code, and every byte that the terminal was given."""
    screen, line = os.openpty()
    running = subprocess.Popen(
        [sys.executable, "-m", "recollect", *args],
        stdin=line, stdout=line, stderr=line, start_new_session=True,
        env={**os.environ, "TERM": "xterm-256color", "COLUMNS": "200", **(env or {})},
    )  # fmt: skip
    os.close(line)
    if typed:
        os.write(screen, typed)
    shown = b"".join(_pieces(screen))
    os.close(screen)
    return running.wait(timeout=60), shown


def _pieces(screen: int) -> list[bytes]:
    pieces: list[bytes] = []
    while True:
        try:
            piece = os.read(screen, 65_536)
        except OSError:  # Linux's way of saying that the other end is gone
            return pieces
        if not piece:
            return pieces
        pieces.append(piece)
