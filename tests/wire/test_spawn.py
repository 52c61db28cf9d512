"""A daemon is started by who needs it first, once, and as nobody's child."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from recollect.daemon import spool
from recollect.wire import lockfile, spawn, stub
from recollect.wire.place import Place
from tests.daemon.real import has_ended, soon
from tests.wire.conftest import World
from tests.wire.daemon import end, make_package, parse, pids
from tests.wire.test_place import SQUATTED, squat

# Long enough for the stand-in to start on a busy machine: here it is asked whether, not how fast.
PATIENT_MS = 40_000
PATIENT = ("SessionStart", "--deadline-ms", str(PATIENT_MS))


@pytest.fixture
def startable(tmp_path: Path, make: Callable[[str], World]) -> Iterator[World]:
    world = make(make_package(tmp_path))
    yield world
    end(world.home)


def kill(world: World) -> None:
    pid = pids(world.home, "alive")[-1]
    os.kill(pid, signal.SIGKILL)
    assert soon(lambda: has_ended(pid) and not lockfile.is_held(world.place.spawn_lock))


def keep(world: World, starts: spawn.Starts) -> None:
    Path(world.place.spawn_lock).write_text(f"{starts.count} {starts.last_s}\n")


def wait(world: World, seconds: float) -> None:
    """As if so much time had gone by since the last start."""
    starts = spawn.read_starts(world.place)
    keep(world, spawn.Starts(starts.count, starts.last_s - seconds))


def test_the_first_hook_starts_a_daemon_and_is_answered_and_the_next_finds_it(startable: World):
    ran, second = startable.hook(*PATIENT), startable.hook(*PATIENT)
    assert (ran.code, ran.err) == (0, b"")
    assert parse(ran.out)["pid"] == parse(second.out)["pid"] == pids(startable.home, "alive")[0]
    assert len(pids(startable.home, "started")) == 1
    assert list(spool.drain(startable.place)) == [], "the pointer that was left meanwhile is taken back"


def test_a_hook_that_ends_while_a_daemon_starts_has_left_its_pointer(startable: World):
    """It is left first, and then all the time that there is can be waited."""
    Path(startable.home, "slow").touch()
    ran = startable.hook("UserPromptSubmit", "--deadline-ms", "1500")
    assert (ran.code, ran.out, ran.err) == (0, b"", b"")
    assert ran.took_s < PATIENT_MS / 2_000
    assert len(list(spool.drain(startable.place))) == 1


def test_a_daemon_is_nobody_s_child_and_holds_nothing_of_the_agent_s(startable: World, tmp_path: Path):
    kept = {"LANG": "C.UTF-8", "LC_ALL": "C", "TZ": "UTC"}
    left = {"ANTHROPIC_API_KEY": "sk-1", "GITHUB_TOKEN": "t", "MEMORY_X": "1", "PYTHONPATH": "/x"}
    (tmp_path / "site" / "json.py").write_text("raise SystemExit(open('/nowhere'))")
    spare = os.open(tmp_path / "spare", os.O_RDWR | os.O_CREAT)
    os.set_inheritable(spare, True)

    given = startable.environ(**kept, **left, RECOLLECT_HOME="/x")
    said = parse(startable.hook(*PATIENT, environ=given, cwd=str(tmp_path)).out)

    os.close(spare)
    environ = said["environ"]
    assert isinstance(environ, dict)
    assert (kept | {"RECOLLECT_HOME": startable.home}).items() <= environ.items()
    assert not environ.keys() & left.keys()
    assert (said["cwd"], said["umask"], said["executable"]) == ("/", 0o077, sys.executable)
    assert said["session"] not in (said["pid"], os.getsid(0))
    assert said["streams"] == ["/dev/null"] * 3
    # Streams, the spawn lock, the lifetime lock, the socket, and the look at this folder.
    assert said["open"] == [0, 1, 2, spawn.LOCK_FD, 4, 5, 6]
    assert str(tmp_path / "site") not in str(said["path"]), "it finds its package and no other's modules"


def test_a_daemon_that_is_killed_ten_times_in_a_row_comes_back_after_a_pause(startable: World):
    for _ in range(10):
        wait(startable, spawn.read_starts(startable.place).pause_s(time.monotonic()))
        assert startable.hook(*PATIENT).out
        kill(startable)

    assert startable.hook(*PATIENT).out == b"", "not before the pause is over"
    starts = spawn.read_starts(startable.place)
    assert starts.count == len(pids(startable.home, "alive")) == 10
    assert 0 < starts.pause_s(time.monotonic()) <= spawn.LONGEST_PAUSE_S
    assert "10 in a row" in spawn.explain_starts(startable.place)

    wait(startable, spawn.LONGEST_PAUSE_S)
    assert parse(startable.hook(*PATIENT).out)["pid"] == pids(startable.home, "alive")[10]


def test_what_a_person_asks_for_is_started_whatever_the_pause(startable: World, tmp_path: Path):
    keep(startable, spawn.Starts(40, time.monotonic()))
    until = time.monotonic() + PATIENT_MS / 1000
    assert not spawn.ensure_daemon(startable.place, sys.executable, str(tmp_path / "site"), until)
    spawn.forget_starts(startable.place)
    assert spawn.ensure_daemon(startable.place, sys.executable, str(tmp_path / "site"), until)
    assert spawn.read_starts(startable.place).count == 1


@pytest.mark.parametrize(
    ("count", "age_s", "pause_s"),
    [(1, 0, 0), (2, 0, 0), (3, 0, 1), (4, 0, 2), (5, 0, 4), (6, 0, 8), (7, 0, 16), (8, 0, 30), (10_000, 0, 30),
     (6, 5, 3), (6, 8, 0), (6, 9, 0), (10_000, spawn.STEADY_S, 0)],
)  # fmt: skip
def test_the_pause_doubles_up_to_a_limit_and_runs_from_the_last_start(count: int, age_s: float, pause_s: float):
    assert spawn.Starts(count, 1_000.0).pause_s(1_000.0 + age_s) == pause_s


@pytest.mark.parametrize(
    ("last_s", "now_s", "count"),
    [(900_000.0, 20.0, 1), (100.0, 100.0 + spawn.STEADY_S, 1), (100.0, 99.0 + spawn.STEADY_S, 10)],
    ids=["before a reboot", "one that lasted", "one that did not"],
)
def test_starts_that_hold_nobody_up_are_forgotten(last_s: float, now_s: float, count: int):
    before = spawn.Starts(9, last_s)
    assert (before.pause_s(now_s), before.next(now_s).count) == (0, count)


def test_a_count_that_cannot_be_read_is_none(startable: World):
    for said in (b"", b"\n", b"9", b"9 x", b"x 9\n", b"12.5\n13.5\n", b"1 2 3", b"\xff\xff"):
        Path(startable.place.spawn_lock).write_bytes(said)
        assert (spawn.read_starts(startable.place).count, spawn.explain_starts(startable.place)) == (0, ""), said
    assert startable.hook(*PATIENT).out


def test_why_the_last_one_failed_is_kept_and_told(startable: World):
    keep(startable, spawn.Starts(5, time.monotonic()))
    spawn.keep_failure(startable.place, "It cannot listen: the disk is full")
    said = spawn.explain_starts(startable.place)
    assert "5 in a row" in said
    assert said.endswith("the last one said: It cannot listen: the disk is full")
    assert spawn.read_starts(startable.place).next(time.monotonic()).why == ""


def test_a_daemon_that_listened_elsewhere_is_replaced_where_it_was(startable: World):
    startable.hook(*PATIENT)
    pid = pids(startable.home, "alive")[0]
    spawn.announce(startable.place, pid, "0.1.0", 1)
    os.kill(pid, signal.SIGKILL)

    elsewhere = startable.environ(XDG_RUNTIME_DIR="", TMPDIR=startable.runtime)
    ran = startable.hook(*PATIENT, environ=elsewhere)

    assert parse(ran.out)["pid"] == pids(startable.home, "alive")[1]
    assert os.listdir(startable.runtime) == [os.path.basename(startable.place.runtime)]


def test_while_a_daemon_holds_its_lock_no_second_is_started(startable: World):
    startable.hook(*PATIENT)
    os.unlink(startable.place.socket)

    ran = startable.hook("UserPromptSubmit", "--deadline-ms", "1500")

    assert (ran.code, ran.out, ran.err) == (0, b"", b"")
    assert ran.took_s < PATIENT_MS / 2_000
    assert len(pids(startable.home, "started")) == 1
    assert len(list(spool.drain(startable.place))) == 1


def test_a_daemon_that_cannot_start_is_not_started_by_every_hook(startable: World):
    Path(startable.home, "broken").touch()

    for _ in range(spawn.STARTS_AT_ONCE + 3):
        ran = startable.hook(*PATIENT)
        assert (ran.code, ran.out, ran.err) == (0, b"", b"")

    assert soon(lambda: all(map(has_ended, pids(startable.home, "started"))))
    assert spawn.STARTS_AT_ONCE <= len(pids(startable.home, "started")) <= spawn.STARTS_AT_ONCE + 2
    assert len(list(spool.drain(startable.place))) == spawn.STARTS_AT_ONCE + 3


def test_a_home_of_another_user_s_is_left_alone(startable: World):
    if os.geteuid() != 0:
        pytest.skip("only root can give folders away")
    os.chown(startable.home, 65534, 65534)
    startable.hook(*PATIENT)
    assert pids(startable.home, "started") == []


def test_a_package_that_is_gone_is_given_up_before_the_deadline(startable: World):
    stub.write_hook(startable.home, sys.executable, "/nonexistent")
    ran = startable.hook(*PATIENT)
    assert (ran.code, ran.out, ran.err) == (0, b"", b"")
    assert ran.took_s < PATIENT_MS / 2_000


def test_starting_leaves_no_child(startable: World, tmp_path: Path):
    code = (
        "import os, sys, time; from recollect.wire import place, spawn\n"
        "found = place.find_place(sys.argv[1], os.environ)\n"
        "print(spawn.ensure_daemon(found, sys.executable, sys.argv[2], time.monotonic() + 60))\n"
        "try: print(os.waitpid(-1, os.WNOHANG))\n"
        "except ChildProcessError: print('none')"
    )
    command = [sys.executable, "-c", code, startable.home, str(tmp_path / "site")]

    ran = subprocess.run(command, env=startable.environ(PYTHONPATH=stub.PACKAGE), capture_output=True, text=True)

    assert ran.stdout.split() == ["True", "none"], ran.stderr


def test_on_a_full_disk_a_daemon_is_started_all_the_same(startable: World, monkeypatch: pytest.MonkeyPatch):
    def full(*_: object) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    began: list[str] = []
    monkeypatch.setattr(os, "write", full)
    monkeypatch.setattr(spawn, "_spawn", lambda place, *_: began.append(place.home))

    assert spawn.start(startable.place, sys.executable, "") == spawn.BEGUN
    assert began == [startable.home]


def test_where_no_process_can_be_started_it_is_said(startable: World, monkeypatch: pytest.MonkeyPatch):
    def none_left() -> int:
        raise OSError(errno.EAGAIN, "Resource temporarily unavailable")

    monkeypatch.setattr(os, "fork", none_left)

    assert spawn.start(startable.place, sys.executable, "") == spawn.IN_VAIN


@SQUATTED
def test_a_pointer_is_left_and_a_daemon_started_where_nobody_else_has_been(startable: World, how: str):
    squat(startable.place.runtime, how)
    broken = Path(startable.home, "broken")
    broken.touch()
    assert startable.hook(*PATIENT).out == b""
    assert len(list(spool.drain(Place(startable.home, startable.home + "/run")))) == 1
    broken.unlink()

    said = [parse(startable.hook(*PATIENT).out)["pid"] for _ in range(2)]

    assert said == pids(startable.home, "alive") * 2, "and the next hook finds it"


# Where a lock is not inherited, and there are no Unix sockets: the way of Windows, as far as it can be gone here


@pytest.fixture
def as_windows(startable: World, monkeypatch: pytest.MonkeyPatch) -> Place:
    monkeypatch.setattr(lockfile, "INHERITED", False)
    monkeypatch.setattr(spawn, "_DETACHED", 0)
    monkeypatch.setattr(spawn, "_OUTSIDE_JOB", 0)
    monkeypatch.setenv("RECOLLECT_TRANSPORT", "tcp")
    return Place(startable.home, startable.place.runtime, tcp=True)


def test_without_inherited_locks_a_daemon_is_started_and_answers(as_windows: Place, startable: World, tmp_path: Path):
    until = time.monotonic() + PATIENT_MS / 1000

    line = spawn.reach(as_windows, sys.executable, str(tmp_path / "site"), until)

    assert line is not None
    line.close()
    assert len(pids(startable.home, "alive")) == 1
    assert os.path.exists(as_windows.address)
    assert not os.path.exists(as_windows.socket)


def test_without_inherited_locks_one_that_is_starting_is_not_started_twice(
    as_windows: Place, startable: World, tmp_path: Path
):
    Path(startable.home, "slow").touch()
    start = lambda: spawn.start(as_windows, sys.executable, str(tmp_path / "site"))  # noqa: E731
    assert [start(), start(), start()] == [spawn.BEGUN, spawn.UNDER_WAY, spawn.UNDER_WAY]
    wait(startable, spawn.STARTING_S)
    assert start() == spawn.BEGUN


def test_a_job_that_holds_its_processes_is_no_obstacle(as_windows: Place, monkeypatch: pytest.MonkeyPatch):
    asked: list[int] = []

    class Popen:
        returncode: int | None = None

        def __init__(self, _command: object, *, creationflags: int, **_: object) -> None:
            asked.append(creationflags)
            if creationflags & 1:
                raise PermissionError(errno.EACCES, "Access is denied")

    monkeypatch.setattr(subprocess, "Popen", Popen)
    monkeypatch.setattr(spawn, "_OUTSIDE_JOB", 1)
    monkeypatch.setattr(spawn, "_DETACHED", 2)

    assert spawn.start(as_windows, sys.executable, "") == spawn.BEGUN
    assert asked == [3, 2]
