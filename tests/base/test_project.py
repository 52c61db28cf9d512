"""A folder's project is found without git, is the same from every work tree, and cannot be stolen; it finds its store
again: renamed, moved, re-attached; and no other project finds it."""

import json
import os
import shutil
import stat
import subprocess
import sys
from collections.abc import Callable
from functools import partial
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


@posix
def test_the_home_folder_and_what_is_above_are_no_project_not_through_a_link_either(tmp_path: Path):
    home, link = tmp_path / "home", tmp_path / "link"
    link.symlink_to(home)
    for barred in (home, link, *home.resolve().parents):
        assert find(barred, home) is None
    assert find(home, link) is None


def test_neither_a_repository_nor_a_view_in_the_home_folder_is_climbed_to(tmp_path: Path):
    home = (tmp_path / "home").resolve()
    (home / ".ai").mkdir()
    git(home, "init", "-q")
    git(home, "commit", "-q", "--allow-empty", "-m", "first")
    git(home, "worktree", "add", "-q", str(home / "tree"))
    (home / "code" / "x").mkdir(parents=True)

    plain, tree = find(home / "code" / "x", home), find(home / "tree", home)

    assert plain is not None
    assert (plain.root, plain.common_dir) == (home / "code" / "x", None)
    assert tree is not None
    assert tree.root == home / "tree", "its main work tree is the home"


@posix
def test_nothing_in_a_folder_that_all_can_write_is_climbed_to(work: Path, at):
    shared = work / "tmp"
    (shared / "mine").mkdir(parents=True)
    (shared / ".ai").mkdir()
    git(shared, "init", "-q")
    shared.chmod(0o1777)

    assert at(shared / "mine").root == shared / "mine"
    assert at(shared).common_dir is None


def test_the_same_name_in_two_places_makes_two_projects(work: Path, at):
    """A copy too, and whether or not the folder is there."""
    (work / "a" / "api" / ".ai").mkdir(parents=True)
    shutil.copytree(work / "a", work / "b")

    found = [at(work / place / "api") for place in ("a", "b", "gone")]

    assert {project.name for project in found} == {"api"}
    assert len({project.key for project in found}) == 3
    assert found[2].root == work / "gone" / "api"


# Repositories


def test_a_repository_is_found_from_anywhere_inside_even_past_a_view_and_nothing_is_written(
    work: Path, at
):
    repo = repository(work / "repo")
    (repo / "src" / ".ai").mkdir(parents=True)
    (repo / "src" / "deep").mkdir()
    before = sorted(repo.rglob("*"))

    found = {at(repo / inside) for inside in (".", "src", "src/deep", ".git", ".git/objects")}

    assert [(one.root, one.name, one.common_dir) for one in found] == [
        (repo, "repo", repo / ".git")
    ]
    assert sorted(repo.rglob("*")) == before


def test_work_trees_share_their_main_repository(work: Path, at, tmp_path: Path):
    repo = repository(work / "repo")
    git(repo, "worktree", "add", "-q", str(work / "feature"))
    git(repo, "worktree", "add", "-q", str(repo / "nested"))
    main = claimed(at(repo), tmp_path)
    assert (
        at(work / "feature")
        == at(repo / "nested")
        == at(repo / ".git" / "worktrees" / "feature")
        == main
    )

    # By relative pointers too.
    (work / "feature" / ".git").write_text("gitdir: ../repo/.git/worktrees/feature\r\n")
    (repo / ".git" / "worktrees" / "feature" / "gitdir").write_text("../../../../feature/.git\n")
    assert at(work / "feature") == main


@pytest.mark.parametrize("place", ["proj.git", "proj/.bare", "proj/.git"])
def test_work_trees_of_a_bare_repository_share_its_common_dir(
    work: Path, at, tmp_path: Path, place: str
):
    origin, bare = repository(work / "origin"), work / place
    git(work, "clone", "-q", "--bare", str(origin), str(bare))
    git(bare, "worktree", "add", "-q", "-b", "one", str(work / "proj" / "one"))
    git(bare, "worktree", "add", "-q", "-b", "two", str(work / "two"))

    claimed(at(bare), tmp_path)
    found = [at(folder) for folder in (bare, bare / "refs", work / "proj" / "one", work / "two")]

    assert {(project.name, project.common_dir, project.key) for project in found} == {
        ("proj", bare, ID)
    }


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


# The id


def test_an_id_goes_with_a_move_and_a_copy_and_not_with_a_clone(work: Path, at, tmp_path: Path):
    repo = repository(work / "repo")
    before = claimed(at(repo), tmp_path)
    git(work, "clone", "-q", str(repo), str(work / "clone"))
    shutil.copytree(repo, work / "copy")
    repo.rename(work / "renamed")

    assert before.key == ID == at(work / "renamed").key == at(work / "copy").key
    assert at(work / "copy").root == work / "copy"
    assert at(work / "clone").key != ID


def test_the_first_to_claim_wins_and_the_id_is_private(work: Path, at, tmp_path: Path):
    seen_before = at(repository(work / "repo"))

    with pytest.raises(ValueError, match="32 hex"):
        claimed(seen_before, tmp_path, "../x")
    assert claimed(seen_before, tmp_path, ID).key == ID
    assert claimed(seen_before, tmp_path, OTHER_ID).key == ID
    assert at(work / "repo").key == ID
    if sys.platform != "win32":
        assert (work / "repo" / ".git" / ID_FILE).stat().st_mode & 0o777 == 0o600


def test_a_folder_is_given_no_id_and_keeps_its_key_when_it_becomes_a_repository(
    work: Path, at, tmp_path: Path
):
    before = at(work)
    assert claimed(before, tmp_path) == before
    assert os.listdir(work) == []
    git(work, "init", "-q")
    assert at(work).key == before.key


NO_IDS = (
    b"", b"\n", b"short", ID.upper().encode(), ID.encode() + b"0", b"../../../etc", b"\x00" * 32, b"p" + b"0" * 31,
    ID.encode() + b"\n" + ID.encode(), b"a" * 1_000_000, "٣".encode() * 32,
)  # fmt: skip


def test_anything_but_an_id_in_its_file_is_ignored_and_left(work: Path, at, tmp_path: Path):
    repo = repository(work / "repo")
    path_key = at(repo).key
    for content in NO_IDS:
        (repo / ".git" / ID_FILE).write_bytes(content)
        assert at(repo).key == claimed(at(repo), tmp_path).key == path_key, content[:40]
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


def pretend(evil: Path, victim: Project, how: str) -> None:
    match how:
        case "a link":
            evil.mkdir()
            (evil / ".git").symlink_to(victim.root / ".git")
        case "a made-up work tree":
            (evil / "fake").mkdir(parents=True)
            (evil / ".git").write_text("gitdir: fake\n")
            for name, text in (
                ("HEAD", "ref: x"),
                ("gitdir", evil / ".git"),
                ("commondir", victim.common_dir),
            ):
                (evil / "fake" / name).write_text(f"{text}\n")
        case "a common dir named inside a git folder":
            (repository(evil) / ".git" / "commondir").write_text(f"{victim.common_dir}\n")
            git(evil, "config", "-f", ".git/config", "core.worktree", str(victim.root))
        case _:
            evil.mkdir()
            (evil / ".git").write_text(f"gitdir: {victim.root / how}\n")


@posix
@pytest.mark.parametrize(
    "how",
    [
        ".git",
        ".git/worktrees/tree",
        "a link",
        "a made-up work tree",
        "a common dir named inside a git folder",
    ],
)
def test_nothing_that_a_stranger_made_takes_anothers_memory(
    work: Path, at, victim: Project, how: str
):
    git(victim.root, "worktree", "add", "-q", str(work / "tree"))
    pretend(work / "evil", victim, how)
    project = at(work / "evil")
    assert project.root == work / "evil"
    assert project.key != victim.key
    assert project.common_dir != victim.common_dir
    assert at(work / "tree").key == victim.key


def test_a_work_tree_with_a_git_dir_apart_is_known_by_its_path(work: Path, at):
    git(work, "init", "-q", f"--separate-git-dir={work / 'apart'}", str(work / "tree"))
    assert (at(work / "tree").root, at(work / "tree").common_dir) == (work / "tree", None)


MALFORMED = (
    b"", b"gitdir:", b"gitdir: \n", b"gitdir: nowhere", b"gitdir: .", b"gitdir: .git", b"gitdir: ..", b"gitdir: /",
    b"gitdir: /dev/zero", b"gitdir: \x00", b"gitdir: a\nb", b"\xff\xfe\x00", b"hello", b"gitdir: loop\n",
    b"gitdir: " + b"a/" * 4_000, b"gitdir: " + b"x" * 300, b"gitdir: " + b"../" * 500, b"x" * 10_000_000,
    b"gitdir: \xff\xfe",
)  # fmt: skip


@posix
def test_a_malformed_pointer_or_an_odd_thing_makes_the_folder_that_holds_it_the_project(
    work: Path, at
):
    dot_git = work / "odd" / ".git"
    (work / "odd" / "sub").mkdir(parents=True)
    (work / "odd" / "loop").symlink_to(work / "odd" / "loop")
    odd: list[Callable[[], object]] = [
        partial(dot_git.write_bytes, content) for content in MALFORMED
    ]
    odd += [partial(dot_git.symlink_to, dot_git), partial(dot_git.symlink_to, work / "nowhere")]
    odd += [partial(os.mkfifo, dot_git), dot_git.mkdir]
    for make in odd:
        dot_git.unlink(missing_ok=True)
        make()
        project = at(work / "odd" / "sub")
        assert (project.root, project.common_dir) == (work / "odd", None), str(make)[:200]


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


# Stores


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


def test_looking_for_a_store_makes_nothing_and_what_is_none_is_not_listed(stores: Path):
    (stores / "notes").mkdir()
    (stores / "file-p00000000000").write_text("")
    for folder in (stores, stores / "none"):
        assert (store_folder(folder, folder_project(Path("a"))), known(folder)) == (None, ())
    assert len(os.listdir(stores)) == 2


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
    ("name", "made"),
    [("..", "project"), ("日本", "project"), (".hid", "hid"), ("a/../b", "a-..-b")],
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


def test_a_store_made_under_the_path_is_used_and_found_even_when_another_home_makes_an_id(
    stores: Path, tmp_path: Path
):
    before = make_store_folder(stores, folder_project(Path("repo")))
    project = git_project(Path("repo"))
    assert make_store_folder(stores, project) == before, (
        "a folder that becomes a repository keeps its store"
    )
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


def test_attaching_a_project_to_its_own_store_undoes_it_and_so_does_removing_the_other(
    stores: Path, pair: Pair
):
    (one, store_one), (two, store_two) = pair
    for _ in range(2):
        attach(stores, two, store_one.name)
        assert store_folder(stores, two) == store_one
        attach(stores, two, store_two.name)
        attach(stores, two, store_two.name)
        assert (store_folder(stores, one), store_folder(stores, two)) == (store_one, store_two)
    attach(stores, two, store_one.name)
    shutil.rmtree(store_one)
    assert store_folder(stores, two) == store_two, (
        "one that was removed gives the project its own back"
    )


def test_a_second_move_may_name_either_folder_of_the_first(stores: Path):
    store = make_store_folder(stores, folder_project(Path("a")))
    second = folder_project(Path("b"))
    attach(stores, second, store.name)
    (between,) = [entry.folder for entry in known(stores) if entry.attached]

    third = folder_project(Path("c"))

    assert attach(stores, third, between.name) == store
    assert store_folder(stores, third) == store


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
    "card",
    [
        "",
        "[]",
        "{",
        "null",
        '{"root": 5, "name": null}',
        '{"root": "\\u0000"}',
        "[" * 60_000,
        "x" * 100_000,
    ],
)
def test_a_damaged_card_hides_no_store(stores: Path, card: str):
    project = folder_project(Path("a"))
    store = make_store_folder(stores, project)
    (store / "project.json").write_text(card)
    assert [(entry.folder, entry.name, entry.exists) for entry in known(stores)] == [
        (store, "a", False)
    ]
    assert make_store_folder(stores, project) == store
    assert known(stores)[0].exists is True


# The view


def test_state_files_are_kept_out_of_commits_and_the_users_are_not():
    prepare_view(Path.cwd())
    lines = Path(".ai/.gitignore").read_text().splitlines()
    assert {"/heartbeat.json", "/focus.json", "/.gitignore"} <= set(lines)
    assert not [
        line for line in lines if line.startswith("/recall")
    ]  # virtual: agents must be free to read it
    assert not [line for line in lines if "agent.conf" in line or "memory" in line]


@posix
@pytest.mark.parametrize(
    "layout", ["linked folder", "dangling folder", "linked file", "their own file", "file"]
)
def test_nothing_is_written_over_theirs_nor_through_a_link_nor_where_it_cannot_be(
    tmp_path: Path, layout: str
):
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
        case "their own file":
            view.mkdir()
            (view / ".gitignore").write_text("mine")
        case _:
            view.write_text("mine")
    prepare_view(Path.cwd())
    prepare_view(Path.cwd() / "gone")
    assert os.listdir(outside) == []
    assert not Path("gone").exists()
    if layout == "their own file":
        assert {path.name: path.read_text() for path in view.iterdir()} == {".gitignore": "mine"}
