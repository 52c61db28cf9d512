"""Several at once, and a home that cannot be written."""

import subprocess
import sys
from pathlib import Path

import pytest

from recollect.app.core import App
from recollect.base.errors import IdTaken
from recollect.base.ids import Mint
from recollect.model.result import Scope
from recollect.ops import memories, rules
from tests.ops.ask import files, kept, made, pinned, titles
from tests.ops.conftest import Opens


def test_an_id_that_another_process_took_is_drawn_again(open_app: Opens, monkeypatch: pytest.MonkeyPatch):
    chance = iter([7, 1, 7, 2, 9, 3])
    monkeypatch.setattr("recollect.base.ids._draw_bits", lambda: next(chance))
    one, other = open_app(), open_app()
    one.mint, other.mint = Mint(one.clock), Mint(other.clock)
    first = pinned(one, "one")

    second = pinned(other, "two")

    assert first != second
    assert (kept(one, first).body, kept(one, second).body) == ("one", "two")


def test_an_id_that_is_always_taken_is_an_error_and_nothing_is_lost(open_app: Opens, monkeypatch: pytest.MonkeyPatch):
    one = open_app()
    taken = kept(one, pinned(one, "one"))
    app = open_app()
    app.mint = Mint(app.clock)
    monkeypatch.setattr(app.mint, "draw", lambda kind: taken.id)

    with pytest.raises(IdTaken):
        memories.pin(app, "two")

    assert kept(open_app(), taken.id) == taken
    assert len(memories.log(open_app()).entries) == 1


def test_two_that_say_the_same_rule_at_once_make_one_rule(open_app: Opens):
    one, other = open_app(), open_app()
    rule = made(rules.add(one, "Use tabs"))
    other.writer(Scope.PROJECT)

    rules.add(other, "Use tabs")
    rules.add(one, "Use tabs")

    assert kept(other, rule).seen == kept(one, rule).seen == 3


WRITER = """
import sys
from pathlib import Path
from recollect.ops import memories
from recollect.app.core import App
app = App.open(Path.cwd())
for number in range(25):
    memories.pin(app, f"writer {sys.argv[1]} wrote {number}")
app.close()
"""


def test_processes_that_write_at_once_lose_nothing(open_app: Opens):
    """From no home at all: they race for making it, too."""
    running = [subprocess.Popen([sys.executable, "-c", WRITER, str(n)], stderr=subprocess.PIPE) for n in range(3)]
    assert [process.communicate(timeout=120)[1] for process in running] == [b"", b"", b""]
    app = open_app()
    bodies = {memory.body for memory, _ in app.reader(Scope.PROJECT).each()}
    assert bodies == {f"writer {n} wrote {number}" for n in range(3) for number in range(25)}
    assert len({entry.change for _, entry in memories.log(app, limit=1_000).entries}) == 75
    assert len(list(app.home.projects.iterdir())) == 1


# A home that cannot be written. Permissions do not bind root, so the child gives that power up first.

POWERLESS = """
import ctypes, os, sys
DROP, OVERRIDE, READ_SEARCH = 24, 1, 2
for power in (OVERRIDE, READ_SEARCH) if os.geteuid() == 0 else ():
    if ctypes.CDLL(None).prctl(DROP, power, 0, 0, 0) != 0:
        sys.exit(77)
os.execv(sys.executable, [sys.executable, "-m", "recollect", *sys.argv[1:]])
"""


def recollect(*args: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", POWERLESS, *args]
    done = subprocess.run(command, capture_output=True, text=True, encoding="utf-8", timeout=120)
    if done.returncode == 77:
        pytest.skip("root here cannot give up its power over permissions")
    return done


@pytest.mark.skipif(sys.platform != "linux", reason="permissions are tried where root can be bound by them")
def test_a_home_that_cannot_be_written_can_be_read_and_is_left_alone(app: App):
    id = pinned(app, "Kept before.")
    everywhere = pinned(app, "Everywhere before.", user=True)
    app.close()
    root = app.home.root
    before = files(root)
    for folder in (root, *(path for path in root.rglob("*") if path.is_dir())):
        folder.chmod(0o500)
    for file in root.rglob("*.db"):
        file.chmod(0o400)
    try:
        read = [recollect("show", id), recollect("recall", "before"), recollect("why")]
        wrote = [recollect(*command) for command in (("pin", "x"), ("delete", everywhere), ("purge", id, "--yes"))]
        sick = recollect("doctor")
        for file in root.rglob("*.db"):
            file.chmod(0)
        wrote.append(recollect("show", id))
    finally:
        for folder in (root, *(path for path in root.rglob("*") if path.is_dir())):
            folder.chmod(0o700)
        for file in root.rglob("*.db"):
            file.chmod(0o600)

    assert [ran.returncode for ran in read] == [0, 0, 0], [ran.stderr for ran in read]
    assert all("Kept before." in ran.stdout for ran in read[:2])
    assert {ran.returncode for ran in wrote} <= {9, 10}, [ran.stderr for ran in wrote]
    assert all("cannot be" in ran.stderr for ran in wrote)
    assert sick.returncode == 1
    assert "cannot be written" in sick.stdout
    assert files(root) == before


@pytest.mark.skipif(sys.platform != "linux", reason="permissions are tried where root can be bound by them")
def test_no_home_can_be_made_where_the_folder_is_shut(open_app: Opens):
    Path.home().chmod(0o500)
    try:
        looked, wrote = recollect("threads"), recollect("pin", "x")
    finally:
        Path.home().chmod(0o700)

    assert looked.returncode == 0
    assert wrote.returncode == 10
    assert "RECOLLECT_HOME" in wrote.stderr
    assert titles(open_app(), "x") == set()
