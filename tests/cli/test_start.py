"""What is loaded for help, and the demo."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from tests.cli.run import program, run

LOADED = """
import sys
sys.argv = ["recollect", *sys.argv[1:]]
from recollect.cli import main
try:
    main()
except SystemExit:
    print(" ".join(sys.modules), file=sys.stderr)
"""


def loaded_by(*args: str) -> set[str]:
    done = subprocess.run([sys.executable, "-c", LOADED, *args], capture_output=True, text=True, timeout=60)
    return set(done.stderr.splitlines()[-1].split())


@pytest.mark.parametrize("args", [("--help",), ("--version",), ("rule",)])
def test_help_loads_no_room_but_the_table(args: tuple[str, ...]):
    loaded = loaded_by(*args)

    assert not loaded & {"apsw", "rich", "re2", "recollect.store", "recollect.redact", "recollect.ops.app", "json"}


def test_help_of_a_command_loads_no_database():
    assert not loaded_by("pin", "--help") & {"apsw", "rich", "re2", "recollect.store", "recollect.redact"}


def test_a_pipe_never_loads_rich():
    assert "rich" not in loaded_by("config")


def test_the_demo_shows_the_main_job_and_leaves_nothing(tmp_path: Path):
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    before = sorted(tmp_path.rglob("*"))

    done = program("demo", env={**os.environ, "TMPDIR": str(scratch), "TEMP": str(scratch), "TMP": str(scratch)})

    assert (done.returncode, done.stderr) == (0, b"")
    said = done.stdout.decode()
    shown = [line.split()[2] for line in said.splitlines() if line.startswith("$ recollect")]
    steered = ["focus", "recall", "unfocus", "rate", "suggestions", "compact"]
    assert shown == ["pin", "pin", "rule", "link", "search", "recall", "why", "merge", "undo", *steered, "log"]
    assert "Undid merge" in said
    assert "Kept out: url-password" in said
    kept_back = "correct-" + "horse"
    assert said.count(kept_back) == 1, "only in the command that was typed"
    assert sorted(tmp_path.rglob("*")) == before


def test_the_demos_commands_are_commands_that_exist():
    for step in run("demo", "--json").json:
        words = step["command"].split("recollect ")[1].split()
        asked = run(*words[:2] if words[0] == "rule" else words[:1], "--help")
        assert asked.code == 0, step["command"]


def test_the_demo_does_not_look_at_what_is_remembered_here(tmp_path: Path):
    run("pin", "xylographer")

    assert "xylographer" not in run("demo").out
    assert Path(tempfile.gettempdir()).exists()
