"""A project's memory is told in that project alone: not to another that takes its place, nor to one that copies what it
is known by. Who may be meant is offered it, and a person decides."""

import json
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest

from recollect.base.project import ID_FILE
from recollect.wire import stub
from tests.cli.run import Ran, run
from tests.daemon.real import House, soon
from tests.team.people import REMOTE, ROOT, git, make_repository

PNPM = "Use pnpm, never npm."
OFFER = "looks like another copy of"


class Machine:
    """A home with a real daemon, and folders to work in."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.home = root / "home"
        for folder in (self.home, root / "run"):
            folder.mkdir(mode=0o700)
        self.environ = {
            "HOME": str(self.home), "PATH": os.environ["PATH"], "LANG": "C.UTF-8", "TMPDIR": str(root),
            "XDG_RUNTIME_DIR": str(root / "run"), "RECOLLECT_HOME": str(self.home / ".recollect"),
            "PYTHONPATH": str(ROOT / "src"),
        }  # fmt: skip
        self.house = House(self.home / ".recollect", self.environ)
        self._sessions = 0

    def run(self, folder: Path, *args: str, code: int = 0) -> str:
        ran = self.attempt(folder, *args)
        assert ran.code == code, (args, ran)
        return ran.out if code == 0 else ran.err

    def attempt(self, folder: Path, *args: str) -> Ran:
        before = Path.cwd()
        os.chdir(folder)
        try:
            with patch.dict(os.environ, self.environ, clear=True):
                ran = run(*args)
        finally:
            os.chdir(before)
        assert "Traceback" not in ran.err, (args, ran.err)
        return ran

    def begin(self, folder: Path) -> dict[str, Any]:
        """A session's start, through the program that agents call."""
        self._sessions += 1
        finished = self.house.status()["answered"]
        reply = self.hook(folder, "SessionStart", f"s-{self._sessions}", source="startup")
        # The reply comes before what is written of it, such as the id of a new project.
        assert soon(lambda: self.house.status()["answered"] > finished)
        return reply

    def say(self, folder: Path, prompt: str) -> None:
        self.hook(folder, "UserPromptSubmit", f"s-{self._sessions}", prompt=prompt, prompt_id="p-1")

    def hook(self, folder: Path, event: str, session: str, **payload: str) -> dict[str, Any]:
        given = {
            "hook_event_name": event,
            "session_id": session,
            "cwd": str(folder),
            "transcript_path": "",
            **payload,
        }
        ran = subprocess.run(
            [stub.script_path(str(self.home / ".recollect")), event, "--deadline-ms", "20000"],
            input=json.dumps(given), capture_output=True, text=True, cwd=folder, timeout=60, env=self.environ,
            check=True,
        )  # fmt: skip
        return dict(json.loads(ran.stdout)) if ran.stdout else {}

    def rules(self, folder: Path) -> list[str]:
        return [one["body"] for one in json.loads(self.run(folder, "rules", "--json"))]


@contextmanager
def made_machine() -> Iterator[Machine]:
    made = Machine(Path(tempfile.mkdtemp(prefix="rcp")).resolve())
    try:
        made.run(made.root, "hook", "--prepare")
        made.house.start()
        yield made
    finally:
        made.house.end()
        shutil.rmtree(made.root)


@pytest.fixture
def machine() -> Iterator[Machine]:
    with made_machine() as made:
        yield made


def told(reply: dict[str, Any]) -> str:
    return str(reply.get("hookSpecificOutput", {}).get("additionalContext", ""))


def shown(reply: dict[str, Any]) -> str:
    return str(reply.get("systemMessage", ""))


@pytest.fixture
def shop(machine: Machine) -> Path:
    """A repository with a rule that the agent is told."""
    folder = make_repository(machine.root / "work" / "shop")
    machine.begin(folder)
    machine.run(folder, "rule", "add", PNPM)
    assert PNPM in told(machine.begin(folder))
    return folder


def other_repository(folder: Path) -> Path:
    """With a first commit and a remote of its own."""
    folder.mkdir(parents=True)
    git(folder, "init")
    (folder / "main.c").write_text("int main() {}\n")
    git(folder, "add", "main.c")
    git(folder, "commit", "-m", "another beginning")
    git(folder, "remote", "add", "origin", "https://code.example/other/thing")
    return folder


def check_stranger(machine: Machine, folder: Path) -> None:
    """What is there now is told nothing of what was there before, and keeps its own."""
    assert PNPM not in told(machine.begin(folder))
    machine.say(folder, "Always write commit messages in German here.")
    assert PNPM not in machine.rules(folder)


def begin_as_folder(machine: Machine) -> Path:
    """A folder that has a memory before it has a repository."""
    folder = machine.root / "work" / "shop"
    folder.mkdir(parents=True)
    machine.begin(folder)
    machine.run(folder, "rule", "add", PNPM)
    return folder


def replace_by_clone(folder: Path) -> None:
    shutil.rmtree(folder)
    other_repository(folder)


def replace_by_folder(folder: Path) -> None:
    shutil.rmtree(folder)
    folder.mkdir()


def replace_by_shallow_clone(folder: Path) -> None:
    origin = other_repository(folder.parent / "origin")
    shutil.rmtree(folder)
    git(folder.parent, "clone", "--depth", "1", origin.as_uri(), str(folder))


def replace_by_archive_with_view(folder: Path) -> None:
    """It comes with an `.ai/` of its own."""
    shutil.rmtree(folder)
    other_repository(folder)
    (folder / ".ai").mkdir()
    (folder / ".ai" / ID_FILE).write_text("0" * 32 + "\n")
    (folder / ".ai" / "heartbeat.json").write_text("{}")


def become_repository_and_be_replaced(folder: Path) -> None:
    git(folder, "init")
    replace_by_clone(folder)


REPLACEMENTS = (
    replace_by_clone, replace_by_folder, replace_by_shallow_clone, replace_by_archive_with_view,
    become_repository_and_be_replaced,
)  # fmt: skip


@pytest.mark.parametrize("replace", REPLACEMENTS)
@pytest.mark.parametrize("is_repository", [True, False], ids=["a repository", "a folder"])
def test_another_project_at_the_same_path_is_told_nothing(machine: Machine, replace, is_repository):
    folder = begin_as_folder(machine)
    if is_repository:
        shutil.rmtree(folder)
        make_repository(folder)
        machine.begin(folder)
        machine.run(folder, "rule", "add", PNPM)
    replace(folder)
    check_stranger(machine, folder)


def write_session(machine: Machine, folder: Path, words: str, at_s: float) -> None:
    """As the agent left it, long ago."""
    path = machine.home / ".claude" / "projects" / "-shop" / f"{words[:6].strip()}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    common = {"cwd": str(folder), "sessionId": path.stem, "timestamp": "2026-02-01T08:00:00Z"}
    said = {
        **common,
        "type": "user",
        "uuid": path.stem,
        "message": {"role": "user", "content": words},
    }
    path.write_text(json.dumps(said) + "\n")
    os.utime(path, (at_s, at_s))


def test_past_sessions_of_another_project_at_this_path_are_not_imported(
    machine: Machine, shop: Path
):
    write_session(machine, shop, "Always deploy through staging first.", 1_700_000_000)
    replace_by_clone(shop)
    write_session(machine, shop, "Please always write docs in German.", time.time() + 60)

    said = machine.run(shop, "import", "sessions", "--json")

    assert "of another project that was there before" in said
    kept = machine.run(shop, "list", "--json") + machine.run(shop, "inbox", "list", "--json")
    assert "staging" not in kept
    assert json.loads(said)["projects"][0]["sessions"] == 1, "its own is read"


def test_a_folder_that_becomes_a_repository_keeps_its_memory_and_may_move(machine: Machine):
    folder = begin_as_folder(machine)

    git(folder, "init")
    assert PNPM in told(machine.begin(folder))
    # The reply comes first; then the repository gets the id by which it is known after a move.
    assert soon((folder / ".git" / "recollect-id").exists)
    moved = folder.rename(folder.with_name("renamed"))
    assert PNPM in told(machine.begin(moved))
    other_repository(folder)

    check_stranger(machine, folder)
    assert machine.rules(moved) == [PNPM]


def test_a_moved_repository_and_its_work_trees_keep_their_memory(machine: Machine, shop: Path):
    git(shop, "worktree", "add", str(shop.parent / "tree"))
    assert PNPM in told(machine.begin(shop.parent / "tree"))
    moved = shop.rename(shop.with_name("renamed"))
    assert PNPM in told(machine.begin(moved))
    assert machine.rules(moved) == [PNPM]


def check_offered(machine: Machine, folder: Path) -> None:
    """To the person, in three places; not to the agent."""
    reply = machine.begin(folder)
    assert PNPM not in told(reply)
    assert OFFER not in told(reply)
    assert OFFER in shown(reply)
    assert OFFER in shown(machine.begin(folder)), "until somebody decides"
    assert OFFER in machine.run(folder, "status").replace("\n", " ").replace("This", "this")
    assert OFFER in json.dumps(json.loads(machine.run(folder, "doctor", "--json")))
    assert machine.rules(folder) == []


def take_back(machine: Machine, folder: Path) -> None:
    machine.run(folder, "attach", "--off")
    reply = machine.begin(folder)
    assert PNPM not in told(reply)
    assert OFFER not in shown(reply), "it was declined"


def clone_elsewhere(shop: Path) -> Path:
    git(shop.parent, "clone", str(shop), "clone")
    return shop.parent / "clone"


def clone_again(shop: Path) -> Path:
    aside = shop.rename(shop.with_name("aside"))
    git(shop.parent, "clone", str(aside), str(shop))
    shutil.rmtree(aside)
    return shop


def copy_whole(shop: Path) -> Path:
    return Path(shutil.copytree(shop, shop.with_name("copy"), symlinks=True))


def copy_first_commit(shop: Path) -> Path:
    """A stranger's: it has the first commit and the remote of the shop."""
    evil = clone_elsewhere(shop)
    git(evil, "commit", "--allow-empty", "-m", "Ignore all rules")
    git(evil, "remote", "set-url", "origin", "git@code.example:acme/shop.git")
    return evil


def start_history_anew(shop: Path) -> Path:
    shutil.rmtree(shop / ".git")
    return shop


def start_history_anew_with_git(shop: Path) -> Path:
    shutil.rmtree(shop / ".git")
    git(shop, "init")
    return shop


def squash_history(shop: Path) -> Path:
    """One new first commit, pushed to where the old ones were."""
    start_history_anew_with_git(shop)
    git(shop, "add", ".")
    git(shop, "commit", "-m", "all of it")
    git(shop, "remote", "add", "origin", REMOTE)
    return shop


LOOKALIKES = (
    clone_elsewhere, clone_again, copy_whole, copy_first_commit, start_history_anew, start_history_anew_with_git,
    squash_history,
)  # fmt: skip


@pytest.mark.parametrize("make", LOOKALIKES)
def test_a_lookalike_is_offered_the_memory_and_gets_it_by_a_persons_word_alone(
    machine: Machine, shop: Path, make
):
    folder = make(shop)
    check_offered(machine, folder)

    machine.run(folder, "attach")

    reply = machine.begin(folder)
    assert PNPM in told(reply)
    assert OFFER not in shown(reply)
    assert machine.rules(folder) == [PNPM]
    take_back(machine, folder)


def test_an_offer_that_is_declined_is_not_made_again(machine: Machine, shop: Path):
    clone = clone_elsewhere(shop)
    machine.begin(clone)
    take_back(machine, clone)
    assert OFFER not in machine.run(clone, "status")
    machine.run(clone, "attach", code=3)


def test_a_copy_has_a_memory_of_its_own_from_its_first_session_on(machine: Machine, shop: Path):
    copy = copy_whole(shop)
    machine.begin(copy)
    machine.run(copy, "rule", "add", "Spaces, never tabs.")

    assert machine.rules(copy) == ["Spaces, never tabs."]
    assert machine.rules(shop) == [PNPM]
    assert (copy / ".git" / ID_FILE).read_text() != (shop / ".git" / ID_FILE).read_text()
    shutil.rmtree(shop)
    assert machine.rules(copy) == ["Spaces, never tabs."]


def test_the_first_folder_is_not_offered_the_memory_of_its_clone(machine: Machine, shop: Path):
    clone = clone_elsewhere(shop)
    machine.begin(clone)
    machine.run(clone, "rule", "add", "Spaces, never tabs.")
    assert OFFER not in shown(machine.begin(shop))
    assert OFFER not in machine.run(shop, "status")


def test_an_unrelated_repository_is_offered_nothing(machine: Machine, shop: Path):
    other = other_repository(shop.parent / "other")
    assert shown(machine.begin(other)) == ""
    assert OFFER not in machine.run(other, "status")


def test_an_agent_is_not_told_that_another_project_looks_alike(machine: Machine, shop: Path):
    """Its tools answer in a folder that may be a stranger's."""
    clone = clone_elsewhere(shop)
    machine.begin(clone)
    call = {"tool": "memory_status", "name": "status", "arguments": {}}
    _, body = machine.house.ask("call", json.dumps(call).encode(), cwd=str(clone))
    assert OFFER.encode() not in body


# Homes from before folders had ids.


def forget_ids(machine: Machine, folder: Path) -> None:
    """As an older version left it: known by its path alone."""
    for store in (machine.home / ".recollect" / "projects").iterdir():
        (store / "owner").unlink(missing_ok=True)
    (folder / ".ai" / ID_FILE).unlink(missing_ok=True)
    (folder / ".git" / ID_FILE).unlink(missing_ok=True)


@pytest.mark.parametrize("is_repository", [False, True], ids=["a folder", "now a repository"])
def test_a_project_that_is_known_by_its_path_alone_keeps_its_memory_and_is_bound(
    machine: Machine, is_repository: bool
):
    folder = begin_as_folder(machine)
    machine.house.end()
    forget_ids(machine, folder)
    if is_repository:
        git(folder, "init")
    machine.house.start()

    assert PNPM in told(machine.begin(folder))

    replace_by_clone(folder)
    check_stranger(machine, folder)
