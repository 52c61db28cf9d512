"""Files in a tree that are no files (pipes, devices, links out of it, endless ones) stop nothing, and what a link leads
to outside is neither kept nor told."""

import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.daemon.real import soon
from tests.daemon.test_right_project import Machine, made_machine, told
from tests.team.people import make_repository

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="no such files there")

SECRET = "the quartz lighthouse opens at noon and is nobody's business"
PLACES = (
    ".ai/agent.conf", ".ai/.gitignore", ".ai/recollect-id", ".ai/heartbeat.json", ".ai/memory/note.md",
    ".ai/memory/_always-load/note.md", ".ai/memory-cold/note.md", "CLAUDE.md", "AGENTS.md", ".claude/CLAUDE.md",
    ".claude/settings.json", ".mcp.json", ".git/recollect-id", ".git/config", ".git/packed-refs", ".git/shallow",
)  # fmt: skip
COMMANDS = (
    ("status",), ("doctor",), ("rules",), ("note", "sync"), ("notes",), ("recall", "quartz lighthouse"), ("validate",),
    ("import", "rules"), ("import", "rules", "CLAUDE.md"), ("import", "memory-folder"),
    ("import", "notes", ".ai/memory"),
    ("import", "sessions"), ("install", "--dry-run"), ("sync", "--dry-run"), ("skills", "--dry-run"), ("allow",),
    ("rule", "add", "Look into src/app.py before a change."), ("export", "memories.jsonl"), ("projects",), ("attach",),
)  # fmt: skip


def pipe(path: Path, _secret: Path) -> None:
    os.mkfifo(path)


def link_to_secret(path: Path, secret: Path) -> None:
    path.symlink_to(secret)


def link_to_device(path: Path, _secret: Path) -> None:
    path.symlink_to("/dev/zero")


def link_to_itself(path: Path, _secret: Path) -> None:
    path.symlink_to(path)


def endless_file(path: Path, _secret: Path) -> None:
    with open(path, "wb") as file:
        file.truncate(1 << 40)


def folder(path: Path, _secret: Path) -> None:
    path.mkdir()


KINDS: tuple[Callable[[Path, Path], None], ...] = (
    pipe, link_to_secret, link_to_device, link_to_itself, endless_file, folder,
)  # fmt: skip


@pytest.fixture
def machine() -> Iterator[Machine]:
    with made_machine() as made:
        yield made


@pytest.fixture
def secret(machine: Machine) -> Path:
    path = machine.root / "elsewhere" / "secret.md"
    path.parent.mkdir()
    path.write_text(f"# Rules\n\n- Always remember: {SECRET}.\n- never say {SECRET}\n")
    return path


def check_unknown(machine: Machine) -> None:
    """Nothing that is kept has a word of it."""
    for path in (machine.home / ".recollect").rglob("*"):
        if path.is_file():
            assert SECRET.encode() not in path.read_bytes(), path


@pytest.mark.parametrize("kind", KINDS)
def test_odd_files_in_a_tree_stop_no_door_and_lead_nowhere(kind, machine: Machine, secret: Path):
    tree = make_repository(machine.root / "work" / "shop")
    for name in PLACES:
        path = tree / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.unlink(missing_ok=True)
        kind(path, secret)

    reply = machine.begin(tree)
    machine.say(tree, "Where is the quartz lighthouse?")
    for command in COMMANDS:
        machine.attempt(tree, *command)

    assert SECRET not in told(reply)
    assert SECRET not in told(machine.begin(tree))
    machine.house.status()  # it still answers
    machine.house.end()
    check_unknown(machine)


@pytest.mark.parametrize("target", ["folder", "root", "itself"])
@pytest.mark.parametrize("name", [".ai", ".ai/memory", ".ai/memory/_always-load", ".ai/memory/sub"])
def test_a_folder_of_notes_that_is_a_link_is_not_read(
    name: str, target: str, machine: Machine, secret: Path
):
    tree = make_repository(machine.root / "work" / "shop")
    (tree / name).parent.mkdir(parents=True, exist_ok=True)
    places = {"folder": secret.parent, "root": Path("/"), "itself": tree}
    (tree / name).symlink_to(places[target])

    machine.begin(tree)
    for command in (("note", "sync"), ("notes",), ("allow",), ("status",)):
        machine.attempt(tree, *command)

    assert SECRET not in told(machine.begin(tree))
    machine.house.end()
    check_unknown(machine)
    assert sorted(os.listdir(secret.parent)) == ["secret.md"], "nothing is written there"


@pytest.mark.parametrize("kind", [pipe, link_to_device, link_to_itself, endless_file, folder])
def test_a_transcript_that_is_none_stops_nobody(kind, machine: Machine, secret: Path):
    tree = make_repository(machine.root / "work" / "shop")
    transcript = machine.root / "odd.jsonl"
    kind(transcript, secret)
    for source in ("startup", "resume", "fork", "compact"):
        machine.hook(tree, "SessionStart", "s-odd", source=source, transcript_path=str(transcript))
    for event in ("UserPromptSubmit", "Stop", "SessionEnd"):
        machine.hook(
            tree, event, "s-odd", prompt="hello", prompt_id="p", transcript_path=str(transcript)
        )
    machine.attempt(tree, "catch-up")
    machine.run(tree, "rule", "add", "Tabs, never spaces.")
    other = make_repository(machine.root / "work" / "other")

    assert soon(lambda: "Tabs" in told(machine.begin(tree)))
    machine.begin(other)
    assert machine.house.status()["pid"]


SLOW_SETTINGS = {
    "blanks before a value that never ends": b"[core]\nworktree =" + b" " * 250_000 + b'"a"b\n',
    "brackets": b'[core "' * 30_000,
    "quotes": b"[core]\nworktree = " + b'a ""' * 60_000 + b"\n",
    "larger than any": b"[core]\nworktree = x\n" + b"#" * 100_000_000,
}


@pytest.mark.parametrize("settings", SLOW_SETTINGS.values(), ids=SLOW_SETTINGS)
def test_settings_of_git_that_are_made_to_be_slow_hold_nobody_up(settings, machine: Machine):
    """A pattern that goes back and forth in them would hold the whole daemon, for minutes."""
    tree = make_repository(machine.root / "work" / "shop")
    (tree / ".git" / "config").write_bytes(settings)
    other = make_repository(machine.root / "work" / "other")
    machine.run(other, "rule", "add", "Tabs, never spaces.")

    machine.begin(tree)

    assert "Tabs" in told(machine.begin(other))
    assert machine.rules(tree) == []


NAMES = (
    "shop\nok   forged line",
    "shop\r\n\x1b[2K\x1b[32mok",
    "\u202eshop\u2028ok",
    "\x9b31mshop",
    "--help",
)


@pytest.mark.parametrize("name", NAMES)
def test_the_name_of_a_folder_forges_no_line_and_no_colour(name: str, machine: Machine):
    tree = make_repository(machine.root / "work" / name)
    machine.run(tree, "rule", "add", "Tabs, never spaces.")

    said = told(machine.begin(tree))
    for command in (("status",), ("doctor",), ("projects",), ("sessions",), ("attach", "--off")):
        said += machine.attempt(tree, *command).out

    assert not [line for line in said.splitlines() if line.startswith(("ok   forged line", "\x1b"))]
    assert not {"\x1b", "\x9b", "\u202e", "\u2028"} & set(said)
