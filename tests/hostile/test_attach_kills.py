"""`attach` and `attach --off` that are killed, on a full disk, or two at once: the folder has its own memory or the one
that was named, never none and never parts of both; and what was done can be done again, and taken back."""

import shutil
import subprocess
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from recollect.base.paths import home
from recollect.base.settings import environment
from tests.cli.run import program, run
from tests.hostile.killed import count_calls, killed_at
from tests.hostile.test_kills import full, home_on_small_disk, read_only


@pytest.fixture
def other(monkeypatch: pytest.MonkeyPatch) -> str:
    """Two projects with a rule each; we stand in the second. Returns the first's store."""
    for name, rule in (("shop", "Use pnpm"), ("store", "Write in British English")):
        folder = Path.cwd().parent / name
        (folder / ".git" / "objects").mkdir(parents=True)
        (folder / ".git" / "refs").mkdir()
        (folder / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
        monkeypatch.chdir(folder)
        assert run("rule", "add", rule).code == 0
    found: list[str] = [one["folder"] for one in run("projects", "--json").json["projects"]]
    return next(name for name in found if name.startswith("shop-"))


def attach(other: str) -> list[str]:
    return ["attach", other]


def detach(other: str) -> list[str]:
    assert run("attach", other).code == 0
    return ["attach", "--off"]


SCENES = (attach, detach)


def rules() -> list[str]:
    return sorted(one["body"] for one in run("rules", "--json").json)


class Trees:
    """The home and both projects, to begin again from."""

    def __init__(self, kept: Path) -> None:
        self._kept = kept
        self._places = (home(environment()), Path.cwd(), Path.cwd().with_name("shop"))
        for number, place in enumerate(self._places):
            shutil.copytree(place, kept / str(number), symlinks=True)

    def restore(self) -> None:
        """What is in them, not they: we stand in one."""
        for number, place in enumerate(self._places):
            for inside in place.iterdir():
                shutil.rmtree(inside) if inside.is_dir() else inside.unlink()
            shutil.copytree(self._kept / str(number), place, dirs_exist_ok=True)


@pytest.mark.parametrize("prepare", SCENES, ids=lambda prepare: prepare.__name__)
def test_an_attach_that_is_killed_is_done_or_not(
    other: str, tmp_path: Path, prepare: Callable[[str], list[str]]
):
    command, told = prepare(other), tmp_path / "calls"
    before, start = rules(), Trees(tmp_path / "kept")
    within = r"base/(files|project)|ops/upkeep|app/core"
    calls = count_calls(told, *command, within=within)
    after = rules()
    assert before != after
    step = max(1, calls // 12)
    for call in range(1, calls + 1, step):
        start.restore()

        killed_at(call, told, *command, within=within)

        where = f"{command} killed at call {call} of {calls}"
        assert rules() in (before, after), where
        assert run(*command).code == 0, where
        assert rules() == after, where
        assert run("attach", "--off").code == 0, where
        assert rules() == ["Write in British English"], where
        assert run("verify").code == 0, where


def test_two_that_attach_at_once_leave_one_of_the_two(other: str):
    """Also beside one that takes it back."""
    commands = 2 * [["attach", other], ["attach", "--off"]]
    running = [
        subprocess.Popen(
            [sys.executable, "-m", "recollect", *command],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        for command in commands
    ]
    said = [one.communicate(timeout=120)[1].decode() for one in running]

    assert "Traceback" not in "".join(said)
    assert rules() in (["Use pnpm"], ["Write in British English"])
    assert run("attach", "--off").code == 0
    assert rules() == ["Write in British English"]
    assert run("verify").code == 0


@pytest.mark.skipif(sys.platform != "linux", reason="mounts a disk")
@pytest.mark.parametrize("trouble", [full, read_only], ids=lambda trouble: trouble.__name__)
@pytest.mark.parametrize("prepare", SCENES, ids=lambda prepare: prepare.__name__)
def test_on_a_disk_that_takes_nothing_it_is_done_or_not_and_says_so(
    other: str,
    prepare: Callable[[str], list[str]],
    trouble: Callable[[Path], AbstractContextManager[None]],
):
    with home_on_small_disk() as place:
        command = prepare(other)
        before = rules()
        with trouble(place):
            ended = program(*command)

        said = ended.stderr.decode()
        assert "Traceback" not in said
        assert (rules() == before) == (ended.returncode != 0), said
        assert ended.returncode != 1, said
        assert run(*command).code == 0
        assert run("attach", "--off").code == 0
        assert rules() == ["Write in British English"]
