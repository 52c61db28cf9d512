"""A command that changes files of notes and is killed leaves files, notes and journal as they were before, or as they
are afterwards: what happened to a file is known to `undo`, what is not known did not happen."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from recollect.base.paths import home
from recollect.base.settings import environment
from tests.cli.run import run
from tests.hostile.killed import count_calls, files_below, killed_at, moments
from tests.hostile.test_kills import Snapshot

# Where files are changed, and where that is committed.
TOUCHES_FILES = r"app/(core|note_files|file_recovery)|vault/note_folder|base/files|store/database"
KILLS = 8  # of each command, which has 110 to 222 such calls
NAME = "Release on Tuesday"


def archive() -> list[str]:
    return ["note", "archive", NAME]


def undo_of_archive() -> list[str]:
    assert run(*archive()).code == 0
    return ["undo"]


def save() -> list[str]:
    return ["note", "save", "Freeze on Friday", "--project"]


def undo_of_save() -> list[str]:
    assert run(*save()).code == 0
    return ["undo"]


def evolve() -> list[str]:
    return ["note", "evolve", NAME, "Not in December."]


def undo_of_evolve() -> list[str]:
    assert run(*evolve()).code == 0
    return ["undo"]


def forget() -> list[str]:
    return ["forget", "--project", "--yes"]


SCENES = (archive, undo_of_archive, save, undo_of_save, evolve, undo_of_evolve, forget)
State = tuple[dict[str, str], list[tuple[str, str, str]], list[str]]


def state() -> State:
    """Files with their texts, notes with their status and place, and what is on record."""
    vault = Path(".ai")
    texts = {
        name: re.sub(r"(?m)^id: .*$", "", vault.joinpath(name).read_text())
        for name in files_below(vault)
        if "memory" in name
    }
    notes = run("list", "--kind", "note", "--json", "--limit", "1000").json
    listed = sorted((note["title"], note["status"], note["path"]) for note in notes)
    log = run("log", "--json").json
    return texts, listed, [one["summary"] for one in log]


@pytest.fixture
def notes() -> None:
    assert run("rule", "add", "Use pnpm").code == 0
    for name in (NAME, "Deploy at noon"):
        assert run("note", "save", name, "--project").code == 0


@pytest.mark.parametrize("prepare", SCENES, ids=lambda prepare: prepare.__name__)
def test_a_killed_change_of_files_is_whole_or_did_not_happen(
    notes: None, tmp_path: Path, prepare: Callable[[], list[str]]
):
    command, told = prepare(), tmp_path / "calls"
    before, start = state(), Snapshot(tmp_path / "kept")
    calls = count_calls(told, *command, within=TOUCHES_FILES)
    after = state()
    for call in moments(calls, KILLS, prepare.__name__):
        start.restore()

        killed_at(call, told, *command, within=TOUCHES_FILES)

        where = f"{command} killed at call {call} of {calls}"
        assert run("note", "sync").code == 0, where
        assert state() in (before, after), where
        assert run("verify").code == 0, where
        assert not list(home(environment()).rglob("*file-changes-*")), where
