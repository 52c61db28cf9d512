"""The way to the operations: through the daemon, which is started as a hook would start it; where that cannot be, in
this process, with words alone, and that is said.

Blocks: the server calls it in a thread. Knows nothing of MCP.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from recollect import __version__
from recollect.base.errors import HomeRefused, ModelError, NotFound, RecollectError
from recollect.base.paths import Home, home
from recollect.base.settings import environment
from recollect.wire import client, frame, spawn, stub
from recollect.wire.place import Place, find_place

if TYPE_CHECKING:
    from recollect.embed import Embedder
    from recollect.ops.calls import Work

WITHIN_S = 30.0
LONG_S = 300.0
_START_S = 10.0  # the first start after an installation compiles everything
_LOOK_S = 1.0
_AGAIN_S = 0.05
_PASSED_PREFIXES = ("MEMORY_", "RECOLLECT_")
_PROJECT = "CLAUDE_PROJECT_DIR"
_SESSION = "CLAUDE_CODE_SESSION_ID"
_WAY = "RECOLLECT_VIA"
ALONE = "The daemon could not be started: this was done without it, by words alone."


class Reply(NamedTuple):
    text: str
    data: dict[str, Any] | None
    failed: bool = False


class Link:
    def __init__(self) -> None:
        self._environ = environment()
        self._home = Home(home(self._environ))
        self._cwd = os.getcwd()
        self._works: dict[str, Work] = {}

    @property
    def _place(self) -> Place:
        """Looked up each time: a server lives for days, and a runtime folder can become another's meanwhile."""
        return find_place(str(self._home.root), self._environ)

    def is_second(self) -> bool:
        """Whether a plugin started this server for an agent whose settings start one as well: that one serves."""
        if not self._environ.get(_WAY):
            return False
        from recollect.ops import addons

        try:
            return addons.is_second(Path(self._environ.get(_PROJECT) or self._cwd))
        except (RecollectError, OSError):
            return False  # two that serve are better than none

    def ask(self, call: Mapping[str, object], *, name: str, within_s: float) -> Reply:
        """`name` is this call's, for `progress` and `cancel`."""
        said = {"for": "agent", "session": self._environ.get(_SESSION, "")}
        body = json.dumps({**call, **said}).encode()
        until_s = time.monotonic() + within_s
        while time.monotonic() < until_s and (answered := self._through_daemon(name, body, until_s)) is not None:
            kind, told = answered
            if kind in (frame.OK, frame.ERROR):
                return _reply(told)
            time.sleep(_AGAIN_S)  # busy, or about to make way for a newer one
        return self._alone(name, body)

    def progress(self, name: str) -> tuple[int, int] | None:
        """How far a call is: steps done, and how many there are."""
        work = self._works.get(name)
        if work is not None:
            return work.done, work.total
        try:
            _, told = client.ask(self._place, {"op": "progress", "ask": name}, b"", _LOOK_S)
            found = json.loads(told)
        except (client.Unanswered, ValueError):
            return None
        return (found[0], found[1]) if found else None

    def cancel(self, name: str) -> None:
        work = self._works.get(name)
        if work is not None:
            work.unwanted = True
            return
        try:
            client.ask(self._place, {"op": "cancel", "ask": name}, b"", _LOOK_S)
        except client.Unanswered:
            pass  # then nobody is working on it

    def _through_daemon(self, name: str, body: bytes, until_s: float) -> tuple[str, bytes] | None:
        """None where no daemon can be had."""
        left_s = until_s - time.monotonic()
        header = {"op": "ask", "ask": name, "version": __version__, "cwd": self._cwd, **self._passed()}
        header["deadline_ms"] = str(int(left_s * 1_000))
        try:
            return client.ask(self._place, header, body, left_s)
        except client.Unanswered:
            pass
        start_until_s = min(until_s, time.monotonic() + _START_S)
        try:
            self._home.prepare()  # where there is no home yet, no daemon could be started
        except HomeRefused:
            return None
        if not spawn.ensure_daemon(self._place, sys.executable, stub.PACKAGE, start_until_s):
            return None
        try:
            return client.ask(self._place, header, body, max(until_s - time.monotonic(), 0.1))
        except client.Unanswered:
            return None

    def _passed(self) -> dict[str, str]:
        passed = {n: v for n, v in self._environ.items() if n.startswith(_PASSED_PREFIXES) and len(v) < 10_000}
        if self._environ.get(_PROJECT):
            passed[_PROJECT] = self._environ[_PROJECT]
        return {f"env-{name}": value for name, value in list(passed.items())[:40]}

    def _alone(self, name: str, body: bytes) -> Reply:
        from recollect.ops import calls

        work = self._works[name] = calls.Work()
        try:
            call = calls.read(body)
            app = _words_alone(Path(self._environ.get(_PROJECT) or self._cwd))
            try:
                reply = _reply(calls.run(app, call, work))
            finally:
                app.close()
        except RecollectError as problem:
            return _reply(calls.told(problem))
        finally:
            self._works.pop(name, None)
        return reply if reply.data is not None else reply._replace(text=f"{reply.text}\n{ALONE}")


def _words_alone(folder: Path) -> Any:
    from recollect.ops.app import App

    class WordsAlone(App):
        """The model is the daemon's: a server for each session cannot hold one each."""

        fills_on_the_way = False

        @property
        def embedder(self) -> Embedder:
            raise ModelError(
                "The daemon, which holds the embedding model, could not be started.",
                hint="`recollect doctor` says why; the command line can do it meanwhile.",
            )

    try:
        return WordsAlone.here(folder, actor="agent")
    except FileNotFoundError:
        raise NotFound("The project's folder no longer exists.", hint="Start the session in one that does.") from None


def _reply(body: bytes) -> Reply:
    try:
        told = json.loads(body)
    except ValueError:
        told = None
    if not isinstance(told, dict):
        return Reply("The daemon could not answer.", None, failed=True)
    problem = told.get("error")
    if isinstance(problem, dict):
        hint = problem.get("hint") or ""
        return Reply(f"{problem.get('message', '')}\n{hint}".strip(), None, failed=True)
    return Reply(str(told.get("text", "")), told.get("data"))
