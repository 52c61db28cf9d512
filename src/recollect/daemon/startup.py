"""Runs a daemon, from the lock to the last answer.

Order matters. The lock first: whoever has it may replace the socket. Then the socket, before anything large is loaded:
hooks that connect meanwhile wait. At the end the socket's name goes first, so that nobody new comes, and the lock last.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Mapping
from contextlib import suppress
from typing import NoReturn

from recollect.base.errors import HomeRefused
from recollect.base.ids import fresh_key
from recollect.base.installation import Installation
from recollect.base.paths import Home, home, user_home
from recollect.base.settings import environment
from recollect.wire import client, lockfile
from recollect.wire.place import Place, connect, find_place, listen, remove_socket

_END_WITHIN_S = 1.9


def main() -> NoReturn:
    """What hooks start."""
    code = run_daemon(environment())
    sys.stderr.flush()
    os._exit(code)  # at once: nobody waits for threads that still wait for something


def run_daemon(environ: Mapping[str, str]) -> int:
    """Serves until there is a reason to end; the exit code."""
    os.umask(0o077)
    os.chdir("/")  # no folder is kept from being removed or unmounted
    if sys.platform != "win32":
        import resource

        with suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # prompts are in memory
    place: Place | None = None
    try:
        ours = Home(home(environ))
        user = user_home(environ)
        place = find_place(str(ours.root), environ)
        ours.prepare()
        until_s = (
            time.monotonic() + 3.0
        )  # one that is ending holds the lock for two seconds at most
        while (
            (lock := lockfile.acquire(place.lock)) is None
            and time.monotonic() < until_s
            and not _answers(place)
        ):
            time.sleep(0.02)
        if lock is None:  # another one answers, or does not let go
            return _report_failure("Another daemon serves this home already.", 0)
        token = fresh_key() + fresh_key()
        listener = listen(place, token)
    except HomeRefused as problem:
        return _report_failure(f"{problem.message} {problem.hint}", problem.exit_code, place)
    except OSError as problem:
        return _report_failure(f"It cannot listen: {problem}", 1, place)
    socket = _find_socket(place)
    installation = Installation()  # before the rest of the program is loaded from there
    try:
        from recollect.daemon.service import Service

        Service(ours, user, place, listener, token, lock, installation).run(
            stop_listening=lambda: _stop_listening(place, socket)
        )
        client.forget_starts(place)  # it ended in good order
    except Exception as problem:  # noqa: BLE001 the outermost edge: half an upgrade can raise anything
        _stop_listening(place, socket)
        return _report_failure(f"It cannot go on: {type(problem).__name__}: {problem}", 1, place)
    finally:
        lockfile.release(lock)
    return 0


def _answers(place: Place) -> bool:
    with suppress(OSError):
        connect(place, 0.1).close()
        return True
    return False


def _find_socket(place: Place) -> tuple[int, int] | None:
    with suppress(OSError):
        found = os.lstat(place.entry)
        return found.st_dev, found.st_ino
    return None


def _stop_listening(place: Place, ours: tuple[int, int] | None) -> None:
    import threading

    # Only while it is ours: after a home was replaced it may be another daemon's.
    if ours is not None and _find_socket(place) == ours:
        remove_socket(place)
    # Whatever hangs now, the process does not: what was acknowledged is on the disk already.
    last_resort = threading.Timer(_END_WITHIN_S, os._exit, (0,))
    last_resort.daemon = True
    last_resort.start()


def _report_failure(message: str, code: int, place: Place | None = None) -> int:
    """Also where `doctor` finds it: nobody sees what a background process prints."""
    if place is not None:
        client.keep_failure(place, message)
    with suppress(OSError, ValueError):
        sys.stderr.write(f"recollect: {message}\n")
    return code
