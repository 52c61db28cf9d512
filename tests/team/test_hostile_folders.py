"""Opening an agent in a folder that a stranger prepared runs nothing of it, at any door, in a team or not."""

import json
import os
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest

from recollect.app.core import App
from recollect.app.states import MIRROR
from recollect.base.errors import RecollectError
from recollect.base.project import known
from recollect.daemon.apps import MAX_APPS
from recollect.model.result import Scope
from recollect.wire import stub
from tests.cli.run import run
from tests.daemon.real import soon
from tests.team.conftest import Team
from tests.team.hostile import KINDS, Hostile, Trap, make
from tests.team.people import Person
from tests.web.served import Ui, World, list_pages

EVENTS: tuple[tuple[str, dict[str, object]], ...] = (
    ("SessionStart", {"source": "startup"}),
    ("UserPromptSubmit", {"prompt": "Always use pnpm here, never npm.", "prompt_id": "p-1"}),
    ("PreToolUse", {"tool_name": "Bash", "tool_input": {"command": "git status"}, "tool_use_id": "t"}),
    ("Stop", {}),
    ("SessionEnd", {"reason": "exit"}),
)  # fmt: skip
COMMANDS = (
    ("status",), ("doctor",), ("rules",), ("recall", "pnpm"), ("rule", "add", "Tabs, never spaces."), ("projects",),
    ("import", "sessions", "--dry-run"), ("import", "rules", "README", "--dry-run"), ("note", "sync"),
    ("import", "memory-folder", "--dry-run"), ("validate",), ("verify",), ("figures",), ("catch-up",), ("backup",),
    ("install", "--dry-run"), ("sync", "--dry-run"), ("skills", "--dry-run"), ("sessions",), ("allow",),
)  # fmt: skip
TEAM_COMMANDS = (
    ("team", "status"), ("team", "members"), ("share", "last", "--dry-run"), ("team", "link", "--dry-run"),
    ("team", "link"), ("share", "last"), ("rule", "add", "Deploys go through staging.", "--team"), ("unshare", "last"),
    ("team", "link", "--off"),
)  # fmt: skip
# What a membership changes in the other commands is which projects the daemon and `App` ask the team about.
ALSO_IN_A_TEAM = (("status",), ("doctor",), ("recall", "pnpm"), ("import", "sessions", "--dry-run"))


_OPEN_AT_ONCE = (
    MAX_APPS // 3
)  # jobs work in open projects; each is open twice until its id is known


@pytest.fixture
def trap(tmp_path: Path) -> Trap:
    return Trap(tmp_path / "trap")


def set_traps(person: Person, trap: Trap) -> None:
    """Any git is noticed, and the folder that somebody stands in is on the PATH, first of all."""
    traps = trap.folder / "bin"
    for name in ("git", "ssh", "gpg", "less"):
        trap.write(traps / name)
    person.environ["PATH"] = f".:{traps}:{os.environ['PATH']}"


def open_agent(person: Person, folder: Path) -> None:
    """A whole session, through the program that agents call."""
    for event, more in EVENTS:
        given = {
            "hook_event_name": event, "session_id": f"s-{folder.name}", "cwd": str(folder),
            "transcript_path": "", **more,
        }  # fmt: skip
        script = stub.script_path(str(person.home / ".recollect"))
        subprocess.run(
            [script, event, "--deadline-ms", "10000"], input=json.dumps(given), capture_output=True, text=True,
            cwd=folder, timeout=60, env=person.environ | {"CLAUDE_PROJECT_DIR": str(folder)}, check=True,
        )  # fmt: skip


def call(person: Person, folder: Path, *args: str) -> None:
    """Whether it succeeds is another matter; that it ends and what it runs is this one."""
    before = Path.cwd()
    os.chdir(folder)
    try:
        with patch.dict(os.environ, person.environ, clear=True):
            ran = run(*args)
    finally:
        os.chdir(before)
    assert "Traceback" not in ran.err, (args, ran.err)


class _PageWorld(World):
    def __init__(self, person: Person, folder: Path) -> None:
        self.root, self.project, self.environ = person.root, folder, person.environ
        self._program = str(person.home / ".recollect" / "bin" / "recollect")

    def popen(self, *args: str, cwd: Path | None = None, **more: Any) -> subprocess.Popen[str]:
        """As installed: `python -m` would look for modules in the folder that it stands in."""
        return subprocess.Popen(
            [self._program, *args], cwd=cwd or self.project, env=self.environ, text=True, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, **more,
        )  # fmt: skip


@contextmanager
def page_in(person: Person, folder: Path) -> Iterator[Ui]:
    ui = Ui(_PageWorld(person, folder))
    try:
        yield ui.sign_in()
    finally:
        ui.end()


def look_at_page(person: Person, folder: Path) -> None:
    with page_in(person, folder) as ui:
        paths = list_pages(ui)
        others = {store.folder.name for store in known(person.house.home.projects)}
        own = ui.project
        assert len(others) >= len(KINDS), "the page shows every project"
        for path in paths:
            assert ui.get(path).status == 200
        for name in others:
            for view in ("", "/rules", "/health"):
                ui.get(own.rpartition("/")[0] + f"/{name}{view}")


def has_synced(person: Person, folder: Path) -> bool:
    """The daemon has compared this folder with the projects of the team."""
    with patch.dict(os.environ, person.environ, clear=True):
        app = App.open(folder)
        try:
            return MIRROR.read(app.reader(Scope.TEAM)).at > 0
        except RecollectError:
            return False
        finally:
            app.close()


def hostile_folders(repository: Path, person: Person, trap: Trap) -> list[Path]:
    parent = person.root / "work"
    parent.mkdir()
    return [make(kind, repository, parent, trap) for kind in KINDS]


@pytest.mark.parametrize("is_member", [True, False], ids=["in a team", "alone"])
def test_nothing_of_a_hostile_folder_runs_at_any_door(
    is_member: bool, meet: Callable[..., Person], team: Team, repository: Path, trap: Trap
):
    person = meet("Ann", alone=not is_member)
    if is_member:
        person.add_rule("Deploys go through staging first.", "--team")
    folders = hostile_folders(repository, person, trap)
    trap.reset()
    set_traps(person, trap)
    person.run("hook", "--prepare")
    with patch.dict(os.environ, person.environ, clear=True):
        person.house.start()  # with the traps on its PATH

    for few in (folders[at : at + _OPEN_AT_ONCE] for at in range(0, len(folders), _OPEN_AT_ONCE)):
        for folder in few:
            open_agent(person, folder)
            assert trap.sprung() == "", folder.name
        assert not is_member or soon(lambda: all(has_synced(person, one) for one in few))  # noqa: B023
    for folder in folders:
        for command in (*ALSO_IN_A_TEAM, *TEAM_COMMANDS) if is_member else COMMANDS:
            call(person, folder, *command)
            assert trap.sprung() == "", (folder.name, command)
    look_at_page(person, folders[-2])
    call(person, folders[0], "daemon", "stop")

    assert trap.sprung() == ""


def run_git(kind: Hostile, folder: Path) -> None:
    environ = {
        "PATH": os.environ["PATH"], "HOME": str(folder.parent), "GIT_CONFIG_NOSYSTEM": "1", "LANG": "C.UTF-8",
        "GIT_AUTHOR_NAME": "t", "GIT_AUTHOR_EMAIL": "t@example.com", "GIT_COMMITTER_NAME": "t",
        "GIT_COMMITTER_EMAIL": "t@example.com", "GIT_TERMINAL_PROMPT": "0",
    }  # fmt: skip
    subprocess.run(
        ["git", *kind.trigger], cwd=folder, capture_output=True, env=environ, timeout=60,
        input=b"protocol=https\nhost=127.0.0.1:9\n\n",
    )  # fmt: skip


# Without a terminal git starts no pager.
BY_GIT = [kind for kind in KINDS if kind.trigger and kind.name != "pager"]


@pytest.mark.parametrize("kind", BY_GIT, ids=[kind.name for kind in BY_GIT])
def test_git_itself_runs_what_these_repositories_name(
    kind: Hostile, repository: Path, tmp_path: Path, trap: Trap
):
    folder = make(kind, repository, tmp_path, trap)
    trap.reset()

    run_git(kind, folder)

    assert trap.sprung()
