"""The parts of a daemon, put together: the server, the jobs, and when it ends."""

from __future__ import annotations

import gc
import os
import signal
import socket
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import recollect
from recollect import __version__
from recollect.app.core import App
from recollect.base.clock import SystemClock
from recollect.base.files import Stamp, stamp
from recollect.base.paths import Home
from recollect.base.settings import load
from recollect.daemon.apps import Apps
from recollect.daemon.model_loader import Model
from recollect.daemon.requests import RequestHandler
from recollect.daemon.socket_server import Answer, Request, Server
from recollect.daemon.spool import FOLDER, SpoolDrain, count_files, count_lost
from recollect.hooks.answer import Hooks
from recollect.jobs.job_table import JOBS, Job
from recollect.jobs.runner import Runner
from recollect.ops.hook_reply import sweep_old_answers
from recollect.wire import client, lockfile
from recollect.wire.frame import PROTOCOL
from recollect.wire.place import Place, is_usable

IDLE_SETTING = "MEMORY_DAEMON_IDLE_MINUTES"
_ONCE_S = 86_400
_QUIET_S = 0.25
_JOBS_STOP_WITHIN_S = 0.4
# How long a thread with work waits for the one that runs; the default of 5 ms is felt in a hook.
_SWITCH_S = 0.001


class Service:
    def __init__(
        self, home: Home, user_home: Path, place: Place, listener: socket.socket, token: str, lock: int
    ) -> None:
        self._home = home
        self._place = place
        self._lock = lock
        self._clock = SystemClock()
        self._began_s = time.monotonic()
        self._began = self._clock.now()
        # For logs: of no project, with the settings of the home alone.
        own = App(home=home, project=None, settings=load(home.conf, None, {}), clock=self._clock, actor="daemon")
        self._log = own.log
        self._model = Model(own.settings.text("MEMORY_EMBEDDING_MODEL"), home.embedding_key)
        self._apps = Apps(home, user_home, self._clock, self._model)
        hooks = Hooks(self._apps.app, place.recalls, self._clock, own=self._apps.own)
        self._spool = SpoolDrain(place, hooks, self._log)
        self._requests = RequestHandler(
            self._apps, hooks, self._log, stop=lambda reason: self._server.stop(reason), status=self.status
        )
        self._server = Server(place, listener, token, self._answer, self._requests.report_failure)
        self._name = place.address if place.tcp else place.socket
        self._stamps = self._read_stamps()
        jobs = [job for job in JOBS if job.every_s]
        quick = [*self._own_jobs(), *(job for job in jobs if not job.model)]
        slow = [job for job in jobs if job.model]
        self._jobs = Runner(quick, self._apps, self._is_asked, self._log)
        self._slow_jobs = Runner(slow, self._apps, self._is_asked, self._log)

    def run(self, stop_listening: Callable[[], None]) -> None:
        sys.setswitchinterval(_SWITCH_S)
        for number in (signal.SIGTERM, signal.SIGINT, getattr(signal, "SIGHUP", signal.SIGTERM)):
            signal.signal(number, lambda got, _frame: self._server.stop(signal.Signals(got).name))
        with suppress(OSError):
            client.announce(self._place, os.getpid(), __version__)
        self._jobs.start()
        self._slow_jobs.start()
        reason = self._server.serve(self._shutdown_reason, stop_listening)
        self._log.line("daemon-ended", pid=os.getpid(), why=reason)
        self._jobs.stop(_JOBS_STOP_WITHIN_S)
        self._slow_jobs.stop(0.0)  # the model it waits for ends with this process
        self._apps.close()

    def _answer(self, request: Request) -> Answer:
        try:
            return self._requests.answer(request)
        finally:
            self._jobs.first_answer_given.set()

    def status(self) -> dict[str, object]:
        now_s = time.monotonic()
        return {
            "pid": os.getpid(),
            "version": __version__,
            "protocol": PROTOCOL,
            "home": str(self._home.root),
            "socket": self._place.socket,
            "started_at": self._began.iso(),
            "uptime_s": round(now_s - self._began_s, 1),
            "idle_s": round(now_s - self._requests.last_request_s, 1),
            "model": self._model.state,
            "spooled": count_files(self._place.spool + FOLDER),
            "unanswered": self._spool.received,
            "lost": count_lost(self._place) + self._spool.lost,
            "projects": [{"name": name, "warm": warm} for name, warm in self._apps.names()],
            **self._server.counters,
            "late_because": self._server.late_because,
            "connections": self._server.connections,
            "memory_mb": _memory_mb(),
            "descriptors": count_files("/dev/fd"),
        }

    def _is_asked(self) -> bool:
        """Hooks come in bursts: a prompt, then tools."""
        return self._server.active > 0 or time.monotonic() - self._requests.last_request_s < _QUIET_S

    def _shutdown_reason(self) -> str:
        """Why to end now; empty: no reason. It never restarts itself: the next hook starts a daemon of the code that is
        installed then. A few system calls."""
        if not lockfile.is_same_file(self._place.lock, self._lock):
            return "its home is gone or was replaced"
        if not os.access(self._home.root, os.W_OK | os.X_OK):
            return "its home cannot be written"
        code, name = self._read_stamps()
        if code != self._stamps[0]:
            return "its installation changed"
        if name != self._stamps[1]:
            return "its socket was removed or replaced"
        if not is_usable(os.path.dirname(self._name)):
            return "its runtime folder is no longer private"  # no hook speaks to it any more
        idle_s = load(self._home.conf, None, {}).figure(IDLE_SETTING) * 60
        return "idle" if time.monotonic() - self._requests.last_request_s >= idle_s else ""

    def _read_stamps(self) -> tuple[Stamp | None, Stamp | None]:
        """Of the package's first file, which an install, upgrade or uninstall writes or removes, and of the socket."""
        return stamp(recollect.__file__), stamp(self._name)

    # Jobs of the process itself

    def _own_jobs(self) -> list[Job]:
        return [
            Job("model", self._model.load, 2),
            Job("language", _load_language, _ONCE_S),
            Job("warm", self._apps.warm_one, 2),
            Job("spool", self._spool.receive_some, 5, light=True),
            Job("tidy", self._tidy, 60, light=True),
            Job("begin", self._begin, _ONCE_S, light=True),
        ]

    def _tidy(self) -> bool:
        self._apps.close_unused()
        sweep_old_answers(Path(self._place.recalls), self._clock.now())
        return False

    def _begin(self) -> bool:
        """After an upgrade the agents' script is still the old one. Where none is installed, none is made."""
        gc.freeze()  # what is loaded by now stays
        gc.enable()  # the process that started us had put it off (wire/client.py)
        self._log.line("daemon-started", pid=os.getpid(), version=__version__)
        from recollect.wire import stub  # no answer waits for it

        root = str(self._home.root)
        if os.path.exists(stub.script_path(root)) and not stub.is_current(root, sys.executable):
            stub.write_hook(root, sys.executable)
            self._log.line("hook-renewed", version=__version__)
        return False


def _load_language() -> bool:
    from recollect.app import rule_keeping  # no first answer waits for it

    rule_keeping.load_english()
    return False


def _memory_mb() -> float | None:
    if sys.platform != "linux":
        return None
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return round(pages * os.sysconf("SC_PAGE_SIZE") / 1e6, 1)
