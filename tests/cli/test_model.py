"""Without the embedding model the program goes on by words, says so once, and names the repair."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from recollect.embed import model
from tests.cli.run import pinned, run

REINSTALL = "pip install --force-reinstall recollect"


def missing(path: Path) -> None:
    pass


def flipped(path: Path) -> None:
    """One byte in the middle, as a bad disk leaves it: no length tells, only the hash."""
    content = bytearray(model.SHIPPED_FILE.read_bytes())
    content[len(content) // 2] ^= 0xFF
    path.write_bytes(content)


def cut(path: Path) -> None:
    path.write_bytes(model.SHIPPED_FILE.read_bytes()[:1_000_000])


def folder(path: Path) -> None:
    path.mkdir()


@pytest.fixture(params=[missing, flipped, cut, folder])
def broken(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Instead of the shipped file; returns the command that mends it."""
    make: Callable[[Path], None] = request.param
    path = tmp_path / "minilm.safetensors"
    make(path)
    monkeypatch.setattr(model, "SHIPPED_FILE", path)
    return REINSTALL


@pytest.fixture
def misnamed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("MEMORY_EMBEDDING_MODEL", str(tmp_path / "none.safetensors"))
    return "`shipped`"


def check_words_alone(repair: str) -> None:
    id = pinned("Zeppelins fly on helium.")

    for command in ("recall", "search"):
        shown, listed = run(command, "zeppelins"), run(command, "zeppelins", "--json")

        assert (shown.code, listed.code) == (0, 0), shown.err + listed.err
        assert "Zeppelins fly on helium." in shown.out
        assert (shown.out + shown.err).lower().count("searched by words alone") == 1
        assert [hit["id"] for hit in listed.json["hits"]] == [id]
        assert listed.json["how"].startswith("words alone: ")
        assert listed.err == ""
    doctor = run("doctor", "--json")
    [check] = [check for check in doctor.json["checks"] if check["name"] == "model"]
    assert doctor.code == 0, "words serve: it is no failure"
    assert check["mark"] == "warn"
    assert "words alone" in check["detail"]
    assert repair in check["repair"]
    assert repair in run("doctor").out


def test_with_a_model_file_that_is_missing_or_broken_words_answer(broken: str):
    check_words_alone(broken)


def test_with_a_setting_that_names_no_model_words_answer_and_the_setting_is_to_be_mended(misnamed: str):
    check_words_alone(misnamed)

    assert REINSTALL not in run("doctor").out, "the installation is whole"
    assert "MEMORY_EMBEDDING_MODEL" in run("recall", "zeppelins").out
