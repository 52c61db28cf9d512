"""The parts of a daemon, put together: who answers, who does chores, and when it is over."""

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

from recollect import __version__
from recollect.base.clock import SystemClock
from recollect.base.errors import RecollectError
from recollect.base.paths import Home
from recollect.base.settings import load
from recollect.daemon.ageing import Ageing
from recollect.daemon.apps import Apps
from recollect.daemon.chores import BEAT_S, SPOOL_S, TIDY_S, Chore, Chores, Digests, Spooled, Vectors
from recollect.daemon.desk import Desk
from recollect.daemon.lock import Lock
from recollect.daemon.mirroring import EVERY_S, Mirroring
from recollect.daemon.model import Model
from recollect.daemon.rounds import EVERY_S as ROUNDS_S
from recollect.daemon.rounds import Rounds
from recollect.daemon.server import Answer, Request, Server
from recollect.daemon.thinking import EVERY_S as THINKS_S
from recollect.daemon.thinking import Thinking
from recollect.daemon.vaulting import EVERY_S as VAULTS_S
from recollect.daemon.vaulting import Vaulting
from recollect.daemon.watch import Watch
from recollect.hooks import Hooks
from recollect.ops import heartbeat, rendered
from recollect.ops.app import App
from recollect.wire import spawn, spool
from recollect.wire.frame import PROTOCOL
from recollect.wire.place import Place

IDLE_SETTING = "MEMORY_DAEMON_IDLE_MINUTES"
_SOON_S = 2.0
_ONCE_S = 86_400.0
_QUIET_S = 0.25
_NEEDED_FOR = frozenset({"hook", "ask"})  # who only looks at it does not keep it alive
_CHORES_STOP_WITHIN_S = 0.4
# Threads that have work wait for the one that runs at most so long; the default of 5 ms is felt in a hook.
_SWITCH_S = 0.001


class Service:
    def __init__(
        self, home: Home, user_home: Path, place: Place, listener: socket.socket, token: str, lock: Lock
    ) -> None:
        self._home = home
        self._place = place
        self._clock = SystemClock()
        self._began_s = self._asked_s = time.monotonic()
        self._began = self._clock.now()
        # For logs: nobody's project, and the settings of the home alone.
        self._own = App(home=home, project=None, settings=load(home.conf, None, {}), clock=self._clock, actor="daemon")
        self._model = Model(self._own.settings.text("MEMORY_EMBEDDING_MODEL"), home.embedding_key)
        self._apps = Apps(home, user_home, self._clock, self._model)
        self._vectors = Vectors(self._apps, self._model)
        self._digests = Digests(self._apps)
        self._ageing = Ageing(self._apps)
        self._mirroring = Mirroring(self._apps, self._own.log)
        self._vaulting = Vaulting(self._apps, home, self._own.log)
        self._hooks = Hooks(self._apps, place.recalls, self._clock, own=self._apps.own)
        self._spooled = Spooled(place, self._hooks, self._own.log)
        self._desk = Desk(self._apps, self._hooks, self._own.log)
        self._server = Server(place, listener, token, self)
        self._desk.stop = self._server.stop
        self._desk.status = self.status
        self._watch = Watch(home.root, lock, place.address if place.tcp else place.socket)
        self._chores = Chores(self._chore_list(), self._is_asked, self._own.log)
        # An answer of a language model takes seconds: on a thread of its own, the other chores do not wait for it.
        thinking = Chore("think", THINKS_S, Thinking(self._apps).think_some, heavy=True)
        rounds = Chore("rounds", ROUNDS_S, Rounds(self._apps).go_some, heavy=True)
        self._thoughts = Chores([thinking, rounds], self._is_asked, self._own.log)

    def run(self, hang_up: Callable[[], None]) -> str:
        sys.setswitchinterval(_SWITCH_S)
        for number in (signal.SIGTERM, signal.SIGINT, getattr(signal, "SIGHUP", signal.SIGTERM)):
            signal.signal(number, lambda got, _frame: self._server.stop(signal.Signals(got).name))
        with suppress(OSError):
            spawn.point(self._place, os.getpid(), __version__, PROTOCOL)
        self._chores.start()
        self._thoughts.start()
        reason = self._server.serve(self._reason_to_end, hang_up)
        self._own.log.line("daemon-ended", pid=os.getpid(), why=reason)
        self._chores.stop(_CHORES_STOP_WITHIN_S)
        self._thoughts.stop(0.0)  # what it waits for ends with us
        with suppress(RecollectError):
            self._vectors.close()
            self._digests.close()
            self._ageing.close()
        self._apps.close()
        return reason

    # What the server asks

    def answer(self, request: Request) -> Answer:
        if request.header.get("op") in _NEEDED_FOR:
            self._asked_s = time.monotonic()
        try:
            return self._desk.answer(request)
        finally:
            self._chores.first_answer_given()

    def failed(self, problem: Exception) -> None:
        self._desk.failed(problem)

    def status(self) -> dict[str, object]:
        tally = self._server.tally
        return {
            "pid": os.getpid(),
            "version": __version__,
            "protocol": PROTOCOL,
            "home": str(self._home.root),
            "socket": self._place.socket,
            "started_at": self._began.iso(),
            "uptime_s": round(time.monotonic() - self._began_s, 1),
            "idle_s": round(time.monotonic() - self._asked_s, 1),
            "model": self._model.state,
            "spooled": spool.waiting(self._place),
            "unanswered": self._spooled.received,
            "lost": spool.lost(self._place) + self._spooled.lost,
            "vectors_given": self._vectors.given,
            "projects": [{"name": name, "warm": warm} for name, warm in self._apps.names()],
            "requests": tally.requests,
            "answered": tally.confirmed,
            "late": tally.late,
            "late_because": dict(tally.reasons),
            "busy": tally.busy,
            "slow": tally.slow,
            "refused": tally.refused,
            "broken": tally.broken,
            "failed": tally.failed,
            "connections": self._server.connections,
            "memory_mb": _memory_mb(),
            "descriptors": _count("/dev/fd"),
        }

    def _is_asked(self) -> bool:
        """Hooks come in bursts: a prompt, then tools."""
        return self._server.waiting > 0 or time.monotonic() - self._asked_s < _QUIET_S

    # When it is over

    def _reason_to_end(self) -> str:
        return self._watch.reason(self._asked_s, self._idle_s())

    def _idle_s(self) -> float:
        return load(self._home.conf, None, {}).figure(IDLE_SETTING) * 60

    # Chores

    def _chore_list(self) -> list[Chore]:
        return [
            Chore("model", _SOON_S, self._model.load, heavy=True),
            Chore("language", _ONCE_S, self._listen, heavy=True),
            Chore("warm", _SOON_S, self._apps.warm_one, heavy=True),
            Chore("vectors", _SOON_S, self._vectors.fill, heavy=True),
            Chore("digest", _SOON_S, self._digests.read_some, heavy=True),
            Chore("age", _SOON_S, self._ageing.age_some, heavy=True),
            Chore("mirrors", EVERY_S, self._mirroring.look, heavy=True),
            Chore("vaults", VAULTS_S, self._vaulting.look, heavy=True),
            Chore("spool", SPOOL_S, self._spooled.receive_some),
            Chore("beat", BEAT_S, self._beat),
            Chore("tidy", TIDY_S, self._tidy),
            Chore("begin", _ONCE_S, self._begin),
        ]

    def _listen(self) -> bool:
        from recollect.ops import capture  # no first answer waits for it

        return capture.warm()

    def _beat(self) -> bool:
        for app in self._apps.each():
            try:
                heartbeat.tick(app)
            except RecollectError as problem:  # it catches up at the next
                self._own.log.line("beat-missed", problem=problem.message)
        return False

    def _tidy(self) -> bool:
        self._apps.close_unused()
        now = self._clock.now()
        rendered.sweep(Path(self._place.recalls), now)
        return False

    def _begin(self) -> bool:
        """After an upgrade the agents' script is still the old one's. Where none is installed, none is made."""
        gc.freeze()  # what is loaded by now stays
        gc.enable()  # who started us had put it off (wire/spawn.py)
        self._own.log.line("daemon-started", pid=os.getpid(), version=__version__)
        from recollect.wire import stub  # no answer waits for it

        root = str(self._home.root)
        if os.path.exists(stub.script_path(root)) and not stub.is_current(root, sys.executable):
            stub.write_hook(root, sys.executable)
            self._own.log.line("hook-renewed", version=__version__)
        return False


def _memory_mb() -> float | None:
    if sys.platform != "linux":
        return None
    try:
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    except (OSError, ValueError, IndexError):
        return None
    return round(pages * os.sysconf("SC_PAGE_SIZE") / 1e6, 1)


def _count(folder: str) -> int:
    try:
        return len(os.listdir(folder))
    except OSError:
        return 0
