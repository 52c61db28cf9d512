"""Runs the program: in this process, as fast as a function and through the real `main`; or as a process."""

from __future__ import annotations

import io
import json
import shlex
import subprocess
import sys
from dataclasses import dataclass
from typing import Any
from unittest.mock import patch

import click

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
    return subprocess.run([sys.executable, "-m", "recollect", *args], capture_output=True, timeout=120, **options)


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
