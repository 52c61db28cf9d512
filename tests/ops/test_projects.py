from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from recollect.base.errors import NoProject, NotFound, UnknownId
from recollect.ops import health, memories, rules, transfer
from recollect.ops.upkeep import attach, projects
from tests.ops.ask import pinned, titles
from tests.ops.conftest import Opens


def folder(*parts: str) -> Path:
    path = Path.cwd().joinpath(*parts)
    path.mkdir(parents=True)
    return path


def test_two_projects_of_one_name_do_not_see_each_other(open_app: Opens):
    one, other = open_app(folder("a", "shop")), open_app(folder("b", "shop"))
    id = pinned(one, "The till is in cents.")
    pinned(other, "Stock is counted nightly.")

    assert titles(other, "till cents") == set()
    assert [card.memory.title for card in memories.threads(other).cards] == ["Stock is counted nightly."]
    with pytest.raises(UnknownId) as problem:
        memories.show(other, id)
    assert problem.value.near == () or id not in problem.value.near
    with pytest.raises(UnknownId):
        memories.delete(other, (id,))
    assert len(list(one.home.projects.iterdir())) == 2


def test_what_is_kept_for_the_user_is_seen_everywhere(open_app: Opens):
    one, other = open_app(folder("one")), open_app(folder("other"))
    rules.add(one, "Use tabs", user=True)
    pinned(one, "My name is Ada.", user=True)
    assert [card.memory.body for card in rules.listing(other).cards] == ["Use tabs"]
    assert titles(other, "name") == {"My name is Ada."}


@pytest.mark.parametrize("place", ["/", "~"])
def test_the_home_folder_and_the_root_are_no_project(open_app: Opens, place: str):
    app = open_app(Path(place).expanduser())
    Path("x.jsonl").write_text("{")
    with pytest.raises(NoProject):
        transfer.import_jsonl(app, "x.jsonl")
    assert not app.home.root.exists(), "nothing was read"
    for write in (lambda: memories.pin(app, "x"), lambda: rules.add(app, "x"), lambda: attach(app, "x-0123456789ab")):
        with pytest.raises(NoProject) as problem:
            write()
        assert problem.value.hint
    pinned(app, "Everywhere.", user=True)
    assert titles(app, "everywhere") == {"Everywhere."}
    assert health.status(app).project is None


def test_a_repository_keeps_its_memory_when_it_moves_and_keeps_it_out_of_commits(open_app: Opens):
    plain, root = folder("shop"), folder("before")
    pinned(open_app(plain), "Kept.")
    for path in (plain, root):
        subprocess.run(["git", "init", "-q", path], check=True)
    assert titles(open_app(plain), "kept") == {"Kept."}, "a folder that became a repository"
    pinned(open_app(root), "Kept.")
    said = subprocess.run(["git", "-C", root, "status", "--porcelain"], capture_output=True, text=True, check=True)
    assert said.stdout == ""
    after = root.rename(root.with_name("after"))
    (after / "src").mkdir()
    assert titles(open_app(after / "src"), "kept") == {"Kept."}


def test_a_folder_that_moved_is_given_its_memory_back(open_app: Opens):
    before = folder("before")
    pinned(open_app(before), "Kept.")
    after = before.rename(before.with_name("after"))
    app = open_app(after)
    assert titles(app, "kept") == set()
    (lost,) = [p for p in projects(app).facts["projects"] if not p["exists"]]  # type: ignore[union-attr,index,call-overload]

    attach(app, str(lost["folder"]))  # type: ignore[index,call-overload]

    assert titles(open_app(after), "kept") == {"Kept."}
    pinned(open_app(after), "New.")
    assert titles(open_app(after), "new") == {"New."}


def test_only_a_store_that_is_there_can_be_attached(open_app: Opens):
    app = open_app(folder("shop"))
    pinned(app, "x")
    name = next(app.home.projects.iterdir()).name
    for wrong in ("nothing-0123456789ab", "../../user", "", name[:-1]):
        with pytest.raises(NotFound):
            attach(app, wrong)
