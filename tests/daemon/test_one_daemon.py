"""There is one daemon to a home, however many ask for it at once and however the last one ended; `recollect daemon`."""

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path

import pytest

import recollect
from recollect.daemon import control
from recollect.integrations import agent_pieces
from recollect.wire import client, lockfile, stub
from recollect.wire.place import expected_runtime, find_place
from tests.cli.run import run
from tests.daemon.real import FORKS, LINUX, PATIENCE_S, House, is_paused, soon
from tests.wire.test_place import squat

pytestmark = [pytest.mark.skipif(not LINUX, reason="counts processes in /proc"), FORKS]


def herd(house: House, size: int) -> None:
    """So many hooks at the same moment, each a process that may start the daemon."""
    stub.write_hook(str(house.home.root), sys.executable)
    script = stub.script_path(str(house.home.root))
    command = [script, "claude-code", "SessionEnd", "--deadline-ms", str(PATIENCE_S * 1_000)]
    hooks = [
        subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        for _ in range(size)
    ]
    for hook in hooks:
        assert hook.stdin
        hook.stdin.close()  # only now do they go on
    for hook in hooks:
        assert hook.wait(PATIENCE_S) == 0
        assert hook.stdout
        hook.stdout.close()


def test_a_herd_of_fifty_first_hooks_starts_one_daemon(house: House):
    herd(house, 50)
    assert len(house.alive()) == 1
    assert house.status()["pid"] == house.alive()[0]
    assert soon(house.started)
    assert house.started() == 1


def test_daemons_started_at_the_same_moment_leave_one(house: House):
    """Past every lock of the hooks': each is the daemon's own program."""
    code = "from recollect.base.settings import environment; from recollect.daemon.startup import run_daemon; "
    code += "import os; os._exit(run_daemon(environment()))"
    began = [subprocess.Popen([sys.executable, "-c", code, "recollect.daemon"], stderr=subprocess.DEVNULL)
             for _ in range(12)]  # fmt: skip

    assert soon(lambda: sum(one.poll() is None for one in began) == 1)
    assert {one.poll() for one in began} == {None, 0}
    (winner,) = [one for one in began if one.poll() is None]
    assert house.status()["pid"] == winner.pid == control.find_holder(house.place.lock)
    assert control.stop(house.place) is control.Ended.STOPPED
    assert winner.wait(PATIENCE_S) == 0


def test_after_a_kill_the_next_one_takes_over(house: House):
    pid = 0
    for _ in range(2):
        pid = house.start()
        os.kill(pid, signal.SIGKILL)
        assert soon(house.is_gone)
        assert os.path.exists(house.place.socket), "a stale socket is what this is about"

    assert house.start() != pid
    assert len(house.alive()) == 1


@pytest.mark.parametrize("left", ["a file", "a link"])
def test_whatever_stands_in_the_socket_s_place_is_replaced(house: House, left: str):
    os.makedirs(house.place.runtime, 0o700)
    path = Path(house.place.socket)
    path.symlink_to("/dev/null") if left == "a link" else path.write_text("not a socket")
    assert house.start()


ENDINGS: dict[str, tuple[Callable[[House, int], object], str]] = {
    "its socket is removed": (lambda house, pid: os.unlink(house.place.socket), ""),
    "its lock file is deleted": (
        lambda house, pid: os.unlink(house.place.lock),
        "gone or was replaced",
    ),
    "it is asked to stop": (lambda house, pid: house.ask("stop"), "stop requested"),
    "a newer version's hook comes": (
        lambda house, pid: house.ask("hook", b"{}", event="Stop", version="99.0.0"),
        "",
    ),
    "a newer protocol's hook comes": (
        lambda house, pid: house.ask("hook", b"{}", event="Stop", protocol="99"),
        "",
    ),
    "SIGTERM": (lambda house, pid: os.kill(pid, signal.SIGTERM), ""),
    "SIGHUP": (lambda house, pid: os.kill(pid, signal.SIGHUP), ""),
}


@pytest.mark.parametrize(("end", "says"), ENDINGS.values(), ids=ENDINGS)
def test_it_ends_in_good_order_and_the_next_one_serves(
    house: House, end: Callable[[House, int], object], says: str
):
    pid = house.start()

    answer = end(house, pid)

    assert answer in (None, ("ok", b""), ("retiring", b"")), "who asks is answered first"
    assert soon(house.is_gone)
    assert not os.path.exists(house.place.socket)
    assert says in house.log()
    second = house.start()
    assert second != pid
    assert house.alive() == [second]


def test_a_pid_in_a_file_that_is_another_s_by_now_is_neither_believed_nor_signalled(house: House):
    other = subprocess.Popen(["sleep", "60"])
    try:
        client.announce(house.place, other.pid, "0.0.0")
        Path(house.place.lock).write_text(str(other.pid))

        assert control.stop(house.place) is control.Ended.NOT_RUNNING
        assert house.start() != other.pid
        assert other.poll() is None
    finally:
        other.kill()
        other.wait()


def test_a_daemon_that_hangs_is_ended_by_proof_and_nobody_starts_a_second_meanwhile(
    house: House, monkeypatch: pytest.MonkeyPatch
):
    signal_holder = control._signal_holder

    def send(path: str, number: signal.Signals) -> bool:
        """What hangs is not waited for; that it is gone after a kill may take as long as it takes."""
        patience_s = PATIENCE_S if number == signal.SIGKILL else 0.1
        monkeypatch.setattr(control, "_END_WITHIN_S", patience_s)
        return signal_holder(path, number)

    monkeypatch.setattr(control, "_ANSWER_WITHIN_S", 0.2)
    monkeypatch.setattr(control, "_signal_holder", send)
    pid = house.start()
    os.kill(pid, signal.SIGSTOP)
    try:
        assert client.start(house.place, sys.executable, stub.PACKAGE) != client.BEGUN
        assert house.alive() == [pid]

        assert control.stop(house.place) is control.Ended.KILLED
    finally:
        if pid in house.alive():
            os.kill(pid, signal.SIGCONT)
    assert house.start() != pid


def test_at_rest_it_is_alone_private_and_small(house: House):
    pid = house.start()
    for task in os.listdir(f"/proc/{pid}/task"):
        with suppress(FileNotFoundError):  # a thread that has ended since
            assert not Path(f"/proc/{pid}/task/{task}/children").read_text().strip()
    limits = Path(f"/proc/{pid}/limits").read_text()
    assert [line.split()[4] for line in limits.splitlines() if line.startswith("Max core")] == ["0"]
    assert soon(house.started)
    for folder, _, files in os.walk(house.home.root):
        assert os.stat(folder).st_mode & 0o077 == 0
        assert not [name for name in files if os.stat(os.path.join(folder, name)).st_mode & 0o077]
    assert os.stat(house.place.socket).st_mode & 0o077 == 0
    assert not os.path.exists(stub.script_path(str(house.home.root))), (
        "where no hook is installed, none is made"
    )
    assert soon(lambda: house.status()["model"] == "ready")
    assert (house.status()["memory_mb"] < 200, house.status()["descriptors"] < 30) == (True, True)


def copied_package(folder: Path) -> Path:
    """A copy of the package, so that the one under test stays as it is."""
    source = Path(recollect.__file__).parent
    shutil.copytree(source, folder / "recollect", ignore=shutil.ignore_patterns("__pycache__"))
    return folder


def test_code_that_changed_ends_it(house: House, tmp_path: Path):
    package = copied_package(tmp_path / "site")
    assert client.ensure_daemon(
        house.place, sys.executable, str(package), time.monotonic() + PATIENCE_S
    )
    pid = house.status()["pid"]
    (package / "recollect" / "__init__.py").write_text('__version__ = "0.1.1"\n')
    assert soon(lambda: pid not in house.alive())
    assert "installation changed" in house.log()


def test_idle_or_without_its_home_it_ends_by_itself(house: House, tmp_path: Path):
    house.home.conf.write_text("MEMORY_DAEMON_IDLE_MINUTES=0.02\n")
    pid = house.start()
    assert soon(lambda: pid not in house.alive())
    assert "why=idle" in house.log()

    house.home.conf.unlink()
    before = house.started()
    pid = house.start()
    assert soon(lambda: house.started() > before)
    house.home.root.rename(tmp_path / "moved")
    assert soon(lambda: pid not in house.alive())
    assert not house.home.root.exists(), "and it makes no new one"


def test_another_version_s_hook_script_is_renewed(house: House):
    root = str(house.home.root)
    stub.write_hook(root, sys.executable)
    Path(stub.code_path(root)).write_bytes(b"old")
    house.start()
    assert soon(lambda: stub.is_current(root, sys.executable))


def test_a_package_that_is_half_there_is_tried_three_times_then_after_pauses_and_says_why(
    house: House, tmp_path: Path
):
    package = copied_package(tmp_path / "site")
    (package / "recollect" / "daemon" / "service.py").write_text("half a li")

    began = []
    for _ in range(6):
        began.append(client.start(house.place, sys.executable, str(package)) == client.BEGUN)
        assert soon(lambda: not lockfile.is_held(house.place.spawn_lock))

    assert began == [True, True, True, False, False, False]
    assert not os.path.exists(house.place.socket)
    assert "3 in a row" in client.explain_starts(house.place)
    assert "It cannot go on: SyntaxError" in client.explain_starts(house.place)
    spawn_again = partial(client.start, house.place, sys.executable, str(package))
    assert soon(lambda: client.read_starts(house.place).count > 3 or spawn_again() == client.BEGUN)
    assert soon(lambda: not lockfile.is_held(house.place.spawn_lock))


def test_a_runtime_folder_that_others_can_enter_is_left_for_another(house: House):
    pid = house.start()

    os.chmod(house.place.runtime, 0o755)

    assert soon(lambda: pid not in house.alive())
    assert "no longer private" in house.log()
    moved = find_place(str(house.home.root), os.environ)
    assert moved.runtime == f"{house.home.root}/run"
    assert client.ensure_daemon(moved, sys.executable, stub.PACKAGE, time.monotonic() + PATIENCE_S)


def test_a_home_whose_name_is_too_long_for_a_socket_is_served_by_loopback(
    tmp_path: Path, house: House
):
    long = tmp_path / ("n" * 120)
    environ = {**os.environ, "RECOLLECT_HOME": str(long)}
    squat(expected_runtime(str(long), environ), "a link")
    other = House(long, environ)

    try:
        assert other.start()
        assert other.place.tcp
        assert other.place.address == f"{long}/run/address"
    finally:
        other.end()


# `recollect daemon`: start, status, stop, run


def test_without_one_status_says_so_and_started_it_can_be_looked_at_and_stopped(house: House):
    assert run("daemon", "status").code == 3
    assert run("daemon", "status", "--json").error["type"] == "NotFound"
    assert run("daemon", "stop", "--json").json == {"daemon": "not running"}
    assert house.alive() == []
    started = run("daemon", "start", "--json")
    assert started.code == 0
    assert (started.json["pid"], client.read_starts(house.place).count) == (house.alive()[0], 1)
    assert run("daemon", "start", "--json").json["pid"] == started.json["pid"], "one is enough"
    assert f"process {started.json['pid']}" in run("daemon", "status").out
    assert "was stopped" in run("daemon", "stop").out
    assert soon(lambda: house.alive() == [])
    assert client.read_starts(house.place).count == 0, (
        "one that ended in good order is no reason to pause"
    )


def test_a_start_that_fails_says_why(house: House, monkeypatch: pytest.MonkeyPatch):
    """Where the socket would be is a folder that holds something: that is not ours to remove."""
    os.makedirs(f"{house.place.socket}/theirs", 0o700)
    os.chmod(house.place.runtime, 0o700)

    failed = run("daemon", "start")

    assert failed.code != 0
    assert "did not start: It cannot listen" in failed.err
    assert (
        "No daemon is running; the last one said: It cannot listen" in run("daemon", "status").err
    )


def test_one_that_hangs_is_not_said_to_be_gone(house: House):
    pid = house.start()
    os.kill(pid, signal.SIGSTOP)
    assert soon(lambda: is_paused(pid))

    told = run("daemon", "status")
    checked = agent_pieces._daemon(str(house.home.root))

    assert told.code != 0
    assert "A daemon is running, but does not answer." in told.err
    assert "`recollect daemon stop` ends it" in told.err
    assert checked.repair == "recollect daemon stop"


def test_status_says_that_restarts_were_many(house: House):
    house.start()
    Path(house.place.spawn_lock).write_text(f"4 {time.monotonic()}\n")
    assert "4 in a row" in run("daemon", "status", "--json").json["restarts"]
    assert "restarts are slowed down" in run("daemon", "status").out


def test_in_the_foreground_it_serves_until_it_is_interrupted(house: House):
    with subprocess.Popen(
        [sys.executable, "-m", "recollect", "daemon", "run"], stderr=subprocess.PIPE
    ) as process:
        try:
            assert soon(lambda: os.path.exists(house.place.socket))
            assert house.status()["pid"] == process.pid
            second = run("daemon", "run")
            assert (second.code, "Another daemon serves this home" in second.err) == (0, True)
            process.send_signal(signal.SIGINT)
            assert process.wait(60) == 0
            assert process.stderr
            assert process.stderr.read() == b""
        finally:
            process.kill()


def test_a_home_that_is_not_ours_is_refused(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("RECOLLECT_HOME", "/proc/nowhere")
    for command in (["daemon", "start"], ["daemon", "run"]):
        assert run(*command).code == 10, command
