"""What a request asks for, and who answers it.

A hook's error is an answer too: `busy` where trying later helps, `error` otherwise (the hook's pointer then stays);
neither ever stops the agent. The texts of requests are not logged, only that something failed and where.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from recollect import __version__
from recollect.app.core import App
from recollect.base.errors import BadInput, ModelError, ModelLoading, RecollectError, StoreBusy, StoreFull
from recollect.base.log import Log
from recollect.daemon.apps import Apps
from recollect.daemon.socket_server import Answer, Request
from recollect.hooks.answer import Hooks
from recollect.wire import frame

if TYPE_CHECKING:
    from recollect.ops.calls import Work

_RETRY_S = 0.02
HOOK_NEEDS_S = 0.07  # of its deadline: for its own start, and to print the answer


class RequestHandler:
    def __init__(
        self, apps: Apps, hooks: Hooks, log: Log, *, stop: Callable[[str], None], status: Callable[[], object]
    ) -> None:
        self._apps = apps
        self._hooks = hooks
        self._log = log
        self._stop = stop
        self._status = status
        self._works: dict[str, Work] = {}  # by the name that the client gave its call
        self.last_request_s = time.monotonic()  # when the daemon was last needed

    def answer(self, request: Request) -> Answer:
        if _is_newer(request.header):
            self._stop("a newer version takes over")
            return Answer(frame.RETIRING)
        op = request.header.get("op", "hook")
        if op in ("hook", "ask"):  # a look at its status does not keep it alive
            self.last_request_s = time.monotonic()
        match op:
            case "hook":
                return self._answer_hook(request)
            case "ask":
                return self._run_operation(request)
            case "progress":
                work = self._works.get(request.header.get("name", ""))
                return Answer(frame.OK, json.dumps([work.done, work.total] if work else [0, 0]).encode())
            case "cancel":
                if work := self._works.get(request.header.get("name", "")):
                    work.is_cancelled = True
                return Answer(frame.OK)
            case "status":
                return Answer(frame.OK, json.dumps(self._status()).encode())
            case "stop":
                self._stop("stop requested")
                return Answer(frame.OK)
            case _:
                return Answer(frame.ERROR, b"There is no such request.")

    def report_failure(self, problem: Exception) -> None:
        """The text of an unforeseen error may quote a prompt; its type and place cannot."""
        import traceback

        where = traceback.extract_tb(problem.__traceback__)[-1]
        at = f"{os.path.basename(where.filename)}:{where.lineno}"
        self._log.line("daemon-failed", problem=type(problem).__name__, at=at)

    def _answer_hook(self, request: Request) -> Answer:
        header = request.header
        event = header.get("event", "")
        try:
            answer = self._hooks.answer(
                header.get("host", ""),
                event,
                request.body,
                _environ(header),
                header.get("cwd", ""),
                request.until_s - HOOK_NEEDS_S,
                _make_wait(request),
                _number(header.get("transcript_bytes", "")),
            )
        except BadInput:
            return Answer(frame.OK, after=lambda _confirmed: None)  # not an event that we can read: nothing to keep
        except (StoreBusy, StoreFull) as problem:
            self._log.line("hook-busy", hook=event, problem=type(problem).__name__)
            return Answer(frame.BUSY)
        except RecollectError as problem:
            self._log.line("hook-failed", hook=event, problem=problem.message)
            return Answer(frame.ERROR)
        return Answer(frame.OK if answer.is_kept else frame.UNKEPT, answer.stdout, answer.after)

    def _run_operation(self, request: Request) -> Answer:
        from recollect.ops import calls  # no hook needs it

        header, environ = request.header, _environ(request.header)
        name, work = header.get("name", ""), calls.Work()
        self._works[name] = work
        try:
            call = calls.parse_call(request.body)
            take_app = self._apps.own if call.takes_long else self._apps.app
            while True:
                try:
                    with take_app(environ.get(frame.PROJECT_VARIABLE, ""), header.get("cwd", ""), environ) as app:
                        if call.takes_long:
                            _check_model(app)
                        return Answer(frame.OK, calls.run_call(app, call, work))
                except (StoreBusy, ModelLoading):
                    # Apps of the daemon wait for other writers no longer than a hook can, and for the model not at all;
                    # a command or an MCP client can wait.
                    if time.monotonic() >= request.until_s or work.is_cancelled:
                        raise
                    time.sleep(_RETRY_S)
        except RecollectError as problem:
            return Answer(frame.ERROR, calls.encode_error(problem))
        finally:
            self._works.pop(name, None)


def _is_newer(header: Mapping[str, str]) -> bool:
    """A newer hook, or a newer protocol, is served by a daemon of its own version. Never the other way round: two that
    retire each other would never end."""
    if _number(header.get("protocol", "")) > frame.PROTOCOL:
        return True
    return header.get("op") in ("hook", "ask") and version_key(header.get("version", "")) > version_key(__version__)


def _make_wait(request: Request) -> Callable[[float], float]:
    """For a hook that was installed to wait: given the seconds wanted, when the answer must be ready; 0 where it waits
    no longer than usual."""
    most_s = _number(request.header.get("patience_ms", "")) / 1_000

    def wait(wanted_s: float) -> float:
        seconds = min(wanted_s, most_s)
        until_s = time.monotonic() + seconds - HOOK_NEEDS_S
        return until_s if seconds > HOOK_NEEDS_S and request.wait(seconds) else 0.0

    return wait


def _check_model(app: App) -> None:
    """Raises ModelLoading: a long operation can wait for that. Where there is no model, it says so in its own way."""
    try:
        _ = app.embedder
    except (ModelError, BadInput) as problem:
        if isinstance(problem, ModelLoading):
            raise


def version_key(version: str) -> tuple[int, ...]:
    """`0.10.0` is newer than `0.9.1`; one that cannot be read is the oldest."""
    parts = version.split(".")
    return tuple(int(part) for part in parts) if all(part.isascii() and part.isdigit() for part in parts) else ()


def _environ(header: Mapping[str, str]) -> dict[str, str]:
    return {name[4:]: value for name, value in header.items() if name.startswith("env-")}


def _number(text: str) -> int:
    return int(text) if text.isascii() and text.isdigit() else 0
