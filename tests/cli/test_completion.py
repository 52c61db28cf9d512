from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.run import pinned, run

Completes = Callable[[str], list[str]]


@pytest.fixture
def completed(monkeypatch: pytest.MonkeyPatch) -> Completes:
    """What bash would offer for the last word of a line."""

    def offered(line: str) -> list[str]:
        monkeypatch.setenv("_RECOLLECT_COMPLETE", "bash_complete")
        monkeypatch.setenv("COMP_WORDS", line)
        monkeypatch.setenv("COMP_CWORD", str(line.count(" ")))
        ran = run()
        monkeypatch.delenv("_RECOLLECT_COMPLETE")
        assert ran.err == ""
        return [row.partition(",")[2] for row in ran.out.splitlines() if row]

    return offered


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_every_shell_gets_a_script_it_can_read(shell: str):
    ran = run("completion", shell)

    assert ran.code == 0
    assert "_RECOLLECT_COMPLETE" in ran.out
    if shutil.which(shell):
        subprocess.run([shell, "-n"], input=ran.out.encode(), check=True)


def test_an_unknown_shell_is_refused():
    assert run("completion", "tcsh").code == 2


def test_commands_options_and_choices_are_completed(completed: Completes):
    assert completed("recollect th") == ["threads"]
    assert completed("recollect rule ") == ["add", "list", "retire"]
    assert "--boost" in completed("recollect pin --")
    assert completed("recollect threads --status a") == ["active", "archived"]


def test_ids_are_completed_wherever_one_is_wanted(completed: Completes):
    id = pinned("x")
    for place in ("show ", "merge ", f"merge {id} ", "link ", "delete ", "log ", "edit ", "purge "):
        assert id in completed(f"recollect {place}{id[:8] if place == 'show ' else ''}"), place
    assert completed("recollect show rule_") == []


def test_completion_is_silent_where_the_home_cannot_be_used(completed: Completes):
    (Path.home() / ".recollect").write_text("a file")

    assert completed("recollect show ") == []


def test_completion_moves_no_damaged_file(completed: Completes):
    pinned("x")
    store = next((Path.home() / ".recollect" / "projects").glob("*/memory.db"))
    store.write_bytes(b"\x00" * 8192)

    assert completed("recollect show ") == []
    assert store.exists()
