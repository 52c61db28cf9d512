"""A folder's project is found without git, is the same from every work tree, and cannot be stolen."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from recollect.base.project import ID_FILE, Project, claim, find

posix = pytest.mark.skipif(sys.platform == "win32", reason="links of POSIX")
ID = "0123456789abcdef" * 2
OTHER_ID = "f" * 32


def git(folder: Path, *words: str) -> None:
    options = (
        "user.name=a",
        "user.email=a@example.org",
        "protocol.file.allow=always",
        "core.hooksPath=/dev/null",
    )
    with_options = [part for option in options for part in ("-c", option)]
    subprocess.run(["git", *with_options, *words], cwd=folder, check=True, capture_output=True)


def repository(folder: Path) -> Path:
    folder.mkdir(parents=True)
    git(folder, "init", "-q")
    git(folder, "commit", "-q", "--allow-empty", "-m", "first")
    return folder


@pytest.fixture
def work(tmp_path: Path) -> Path:
    return (tmp_path / "work").resolve()


@pytest.fixture
def at(tmp_path: Path):
    def found(folder: Path) -> Project:
        project = find(folder, tmp_path / "home")
        assert project is not None
        return project

    return found


def claimed(project: Project, tmp_path: Path, id: str = ID) -> Project:
    return claim(tmp_path / "home" / "projects", project, id)


# Folders without git


def test_a_folder_is_its_own_project(work: Path, at):
    project = at(work)

    assert (project.root, project.name, project.common_dir) == (work, "work", None)
    assert project.key.startswith("p")
    assert len(project.key) == 32


def test_the_nearest_folder_with_a_view_is_the_project(work: Path, at):
    (work / "a" / ".ai").mkdir(parents=True)
    (work / "a" / "b" / "c" / ".ai").mkdir(parents=True)
    (work / "a" / "b" / "c" / "d").mkdir()

    assert at(work / "a" / "b").root == work / "a"
    assert at(work / "a" / ".ai").root == work / "a"
    assert at(work / "a" / "b" / "c" / "d").root == work / "a" / "b" / "c"


def test_the_home_folder_what_is_above_and_the_root_are_no_project(tmp_path: Path):
    home = tmp_path / "home"
    for barred in (home, *home.resolve().parents):
        assert find(barred, home) is None


def test_neither_a_repository_nor_a_view_in_the_home_folder_is_climbed_to(tmp_path: Path):
    home = tmp_path / "home"
    (home / ".ai").mkdir()
    git(home, "init", "-q")
    (home / "code" / "x").mkdir(parents=True)

    project = find(home / "code" / "x", home)

    assert project is not None
    assert (project.root, project.common_dir) == (home.resolve() / "code" / "x", None)


@posix
def test_a_linked_home_is_still_the_home(tmp_path: Path):
    (tmp_path / "link").symlink_to(tmp_path / "home")

    assert find(tmp_path / "home", tmp_path / "link") is None
    assert find(tmp_path / "link", tmp_path / "home") is None


@posix
def test_nothing_in_a_folder_that_all_can_write_is_climbed_to(work: Path, at):
    shared = work / "tmp"
    (shared / "mine").mkdir(parents=True)
    (shared / ".ai").mkdir()
    git(shared, "init", "-q")
    shared.chmod(0o1777)

    assert at(shared / "mine").root == shared / "mine"
    assert at(shared).common_dir is None


@posix
def test_a_linked_folder_is_the_project_it_leads_to(work: Path, at):
    (work / "real" / ".ai").mkdir(parents=True)
    (work / "link").symlink_to(work / "real")

    assert at(work / "link") == at(work / "real")


def test_the_same_name_in_two_places_makes_two_projects(work: Path, at):
    (work / "a" / "api").mkdir(parents=True)
    (work / "b" / "api").mkdir(parents=True)

    assert at(work / "a" / "api").name == at(work / "b" / "api").name
    assert at(work / "a" / "api").key != at(work / "b" / "api").key


def test_a_folder_that_is_gone_still_has_a_project(work: Path, at):
    assert at(work / "gone").root == work / "gone"


# Repositories


def test_a_repository_is_found_from_anywhere_inside_even_past_a_view(work: Path, at):
    repo = repository(work / "repo")
    (repo / "src" / ".ai").mkdir(parents=True)
    (repo / "src" / "deep").mkdir()

    for inside in (repo, repo / "src", repo / "src" / "deep", repo / ".git", repo / ".git" / "objects"):
        project = at(inside)
        assert (project.root, project.name, project.common_dir) == (repo, "repo", repo / ".git")
    assert {at(inside).key for inside in (repo, repo / "src", repo / ".git")} == {at(repo).key}


def test_looking_writes_nothing(work: Path, at):
    repo = repository(work / "repo")
    before = sorted(repo.rglob("*"))

    at(repo)

    assert sorted(repo.rglob("*")) == before


def test_work_trees_share_their_main_repository(work: Path, at, tmp_path: Path):
    repo = repository(work / "repo")
    git(repo, "worktree", "add", "-q", str(work / "elsewhere" / "feature"))
    git(repo, "worktree", "add", "-q", str(repo / "nested"))

    main = claimed(at(repo), tmp_path)

    assert at(work / "elsewhere" / "feature") == main
    assert at(repo / "nested") == main
    assert at(repo / ".git" / "worktrees" / "feature") == main


def test_a_work_tree_with_relative_pointers_shares_too(work: Path, at):
    repo = repository(work / "repo")
    git(repo, "worktree", "add", "-q", str(work / "feature"))
    (work / "feature" / ".git").write_text("gitdir: ../repo/.git/worktrees/feature\r\n")
    (repo / ".git" / "worktrees" / "feature" / "gitdir").write_text("../../../../feature/.git\n")

    assert at(work / "feature") == at(repo)


@pytest.mark.parametrize("place", ["proj.git", "proj/.bare", "proj/.git"])
def test_work_trees_of_a_bare_repository_share_its_common_dir(work: Path, at, tmp_path: Path, place: str):
    origin, bare = repository(work / "origin"), work / place
    git(work, "clone", "-q", "--bare", str(origin), str(bare))
    git(bare, "worktree", "add", "-q", "-b", "one", str(work / "proj" / "one"))
    git(bare, "worktree", "add", "-q", "-b", "two", str(work / "two"))

    claimed(at(bare), tmp_path)
    found = [at(folder) for folder in (bare, bare / "refs", work / "proj" / "one", work / "two")]

    assert {(project.name, project.common_dir, project.key) for project in found} == {("proj", bare, ID)}


def test_a_pointer_to_a_bare_repository_beside_it_makes_the_folder_the_root(work: Path, at):
    origin = repository(work / "origin")
    git(work, "clone", "-q", "--bare", str(origin), str(work / "proj" / ".bare"))
    (work / "proj" / ".git").write_text("gitdir: ./.bare\n")
    git(work / "proj", "worktree", "add", "-q", "-b", "one", "one")

    assert at(work / "proj" / "one") == at(work / "proj")
    assert at(work / "proj").root == work / "proj"


def test_a_submodule_is_a_project_of_its_own_and_so_are_its_work_trees(work: Path, at):
    library, app = repository(work / "library"), repository(work / "app")
    git(app, "submodule", "add", "-q", str(library), "vendor/lib")
    git(app / "vendor" / "lib", "worktree", "add", "-q", str(work / "lib-feature"))

    module = at(app / "vendor" / "lib")

    assert module.root == app / "vendor" / "lib"
    assert module.common_dir == app / ".git" / "modules" / "vendor" / "lib"
    assert module.key not in {at(app).key, at(library).key}
    assert at(work / "lib-feature") == module


def test_a_work_tree_of_a_repository_in_the_home_folder_does_not_make_the_home_a_project(tmp_path: Path):
    home = (tmp_path / "home").resolve()
    git(home, "init", "-q")
    git(home, "commit", "-q", "--allow-empty", "-m", "first")
    git(home, "worktree", "add", "-q", str(home / "tree"))

    project = find(home / "tree", home)

    assert project is not None
    assert project.root == home / "tree"


# The id


def test_an_id_survives_a_move(work: Path, at, tmp_path: Path):
    repo = repository(work / "repo")
    before = claimed(at(repo), tmp_path)

    repo.rename(work / "renamed")

    assert before.key == ID == at(work / "renamed").key


def test_a_copied_repository_goes_on_with_the_memory_it_was_copied_with(work: Path, at, tmp_path: Path):
    repo = repository(work / "repo")
    claimed(at(repo), tmp_path)

    shutil.copytree(repo, work / "copy")

    assert at(work / "copy").key == ID
    assert at(work / "copy").root == work / "copy"


def test_a_copied_folder_without_git_is_another_project(work: Path, at):
    (work / "one" / ".ai").mkdir(parents=True)
    shutil.copytree(work / "one", work / "two")

    assert at(work / "one").key != at(work / "two").key


def test_a_clone_is_another_project(work: Path, at, tmp_path: Path):
    repo = repository(work / "repo")
    claimed(at(repo), tmp_path)
    git(work, "clone", "-q", str(repo), str(work / "clone"))

    assert at(work / "clone").key != ID


def test_the_first_to_claim_wins_and_the_id_is_private(work: Path, at, tmp_path: Path):
    seen_before = at(repository(work / "repo"))

    assert claimed(seen_before, tmp_path, ID).key == ID
    assert claimed(seen_before, tmp_path, OTHER_ID).key == ID
    assert at(work / "repo").key == ID
    if sys.platform != "win32":
        assert (work / "repo" / ".git" / ID_FILE).stat().st_mode & 0o777 == 0o600


def test_a_folder_without_git_is_never_given_an_id(work: Path, at, tmp_path: Path):
    assert claimed(at(work), tmp_path) == at(work)
    assert os.listdir(work) == []


def test_a_folder_that_becomes_a_repository_keeps_its_key(work: Path, at):
    (work / "new").mkdir()
    before = at(work / "new").key

    git(work / "new", "init", "-q")

    assert at(work / "new").key == before


def test_an_id_that_is_no_id_is_not_written(work: Path, at, tmp_path: Path):
    with pytest.raises(ValueError, match="32 hex"):
        claimed(at(repository(work / "repo")), tmp_path, "../x")


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\n",
        b"short",
        ID.upper().encode(),
        ID.encode() + b"0",
        b"../../../etc",
        b"\x00" * 32,
        b"p" + b"0" * 31,
        ID.encode() + b"\n" + ID.encode(),
        b"a" * 1_000_000,
        "٣".encode() * 32,
    ],
)
def test_anything_but_an_id_in_its_file_is_ignored_and_left(work: Path, at, tmp_path: Path, content: bytes):
    repo = repository(work / "repo")
    path_key = at(repo).key
    (repo / ".git" / ID_FILE).write_bytes(content)

    assert at(repo).key == path_key
    assert claimed(at(repo), tmp_path).key == path_key
    assert (repo / ".git" / ID_FILE).read_bytes() == content


@posix
def test_an_id_is_not_read_nor_written_through_a_link(work: Path, at, tmp_path: Path):
    repo = repository(work / "repo")
    (work / "id").write_text(ID)
    (repo / ".git" / ID_FILE).symlink_to(work / "id")
    assert at(repo).key != ID

    (repo / ".git" / ID_FILE).unlink()
    (repo / ".git" / ID_FILE).symlink_to(work / "nowhere")
    assert claimed(at(repo), tmp_path).key != ID
    assert not (work / "nowhere").exists()


def test_where_no_id_can_be_written_the_path_is_the_key(work: Path, at, tmp_path: Path):
    repo = repository(work / "repo")
    before = at(repo)
    shutil.rmtree(repo / ".git")

    assert claimed(before, tmp_path) == before


# Trees that a stranger made


@pytest.fixture
def victim(work: Path, at, tmp_path: Path) -> Project:
    return claimed(at(repository(work / "victim")), tmp_path)


def check_on_its_own(project: Project, folder: Path, victim: Project) -> None:
    assert project.root == folder
    assert project.key != victim.key
    assert project.common_dir != victim.common_dir


def test_a_pointer_to_anothers_repository_does_not_take_its_memory(work: Path, at, victim: Project):
    git(victim.root, "worktree", "add", "-q", str(work / "tree"))
    evil = work / "evil"
    evil.mkdir()
    for target in (".git", ".git/worktrees/tree"):
        (evil / ".git").write_text(f"gitdir: {victim.root / target}\n")

        check_on_its_own(at(evil), evil, victim)
    assert at(work / "tree").key == victim.key


def test_a_made_up_work_tree_does_not_take_anothers_memory(work: Path, at, victim: Project):
    evil = work / "evil"
    fake = evil / "fake"
    fake.mkdir(parents=True)
    (evil / ".git").write_text("gitdir: fake\n")
    (fake / "HEAD").write_text("ref: refs/heads/main\n")
    (fake / "gitdir").write_text(f"{evil / '.git'}\n")
    (fake / "commondir").write_text(f"{victim.common_dir}\n")

    check_on_its_own(at(evil), evil, victim)


def test_a_common_dir_named_inside_a_git_folder_is_not_followed(work: Path, at, victim: Project):
    evil = repository(work / "evil")
    (evil / ".git" / "commondir").write_text(f"{victim.common_dir}\n")
    git(evil, "config", "-f", ".git/config", "core.worktree", str(victim.root))

    check_on_its_own(at(evil), evil, victim)


@posix
def test_a_linked_git_folder_does_not_take_anothers_memory(work: Path, at, victim: Project):
    evil = work / "evil"
    evil.mkdir()
    (evil / ".git").symlink_to(victim.root / ".git")

    check_on_its_own(at(evil), evil, victim)


def test_an_id_that_spells_a_path_key_is_none(work: Path, at):
    plain = work / "plain"
    plain.mkdir()
    evil = repository(work / "evil")
    (evil / ".git" / ID_FILE).write_text(at(plain).key)

    assert at(evil).key != at(plain).key


def test_a_work_tree_with_a_git_dir_apart_is_known_by_its_path(work: Path, at):
    git(work, "init", "-q", f"--separate-git-dir={work / 'apart'}", str(work / "tree"))

    assert (at(work / "tree").root, at(work / "tree").common_dir) == (work / "tree", None)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"gitdir:",
        b"gitdir: \n",
        b"gitdir: nowhere",
        b"gitdir: .",
        b"gitdir: .git",
        b"gitdir: ..",
        b"gitdir: /",
        b"gitdir: /dev/zero",
        b"gitdir: \x00",
        b"gitdir: a\nb",
        b"\xff\xfe\x00",
        b"hello",
        b"gitdir: " + b"a/" * 4_000,
        b"gitdir: " + b"x" * 300,
        b"gitdir: " + b"../" * 500,
        b"x" * 10_000_000,
        b"gitdir: \xff\xfe",
    ],
)
def test_a_malformed_pointer_makes_the_folder_that_holds_it_the_project(work: Path, at, content: bytes):
    (work / "odd" / "sub").mkdir(parents=True)
    (work / "odd" / ".git").write_bytes(content)

    project = at(work / "odd" / "sub")

    assert (project.root, project.common_dir) == (work / "odd", None)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.binary(max_size=200), st.binary(max_size=200), st.binary(max_size=200))
def test_no_pointer_makes_it_raise(work: Path, at, pointer: bytes, common: bytes, back: bytes):
    fake = work / "odd" / "fake"
    fake.mkdir(parents=True, exist_ok=True)
    (fake / "HEAD").touch()
    (fake / "config").write_bytes(b"[core]\nworktree = " + back)
    (fake / "commondir").write_bytes(common)
    (fake / "gitdir").write_bytes(back)
    for content in (pointer, b"gitdir: " + pointer, b"gitdir: fake"):
        (work / "odd" / ".git").write_bytes(content)

        assert at(work / "odd").root == work / "odd"


@posix
@pytest.mark.parametrize("layout", ["loop", "dangling", "pipe", "empty folder", "pointer loop"])
def test_odd_things_called_git_are_survived(work: Path, at, layout: str):
    odd, dot_git = work / "odd", work / "odd" / ".git"
    odd.mkdir()
    match layout:
        case "loop":
            dot_git.symlink_to(dot_git)
        case "dangling":
            dot_git.symlink_to(work / "nowhere")
        case "pipe":
            os.mkfifo(dot_git)
        case "empty folder":
            dot_git.mkdir()
        case "pointer loop":
            (odd / "a").symlink_to(odd / "b")
            (odd / "b").symlink_to(odd / "a")
            dot_git.write_text("gitdir: a\n")
        case _:
            raise AssertionError(layout)

    assert (at(odd).root, at(odd).common_dir) == (odd, None)
