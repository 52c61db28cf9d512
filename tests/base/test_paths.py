"""The home is where the user says, made private, and refused where it is not safely ours."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from recollect.base import paths
from recollect.base.errors import HomeRefused
from recollect.base.paths import Home, home, user_home

posix = pytest.mark.skipif(sys.platform == "win32", reason="owners and modes of POSIX")
as_root = pytest.mark.skipif(sys.platform == "win32" or os.geteuid() != 0, reason="only root can give a folder away")


def every_mode(root: Path) -> set[int]:
    return {stat.S_IMODE(path.lstat().st_mode) for path in (root, *root.rglob("*"))}


@posix
@pytest.mark.parametrize(
    ("environ", "expected"),
    [({"HOME": "/h"}, "/h/.recollect"), ({"HOME": "/h", "RECOLLECT_HOME": ""}, "/h/.recollect"),
     ({"HOME": "/h", "RECOLLECT_HOME": "~/mem"}, "/h/mem"), ({"HOME": "/h", "RECOLLECT_HOME": "~"}, "/h"),
     ({"HOME": "/h/../i/"}, "/i/.recollect"), ({"RECOLLECT_HOME": "/x", "HOME": "/h"}, "/x")],
)  # fmt: skip
def test_the_home_is_what_the_environment_names_or_stands_in_the_users(environ: dict[str, str], expected: str):
    assert str(home(environ)) == expected


def test_a_relative_name_is_made_absolute(tmp_path: Path):
    assert home({"RECOLLECT_HOME": "mem"}) == Path.cwd() / "mem"


@posix
@pytest.mark.parametrize("environ", [{}, {"HOME": ""}, {"HOME": "relative"}])
def test_without_home_the_list_of_users_is_asked(environ: dict[str, str], monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(paths, "_listed_home", lambda: "/listed")
    assert user_home(environ) == Path("/listed")


@posix
@pytest.mark.parametrize("listed", ["", "relative"])
def test_a_user_without_any_home_is_told_what_to_set(listed: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(paths, "_listed_home", lambda: listed)
    with pytest.raises(HomeRefused) as refused:
        home({})
    assert "RECOLLECT_HOME" in refused.value.hint
    assert home({"RECOLLECT_HOME": "/x"}) == Path("/x")


@as_root
def test_a_user_who_is_in_no_list_is_refused():
    script = "from recollect.base.paths import home; home({})"
    source = str(Path(paths.__file__).parents[2])

    ended = subprocess.run(
        [sys.executable, "-c", f"import os, sys; sys.path.insert(0, {source!r}); "
         f"import recollect.base.paths, pwd; os.setuid(54321); {script}"],
        capture_output=True, text=True, check=False, cwd="/",
    )  # fmt: skip

    assert "HomeRefused: This user has no home folder." in ended.stderr


def test_naming_and_checking_a_home_makes_nothing(tmp_path: Path):
    there = Home(tmp_path / "home" / ".recollect")
    assert there.check() is False
    assert (there.conf.name, there.user_store.parts[-2:]) == ("agent.conf", ("user", "memory.db"))
    assert {there.projects.name, there.logs.name, there.vault.name} == {"projects", "logs", "vault"}
    assert os.listdir(tmp_path / "home") == []


@posix
@pytest.mark.parametrize("umask", [0o000, 0o022, 0o277])
def test_a_prepared_home_is_private_whatever_the_umask_and_one_that_others_can_enter_is_shut(
    tmp_path: Path, umask: int
):
    os.umask(umask)
    there = Home(tmp_path / "home" / ".recollect")
    there.prepare()
    assert every_mode(there.root) == {0o700}
    there.root.chmod(0o777)
    there.logs.chmod(0o755)

    there.prepare()

    assert every_mode(there.root) == {0o700}
    assert all(folder.is_dir() for folder in (there.projects, there.logs, there.user_store.parent))
    assert there.check() is True


@posix
def test_a_home_may_be_a_link_to_a_folder_of_ours(tmp_path: Path):
    (tmp_path / "disk").mkdir()
    (tmp_path / "linked").symlink_to(tmp_path / "disk")
    Home(tmp_path / "linked").prepare()
    assert (tmp_path / "disk" / "projects").is_dir()


def check_refused(root: Path, *, says: str) -> None:
    with pytest.raises(HomeRefused, match=says) as refused:
        Home(root).prepare()
    assert refused.value.hint
    assert refused.value.exit_code == 10


@posix
def test_a_place_that_cannot_be_a_home_is_refused_and_the_path_to_one_is_never_made(tmp_path: Path):
    (tmp_path / "mem").write_text("mine")
    (tmp_path / "dangling").symlink_to(tmp_path / "nowhere")
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    check_refused(tmp_path / "mem", says="not a folder")
    check_refused(tmp_path / "mem" / "deeper", says="cannot be used")
    check_refused(tmp_path / "dangling", says="link to a place that does not exist")
    check_refused(tmp_path / "loop", says="cannot be used")
    check_refused(tmp_path / "nonexistent" / ".recollect", says="nonexistent does not exist")
    assert not (tmp_path / "nowhere").exists()
    assert not (tmp_path / "nonexistent").exists()


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="/proc takes no folders, from root either")
def test_a_place_that_cannot_be_written_is_refused():
    check_refused(Path("/proc/.recollect"), says="/proc")


@as_root
def test_another_users_home_is_refused_for_reading_too(tmp_path: Path):
    (tmp_path / "theirs").mkdir()
    os.chown(tmp_path / "theirs", 54321, 54321)
    check_refused(tmp_path / "theirs", says="belongs to user 54321")
    with pytest.raises(HomeRefused):
        Home(tmp_path / "theirs").check()
    assert os.listdir(tmp_path / "theirs") == []


@pytest.mark.skipif(sys.platform == "win32" or os.geteuid() == 0, reason="root can write everywhere")
def test_a_read_only_home_is_refused(tmp_path: Path):
    (tmp_path / "sealed").mkdir(mode=0o500)
    check_refused(tmp_path / "sealed" / "mem", says="cannot be used")
