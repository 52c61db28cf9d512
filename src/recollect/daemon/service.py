"""The daemon put together: what each request asks for and who answers it, the jobs, and when it ends.

A hook's error is an answer too: `busy` where trying later helps, `error` otherwise (the hook's pointer then stays);
neither ever stops the agent. The texts of requests are not logged, only that something failed and where."""

from __future__ import annotations

import gc
import json
import os
import signal
import socket
import sys
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from recollect import __version__
from recollect.app.core import App
from recollect.base.clock import SystemClock
from recollect.base.errors import (
    BadInput,
    ModelLoading,
    RecollectError,
    StoreBusy,
    StoreFull,
    StoreTooNew,
)
from recollect.base.files import stamp
from recollect.base.installation import Installation
from recollect.base.paths import Home
from recollect.base.settings import load
from recollect.daemon.apps import Apps, Model
from recollect.daemon.socket_server import Answer, Request, Server, read_number
from recollect.daemon.spool import FOLDER, SpoolDrain, count_files, count_lost
from recollect.daemon.watchdog import Watchdog
from recollect.hooks.answer import Answer as HookAnswer
from recollect.hooks.answer import Hooks
from recollect.jobs.runner import JOBS, Job, Runner
from recollect.ops.hook_reply import sweep_old_answers
from recollect.wire import client, frame, lockfile
from recollect.wire.place import Place, is_usable

if TYPE_CHECKING:
    from recollect.ops.calls import Work

HOOK_NEEDS_S = 0.07  # of its deadline: for its own start, and to print the answer
_ONCE_S = 86_400
# How long a thread with work waits for the one that runs. A prompt is embedded beside the search by words, in many
# short steps; with the default of 5 ms each would wait for the search.
_SWITCH_S = 0.0002


class Service:
    def __init__(
        self,
        home: Home,
        user_home: Path,
        place: Place,
        listener: socket.socket,
        token: str,
        lock: int,
        installation: Installation,
    ) -> None:
        self._home = home
        self._installation = installation
        self._place = place
        self._lock = lock
        self._clock = SystemClock()
        self._began_s = self._last_request_s = (
            time.monotonic()
        )  # the second: when it was last needed
        self._began = self._clock.now()
        # Of no project, with the settings of the home alone: for the log, and for the model until a hook names another.
        own = App(
            home=home,
            project=None,
            settings=load(home.conf, None, {}),
            clock=self._clock,
            actor="daemon",
        )
        self._log = own.log
        self._model = Model(own.settings.text("MEMORY_EMBEDDING_MODEL"), home.embedding_key)
        self._apps = Apps(home, user_home, self._clock, self._model)
        self._hooks = Hooks(self._apps.app_for_hook, place.recalls, self._clock, own=self._apps.own)
        self._too_new = ""  # why writes were refused, for `doctor`
        self._works: dict[str, Work] = {}  # by the name that the client gave its call
        self._spool = SpoolDrain(place, self._hooks, self._log, self._refuse_too_new)
        self._server = Server(place, listener, token, self._answer, self._report_failure)
        self._name = place.entry
        self._socket_stamp = stamp(self._name)
        jobs = [job for job in JOBS if job.every_s]
        quick = [
            Job("model", self._model.load, 2),
            Job("language", _load_language, _ONCE_S),
            Job("warm", self._apps.warm_one, 2),
            Job("spool", self._spool.receive_some, 5, light=True),
            Job("tidy", self._tidy, 60, light=True),
            Job("begin", self._begin, _ONCE_S, light=True),
            *(job for job in jobs if not (job.model or job.remote)),
        ]
        slow = [job for job in jobs if job.model], [job for job in jobs if job.remote]
        self._jobs = Runner(quick, self._apps, self._is_asked, self._log)
        self._watchdog = Watchdog(home.hang_report, self._jobs.step_s)
        self._slow_jobs = [Runner(some, self._apps, self._is_asked, self._log) for some in slow]

    def run(self, stop_listening: Callable[[], None]) -> None:
        sys.setswitchinterval(_SWITCH_S)
        for number in (signal.SIGTERM, signal.SIGINT, getattr(signal, "SIGHUP", signal.SIGTERM)):
            signal.signal(number, lambda got, _frame: self._server.stop(signal.Signals(got).name))
        with suppress(OSError):
            client.announce(self._place, os.getpid(), __version__)
        self._watchdog.start()
        self._jobs.start()
        for slow in self._slow_jobs:
            slow.start()
        reason = self._server.serve(self._shutdown_reason, stop_listening)
        self._log.line("daemon-ended", pid=os.getpid(), why=reason)
        self._watchdog.stop()
        self._jobs.stop(0.4)
        for slow in self._slow_jobs:
            slow.stop(
                0.0
            )  # the model it waits for ends with this process, the line to the team, too
        self._apps.close()

    def _shutdown_reason(self) -> str:
        """Why to end now; empty: no reason. The next hook starts a daemon of the code that is installed then."""
        if not lockfile.is_same_file(self._place.lock, self._lock):
            return "its home is gone or was replaced"
        if not os.access(self._home.root, os.W_OK | os.X_OK):
            return "its home cannot be written"
        if self._installation.has_changed():
            return "its installation changed"
        if stamp(self._name) != self._socket_stamp:
            return "its socket was removed or replaced"
        if not is_usable(os.path.dirname(self._name)):
            return "its runtime folder is no longer private"  # no hook speaks to it any more
        idle_s = load(self._home.conf, None, {}).figure("MEMORY_DAEMON_IDLE_MINUTES") * 60
        return "idle" if time.monotonic() - self._last_request_s >= idle_s else ""

    def _answer(self, request: Request) -> Answer:
        header = request.header
        op = header.get("op", "hook")
        is_event = op in ("hook", "ask")
        # A newer hook is served by a daemon of its own version. Not the other way round: two would retire each other.
        is_newer = is_event and client.is_newer(header.get("version", ""), than=__version__)
        if is_newer or read_number(header, "protocol") > frame.PROTOCOL:
            self._server.stop("a newer version takes over")
            return Answer(frame.RETIRING)
        if is_event:  # a look at its status does not keep it alive
            self._last_request_s = time.monotonic()
        try:
            match op:
                case "hook":
                    return self._answer_hook(request)
                case "ask":
                    return self._run_operation(request)
                case "progress":
                    work = self._works.get(header.get("name", ""))
                    return Answer(
                        frame.OK, json.dumps([work.done, work.total] if work else [0, 0]).encode()
                    )
                case "cancel":
                    if work := self._works.get(header.get("name", "")):
                        work.is_cancelled = True
                    return Answer(frame.OK)
                case "status":
                    return Answer(frame.OK, json.dumps(self._status()).encode())
                case "stop":
                    self._server.stop("stop requested")
                    return Answer(frame.OK)
                case _:
                    return Answer(frame.ERROR, b"There is no such request.")
        finally:
            self._jobs.first_answer_given.set()

    def _answer_hook(self, request: Request) -> Answer:
        header = request.header
        host, event, cwd = (header.get(name, "") for name in ("host", "event", "cwd"))
        most_s, size = (
            read_number(header, "patience_ms") / 1_000,
            read_number(header, "transcript_bytes"),
        )
        by_s = request.until_s - HOOK_NEEDS_S

        def wait(wanted_s: float) -> float:
            """For a hook that was installed to wait: when the answer must be ready; 0: no later than usual."""
            seconds = min(wanted_s, most_s)
            until_s = time.monotonic() + seconds - HOOK_NEEDS_S
            return until_s if seconds > HOOK_NEEDS_S and request.wait(seconds) else 0.0

        # Where a pointer stands for the event until it is written, the answer need not wait for that.
        pointer = os.path.basename(header.get("pointer", ""))
        reply = partial(request.reply, frame.OK) if pointer else lambda _stdout: None
        try:
            answer = self._hooks.answer(
                host, event, request.body, _environ(header), cwd, by_s, wait, size, reply
            )
        except BadInput:
            answer = HookAnswer()  # not an event that we can read: nothing to keep
        except (StoreBusy, StoreFull) as problem:
            self._log.line("hook-busy", hook=event, problem=type(problem).__name__)
            return Answer(frame.BUSY)
        except StoreTooNew as problem:
            return self._refuse_too_new(problem) or Answer(frame.ERROR)
        except RecollectError as problem:
            self._log.line("hook-failed", hook=event, problem=problem.message)
            return Answer(frame.ERROR)
        if pointer and answer.is_kept:
            self._spool.remove(pointer)
        return Answer(frame.OK if answer.is_kept else frame.UNKEPT, answer.stdout, answer.after)

    def _run_operation(self, request: Request) -> Answer:
        from recollect.ops import calls, trial  # no hook needs them

        header, environ = request.header, _environ(request.header)
        name, work = header.get("name", ""), calls.Work()
        self._works[name] = work
        try:
            call = calls.parse_call(request.body)
            take_app = self._apps.own if call.takes_long else self._apps.app
            while True:
                try:
                    with take_app(
                        environ.get(frame.PROJECT_VARIABLE, ""), header.get("cwd", ""), environ
                    ) as app:
                        if call.takes_long:
                            trial.check_model(app)
                        return Answer(frame.OK, calls.run_call(app, call, work))
                except (StoreBusy, ModelLoading):
                    # Apps of the daemon wait for other writers no longer than a hook can, and for the model not at all;
                    # a command or an MCP client can wait.
                    if time.monotonic() >= request.until_s or work.is_cancelled:
                        raise
                    time.sleep(0.02)
        except StoreTooNew as problem:
            answer = self._refuse_too_new(problem)
            return answer or Answer(frame.ERROR, calls.encode_error(problem))
        except RecollectError as problem:
            return Answer(frame.ERROR, calls.encode_error(problem))
        finally:
            self._works.pop(name, None)

    def _refuse_too_new(self, problem: StoreTooNew) -> Answer | None:
        """A newer Recollect wrote a store. Where one took over while this process ran, it retires: the client's next
        try starts the program that is installed now. Otherwise (None) that one is as old as this: the other projects
        are still served, and `doctor` says what is wrong."""
        self._too_new = problem.message
        self._log.line("too-new", problem=problem.message)
        if not (self._apps.was_overtaken or self._installation.has_changed()):
            return None
        self._server.stop("a newer version wrote a store")
        return Answer(frame.RETIRING)

    def _report_failure(self, problem: Exception) -> None:
        """The text of an unforeseen error may quote a prompt; its type and place cannot."""
        import traceback

        where = traceback.extract_tb(problem.__traceback__)[-1]
        at = f"{os.path.basename(where.filename)}:{where.lineno}"
        self._log.line("daemon-failed", problem=type(problem).__name__, at=at)

    def _status(self) -> dict[str, object]:
        now_s = time.monotonic()
        memory_mb = None
        if sys.platform == "linux":
            pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
            memory_mb = round(pages * os.sysconf("SC_PAGE_SIZE") / 1e6, 1)
        return {
            "pid": os.getpid(),
            "version": __version__,
            "protocol": frame.PROTOCOL,
            "home": str(self._home.root),
            "socket": self._place.entry,
            "started_at": self._began.iso(),
            "uptime_s": round(now_s - self._began_s, 1),
            "idle_s": round(now_s - self._last_request_s, 1),
            "too_new": self._too_new,
            "upgraded": self._installation.has_changed(),
            "model": self._model.state,
            "spooled": count_files(self._place.spool + FOLDER),
            "unanswered": self._spool.received,
            "lost": count_lost(self._place) + self._spool.lost,
            "projects": [{"name": name, "warm": warm} for name, warm in self._apps.names()],
            **self._server.counters,
            "late_because": self._server.late_because,
            "connections": self._server.connections,
            "memory_mb": memory_mb,
            "descriptors": count_files("/dev/fd"),
        }

    def _is_asked(self) -> bool:
        """Hooks come in bursts: a prompt, then tools."""
        return self._server.active > 0 or time.monotonic() - self._last_request_s < 0.25

    def _tidy(self) -> None:
        self._apps.close_unused()
        sweep_old_answers(Path(self._place.recalls), self._clock.now())

    def _begin(self) -> None:
        """After an upgrade the agents' script is still the old one. Where none is installed, none is made."""
        gc.freeze()  # what is loaded by now stays
        gc.enable()  # the process that started us had put it off (wire/client.py)
        self._log.line("daemon-started", pid=os.getpid(), version=__version__)
        from recollect.wire import stub  # no answer waits for it

        root = str(self._home.root)
        if os.path.exists(stub.script_path(root)) and not stub.is_current(root, sys.executable):
            stub.write_hook(root, sys.executable)
            self._log.line("hook-renewed", version=__version__)


def _load_language() -> None:
    from recollect.app import rule_keeping  # no first answer waits for it

    rule_keeping.load_english()


def _environ(header: Mapping[str, str]) -> dict[str, str]:
    return {name[4:]: value for name, value in header.items() if name.startswith("env-")}
