"""`forget --project` empties a project with one undo; `uninstall` says what stays."""

from itertools import count
from pathlib import Path
from typing import Any

import pytest

from recollect.app.core import App
from tests.cli.run import run


def remember() -> None:
    assert run("rule", "add", "Use pnpm").code == 0
    assert run("rule", "add", "Never push to main", "--user").code == 0
    assert run("pin", "Deploys go through staging").code == 0
    assert run("note", "save", "Release on Tuesday", "--project").code == 0


def listed(*filters: str) -> set[str]:
    return {memory["title"] for memory in run("list", "--json", *filters).json}


def test_everything_of_a_project_is_put_away_as_one_change_and_comes_back_with_one_undo():
    remember()
    before = listed("--status", "active", "--scope", "project")
    note = Path(".ai/memory/release-on-tuesday.md")

    done = run("forget", "--project", "--yes")

    many = "1 note, 1 rule, 1 thread"
    assert f"Archived everything of work: {many}. `recollect undo` brings it back." in done.out
    assert listed("--status", "active") == {"Never push to main"}
    assert not note.exists()
    undone = run("undo").out
    assert "the rule “Use pnpm” is in force again" in undone
    assert listed("--status", "active", "--scope", "project") == before
    assert note.exists()


def test_nothing_is_put_away_unasked():
    remember()

    refused = run("forget", "--project")

    assert refused.code == 2
    assert "nobody is there to ask" in refused.err
    assert "Dry run: nothing was written." in run("forget", "--project", "--dry-run").out
    assert len(listed("--status", "active")) == 4


def test_purging_a_project_leaves_only_the_files_of_notes():
    remember()

    erased = run("forget", "--project", "--purge", "--yes")

    assert "Erased 2 memories" in erased.out
    assert "release-on-tuesday.md" in erased.out
    assert listed("--scope", "project") == {"Release on Tuesday"}
    assert listed("--scope", "user") == {"Never push to main"}
    assert "Use pnpm" not in run("log", "--diff").out


def test_an_empty_project_says_so():
    assert run("forget", "--project", "--yes").out == "Nothing is remembered of work.\n"


def test_a_name_and_the_project_exclude_each_other():
    for options in (("x", "--project"), ("--project", "--delete"), ("--project", "--run")):
        assert run("forget", *options, "--yes").code == 2


def test_uninstall_says_what_stays_where_and_how_to_remove_it():
    remember()
    assert run("install").code == 0

    said = run("uninstall").out

    home = Path.home() / ".recollect"
    assert f"Memories stay in {home}. To delete all of them: `rm -r {home}`." in said
    assert f"The folder .ai stays in 1 project: {Path.cwd() / '.ai'}." in said
    assert f"`rm -r {Path.cwd() / '.ai'}`" in said
    assert Path(".ai").is_dir()


def test_uninstall_speaks_of_no_memories_where_there_is_no_home():
    said = run("uninstall").out

    assert not (Path.home() / ".recollect").exists()
    assert "Memories stay" not in said


class Cut(BaseException):
    """As sudden as a kill, for this process."""


def test_what_is_cut_off_in_the_middle_put_nothing_away(monkeypatch: pytest.MonkeyPatch):
    remember()
    before, log = listed("--status", "active"), run("log", "--json").json
    commit, calls = App.commit, count(1)

    def cut_at_second(app: App, *given: Any, **more: Any) -> Any:
        if next(calls) == 2:
            raise Cut
        return commit(app, *given, **more)

    with monkeypatch.context() as patch:
        patch.setattr(App, "commit", cut_at_second)
        with pytest.raises(Cut):
            run("forget", "--project", "--yes")

    assert listed("--status", "active") == before
    assert run("log", "--json").json == log
    assert Path(".ai/memory/release-on-tuesday.md").exists()
