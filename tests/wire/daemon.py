"""A daemon for tests of starting one: the real locks, socket and frames, and an answer that says what it is like.

Written into a package of its own, where `wire` is the real one (`make_package`).
"""

from __future__ import annotations

import json
import os
import signal
from contextlib import suppress
from pathlib import Path

from recollect.wire import stub
from tests.daemon.real import has_ended, soon

_MAIN = """
import fcntl, json, os, sys, time
from recollect.wire import frame, transport
from recollect.wire.place import find_place

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
token = "t" * transport.TOKEN_CHARS
server = transport.listen(place, token)
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
            line.sendall(transport.prove(line.recv(transport.SHOWN_CHARS), token))
        frame.read_request(line.recv)
        line.sendall(frame.encode_reply(frame.OK, json.dumps(said).encode()))
        line.recv(1)
    except (OSError, frame.BadFrame):
        pass
    line.close()
"""


def make_package(folder: Path) -> str:
    """A folder that holds a package `recollect` with this daemon."""
    package = folder / "site"
    (package / "recollect" / "daemon").mkdir(parents=True)
    (package / "recollect" / "__init__.py").write_text("")
    (package / "recollect" / "wire").symlink_to(Path(stub.PACKAGE, "recollect", "wire"))
    (package / "recollect" / "daemon" / "__init__.py").write_text("")
    (package / "recollect" / "daemon" / "startup.py").write_text(_MAIN)
    return str(package)


def pids(home: str, what: str) -> list[int]:
    """Which processes were `started`, and which became the daemon (`alive`)."""
    path = Path(home, what)
    return [int(line) for line in path.read_text().split()] if path.exists() else []


def end(home: str) -> None:
    """Kill those that a test started, and wait until they are gone."""
    for pid in pids(home, "started"):
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    assert soon(lambda: all(map(has_ended, pids(home, "started"))))


def parse(out: bytes) -> dict[str, object]:
    said = json.loads(out)
    assert isinstance(said, dict)
    return said
