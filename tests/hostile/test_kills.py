"""A command that is killed leaves what was before or what comes after, never something between: the store is sound,
files and memories agree, the next command works, and nothing that was made for a moment stays."""

import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path

import pytest

from recollect.base.clock import SystemClock
from recollect.base.paths import home
from recollect.base.settings import environment
from recollect.model.plan import Create
from recollect.model.result import Scope
from tests.cli.run import program, run
from tests.hostile.killed import count_calls, files_below, killed_at, moments
from tests.ops.conftest import Opens
from tests.values import NOW, act, messages, plan, thread

KILLS = 4  # of each command; 25 each were tried when this was written


def threads() -> list[str]:
    return [one["id"] for one in run("list", "--kind", "thread", "--json").json]


def compact() -> list[str]:
    return ["compact", "--strategy", "aggressive"]


def undo_of_compact() -> list[str]:
    assert run("compact", "--strategy", "aggressive").code == 0
    return ["undo"]


def merge() -> list[str]:
    first, second, *_ = threads()
    return ["merge", first, second]


def undo_of_merge() -> list[str]:
    assert run(*merge()).code == 0
    return ["undo"]


def split() -> list[str]:
    return ["split", threads()[0], "--topics", "invoices"]


def backup() -> list[str]:
    return ["backup"]


def forget_project() -> list[str]:
    return ["forget", "--project", "--yes"]


def undo_of_forget_project() -> list[str]:
    assert run("forget", "--project", "--yes").code == 0
    return ["undo"]


def reindex() -> list[str]:
    return ["reindex"]


def settle() -> list[str]:
    assert run("rule", "add", "Use npm, too").code == 0
    (card,) = run("inbox", "--json").json
    return ["inbox", "settle", card["id"], card["contradicts"][0]["id"], "--keep", "newer"]


def undo_of_settle() -> list[str]:
    assert run(*settle()).code == 0
    return ["undo"]


SCENES = (
    compact, undo_of_compact, merge, undo_of_merge, split, backup, forget_project, undo_of_forget_project, reindex,
    settle, undo_of_settle,
)  # fmt: skip


def state() -> tuple[list[tuple[str, str]], set[str]]:
    """What is remembered, and which files of notes there are. A file says itself whether it is put away, so notes are
    known by their files; and a new memory has another id in each run."""
    listed = run("list", "--json", "--limit", "1000").json
    found = sorted((one["title"], one["status"]) for one in listed if one["kind"] != "note")
    notes = {Path(name).name for name in files_below(Path(".ai")) if name.endswith(".md")}
    return found, notes


@pytest.fixture
def filled(open_app: Opens) -> None:
    app = open_app()
    days = SystemClock().now().days_since(NOW) - 1  # as of yesterday
    for number in range(40):
        said = [f"Part {part} of matter {number}: the cart and its totals" for part in (1, 2)]
        made = thread(
            f"Matter {number % 8} of the cart", days_old=-days, topics=("cart", "invoices")
        )
        spoken = messages(made, *said, f"The invoices of matter {number} are printed.")
        app.writer(Scope.PROJECT).apply(plan(Create(made, spoken)), act())
    app.close()
    assert run("rule", "add", "Use pnpm").code == 0
    for name in ("Release on Tuesday", "Deploy at noon"):
        assert run("note", "save", name, "--project").code == 0


class Snapshot:
    """The home and the project's folder, to begin again from."""

    def __init__(self, kept: Path) -> None:
        self._kept = kept
        self._places = (home(environment()), Path(".ai").absolute())
        for number, place in enumerate(self._places):
            shutil.copytree(place, kept / str(number))

    def restore(self) -> None:
        for number, place in enumerate(self._places):
            shutil.rmtree(place)
            shutil.copytree(self._kept / str(number), place)


@pytest.mark.parametrize("prepare", SCENES, ids=lambda prepare: prepare.__name__)
def test_a_killed_command_leaves_what_was_before_or_what_comes_after(
    filled: None, tmp_path: Path, prepare: Callable[[], list[str]]
):
    command, told = prepare(), tmp_path / "calls"
    before, start = state(), Snapshot(tmp_path / "kept")
    calls = count_calls(told, *command)
    after, files = state(), files_below(home(environment()))
    for call in moments(calls, KILLS, prepare.__name__):
        start.restore()

        killed_at(call, told, *command)

        where = f"{command} killed at call {call} of {calls}"
        assert run("verify").code == 0, where
        assert state() in (before, after), where
        assert run("note", "sync").code == 0, where
        assert run("pin", "what comes next").code == 0, where
        assert not leftovers(files), where


def leftovers(expected: set[str]) -> set[str]:
    found = files_below(home(environment()))
    return {
        name
        for name in found - expected
        if not name.endswith(("-wal", "-shm")) and "/backups/" not in name and "log" not in name
    }


# The disk


@pytest.fixture
def small_disk(filled: None) -> Iterator[Path]:
    with home_on_small_disk() as place:
        yield place


@contextmanager
def home_on_small_disk() -> Iterator[Path]:
    """The home on a disk of its own, of a few megabytes."""
    place = home(environment())
    kept = place.with_name("kept")
    shutil.copytree(place, kept)
    mount = ["mount", "-t", "tmpfs", "-o", "size=4m,mode=700", "none", str(place)]
    if subprocess.run(mount, capture_output=True).returncode:
        pytest.skip("cannot mount a disk here")
    try:
        shutil.copytree(kept, place, dirs_exist_ok=True)
        yield place
    finally:
        subprocess.run(["umount", "--lazy", str(place)], check=True)


@contextmanager
def full(place: Path) -> Iterator[None]:
    ballast = place / "ballast"
    with suppress(OSError), ballast.open("wb") as file:
        while True:
            file.write(bytes(4096))
            file.flush()
    try:
        yield
    finally:
        ballast.unlink()


@contextmanager
def read_only(place: Path) -> Iterator[None]:
    subprocess.run(["mount", "-o", "remount,ro", str(place)], check=True)
    try:
        yield
    finally:
        subprocess.run(["mount", "-o", "remount,rw", str(place)], check=True)


@pytest.mark.skipif(sys.platform != "linux", reason="mounts a disk")
@pytest.mark.parametrize("trouble", [full, read_only], ids=lambda trouble: trouble.__name__)
@pytest.mark.parametrize("prepare", SCENES, ids=lambda prepare: prepare.__name__)
def test_a_command_on_a_disk_that_takes_nothing_says_so_and_changes_nothing(
    small_disk: Path,
    prepare: Callable[[], list[str]],
    trouble: Callable[[Path], AbstractContextManager[None]],
):
    command = prepare()
    before, files = state(), files_below(Path(".ai"))
    with trouble(small_disk):
        ended = program(*command)

    said = ended.stderr.decode()
    assert ended.returncode not in (0, 1), (command, ended)
    assert "Traceback" not in said
    assert len(said.splitlines()) >= 2, f"what is the matter, and what to do: {said}"
    assert (state(), files_below(Path(".ai"))) == (before, files)
    assert run("verify").code == 0
    assert run(*command).code == 0
