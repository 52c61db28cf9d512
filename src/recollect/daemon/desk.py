"""What a request asks for, and who answers it. One row an operation.

A hook's error is an answer too: `busy` where trying later helps, `error` otherwise (the hook's pointer then stays);
neither ever stops the agent. Texts of requests are not logged, only that something failed and what kind of thing.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from recollect import __version__
from recollect.base.errors import BadInput, ModelError, RecollectError, StoreBusy, StoreFull
from recollect.base.log import Log
from recollect.daemon.apps import Apps
from recollect.daemon.model import LOADING
from recollect.daemon.server import Answer, Request
from recollect.hooks import Hooks
from recollect.ops.app import App
from recollect.wire import frame

if TYPE_CHECKING:
    from recollect.ops.calls import Work

_AGAIN_S = 0.02
HOOK_NEEDS_S = 0.07  # of its deadline: for its own start, and to print the answer
STOP_ASKED = "it was asked to stop"
RETIRED = "a newer version asked it to retire"


class Desk:
    def __init__(self, apps: Apps, hooks: Hooks, log: Log) -> None:
        self._apps = apps
        self._hooks = hooks
        self._log = log
        self.stop: Callable[[str], None] = lambda _reason: None
        self.status: Callable[[], dict[str, object]] = dict
        self._works: dict[str, Work] = {}
        self._rows: dict[str, Callable[[Request], Answer]] = {
            "hook": self._hook,
            "ask": self._ask,
            "progress": self._progress,
            "cancel": self._cancel,
            "status": self._status,
            "stop": self._stop,
            "retire": self._retire,
        }

    def answer(self, request: Request) -> Answer:
        if self._is_newer(request.header):
            self.stop(RETIRED)
            return Answer(frame.RETIRING)
        row = self._rows.get(request.header.get("op", "hook"))
        return row(request) if row else Answer(frame.ERROR, b"There is no such request.")

    def _is_newer(self, header: Mapping[str, str]) -> bool:
        """A newer hook, or a newer protocol, is taken by a daemon of its own version. Never the other way round: two
        that retire each other would never end."""
        if _number(header.get("protocol", "")) > frame.PROTOCOL:
            return True
        return header.get("op") in ("hook", "ask") and version_key(header.get("version", "")) > version_key(__version__)

    def failed(self, problem: Exception) -> None:
        where = problem.__traceback__
        while where is not None and where.tb_next is not None:
            where = where.tb_next
        at = f"{os.path.basename(where.tb_frame.f_code.co_filename)}:{where.tb_lineno}" if where else ""
        # The text of an unforeseen error may quote a prompt; its kind and place cannot.
        self._log.line("daemon-failed", problem=type(problem).__name__, at=at)

    def _hook(self, request: Request) -> Answer:
        header = request.header
        try:
            answer = self._hooks.answer(
                header.get("host", ""),
                header.get("event", ""),
                request.body,
                _environ(header),
                header.get("cwd", ""),
                request.until_s - HOOK_NEEDS_S,
                _patience(request),
                _number(header.get("transcript_bytes", "")),
            )
        except BadInput:
            return Answer(frame.OK, after=_do_nothing)  # not an event that can be read: nothing to print or to keep
        except (StoreBusy, StoreFull) as problem:
            self._log.line("hook-busy", hook=header.get("event", ""), problem=type(problem).__name__)
            return Answer(frame.BUSY)
        except RecollectError as problem:
            self._log.line("hook-failed", hook=header.get("event", ""), problem=problem.message)
            return Answer(frame.ERROR)
        return Answer(frame.OK if answer.is_kept else frame.UNKEPT, answer.stdout, answer.after)

    def _ask(self, request: Request) -> Answer:
        from recollect.ops import calls  # no hook needs it

        name, work = request.header.get("ask", ""), calls.Work()
        self._works[name] = work
        try:
            call = calls.read(request.body)
            return Answer(frame.OK, self._called(request, lambda app: calls.run(app, call, work), call.takes_long))
        except RecollectError as problem:
            return Answer(frame.ERROR, calls.told(problem))
        finally:
            self._works.pop(name, None)

    def _called(self, request: Request, run: Callable[[App], bytes], takes_long: bool) -> bytes:
        environ = _environ(request.header)
        place = self._apps.own if takes_long else self._apps.app
        while True:
            try:
                with place(environ.get("CLAUDE_PROJECT_DIR", ""), request.header.get("cwd", ""), environ) as app:
                    if takes_long:
                        _wait_for_model(app)
                    return run(app)
            except (StoreBusy, ModelError) as problem:
                # Apps of the daemon wait for other writers no longer than a hook can, and for the model not at all;
                # who asks here can.
                waits = isinstance(problem, StoreBusy) or problem.message == LOADING
                if not waits or time.monotonic() >= request.until_s:
                    raise
                time.sleep(_AGAIN_S)

    def _progress(self, request: Request) -> Answer:
        work = self._works.get(request.header.get("ask", ""))
        return Answer(frame.OK, json.dumps([work.done, work.total] if work else []).encode())

    def _cancel(self, request: Request) -> Answer:
        work = self._works.get(request.header.get("ask", ""))
        if work is not None:
            work.unwanted = True
        return Answer(frame.OK)

    def _status(self, _request: Request) -> Answer:
        return Answer(frame.OK, json.dumps(self.status()).encode())

    def _stop(self, _request: Request) -> Answer:
        self.stop(STOP_ASKED)
        return Answer(frame.OK)

    def _retire(self, request: Request) -> Answer:
        if version_key(request.header.get("version", "")) <= version_key(__version__):
            return Answer(frame.ERROR, b"It is not older than you.")
        self.stop(RETIRED)
        return Answer(frame.OK)


def _do_nothing(_confirmed: bool) -> None:
    pass


def _patience(request: Request) -> Callable[[float], float]:
    """Of a hook that was installed to wait: asked for so many seconds, when its answer has to be there; 0: it waits no
    longer than ever."""
    most_s = _number(request.header.get("patience_ms", "")) / 1_000

    def hold(wanted_s: float) -> float:
        seconds = min(wanted_s, most_s)
        until_s = time.monotonic() + seconds - HOOK_NEEDS_S
        return until_s if seconds > HOOK_NEEDS_S and request.wait(seconds) else 0.0

    return hold


def _wait_for_model(app: App) -> None:
    """What takes long can as well wait for it; where there is none, the operation says so in its own way."""
    try:
        _ = app.embedder
    except (ModelError, BadInput) as problem:
        if problem.message == LOADING:
            raise


def version_key(version: str) -> tuple[int, ...]:
    """`0.10.0` is newer than `0.9.1`; what cannot be read is the oldest."""
    parts = version.split(".")
    return tuple(int(part) for part in parts) if all(part.isascii() and part.isdigit() for part in parts) else ()


def _environ(header: Mapping[str, str]) -> dict[str, str]:
    return {name[4:]: value for name, value in header.items() if name.startswith("env-")}


def _number(text: str) -> int:
    return int(text) if text.isascii() and text.isdigit() else 0
