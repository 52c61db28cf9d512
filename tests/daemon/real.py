"""Real daemons for tests: started as hooks start them, found in the system's list of processes, ended at the end."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from recollect.base.paths import Home
from recollect.daemon import control
from recollect.wire import client, stub
from recollect.wire.place import Place, connect, find_place

LINUX = sys.platform == "linux"
# Newer Pythons warn of a fork beside threads, which the test runner has; what a hook forks from has none.
FORKS = pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")


PATIENCE_S = 60  # Whether, not how fast: as long as no machine needs, however much it does beside


def soon(holds: Callable[[], Any], within_s: float = PATIENCE_S) -> bool:
    until_s = time.monotonic() + within_s
    while not holds() and time.monotonic() < until_s:
        time.sleep(0.01)
    return bool(holds())


def begin_first(monkeypatch: pytest.MonkeyPatch, has_begun: Callable[[], bool]) -> None:
    """The time of a program that this process starts is over no sooner than it has begun, however late that is."""

    class Begun(subprocess.Popen[bytes]):
        def __init__(self, *args: Any, **options: Any) -> None:
            super().__init__(*args, **options)
            assert soon(has_begun)

    monkeypatch.setattr(subprocess, "Popen", Begun)


def alive_in(home: Path) -> list[int]:
    mark = f"RECOLLECT_HOME={home}".encode()
    found = []
    for entry in Path("/proc").iterdir():
        with suppress(OSError):
            if entry.name.isdigit() and mark in (entry / "environ").read_bytes().split(b"\0"):
                words = (entry / "cmdline").read_bytes()
                if b"recollect.daemon" in words or b"daemon\0run" in words:
                    found.append(int(entry.name))
    return found


def has_ended(pid: int) -> bool:
    """All of its threads have, so its files are closed. It is off the list above before that."""
    try:
        threads = os.listdir(f"/proc/{pid}/task")
        state = (
            Path(f"/proc/{pid}/stat")
            .read_text(encoding="ascii", errors="replace")
            .rpartition(")")[2]
            .split()[0]
        )
    except OSError:
        return True
    return len(threads) == 1 and state in "ZX"


def is_paused(pid: int) -> bool:
    """A signal that stops a process may reach it a moment later."""
    state = Path(f"/proc/{pid}/stat").read_text(encoding="ascii", errors="replace")
    return state.rpartition(")")[2].split()[0] == "T"


class House:
    """A home with at most one daemon."""

    def __init__(self, folder: Path, environ: Mapping[str, str]) -> None:
        self.home = Home(folder)
        self.home.prepare()
        self.place: Place = find_place(str(folder), environ)

    def start(self, within_s: float = PATIENCE_S) -> int:
        """As `recollect daemon start` does."""
        client.forget_starts(self.place)
        assert client.ensure_daemon(
            self.place, sys.executable, stub.PACKAGE, time.monotonic() + within_s
        )
        return int(self.status()["pid"])

    def status(self) -> dict[str, Any]:
        """What the daemon says of itself. One that a hook has begun to start is waited for: the hook did not."""
        answers: list[dict[str, Any]] = []

        def is_answered() -> bool:
            told = control.status(self.place, PATIENCE_S)
            answers.extend([told] if told is not None else [])
            return told is not None

        assert soon(is_answered), self.log()
        return answers[-1]

    def ask(
        self, op: str, body: bytes = b"", timeout_s: float = PATIENCE_S, **header: str
    ) -> tuple[str, bytes]:
        return client.ask(self.place, {"op": op, **header}, body, timeout_s)

    def alive(self) -> list[int]:
        """Every daemon of this home that there is, whether it answers or not."""
        return alive_in(self.home.root)

    def is_gone(self) -> bool:
        """None is left, and nothing listens: a process that was killed is off the list before its socket is shut."""
        if self.alive():
            return False
        try:
            connect(self.place, 1).close()
        except OSError:
            return True
        return False

    def log(self) -> str:
        with suppress(OSError):
            return (self.home.logs / "recollect.log").read_text(encoding="utf-8")
        return ""

    def started(self) -> int:
        """How many daemons ever got as far as to serve."""
        return self.log().count(" daemon-started ")

    def end(self) -> None:
        for pid in self.alive():
            with suppress(OSError):
                os.kill(pid, signal.SIGKILL)
        assert soon(self.is_gone)
