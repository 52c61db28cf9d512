"""Faults of other processes: a hook that is killed while it spools, and a stranger at the socket."""

from __future__ import annotations

import os
import random
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path

from recollect.bench.fault import Call, Unable, plain, prompt
from recollect.bench.house import PROMPT, House
from recollect.wire import frame, stub
from recollect.wire.place import make_private

_LONGEST_BEFORE_KILL_S = 0.15
_NOBODY = 65_534
IMPOSTOR = b"from a stranger"  # no JSON, so that it would count as malformed


@contextmanager
def spooler_killed(house: House) -> Iterator[Call]:
    """Before each run another hook, which finds no daemon, is killed at some instant: before it leaves its pointer, in
    the midst of it, or after. The next one must not mind, and no half of a pointer may ever count."""
    chance = random.Random(1)

    def before(number: int) -> None:
        house.kill()
        _killed(house, prompt(house, -1 - number), chance.uniform(0, _LONGEST_BEFORE_KILL_S))

    yield replace(plain(house), before=before)


def _killed(house: House, body: bytes, after_s: float) -> None:
    command = [stub.script_path(str(house.home.root)), PROMPT]
    with subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env=house.environ,
        cwd=house.project,
        start_new_session=True,  # the script and its Python are killed together, the daemon that they began is not
    ) as process:
        with suppress(BrokenPipeError):
            _say(process, body)
        time.sleep(after_s)
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)


def _say(process: subprocess.Popen[bytes], body: bytes) -> None:
    if process.stdin is not None:
        process.stdin.write(body)
        process.stdin.close()


@contextmanager
def stranger_at_the_socket(house: House) -> Iterator[Call]:
    """The runtime folder and the socket in it are another user's, who answers. Nothing of that may be printed."""
    if os.geteuid() != 0:
        raise Unable("only root can give a folder away")
    runtime, path = Path(house.place.runtime), Path(house.place.socket)
    make_private(str(runtime))
    path.unlink(missing_ok=True)
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listener:
        listener.bind(str(path))
        listener.listen()
        for given_away in (path, runtime):
            os.chown(given_away, _NOBODY, _NOBODY)
        thread = threading.Thread(target=_answer_all, args=(listener,), daemon=True)
        thread.start()
        try:
            yield plain(house)
        finally:
            listener.shutdown(socket.SHUT_RDWR)
            thread.join()
            os.chown(runtime, os.geteuid(), os.getegid())
            path.unlink()


def _answer_all(listener: socket.socket) -> None:
    while True:
        try:
            line, _ = listener.accept()
        except OSError:
            return
        with line, suppress(OSError):
            line.recv(65_536)
            line.sendall(frame.encode_reply(frame.OK, IMPOSTOR))
