"""A daemon is started by who needs it first, once, and as nobody's child."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from recollect.wire import spawn, spool, stub
from tests.wire.conftest import World
from tests.wire.daemon import end, is_running, make_package, parse, pids, wait_for

# Long enough for the stand-in to start on a busy machine: here it is asked whether, not how fast.
PATIENT_MS = 40_000
PATIENT = ("SessionStart", "--deadline-ms", str(PATIENT_MS))


@pytest.fixture
def startable(tmp_path: Path, make: Callable[[str], World]) -> Iterator[World]:
    world = make(make_package(tmp_path))
    yield world
    end(world.home)


def test_the_first_hook_starts_a_daemon_and_is_answered(startable: World):
    ran = startable.hook(*PATIENT)

    assert (ran.code, ran.err) == (0, b"")
    assert parse(ran.out)["pid"] == pids(startable.home, "alive")[0]
    assert list(spool.drain(startable.place)) == [], "the pointer that was left meanwhile is taken back"


def test_a_hook_that_ends_while_a_daemon_starts_has_left_its_pointer(startable: World):
    """It is left first, and then all the time that there is can be waited."""
    Path(startable.home, "slow").touch()

    ran = startable.hook("UserPromptSubmit", "--deadline-ms", "1500")

    assert (ran.code, ran.out, ran.err) == (0, b"", b"")
    assert ran.took_s < PATIENT_MS / 2_000
    assert len(list(spool.drain(startable.place))) == 1


def test_the_next_hook_finds_it(startable: World):
    first, second = startable.hook(*PATIENT), startable.hook(*PATIENT)

    assert parse(first.out)["pid"] == parse(second.out)["pid"]
    assert len(pids(startable.home, "started")) == 1


def test_a_daemon_is_nobody_s_child_and_holds_nothing_of_the_agent_s(startable: World, tmp_path: Path):
    kept = {"LANG": "C.UTF-8", "LC_ALL": "C", "TZ": "UTC"}
    left = {
        "ANTHROPIC_API_KEY": "sk-1",
        "GITHUB_TOKEN": "t",
        "MEMORY_X": "1",
        "RECOLLECT_HOME": "/x",
        "PYTHONPATH": "/x",
    }
    spare = os.open(tmp_path / "spare", os.O_RDWR | os.O_CREAT)
    os.set_inheritable(spare, True)

    said = parse(startable.hook(*PATIENT, environ=startable.environ(**kept, **left), cwd=str(tmp_path)).out)

    os.close(spare)
    environ = said["environ"]
    assert isinstance(environ, dict)
    assert kept.items() <= environ.items()
    assert environ["RECOLLECT_HOME"] == startable.home
    assert not environ.keys() & (left.keys() - {"RECOLLECT_HOME"})
    assert said["cwd"] == "/"
    assert said["umask"] == 0o077
    assert said["session"] not in (said["pid"], os.getsid(0))
    assert said["streams"] == ["/dev/null"] * 3
    # Streams, the spawn lock, the lifetime lock, the socket, and the look at this folder.
    assert said["open"] == [0, 1, 2, spawn.LOCK_FD, 4, 5, 6]
    assert said["executable"] == sys.executable


def test_a_daemon_finds_its_package_and_no_other_s_modules(startable: World, tmp_path: Path):
    (tmp_path / "site" / "json.py").write_text("raise SystemExit(open('/nowhere'))")

    said = parse(startable.hook(*PATIENT).out)

    assert str(tmp_path / "site") not in str(said["path"])


def test_a_killed_daemon_is_replaced_by_the_next_hook(startable: World):
    first = parse(startable.hook(*PATIENT).out)["pid"]
    for _ in range(spawn.MOST_FAILURES + 1):
        os.kill(pids(startable.home, "alive")[-1], signal.SIGKILL)
        ran = startable.hook(*PATIENT)
        assert parse(ran.out)["pid"] != first

    assert len(pids(startable.home, "alive")) == spawn.MOST_FAILURES + 2


def test_a_daemon_that_listened_elsewhere_is_replaced_where_it_was(startable: World):
    startable.hook(*PATIENT)
    pid = pids(startable.home, "alive")[0]
    spawn.point(startable.place, pid, "0.1.0", 1)
    os.kill(pid, signal.SIGKILL)

    elsewhere = startable.environ(XDG_RUNTIME_DIR="", TMPDIR=startable.runtime)
    ran = startable.hook(*PATIENT, environ=elsewhere)

    assert parse(ran.out)["pid"] == pids(startable.home, "alive")[1]
    assert os.listdir(startable.runtime) == [os.path.basename(startable.place.runtime)]


def test_of_a_herd_one_starts_the_daemon(startable: World):
    herd = [
        subprocess.Popen(
            [stub.script_path(startable.home), *PATIENT],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            env=startable.environ(),
        )
        for _ in range(20)
    ]
    answers = [hook.communicate()[0] for hook in herd]

    assert len({parse(out)["pid"] for out in answers}) == 1
    assert len(pids(startable.home, "started")) == 1


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

    for _ in range(spawn.MOST_FAILURES + 3):
        ran = startable.hook(*PATIENT)
        assert (ran.code, ran.out, ran.err) == (0, b"", b"")

    assert wait_for(lambda: not any(is_running(pid) for pid in pids(startable.home, "started")))
    assert len(pids(startable.home, "started")) <= spawn.MOST_FAILURES
    assert len(list(spool.drain(startable.place))) == spawn.MOST_FAILURES + 3


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
    monkeypatch.setattr(os, "pwrite", full)
    monkeypatch.setattr(spawn, "_spawn", lambda place, *_: began.append(place.home))

    assert spawn.start(startable.place, sys.executable, "") == spawn.BEGUN
    assert began == [startable.home]


def test_where_no_process_can_be_started_it_is_said(startable: World, monkeypatch: pytest.MonkeyPatch):
    def none_left() -> int:
        raise OSError(errno.EAGAIN, "Resource temporarily unavailable")

    monkeypatch.setattr(os, "fork", none_left)

    assert spawn.start(startable.place, sys.executable, "") == spawn.IN_VAIN
