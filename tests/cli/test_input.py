from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.run import pinned, program, run

posix = pytest.mark.skipif(sys.platform == "win32", reason="modes, links, shells and pipes are another matter there")


def body(id: str) -> str:
    return str(run("show", id, "--json").json["body"])


def test_a_dash_reads_standard_input():
    ran = run("pin", "-", "--json", stdin="Two\nlines, é and 日本\n".encode())

    assert body(ran.json["ids"][0]) == "Two\nlines, é and 日本\n"
    assert run("rule", "add", "-", stdin=b"Use tabs\n").code == 0
    id = pinned("x")
    assert run("edit", id, "--body", "-", stdin=b"new").code == 0
    assert body(id) == "new"


def test_standard_input_that_is_no_text_is_marked():
    ran = run("pin", "-", "--json", stdin=b"caf\xe9 \xff\xfe\x00")

    assert body(ran.json["ids"][0]) == "caf\ufffd \ufffd\ufffd\u2400"


def test_ten_megabytes_on_standard_input_are_refused_in_words():
    ran = run("pin", "-", stdin=b"x" * 10_000_000)

    assert ran.code == 2
    assert "10,000,000 characters; at most 1,000,000 are kept" in ran.err
    assert run("pin", "-", stdin=b"x" * 20_000_001).code == 2


def test_text_that_looks_like_an_option_can_be_given():
    assert body(run("pin", "--json", "--", "--help").json["ids"][0]) == "--help"
    assert run("search", "--", "-h").code == 0


@posix
def test_streams_that_are_closed_are_empty():
    closed = [sys.executable, "-m", "recollect"]

    def run_closed(command: str) -> subprocess.CompletedProcess[bytes]:
        return subprocess.run(["sh", "-c", f'"$@" {command}', "sh", *closed], capture_output=True, timeout=60)

    read = run_closed("pin - <&-")
    assert (read.returncode, b"nothing to pin" in read.stderr) == (2, True)
    asked = run_closed("purge x <&-")
    assert (asked.returncode, b"nobody is there to ask" in asked.stderr) == (2, True)
    assert run_closed("status >&-").returncode == 0
    assert run_closed("show nothing 2>&- >&- <&-").returncode == 3


@posix
def test_a_folder_that_is_gone_is_named():
    gone = Path.cwd() / "gone"
    gone.mkdir()
    os.chdir(gone)
    shutil.rmtree(gone)

    ran = run("threads")

    assert ran.code == 3
    assert "The current folder no longer exists." in ran.err
    assert run("--help").code == 0


@posix
def test_a_reader_that_leaves_early_is_no_failure():
    """The reader is gone before the first line."""
    read, write = os.pipe()
    os.close(read)
    for args in (["config"], ["config", "--json"], ["--help"], ["pin", "--help"]):
        done = subprocess.run(
            [sys.executable, "-m", "recollect", *args], stdout=write, stderr=subprocess.PIPE, timeout=60
        )
        assert (done.returncode, done.stderr) == (0, b"")
    os.close(write)


def test_any_locale_can_print_any_text():
    id = pinned("日本 é 🎉")

    done = program("show", id, env={**os.environ, "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONIOENCODING": "ascii"})

    assert "日本 é 🎉" in done.stdout.decode("utf-8")


@posix
def test_bytes_in_an_argument_that_are_no_text_are_taken():
    done = program(b"search", b"caf\xe9")  # type: ignore[arg-type]

    assert done.returncode == 0
    assert program(b"show", b"caf\xe9\xff").returncode == 3  # type: ignore[arg-type]
