"""`install` at a terminal asks which of the agents found here shall call us."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

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
@pytest.mark.parametrize(("keys", "ends"), [([b"n\n", b"y\n"], 0), ([b"n\n", b"n\n"], 130)])
def test_only_those_that_a_person_chooses_are_installed(keys: list[bytes], ends: int):
    code, shown = with_keys("install", keys=keys)
    assert (code, "Codex was found" in shown) == (ends, True), shown
    called = [calls_us(name) for name in (".codex/hooks.json", ".gemini/settings.json", ".claude/settings.json")]
    assert called == [False, ends == 0, False]
    assert (Path.home() / ".recollect" / "bin").exists() is (ends == 0)
