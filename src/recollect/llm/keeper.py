"""Runs between us and a program, so that no process is left behind: `keeper.py LIFELINE PROGRAM ARG…`, a script of its
own with the standard library alone. When the lifeline closes (its caller closed it or died) and when the program ends,
everything that the program started is killed; on Linux also what left its group or its parent: orphans become children
of the keeper. If the keeper is killed, the kernel kills the program.
"""

from __future__ import annotations

import os
import select
import signal
import sys
import time
from contextlib import suppress

_SET_DEATH_SIGNAL, _SET_SUBREAPER = 1, 36
_SWEEP_S = 5.0
_PROC = "/proc"
_NOT_FOUND, _NOT_ALLOWED = 127, 126


def main() -> int:
    lifeline, argv = int(sys.argv[1]), sys.argv[2:]
    _prctl(_SET_SUBREAPER, 1)
    woken, wake = os.pipe()
    os.set_blocking(wake, False)
    signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    program = _start(argv, lifeline)
    status = None
    while status is None:
        ready, _, _ = select.select([lifeline, woken], [], [])
        if lifeline in ready:
            break
        os.read(woken, 100)
        status = _exit_code(program)
    _sweep(program)
    return 128 + signal.SIGKILL if status is None else status


def _start(argv: list[str], lifeline: int) -> int:
    keeper = os.getpid()
    program = os.fork()  # one thread, nothing loaded: safe here
    if program:
        return program
    code = 1
    try:
        os.setsid()
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)
        _prctl(_SET_DEATH_SIGNAL, signal.SIGKILL)
        if os.getppid() == keeper:
            os.close(lifeline)
            os.execv(argv[0], argv)  # noqa: S606 no shell is what is wanted
    except OSError as problem:
        code = _NOT_FOUND if isinstance(problem, FileNotFoundError) else _NOT_ALLOWED
    os._exit(code)


def _exit_code(program: int) -> int | None:
    """Of the program; None while it runs. Every other child that has ended is waited for on the way."""
    pid = status = -1
    with suppress(ChildProcessError):
        while pid not in (0, program):
            pid, status = os.waitpid(-1, os.WNOHANG)
    code = os.waitstatus_to_exitcode(status) if pid == program else 0
    return None if pid != program else code if code >= 0 else 128 - code


def _sweep(program: int) -> None:
    """Kill until nobody is left: the children of whoever is killed become ours."""
    deadline_s = time.monotonic() + _SWEEP_S
    while time.monotonic() < deadline_s:
        for pid in _children():
            with suppress(OSError):
                os.kill(pid, signal.SIGKILL)
        if not os.path.exists(_PROC):
            with suppress(OSError):
                os.killpg(program, signal.SIGKILL)
        try:
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        except ChildProcessError:
            return  # no child, no orphan
        time.sleep(0.002)


def _children() -> list[int]:
    """Orphans included. Without /proc there are none, and the process group has to do."""
    found = []
    for name in os.listdir(_PROC) if os.path.exists(_PROC) else ():
        with suppress(OSError, ValueError, IndexError), open(f"{_PROC}/{name}/stat", "rb") as file:
            if int(file.read(4_096).rpartition(b")")[2].split()[1]) == os.getpid():
                found.append(int(name))
    return found


def _prctl(option: int, value: int) -> None:
    """Linux alone; elsewhere the lifeline and the process group have to do."""
    if not sys.platform.startswith("linux"):
        return
    with suppress(ImportError, OSError, AttributeError):
        import ctypes

        ctypes.CDLL(None).prctl(option, value, 0, 0, 0)


if __name__ == "__main__":
    sys.exit(main())
