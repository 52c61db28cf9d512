"""`recollect daemon`: start, status, stop, run."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.cli.run import run
from tests.daemon.real import FORKS, LINUX, House, soon

pytestmark = [pytest.mark.skipif(not LINUX, reason="looks at processes in /proc"), FORKS]


def test_without_one_status_says_so_and_stop_is_content(house: House):
    assert run("daemon", "status").code == 3
    assert run("daemon", "status", "--json").error["type"] == "NotFound"
    assert run("daemon", "stop", "--json").json == {"daemon": "not running"}
    assert house.alive() == []


def test_started_it_can_be_looked_at_and_stopped(house: House):
    started = run("daemon", "start", "--json")
    assert started.code == 0
    assert started.json["pid"] == house.alive()[0]
    assert run("daemon", "start", "--json").json["pid"] == started.json["pid"], "one is enough"
    assert f"process {started.json['pid']}" in run("daemon", "status").out
    assert "was stopped" in run("daemon", "stop").out
    assert soon(lambda: house.alive() == [])


def test_a_start_that_fails_says_why(house: House, monkeypatch: pytest.MonkeyPatch):
    """Where the socket would be is a folder that holds something: that is not ours to remove."""
    os.makedirs(f"{house.place.socket}/theirs", 0o700)
    os.chmod(house.place.runtime, 0o700)

    failed = run("daemon", "start")

    assert failed.code != 0
    assert "did not start: It cannot listen" in failed.err
    assert "No daemon is running; the last one said: It cannot listen" in run("daemon", "status").err


def test_status_says_that_restarts_were_many(house: House):
    house.start()
    now_s = time.monotonic()
    Path(house.place.spawn_lock).write_text(f"4 {now_s}\n")
    assert "4 in a row" in run("daemon", "status", "--json").json["restarts"]
    assert "restarts are slowed down" in run("daemon", "status").out


def test_in_the_foreground_it_serves_until_it_is_interrupted(house: House):
    with subprocess.Popen([sys.executable, "-m", "recollect", "daemon", "run"], stderr=subprocess.PIPE) as process:
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
