"""A careless PATH (`.`, an empty part) and variables that a project sets lead to no program of a stranger's folder."""

import os
import pty
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from recollect.app.core import App
from recollect.app.teams import Team, login_url
from recollect.wire.place import program_path
from tests.daemon.real import soon
from tests.team.hostile import Trap
from tests.web.served import WAIT_S, World, scratch_world

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="shell scripts")

PATHS = (
    ".:{bin}",
    "{bin}:",
    ":{bin}",
    "tools:{bin}",
    "/proc/self/cwd:{bin}",
    "//proc/self/cwd/tools:{bin}",
)
PROGRAMS = (
    "xdg-open", "gvfs-open", "x-www-browser", "www-browser", "firefox", "chromium", "links", "lynx",
    "sensible-editor", "vim", "nano", "vi", "less", "which", "sh", "env", "git", "notify-send", "pass",
)  # fmt: skip


@pytest.fixture
def trap(tmp_path: Path) -> Trap:
    return Trap(tmp_path / "trap")


@pytest.fixture(params=PATHS)
def world(request: pytest.FixtureRequest, trap: Trap) -> Iterator[World]:
    """A folder full of programs; it is the current one, and on the PATH. In `bin` there are a browser and an editor."""
    with scratch_world() as made:
        for place in (made.project, made.project / "tools"):
            place.mkdir()
            for name in PROGRAMS:
                trap.write(place / name)
        for name in ("w3m", "edit-it"):
            good = Trap(made.root / name)
            good.write(made.root / "bin" / name)
        path = request.param.format(bin=made.root / "bin")
        made.environ |= {"PATH": path, "DISPLAY": ":9", "TERM": "xterm"}
        yield made


def started(world: World, name: str) -> bool:
    return (world.root / name / "ran").exists()


def test_the_page_is_opened_by_no_program_of_the_folder(world: World, trap: Trap):
    process = world.popen("ui", stderr=subprocess.DEVNULL)
    try:
        is_opened = soon(lambda: started(world, "w3m") or bool(trap.sprung()))
    finally:
        process.terminate()
        process.communicate(timeout=WAIT_S)

    assert is_opened
    assert trap.sprung() == ""


@pytest.mark.parametrize("editor", ["edit-it", ""])
def test_a_memory_is_edited_by_no_program_of_the_folder(world: World, trap: Trap, editor: str):
    rule = world.json("rule", "add", "Tabs, never spaces.")["ids"][0]
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "recollect", "edit", rule], cwd=world.project, stdin=theirs, stdout=theirs,
        stderr=theirs, env=world.environ | {"EDITOR": editor},
    )  # fmt: skip
    os.close(theirs)
    try:
        process.wait(WAIT_S)
    finally:
        process.kill()
        os.close(ours)

    assert started(world, "edit-it") == bool(editor)
    assert trap.sprung() == ""


def test_the_command_for_a_teams_password_stands_in_no_project(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    """Such programs may read settings where they stand."""
    folder = tmp_path / "project"
    folder.mkdir()
    monkeypatch.chdir(folder)
    monkeypatch.setenv("HOME", str(tmp_path))
    command = f"pwd > {tmp_path}/place; echo secret"

    login_url(Team("shop", "t", "postgresql://a@127.0.0.1/x", "a", "Ann", command))

    assert (tmp_path / "place").read_text().strip() == str(tmp_path)


def test_variables_of_a_project_lead_an_agents_program_to_no_other_home(tmp_path: Path):
    with scratch_world() as world:
        world.project.mkdir()
        world.run("hook", "--prepare")
        evil = world.project / "evil"
        environ = world.environ | {"RECOLLECT_HOME": str(evil)}
        del environ["PYTHONPATH"]

        subprocess.run(
            [program_path(str(world.root / "home")), "rule", "add", "Tabs, never spaces."],
            cwd=world.project, env=environ, check=True, capture_output=True, timeout=WAIT_S,
        )  # fmt: skip

        assert not evil.exists()
        assert len(world.json("rules")) == 1


def test_what_an_agent_starts_takes_no_program_from_its_variables(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("MEMORY_LLM", "on")
    monkeypatch.setenv("MEMORY_LLM_COMMAND", str(tmp_path / "evil"))
    monkeypatch.setenv("MEMORY_PROMPT_HITS", "1")

    with closing(App.open(tmp_path, actor="agent")) as app:
        assert not app.settings.switch("MEMORY_LLM")
        assert app.settings.text("MEMORY_LLM_COMMAND") == "claude"
        assert app.settings.count("MEMORY_PROMPT_HITS") == 1, "less is allowed"
