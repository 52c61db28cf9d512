"""A daemon is started by who needs it first, once, and as nobody's child."""

import errno
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from recollect.daemon import spool
from recollect.wire import client, lockfile, stub
from recollect.wire.place import Place
from tests.daemon.real import has_ended, soon
from tests.wire.conftest import World
from tests.wire.test_place import SQUATTED, squat

# Long enough for the stand-in to start on a busy machine: here it is asked whether, not how fast.
PATIENT_MS = 40_000
PATIENT = ("SessionStart", "--deadline-ms", str(PATIENT_MS))


# The daemon: the real locks, socket and frames, and an answer that says what it is like.
_MAIN = """
import fcntl, json, os, sys, time
from recollect.wire import frame
from recollect.wire.place import SHOWN_CHARS, TOKEN_CHARS, find_place, listen, prove

home = os.environ["RECOLLECT_HOME"]
with open(home + "/started", "a") as file:
    file.write(f"{os.getpid()}\\n")
if os.path.exists(home + "/broken"):
    sys.exit(1)
if os.path.exists(home + "/slow"):
    time.sleep(60)
place = find_place(home, os.environ)
life = open(place.lock, "a")
try:
    fcntl.flock(life, fcntl.LOCK_EX | fcntl.LOCK_NB)
except OSError:
    sys.exit(0)
with open(home + "/alive", "a") as file:
    file.write(f"{os.getpid()}\\n")
token = "t" * TOKEN_CHARS
server = listen(place, token)
server.settimeout(120)
said = {
    "pid": os.getpid(), "parent": os.getppid(), "session": os.getsid(0), "cwd": os.getcwd(),
    "environ": dict(os.environ), "path": sys.path, "executable": sys.executable, "umask": os.umask(0o077),
    "streams": [os.readlink(f"/proc/self/fd/{fd}") for fd in (0, 1, 2)] if os.path.exists("/proc/self/fd") else [],
    "open": sorted(map(int, os.listdir("/proc/self/fd"))) if os.path.exists("/proc/self/fd") else [],
}
while True:
    try:
        line, _ = server.accept()
    except TimeoutError:
        break
    line.settimeout(60)
    try:
        if place.tcp:
            line.sendall(prove(line.recv(SHOWN_CHARS), token))
        frame.read_request(line.recv)
        line.sendall(frame.encode_reply(frame.OK, json.dumps(said).encode()))
        line.recv(1)
    except (OSError, frame.BadFrame):
        pass
    line.close()
"""


@pytest.fixture
def startable(tmp_path: Path, make: Callable[[str], World]) -> Iterator[World]:
    """A world whose package `recollect` has this daemon and the real `wire`."""
    package = tmp_path / "site" / "recollect"
    (package / "daemon").mkdir(parents=True)
    (package / "wire").symlink_to(Path(stub.PACKAGE, "recollect", "wire"))
    for name, text in (
        ("__init__.py", ""),
        ("daemon/__init__.py", ""),
        ("daemon/startup.py", _MAIN),
    ):
        (package / name).write_text(text)
    world = make(str(package.parent))
    yield world
    for pid in pids(world.home, "started"):
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    assert soon(lambda: all(map(has_ended, pids(world.home, "started"))))


def pids(home: str, what: str) -> list[int]:
    """Which processes were `started`, and which became the daemon (`alive`)."""
    path = Path(home, what)
    return [int(line) for line in path.read_text().split()] if path.exists() else []


def parse(out: bytes) -> dict[str, Any]:
    said = json.loads(out)
    assert isinstance(said, dict)
    return said


def kill(world: World) -> None:
    pid = pids(world.home, "alive")[-1]
    os.kill(pid, signal.SIGKILL)
    assert soon(lambda: has_ended(pid) and not lockfile.is_held(world.place.spawn_lock))


def keep(world: World, count: int, age_s: float = 0) -> client.Starts:
    Path(world.place.spawn_lock).write_text(f"{count} {time.monotonic() - age_s}\n")
    return client.read_starts(world.place)


def wait(world: World, seconds: float) -> None:
    """As if so much time had gone by since the last start."""
    starts = client.read_starts(world.place)
    keep(world, starts.count, starts.age_s + seconds)


def test_the_first_hook_starts_a_daemon_and_is_answered_and_the_next_finds_it(startable: World):
    ran, second = startable.hook(*PATIENT), startable.hook(*PATIENT)
    assert (ran.code, ran.err) == (0, b"")
    assert parse(ran.out)["pid"] == parse(second.out)["pid"] == pids(startable.home, "alive")[0]
    assert len(pids(startable.home, "started")) == 1


def test_a_hook_that_ends_while_a_daemon_starts_has_left_its_pointer(startable: World):
    """It is left first, and then all the time that there is can be waited."""
    Path(startable.home, "slow").touch()
    ran = startable.hook("UserPromptSubmit", "--deadline-ms", "1500")
    assert (ran.code, ran.out, ran.err) == (0, b"", b"")
    assert ran.took_s < PATIENT_MS / 2_000
    assert len(list(spool.drain(startable.place))) == 1


def test_a_daemon_is_nobody_s_child_and_holds_nothing_of_the_agent_s(
    startable: World, tmp_path: Path
):
    kept = {"LANG": "C.UTF-8", "LC_ALL": "C", "TZ": "UTC"}
    left = {"ANTHROPIC_API_KEY": "sk-1", "GITHUB_TOKEN": "t", "MEMORY_X": "1", "PYTHONPATH": "/x"}
    (tmp_path / "site" / "json.py").write_text("raise SystemExit(open('/nowhere'))")
    spare = os.open(tmp_path / "spare", os.O_RDWR | os.O_CREAT)
    os.set_inheritable(spare, True)

    given = startable.environ(**kept, **left, RECOLLECT_HOME="/x")
    said = parse(startable.hook(*PATIENT, environ=given, cwd=str(tmp_path)).out)

    os.close(spare)
    assert (kept | {"RECOLLECT_HOME": startable.home}).items() <= said["environ"].items()
    assert not said["environ"].keys() & left.keys()
    assert (said["cwd"], said["umask"], said["executable"]) == ("/", 0o077, sys.executable)
    assert said["session"] not in (said["pid"], os.getsid(0))
    assert said["streams"] == ["/dev/null"] * 3
    # Streams, the spawn lock, the lifetime lock, the socket, and the look at this folder.
    assert said["open"] == [0, 1, 2, client.LOCK_FD, 4, 5, 6]
    assert str(tmp_path / "site") not in str(said["path"]), (
        "it finds its package and no other's modules"
    )


def test_a_daemon_that_is_killed_ten_times_in_a_row_comes_back_after_a_pause(startable: World):
    for _ in range(10):
        wait(startable, client.read_starts(startable.place).pause_s)
        assert startable.hook(*PATIENT).out
        kill(startable)

    assert startable.hook(*PATIENT).out == b"", "not before the pause is over"
    starts = client.read_starts(startable.place)
    assert starts.count == len(pids(startable.home, "alive")) == 10
    assert 0 < starts.pause_s <= client.LONGEST_PAUSE_S
    assert "10 in a row" in client.explain_starts(startable.place)

    wait(startable, client.LONGEST_PAUSE_S)
    assert parse(startable.hook(*PATIENT).out)["pid"] == pids(startable.home, "alive")[10]


def test_what_a_person_asks_for_is_started_whatever_the_pause(startable: World, tmp_path: Path):
    keep(startable, 40)
    until = time.monotonic() + PATIENT_MS / 1000
    assert not client.ensure_daemon(startable.place, sys.executable, str(tmp_path / "site"), until)
    client.forget_starts(startable.place)
    assert client.ensure_daemon(startable.place, sys.executable, str(tmp_path / "site"), until)
    assert client.read_starts(startable.place).count == 1


@pytest.mark.parametrize(
    ("count", "age_s", "pause_s"),
    [(1, 0, 0), (2, 0, 0), (3, 0, 1), (4, 0, 2), (5, 0, 4), (6, 0, 8), (7, 0, 16), (8, 0, 30), (10_000, 0, 30),
     (6, 5, 3), (6, 8, 0), (6, 9, 0)],
)  # fmt: skip
def test_the_pause_doubles_up_to_a_limit_and_runs_from_the_last_start(
    count: int, age_s: float, pause_s: float
):
    assert client.Starts(count, age_s).pause_s == pause_s


@pytest.mark.parametrize(
    ("age_s", "count"),
    [(-900_000.0, 0), (client.STEADY_S, 0), (client.STEADY_S - 5, 9)],
    ids=["before a reboot", "one that lasted", "one that did not"],
)
def test_starts_that_hold_nobody_up_are_forgotten(startable: World, age_s: float, count: int):
    starts = keep(startable, 9, age_s)
    assert (starts.count, starts.pause_s) == (count, 0)


def test_a_count_that_cannot_be_read_is_none(startable: World):
    for said in (b"", b"\n", b"9", b"9 x", b"x 9\n", b"12.5\n13.5\n", b"1 2 3", b"\xff\xff"):
        Path(startable.place.spawn_lock).write_bytes(said)
        assert (
            client.read_starts(startable.place).count,
            client.explain_starts(startable.place),
        ) == (0, ""), said
    assert startable.hook(*PATIENT).out


def test_why_the_last_one_failed_is_kept_and_told(startable: World):
    keep(startable, 5)
    client.keep_failure(startable.place, "It cannot listen: the disk is full")
    said = client.explain_starts(startable.place)
    assert "5 in a row" in said
    assert said.endswith("the last one said: It cannot listen: the disk is full")


def test_a_daemon_that_listened_elsewhere_is_replaced_where_it_was(startable: World):
    startable.hook(*PATIENT)
    pid = pids(startable.home, "alive")[0]
    client.announce(startable.place, pid, "0.1.0")
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
    assert [said["event"] for _, said in spool.drain(startable.place)][1:] == ["UserPromptSubmit"]


def test_a_daemon_that_cannot_start_is_not_started_by_every_hook(startable: World):
    Path(startable.home, "broken").touch()

    for _ in range(client.STARTS_AT_ONCE + 3):
        ran = startable.hook(*PATIENT)
        assert (ran.code, ran.out, ran.err) == (0, b"", b"")

    assert soon(lambda: all(map(has_ended, pids(startable.home, "started"))))
    assert (
        client.STARTS_AT_ONCE <= len(pids(startable.home, "started")) <= client.STARTS_AT_ONCE + 2
    )
    assert len(list(spool.drain(startable.place))) == client.STARTS_AT_ONCE + 3


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give folders away")
def test_a_home_of_another_user_s_is_left_alone(startable: World):
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
        "import os, sys, time; from recollect.wire import client, place\n"
        "found = place.find_place(sys.argv[1], os.environ)\n"
        "print(client.ensure_daemon(found, sys.executable, sys.argv[2], time.monotonic() + 60))\n"
        "try: print(os.waitpid(-1, os.WNOHANG))\n"
        "except ChildProcessError: print('none')"
    )
    command = [sys.executable, "-c", code, startable.home, str(tmp_path / "site")]

    ran = subprocess.run(
        command, env=startable.environ(PYTHONPATH=stub.PACKAGE), capture_output=True, text=True
    )

    assert ran.stdout.split() == ["True", "none"], ran.stderr


def test_on_a_full_disk_a_daemon_is_started_all_the_same(
    startable: World, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(
        lockfile, "open_existing", lambda _path, mode=os.O_RDONLY: os.open("/dev/full", mode)
    )
    began: list[list[str]] = []
    monkeypatch.setattr(client, "_fork", lambda command, *_: began.append(command))

    assert client.start(startable.place, sys.executable, "") == client.BEGUN
    assert began[0][0] == sys.executable


def test_where_no_process_can_be_started_it_is_said(
    startable: World, monkeypatch: pytest.MonkeyPatch
):
    def none_left() -> int:
        raise OSError(errno.EAGAIN, "Resource temporarily unavailable")

    monkeypatch.setattr(os, "fork", none_left)

    assert client.start(startable.place, sys.executable, "") == client.IN_VAIN


@SQUATTED
def test_a_pointer_is_left_and_a_daemon_started_where_nobody_else_has_been(
    startable: World, how: str
):
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
    monkeypatch.setattr(client, "_DETACHED", 0)
    monkeypatch.setattr(client, "_OUTSIDE_JOB", 0)
    monkeypatch.setenv("RECOLLECT_TRANSPORT", "tcp")
    return Place(startable.home, startable.place.runtime, tcp=True)


def test_without_inherited_locks_a_daemon_is_started_and_answers(
    as_windows: Place, startable: World, tmp_path: Path
):
    until = time.monotonic() + PATIENT_MS / 1000

    line = client.reach(as_windows, sys.executable, str(tmp_path / "site"), until)

    assert line is not None
    line.close()
    assert len(pids(startable.home, "alive")) == 1
    assert os.path.exists(as_windows.address)
    assert not os.path.exists(as_windows.socket)


def test_without_inherited_locks_one_that_is_starting_is_not_started_twice(
    as_windows: Place, startable: World, tmp_path: Path
):
    Path(startable.home, "slow").touch()
    start = lambda: client.start(as_windows, sys.executable, str(tmp_path / "site"))  # noqa: E731
    assert [start(), start(), start()] == [client.BEGUN, client.UNDER_WAY, client.UNDER_WAY]
    wait(startable, client.STARTING_S)
    assert start() == client.BEGUN


def test_a_job_that_holds_its_processes_is_no_obstacle(
    as_windows: Place, monkeypatch: pytest.MonkeyPatch
):
    asked: list[int] = []

    class Popen:
        returncode: int | None = None

        def __init__(self, _command: object, *, creationflags: int, **_: object) -> None:
            asked.append(creationflags)
            if creationflags & 1:
                raise PermissionError(errno.EACCES, "Access is denied")

    monkeypatch.setattr(subprocess, "Popen", Popen)
    monkeypatch.setattr(client, "_OUTSIDE_JOB", 1)
    monkeypatch.setattr(client, "_DETACHED", 2)

    assert client.start(as_windows, sys.executable, "") == client.BEGUN
    assert asked == [3, 2]
