"""A project finds its store again: renamed, moved, re-attached; and no other project finds it."""

from __future__ import annotations

import json
import os
import shutil
import stat
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from recollect.base.errors import NotFound
from recollect.base.paths import Home
from recollect.base.project import (
    ID_FILE,
    Project,
    attach,
    claim,
    find,
    known,
    make_store_folder,
    prepare_view,
    store_folder,
)

posix = pytest.mark.skipif(sys.platform == "win32", reason="links and modes of POSIX")
ID = "0123456789abcdef" * 2


@pytest.fixture
def stores(tmp_path: Path) -> Path:
    there = Home(tmp_path / "home" / ".recollect")
    there.prepare()
    return there.projects


def folder_project(folder: Path) -> Project:
    folder.mkdir(parents=True, exist_ok=True)
    found = find(folder, folder.parents[len(folder.parents) - 1])
    assert found is not None
    return found


def git_project(folder: Path) -> Project:
    """As much of a repository as the search looks at."""
    for part in (".git/objects", ".git/refs"):
        (folder / part).mkdir(parents=True, exist_ok=True)
    (folder / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    return folder_project(folder)


Pair = list[tuple[Project, Path]]


@pytest.fixture
def pair(stores: Path) -> Pair:
    """Two projects, each with its store."""
    projects = [folder_project(Path(name)) for name in ("one", "two")]
    return [(project, make_store_folder(stores, project)) for project in projects]


# Found and made


def test_looking_for_a_store_makes_nothing(stores: Path):
    for folder in (stores, stores / "none"):
        assert (store_folder(folder, folder_project(Path("a"))), known(folder)) == (None, ())
    assert os.listdir(stores) == []


def test_a_store_folder_says_whose_it_is_and_is_private(stores: Path):
    project = folder_project(Path("my app"))

    folder = make_store_folder(stores, project)

    assert folder == stores / f"my-app-{project.key[:12]}"
    assert store_folder(stores, project) == make_store_folder(stores, project) == folder
    assert json.loads((folder / "project.json").read_text()) == {
        "name": "my app", "root": str(project.root), "key": project.key, "common_dir": "",
    }  # fmt: skip
    if sys.platform != "win32":
        modes = [stat.S_IMODE(path.stat().st_mode) for path in (folder, folder / "project.json")]
        assert modes == [0o700, 0o600]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.text(st.characters(), max_size=300))
def test_every_name_makes_a_folder_that_is_found_again(stores: Path, name: str):
    project = Project(Path("/x"), name, None, "p" + "0" * 31)
    shutil.rmtree(stores)
    stores.mkdir()

    folder = make_store_folder(stores, project)

    assert folder.parent == stores
    assert len(folder.name) <= 53
    assert store_folder(stores, project) == folder


@pytest.mark.parametrize(
    ("name", "made"), [("..", "project"), ("日本", "project"), (".hid", "hid"), ("a/../b", "a-..-b")]
)
def test_a_name_is_made_safe_for_a_folder(stores: Path, name: str, made: str):
    folder = make_store_folder(stores, Project(Path("/x"), name, None, "p" + "0" * 31))
    assert folder.name == f"{made}-p00000000000"


def test_a_moved_and_renamed_repository_finds_its_store_and_the_card_follows(stores: Path):
    project = claim(stores, git_project(Path("repo")), ID)
    folder = make_store_folder(stores, project)

    Path("repo").rename("renamed")
    moved = folder_project(Path("renamed"))

    assert store_folder(stores, moved) == folder
    assert known(stores)[0].exists is False
    assert make_store_folder(stores, moved) == folder
    assert known(stores)[0].root == str(moved.root)


def test_a_store_made_under_the_path_is_used_and_found_even_when_another_home_makes_an_id(stores: Path, tmp_path: Path):
    before = make_store_folder(stores, folder_project(Path("repo")))
    project = git_project(Path("repo"))
    assert make_store_folder(stores, project) == before, "a folder that becomes a repository keeps its store"
    assert claim(stores, project, ID) == project
    assert not Path("repo/.git", ID_FILE).exists()

    claim(tmp_path / "another home", project, ID)

    again = folder_project(Path("repo"))
    assert again.key == ID
    assert store_folder(stores, again) == make_store_folder(stores, again) == before


# Attached


def test_a_moved_folder_can_be_attached_to_its_store_again(stores: Path):
    store = make_store_folder(stores, folder_project(Path("old")))
    Path("old").rename("new")
    moved = folder_project(Path("new"))
    assert store_folder(stores, moved) is None

    assert attach(stores, moved, store.name) == store
    assert store_folder(stores, moved) == make_store_folder(stores, moved) == store
    shown = {entry.folder.name: entry for entry in known(stores)}
    assert shown[store.name].root == str(moved.root)
    assert [entry.attached for entry in shown.values() if entry.attached] == [store.name]


def test_attaching_a_project_to_its_own_store_undoes_it(stores: Path, pair: Pair):
    (one, store_one), (two, store_two) = pair
    attach(stores, two, store_one.name)
    assert store_folder(stores, two) == store_one
    attach(stores, two, store_two.name)
    attach(stores, two, store_two.name)
    assert (store_folder(stores, one), store_folder(stores, two)) == (store_one, store_two)


def test_a_second_move_may_name_either_folder_of_the_first(stores: Path):
    store = make_store_folder(stores, folder_project(Path("a")))
    second = folder_project(Path("b"))
    attach(stores, second, store.name)
    (between,) = [entry.folder for entry in known(stores) if entry.attached]

    third = folder_project(Path("c"))

    assert attach(stores, third, between.name) == store
    assert store_folder(stores, third) == store


def test_an_attached_store_that_was_removed_gives_the_project_its_own_back(stores: Path, pair: Pair):
    (_, store_one), (two, store_two) = pair
    attach(stores, two, store_one.name)
    shutil.rmtree(store_one)
    assert store_folder(stores, two) == store_two


def test_an_unknown_store_is_refused_with_the_nearest_that_exists(stores: Path):
    store = make_store_folder(stores, folder_project(Path("website")))
    project = folder_project(Path("other"))

    for name in ("websit", "..", "", store.name + "/", "../projects/" + store.name):
        with pytest.raises(NotFound) as refused:
            attach(stores, project, name)
        assert store.name in refused.value.hint
    assert os.listdir(stores) == [store.name]


def test_a_damaged_attachment_is_ignored(stores: Path):
    project = folder_project(Path("a"))
    store = make_store_folder(stores, project)
    for content in ("", "..", "../../etc", "/etc", "x" * 5_000, "\x00", "nowhere-p00000000000"):
        (store / "attached").write_text(content)
        assert store_folder(stores, project) == store, content[:40]


@pytest.mark.parametrize(
    "card", ["", "[]", "{", "null", '{"root": 5, "name": null}', '{"root": "\\u0000"}', "[" * 60_000, "x" * 100_000]
)
def test_a_damaged_card_hides_no_store(stores: Path, card: str):
    project = folder_project(Path("a"))
    store = make_store_folder(stores, project)
    (store / "project.json").write_text(card)
    assert [(entry.folder, entry.name, entry.exists) for entry in known(stores)] == [(store, "a", False)]
    assert make_store_folder(stores, project) == store
    assert known(stores)[0].exists is True


def test_what_is_no_store_folder_is_not_listed(stores: Path):
    (stores / "notes").mkdir()
    (stores / "file-p00000000000").write_text("")
    assert known(stores) == ()


# The view


def test_state_files_are_kept_out_of_commits_and_the_users_are_not():
    prepare_view(Path.cwd())
    lines = Path(".ai/.gitignore").read_text().splitlines()
    assert {"/heartbeat.json", "/focus.json", "/.gitignore"} <= set(lines)
    assert not [line for line in lines if line.startswith("/recall")]  # virtual: agents must be free to read it
    assert not [line for line in lines if "agent.conf" in line or "memory" in line]


def test_a_users_own_ignore_file_is_never_touched():
    Path(".ai").mkdir()
    Path(".ai/.gitignore").write_text("mine\n")
    prepare_view(Path.cwd())
    assert Path(".ai/.gitignore").read_text() == "mine\n"
    assert os.listdir(".ai") == [".gitignore"]


@posix
@pytest.mark.parametrize("layout", ["linked folder", "dangling folder", "linked file", "file"])
def test_nothing_is_written_through_a_link_or_where_it_cannot_be(tmp_path: Path, layout: str):
    view, outside = Path(".ai"), tmp_path / "outside"
    outside.mkdir()
    match layout:
        case "linked folder":
            view.symlink_to(outside)
        case "dangling folder":
            view.symlink_to(outside / "none")
        case "linked file":
            view.mkdir()
            (view / ".gitignore").symlink_to(outside / "none")
        case _:
            view.write_text("mine")
    prepare_view(Path.cwd())
    prepare_view(Path.cwd() / "gone")
    assert os.listdir(outside) == []
    assert not Path("gone").exists()
