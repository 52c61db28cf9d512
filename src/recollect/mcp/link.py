"""The way to the operations: through the daemon, which is started as a hook would start it; where that fails, in this
process, with words alone, and the answer says so.

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
from recollect.wire.frame import PROJECT_VARIABLE, SESSION_VARIABLE
from recollect.wire.place import Place, find_place

if TYPE_CHECKING:
    from recollect.embed.embedder import Embedder
    from recollect.ops.calls import Work

WITHIN_S = 30.0
LONG_S = 300.0
_START_S = 10.0  # the first start after an installation compiles everything
_LOOK_S = 1.0
_RETRY_S = 0.05
_PASSED_PREFIXES = ("MEMORY_", "RECOLLECT_")
_MAX_PASSED = 40
_PLUGIN = "RECOLLECT_VIA"
ALONE = "The daemon could not be started: this was done without it, by words alone."


class Reply(NamedTuple):
    text: str
    data: dict[str, Any] | None
    failed: bool = False


class Link:
    def __init__(self, folder: str = "") -> None:
        self._environ = environment()
        self._home = Home(home(self._environ))
        self._cwd = folder or os.getcwd()
        self._works: dict[str, Work] = {}

    @property
    def _place(self) -> Place:
        """Looked up each time: a server lives for days, and meanwhile the runtime folder may become somebody else's."""
        return find_place(str(self._home.root), self._environ)

    @property
    def _folder(self) -> Path:
        return Path(self._environ.get(PROJECT_VARIABLE) or self._cwd)

    def is_second(self) -> bool:
        """Whether a plugin started this server for an agent whose settings start one too: that one serves."""
        if not self._environ.get(_PLUGIN):
            return False
        from recollect.integrations import agent_pieces

        try:
            return agent_pieces.is_second_server(self._folder)
        except (RecollectError, OSError):
            return False  # two that serve are better than none

    def ask(self, call: Mapping[str, object], *, name: str, within_s: float) -> Reply:
        """`name` identifies this call, for `progress` and `cancel`."""
        session = self._environ.get(SESSION_VARIABLE, "")
        body = json.dumps({**call, "for": "agent", "session": session}).encode()
        until_s = time.monotonic() + within_s
        while time.monotonic() < until_s and (answered := self._through_daemon(name, body, until_s)) is not None:
            kind, answer = answered
            if kind in (frame.OK, frame.ERROR):
                return _reply(answer)
            time.sleep(_RETRY_S)  # busy, or about to make way for a newer one
        return self._alone(name, body)

    def progress(self, name: str) -> tuple[int, int] | None:
        """Of a call: steps done, and how many there are."""
        work = self._works.get(name)
        if work is not None:
            return work.done, work.total
        try:
            _, answer = client.ask(self._place, {"op": "progress", "ask": name}, b"", _LOOK_S)
            found = json.loads(answer)
        except (client.Unanswered, ValueError):
            return None
        return (found[0], found[1]) if found else None

    def cancel(self, name: str) -> None:
        work = self._works.get(name)
        if work is not None:
            work.cancelled = True
            return
        try:
            client.ask(self._place, {"op": "cancel", "ask": name}, b"", _LOOK_S)
        except client.Unanswered:
            pass  # then nobody is working on it

    def _through_daemon(self, name: str, body: bytes, until_s: float) -> tuple[str, bytes] | None:
        """None where no daemon can be reached or started."""
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
        passed = {
            f"env-{name}": value
            for name, value in self._environ.items()
            if (name.startswith(_PASSED_PREFIXES) or name == PROJECT_VARIABLE) and len(value) < 10_000
        }
        return dict(list(passed.items())[:_MAX_PASSED])

    def _alone(self, name: str, body: bytes) -> Reply:
        from recollect.ops import calls

        work = self._works[name] = calls.Work()
        try:
            call = calls.parse_call(body)
            app = _words_alone(self._folder)
            try:
                reply = _reply(calls.run_call(app, call, work))
            finally:
                app.close()
        except RecollectError as problem:
            return _reply(calls.encode_error(problem))
        finally:
            self._works.pop(name, None)
        return reply if reply.data is not None else reply._replace(text=f"{reply.text}\n{ALONE}")


def _words_alone(folder: Path) -> Any:
    from recollect.app.core import App

    class WordsAlone(App):
        """Only the daemon holds the model: a server per session could not."""

        fills_vectors = False

        @property
        def embedder(self) -> Embedder:
            raise ModelError(
                "The daemon, which holds the embedding model, could not be started.",
                hint="`recollect doctor` says why; the command line can do it meanwhile.",
            )

    try:
        return WordsAlone.open(folder, actor="agent")
    except FileNotFoundError:
        raise NotFound("The project's folder no longer exists.", hint="Start the session in one that does.") from None


def _reply(body: bytes) -> Reply:
    try:
        answer = json.loads(body)
    except ValueError:
        answer = None
    if not isinstance(answer, dict):
        return Reply("The daemon could not answer.", None, failed=True)
    problem = answer.get("error")
    if isinstance(problem, dict):
        return Reply(f"{problem.get('message', '')}\n{problem.get('hint') or ''}".strip(), None, failed=True)
    return Reply(str(answer.get("text", "")), answer.get("data"))
