"""Whole folders as values, and programs that run beside a test."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def contents(folder: Path) -> dict[str, bytes]:
    """Every file and its bytes, except the empty helpers that SQLite leaves beside a log."""
    found = {str(p.relative_to(folder)): p.read_bytes() for p in folder.rglob("*") if p.is_file()}
    return {
        name: data
        for name, data in found.items()
        if not (name.endswith("-shm") or (name.endswith("-wal") and not data))
    }


def traces(folder: Path, word: str) -> list[str]:
    """The files that hold this word, in any part."""
    return [str(p) for p in folder.rglob("*") if p.is_file() and word.encode() in p.read_bytes()]


def start(code: str, *args: str) -> subprocess.Popen[str]:
    """Python that can import the product and the tests' makers."""
    return subprocess.Popen(
        [sys.executable, "-c", code, *args],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | {"PYTHONPATH": f"{ROOT / 'src'}{os.pathsep}{ROOT}"},
    )


def finished(program: subprocess.Popen[str], timeout: float = 60) -> str:
    out, err = program.communicate(timeout=timeout)
    assert program.returncode == 0, err
    return out
