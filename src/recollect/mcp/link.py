"""The way to the operations: through the daemon, which is started as a hook would start it; where none can be, in this
process, with words alone, and the answer says so. Blocks: the server calls it in a thread. Knows nothing of MCP."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Mapping
from contextlib import closing, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

from recollect import __version__
from recollect.base.errors import HomeRefused, ModelError, NotFound, RecollectError
from recollect.base.paths import Home, home
from recollect.base.settings import environment
from recollect.wire import client, frame, stub
from recollect.wire.frame import PROJECT_VARIABLE, SESSION_VARIABLE
from recollect.wire.place import Place, find_place

if TYPE_CHECKING:
    from recollect.app.core import App
    from recollect.ops.calls import Work

ALONE = "The daemon could not be started: this was done without it, by words alone."
_START_S = 10.0  # the first start after an installation compiles everything
_LOOK_S = 1.0
_RETRY_S = 0.05
_PASSED_PREFIXES = ("MEMORY_", "RECOLLECT_")
_MAX_PASSED = 40
_MAX_VALUE_CHARS = 10_000


class Reply(NamedTuple):
    text: str
    data: dict[str, Any] | None = None
    failed: bool = False


class Link:
    def __init__(self, folder: str = "") -> None:
        self._environ = environment()
        self._home = Home(home(self._environ))
        self._cwd = folder or os.getcwd()
        self._folder = Path(self._environ.get(PROJECT_VARIABLE) or self._cwd)
        self._works: dict[str, Work] = {}  # what is done in this process, by the call's name

    @property
    def _place(self) -> Place:
        """Looked up each time: a server lives for days, and its runtime folder may become somebody else's."""
        return find_place(str(self._home.root), self._environ)

    def is_second(self) -> bool:
        """Whether a plugin started this server for an agent whose settings start one too: that one serves."""
        if not self._environ.get("RECOLLECT_VIA"):
            return False
        from recollect.integrations import agent_pieces

        try:
            return agent_pieces.is_second_server(self._folder)
        except (RecollectError, OSError):
            return False  # two that serve are better than none

    def ask(self, call: Mapping[str, object], name: str, within_s: float) -> Reply:
        """`name` is the call's own, for `progress` and `cancel`."""
        session = self._environ.get(SESSION_VARIABLE, "")
        body = json.dumps({**call, "for": "agent", "session": session}).encode()
        passed = [
            (f"env-{name}", value)
            for name, value in self._environ.items()
            if (name.startswith(_PASSED_PREFIXES) or name == PROJECT_VARIABLE) and len(value) < _MAX_VALUE_CHARS
        ]
        header = {"op": "ask", "name": name, "version": __version__, "cwd": self._cwd, **dict(passed[:_MAX_PASSED])}
        until_s = time.monotonic() + within_s
        was_started = False
        while (left_s := until_s - time.monotonic()) > 0:
            header["deadline_ms"] = str(int(left_s * 1_000))
            try:
                kind, answer = client.ask(self._place, header, body, left_s)
            except client.Unanswered:
                if time.monotonic() >= until_s:  # it has the call, and may still carry it out
                    return Reply("Recollect's daemon does not answer.\n`recollect doctor` says why.", failed=True)
                if was_started or not self._start_daemon(until_s):
                    break
                was_started = True
                continue
            if kind in (frame.OK, frame.ERROR):
                return _parse_reply(answer)
            time.sleep(_RETRY_S)  # busy, or about to make way for a newer one
        return self._run_alone(name, body)

    def progress(self, name: str) -> tuple[int, int]:
        """Of a call: the steps done, and how many there are; 0 before it begins and after it ended."""
        if work := self._works.get(name):
            return work.done, work.total
        try:
            _, answer = client.ask(self._place, {"op": "progress", "name": name}, b"", _LOOK_S)
            done, total = json.loads(answer)
        except (client.Unanswered, ValueError):
            return 0, 0
        return done, total

    def cancel(self, name: str) -> None:
        if work := self._works.get(name):
            work.is_cancelled = True
            return
        with suppress(client.Unanswered):  # then nobody is working on it
            client.ask(self._place, {"op": "cancel", "name": name}, b"", _LOOK_S)

    def _start_daemon(self, until_s: float) -> bool:
        try:
            self._home.prepare()  # where there is no home yet, no daemon could be started
        except HomeRefused:
            return False
        until_s = min(until_s, time.monotonic() + _START_S)
        return client.ensure_daemon(self._place, sys.executable, stub.PACKAGE, until_s)

    def _run_alone(self, name: str, body: bytes) -> Reply:
        from recollect.ops import calls

        work = self._works[name] = calls.Work()
        try:
            with closing(_open_without_model(self._folder)) as app:
                reply = _parse_reply(calls.run_call(app, calls.parse_call(body), work))
        except RecollectError as problem:
            return _parse_reply(calls.encode_error(problem))
        finally:
            del self._works[name]
        return reply if reply.data is not None else reply._replace(text=f"{reply.text}\n{ALONE}")


def _open_without_model(folder: Path) -> App:
    from recollect.app.core import App

    class WordsAlone(App):
        """Only the daemon holds the model: a server per session could not."""

        fills_vectors = False

        @property
        def embedder(self) -> NoReturn:
            raise ModelError(
                "The daemon, which holds the embedding model, could not be started.",
                hint="`recollect doctor` says why; the command line can do it meanwhile.",
            )

    try:
        return WordsAlone.open(folder, actor="agent")
    except FileNotFoundError:
        raise NotFound("The project's folder no longer exists.", hint="Start the session in one that does.") from None


def _parse_reply(body: bytes) -> Reply:
    try:
        answer: dict[str, Any] = json.loads(body)
    except ValueError:
        return Reply("The daemon could not answer.", failed=True)
    if problem := answer.get("error"):
        return Reply(f"{problem['message']}\n{problem['hint'] or ''}".strip(), failed=True)
    return Reply(str(answer.get("text", "")), answer.get("data"))
