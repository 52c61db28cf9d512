"""Asks the daemon for an operation, and starts it as a hook would. Where none can be started, the operation runs in
this process, by words alone: only the daemon holds the model."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Mapping
from contextlib import closing, suppress
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from recollect import __version__
from recollect.base.errors import HomeRefused, ModelError, RecollectError
from recollect.base.ids import fresh_key
from recollect.base.paths import Home, home
from recollect.base.settings import environment
from recollect.wire import client, frame, stub
from recollect.wire.frame import PROJECT_VARIABLE
from recollect.wire.place import find_place

if TYPE_CHECKING:
    from recollect.app.core import App
    from recollect.ops.calls import Work

_START_S = 10.0  # the first start after an installation compiles everything
_RETRY_S = 0.05
_LOOK_S = 1.0
_PASSED_PREFIXES = ("MEMORY_", "RECOLLECT_")
_MAX_PASSED = 40
_MAX_VALUE_CHARS = 10_000


class Late(Exception):
    """The daemon has the call, and may still carry it out."""


def ask(cwd: str, body: bytes, name: str, within_s: float, *, project: str = "") -> bytes | None:
    """What the daemon answers to a call (calls.py); None where none can be reached. `name` is the call's own.
    `project`: its folder, whatever an agent around us says."""
    environ = environment() | ({PROJECT_VARIABLE: project} if project else {})
    root = Home(home(environ))
    passed = [
        (f"env-{key}", value)
        for key, value in environ.items()
        if (key.startswith(_PASSED_PREFIXES) or key == PROJECT_VARIABLE)
        and len(value) < _MAX_VALUE_CHARS
    ]
    header = {
        "op": "ask",
        "name": name,
        "version": __version__,
        "cwd": cwd,
        **dict(passed[:_MAX_PASSED]),
    }
    until_s, was_started = time.monotonic() + within_s, False
    while (left_s := until_s - time.monotonic()) > 0:
        # Looked up each time: a server lives for days, and its runtime folder may become somebody else's.
        place = find_place(str(root.root), environ)
        header["deadline_ms"] = str(int(left_s * 1_000))
        try:
            kind, answer = client.ask(place, header, body, left_s)
        except client.Unanswered:
            if time.monotonic() >= until_s:
                raise Late from None
            if was_started or not _start_daemon(root, environ, until_s):
                return None
            was_started = True
            continue
        if kind in (frame.OK, frame.ERROR):
            return answer
        time.sleep(_RETRY_S)  # busy, or about to make way for a newer one
    return None


def is_running(root: Path) -> bool:
    """Whether the daemon of a home answers; none is started."""
    place = find_place(str(root), environment())
    try:
        kind, _ = client.ask(place, {"op": "status"}, b"", _LOOK_S)
    except client.Unanswered:
        return False
    return kind == frame.OK


def _start_daemon(root: Home, environ: Mapping[str, str], until_s: float) -> bool:
    try:
        root.prepare()  # where there is no home yet, no daemon could be started
    except HomeRefused:
        return False
    until_s = min(until_s, time.monotonic() + _START_S)
    return client.ensure_daemon(
        find_place(str(root.root), environ), sys.executable, stub.PACKAGE, until_s
    )


def ask_or_run(folder: Path, call: Mapping[str, object], within_s: float) -> bytes:
    """A question that writes nothing: where the daemon is late, it is answered here, by words alone."""
    body = json.dumps(call).encode()
    found = None
    with suppress(Late):
        if Home(home()).root.exists():  # a daemon would make one
            found = ask(str(folder), body, fresh_key(), within_s, project=str(folder))
    return run_alone(folder, body, actor="user") if found is None else found


def run_alone(
    folder: Path, body: bytes, work: Work | None = None, *, actor: str = "agent"
) -> bytes:
    from recollect.ops import calls

    try:
        with closing(_open_without_model(folder, actor)) as app:
            return calls.run_call(app, calls.parse_call(body), work)
    except RecollectError as problem:
        return calls.encode_error(problem)


def _open_without_model(folder: Path, actor: str) -> App:
    from recollect.app.core import App

    class WordsAlone(App):
        fills_vectors = False

        @property
        def embedder(self) -> NoReturn:
            hint = "`recollect doctor` says why; the command line can do it meanwhile."
            raise ModelError(
                "The daemon, which holds the embedding model, could not be started.", hint=hint
            )

    return WordsAlone.open(folder, actor=actor)
