"""`install` at a terminal asks which of the agents that are here shall call us; elsewhere it asks nobody."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.cli.run import run
from tests.cli.terminal import needs_pty, with_keys


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Codex and Gemini CLI were used here; no program of the machine's is found."""
    monkeypatch.setenv("PATH", f"/usr/bin{os.pathsep}/bin")
    for name in ("CLAUDE_CONFIG_DIR", "CODEX_HOME", "XDG_CONFIG_HOME"):
        monkeypatch.delenv(name, raising=False)
    for name in (".codex", ".gemini"):
        (Path.home() / name).mkdir()


def calls_us(name: str) -> bool:
    path = Path.home() / name
    return path.exists() and "/bin/hook" in path.read_text()


@needs_pty
def test_those_that_a_person_chooses_are_installed():
    code, shown = with_keys("install", keys=[b"n\n", b"y\n"])
    assert code == 0, shown
    assert "Codex was found" in shown
    assert (calls_us(".codex/hooks.json"), calls_us(".gemini/settings.json")) == (False, True)
    assert not calls_us(".claude/settings.json")
    assert run("uninstall").code == 0


@needs_pty
def test_where_all_are_declined_nothing_is_written():
    code, shown = with_keys("install", keys=[b"n\n", b"n\n"])
    assert code == 130, shown
    assert not calls_us(".claude/settings.json")
    assert not (Path.home() / ".recollect" / "bin").exists()


def test_without_a_terminal_it_is_the_usual_one_and_the_others_are_mentioned():
    done = run("install")
    assert done.code == 0
    assert calls_us(".claude/settings.json")
    assert not calls_us(".codex/hooks.json")
    assert "--agent codex --agent gemini" in done.out
    assert run("uninstall").code == 0
