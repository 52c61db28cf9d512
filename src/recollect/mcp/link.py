"""The way to the operations: through the daemon, which is started as a hook would start it.

Blocks: the server calls it in a thread. Knows nothing of MCP.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from recollect import __version__
from recollect.base.errors import HomeRefused, RecollectError
from recollect.base.paths import Home, home
from recollect.base.settings import environment
from recollect.wire import client, frame, spawn, stub
from recollect.wire.frame import PROJECT_VARIABLE, SESSION_VARIABLE
from recollect.wire.place import find_place

_START_S = 10.0  # the first start after an installation compiles everything
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

    def is_second(self) -> bool:
        """Whether a plugin started this server for an agent whose settings start one too: that one serves."""
        if not self._environ.get("RECOLLECT_VIA"):
            return False
        from recollect.integrations import agent_pieces

        try:
            return agent_pieces.is_second_server(Path(self._environ.get(PROJECT_VARIABLE) or self._cwd))
        except (RecollectError, OSError):
            return False  # two that serve are better than none

    def ask(self, call: Mapping[str, object], within_s: float) -> Reply:
        session = self._environ.get(SESSION_VARIABLE, "")
        body = json.dumps({**call, "for": "agent", "session": session}).encode()
        header = {"op": "ask", "version": __version__, "cwd": self._cwd, **self._passed()}
        until_s = time.monotonic() + within_s
        was_started = False
        while (left_s := until_s - time.monotonic()) > 0:
            header["deadline_ms"] = str(int(left_s * 1_000))
            # Looked up each time: a server lives for days, and meanwhile the runtime folder may become somebody else's.
            place = find_place(str(self._home.root), self._environ)
            try:
                kind, answer = client.ask(place, header, body, left_s)
            except client.Unanswered:
                if was_started:
                    break
                try:
                    self._home.prepare()  # where there is no home yet, no daemon could be started
                except HomeRefused as problem:
                    return Reply(f"{problem.message}\n{problem.hint}", failed=True)
                start_until_s = min(until_s, time.monotonic() + _START_S)
                if not spawn.ensure_daemon(place, sys.executable, stub.PACKAGE, start_until_s):
                    break
                was_started = True
                continue
            if kind in (frame.OK, frame.ERROR):
                return _parse_reply(answer)
            time.sleep(_RETRY_S)  # busy, or about to make way for a newer one
        return Reply("Recollect's daemon does not answer.\n`recollect doctor` says why.", failed=True)

    def _passed(self) -> dict[str, str]:
        passed = {
            f"env-{name}": value
            for name, value in self._environ.items()
            if (name.startswith(_PASSED_PREFIXES) or name == PROJECT_VARIABLE) and len(value) < _MAX_VALUE_CHARS
        }
        return dict(list(passed.items())[:_MAX_PASSED])


def _parse_reply(body: bytes) -> Reply:
    try:
        answer = json.loads(body)
    except ValueError:
        answer = None
    if not isinstance(answer, dict):
        return Reply("The daemon could not answer.", failed=True)
    problem = answer.get("error")
    if isinstance(problem, dict):
        return Reply(f"{problem.get('message', '')}\n{problem.get('hint') or ''}".strip(), failed=True)
    return Reply(str(answer.get("text", "")), answer.get("data"))
