"""Checks on the daemon and ends it, from another process.

It is asked first. One that holds the lock and does not answer is ended by a signal, and only the process that the
system itself names as the lock's holder: a pid from a file may belong to another by now."""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from contextlib import suppress
from enum import StrEnum
from pathlib import Path
from typing import Any

from recollect.wire import client, frame, lockfile
from recollect.wire.place import Place

_ANSWER_WITHIN_S = 2.0
_END_WITHIN_S = 3.0


class Ended(StrEnum):
    NOT_RUNNING = "not running"
    STOPPED = "stopped"
    KILLED = "killed"  # it did not answer
    ALIVE = "still alive"  # it does not answer, and which process it is cannot be proved


def status(place: Place, within_s: float = _ANSWER_WITHIN_S) -> dict[str, Any] | None:
    """What it says about itself; None where none answers."""
    try:
        kind, body = client.ask(place, {"op": "status"}, b"", within_s)
        answer = json.loads(body) if kind == frame.OK else None
    except (client.Unanswered, ValueError):
        return None
    return answer if isinstance(answer, dict) else None


def stop(place: Place) -> Ended:
    path = place.lock
    if not lockfile.is_held(path):
        return Ended.NOT_RUNNING
    with suppress(client.Unanswered):
        client.ask(place, {"op": "stop"}, b"", _ANSWER_WITHIN_S)
        if _is_free_soon(path):
            return Ended.STOPPED
    for number in (signal.SIGTERM, getattr(signal, "SIGKILL", signal.SIGTERM)):
        if not lockfile.is_held(path):
            return Ended.STOPPED
        if not _signal_holder(path, number):
            return Ended.ALIVE
        if _is_free_soon(path):
            return Ended.KILLED
    return Ended.ALIVE


def find_holder(path: str) -> int | None:
    """The process that has the lock, as the system reports it; None where nobody has it or the system cannot say."""
    if sys.platform != "linux":
        return None
    with suppress(OSError, ValueError):
        found = os.stat(path)
        file = f"{os.major(found.st_dev):02x}:{os.minor(found.st_dev):02x}:{found.st_ino}"
        locks = map(str.split, Path("/proc/locks").read_text(encoding="ascii").splitlines())
        return next((int(lock[4]) for lock in locks if (lock[1], lock[5]) == ("FLOCK", file)), None)
    return None


def _signal_holder(path: str, number: signal.Signals) -> bool:
    """Through a descriptor of the process, so that it cannot become another one between the check and the signal."""
    pid = find_holder(path)
    if sys.platform != "linux" or pid is None:
        return False
    with suppress(OSError):
        process = os.pidfd_open(pid)
        try:
            if find_holder(path) == pid:
                signal.pidfd_send_signal(process, number)
                return True
        finally:
            os.close(process)
    return False


def _is_free_soon(path: str) -> bool:
    until_s = time.monotonic() + _END_WITHIN_S
    while (is_held := lockfile.is_held(path)) and time.monotonic() < until_s:
        time.sleep(0.02)
    return not is_held
