"""Runs the program: in this process, as fast as a function and through the real `main`; or as a process."""

import io
import json
import os
import shlex
import subprocess
import sys
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from unittest.mock import patch

import click
import pytest

from recollect.cli import main
from recollect.cli.main import program as commands

CODES = frozenset({0, 2, 3, 4, 5, 6, 7, 8, 9, 10})


@dataclass(frozen=True, slots=True)
class Ran:
    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)

    @property
    def error(self) -> Any:
        return json.loads(self.err)["error"]


def run(*args: str, stdin: bytes = b"") -> Ran:
    out, err = _stream(), _stream()
    with (
        patch.object(sys, "argv", ["recollect", *args]),
        patch.object(sys, "stdin", _stream(stdin)),
        patch.object(sys, "stdout", out),
        patch.object(sys, "stderr", err),
    ):
        try:
            main()
        except SystemExit as end:
            code = end.code
    assert isinstance(code, int)
    return Ran(code, _text(out), _text(err))


def program(*args: str, **options: Any) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [sys.executable, "-m", "recollect", *args], capture_output=True, timeout=120, **options
    )


def parsed(command_line: str) -> None:
    """Raises where the command line could not be run; runs nothing."""
    words = shlex.split(command_line, comments=True)
    command: click.Command = commands
    context = click.Context(commands, info_name="recollect")
    while isinstance(command, click.Group):
        if not words or words[0].startswith("-"):
            return
        _, found, words = command.resolve_command(context, words)
        assert found is not None
        command = found
        context = click.Context(command, info_name=command.name, parent=context)
    command.make_context(command.name, words, parent=context, resilient_parsing=False)


def pinned(*args: str) -> str:
    """The id of a new pin."""
    ran = run("pin", *args, "--json")
    assert ran.code == 0, ran
    return str(ran.json["ids"][0])


def _stream(content: bytes = b"") -> io.TextIOWrapper:
    return io.TextIOWrapper(io.BytesIO(content), encoding="utf-8", write_through=True)


def _text(stream: io.TextIOWrapper) -> str:
    buffer = stream.buffer
    assert isinstance(buffer, io.BytesIO)
    return buffer.getvalue().decode("utf-8")


# The program at a terminal of its own.


needs_pty = pytest.mark.skipif(sys.platform == "win32", reason="no pty there")


def at_terminal(
    *args: str, typed: bytes = b"", env: Mapping[str, str] | None = None
) -> tuple[int, bytes]:
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
