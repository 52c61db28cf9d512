"""A home with its hook and at most one daemon, in scratch folders of its own: what the hook benchmark measures.

Nothing stands in for anything: the script is the one that `install` writes, the daemon is started by a hook as any
daemon is, and who is alive is looked up in the system's list of processes.

The script is run by itself, not behind `|| :`, so that its own exit code is seen.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench import processes
from recollect.app.core import App
from recollect.base import project as projects
from recollect.base.clock import SystemClock
from recollect.base.errors import RecollectError
from recollect.base.paths import Home
from recollect.base.settings import load
from recollect.daemon import spool
from recollect.model.result import Scope
from recollect.wire import client, frame, stub
from recollect.wire.hook import DEADLINES_MS, DEFAULT_HOST, OTHER_DEADLINE_MS
from recollect.wire.place import Place, connect, find_place

PROMPT = "UserPromptSubmit"
_LONGEST_S = 30.0
_START_WITHIN_S = 60.0
_WARM_WITHIN_S = 180.0
_END_WITHIN_S = 5.0
_LOOK_S = 0.01
_MARK = "RCL_BENCH_HOOK"
"""In the environment of every hook, and not among what a daemon is given: who has it is a hook that stayed."""


@dataclass(frozen=True, slots=True)
class Ran:
    """One hook process, as the agent sees it."""

    code: int
    out: bytes
    err: bytes
    wall_ms: float
    cpu_ms: float
    """Of all processes that ended meanwhile: to be trusted where only one ran."""

    @property
    def is_whole(self) -> bool:
        """Nothing, or one JSON object."""
        try:
            return not self.out or isinstance(json.loads(self.out), dict)
        except ValueError:
            return False


@dataclass(frozen=True, slots=True)
class House:
    root: str
    """Holds the home, and a home folder of the user's."""
    runtime: str
    """With a short name: the path of a socket has a limit."""
    project: str

    @property
    def home(self) -> Home:
        return Home(Path(self.root, ".recollect"))

    @property
    def place(self) -> Place:
        return find_place(str(self.home.root), self.environ)

    @property
    def user(self) -> Path:
        return Path(self.root, "user")

    @property
    def environ(self) -> dict[str, str]:
        """All that a hook here knows: nothing of the user's own settings reaches a measurement."""
        return {
            "HOME": str(self.user),
            "PATH": os.environ.get("PATH", os.defpath),
            "LANG": "C.UTF-8",
            "XDG_RUNTIME_DIR": self.runtime,
            "CLAUDE_PROJECT_DIR": self.project,
            _MARK: self.root,
        }

    def furnish(self) -> None:
        """The folders, the script, and an empty store of the project's."""
        self.user.mkdir(parents=True, exist_ok=True)
        Path(self.project).mkdir(parents=True, exist_ok=True)
        self.home.prepare()
        stub.write_hook(str(self.home.root), sys.executable)
        app = self._app()
        try:
            app.writer(Scope.PROJECT)
        finally:
            app.close()

    @property
    def store(self) -> Path:
        path = self._app().store_path(Scope.PROJECT)
        if path is None:
            raise RecollectError("The benchmark's project has no store.")
        return path

    def _app(self) -> App:
        project = projects.find(Path(self.project), self.user)
        return App(
            home=self.home, project=project, settings=load(None, None, {}), clock=SystemClock()
        )

    # Hooks

    def run(
        self,
        event: str,
        body: bytes,
        *,
        environ: Mapping[str, str] | None = None,
        cwd: str | None = None,
        shell_line: str = "",
    ) -> Ran:
        """`shell_line`: what a shell is to do, with the hook as `"$@"`."""
        command = [stub.script_path(str(self.home.root)), event]
        if shell_line:
            command = ["/bin/sh", "-c", shell_line, "sh", *command]
        return run(
            command,
            body,
            environ=self.environ if environ is None else environ,
            cwd=cwd or self.project,
        )

    def ask(self, event: str, body: bytes, *, pointer: str = "") -> tuple[str, bytes]:
        """As a hook does, from a process that runs already: what is left is the daemon's part. `pointer`: as if one had
        been left, so that the answer need not wait for the write."""
        header = {
            "protocol": str(frame.PROTOCOL),
            "op": "hook",
            "home": self.place.home,
            "host": DEFAULT_HOST,
            "event": event,
            "deadline_ms": str(deadline_ms(event)),
            "cwd": self.project,
            "pointer": pointer,
            "env-CLAUDE_PROJECT_DIR": self.project,
        }
        line = connect(self.place, _LONGEST_S)
        try:
            line.sendall(frame.encode_request(header, body))
            kind, reply = frame.read_reply(line.recv)
            if reply:
                line.sendall(frame.SHOWN)
            return kind, reply
        finally:
            line.close()

    # The daemon

    def start(self) -> int:
        """As the first hook of a day does; the pid."""
        until_s = time.monotonic() + _START_WITHIN_S
        while (told := self.status()) is None:
            if time.monotonic() > until_s:
                raise RecollectError(
                    "The benchmark's daemon did not start.",
                    hint="`recollect daemon run` shows why.",
                )
            self.run("SessionStart", payload(self, "SessionStart", "start", 0))
        return int(told["pid"])

    def warm(self) -> bool:
        """Whether it answers with vectors, which it does a moment after its start; false where it has no model."""
        self.run(PROMPT, payload(self, PROMPT, "warm", 0))
        soon(lambda: self._is_warm() or self._has_no_model(), _WARM_WITHIN_S)
        return self._is_warm()

    def _is_warm(self) -> bool:
        open_projects = (self.status() or {}).get("projects", [])
        return bool(open_projects) and all(one["warm"] for one in open_projects)

    def _has_no_model(self) -> bool:
        said = str((self.status() or {}).get("model", ""))
        return said != "ready" and "being loaded" not in said

    def status(self) -> dict[str, Any] | None:
        try:
            kind, body = client.ask(self.place, {"op": "status"}, b"", _LONGEST_S)
            told = json.loads(body) if kind == frame.OK else None
        except (client.Unanswered, ValueError):
            return None
        return told if isinstance(told, dict) else None

    def daemons(self) -> list[int]:
        """Every one of this home, whether it answers or not."""
        return processes.having(f"RECOLLECT_HOME={self.home.root}")

    def hooks(self) -> list[int]:
        """Hook processes that have not ended."""
        return processes.having(f"{_MARK}={self.root}")

    def spooled(self) -> list[dict[str, object]]:
        return [pointer for _, pointer in spool.drain(self.place)]

    def spool_length(self) -> int:
        return spool.count_files(self.place.spool + spool.FOLDER)

    def stop(self) -> None:
        """Asks it to end, and waits until it has."""
        with suppress(client.Unanswered):
            client.ask(self.place, {"op": "stop"}, b"", 2.0)
        if not soon(lambda: not self.daemons(), _END_WITHIN_S):
            self.kill()

    def kill(self) -> None:
        """The daemon, at once; what it acknowledged is on the disk. The next start is measured, not the pause that
        repeated deaths bring."""
        _kill(self.daemons)
        client.forget_starts(self.place)

    def clear(self) -> None:
        """Nothing of this house is alive afterwards."""
        _kill(lambda: [*self.daemons(), *self.hooks()])


def _kill(found: Callable[[], list[int]]) -> None:
    for pid in found():
        with suppress(OSError):
            os.kill(pid, signal.SIGKILL)
    soon(lambda: not found(), _END_WITHIN_S)


def deadline_ms(event: str) -> int:
    return DEADLINES_MS.get(event, OTHER_DEADLINE_MS)


def run(command: list[str], body: bytes, *, environ: Mapping[str, str], cwd: str) -> Ran:
    before_s, began_s = _ended_cpu_s(), time.perf_counter()
    with subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=dict(environ),
        cwd=cwd,
    ) as process:
        try:
            out, err = process.communicate(body, _LONGEST_S)
        except subprocess.TimeoutExpired:
            process.kill()
            out, err = process.communicate()
    wall_s, cpu_s = time.perf_counter() - began_s, _ended_cpu_s() - before_s
    return Ran(process.returncode, out, err, wall_s * 1_000, cpu_s * 1_000)


def _ended_cpu_s() -> float:
    """Of all processes that we started and that have ended."""
    import resource

    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def payload(house: House, event: str, session: str, number: int, **more: object) -> bytes:
    """What Claude Code sends. Every event has a prompt id of its own, by which it can be found again."""
    said: dict[str, object] = {
        "session_id": session,
        "transcript_path": f"{house.root}/{session}.jsonl",
        "cwd": house.project,
        "prompt_id": f"{session}-{number}",
        "permission_mode": "default",
        "hook_event_name": event,
    }
    match event:
        case "SessionStart":
            said["source"] = "startup"
        case "SessionEnd":
            said["reason"] = "other"
        case "UserPromptSubmit":
            said["prompt"] = "What did we say about the release?"
        case "PostToolBatch":
            said["tool_calls"] = [
                {
                    "tool_name": "Bash",
                    "tool_use_id": f"toolu_{session}_{number}",
                    "tool_input": {"command": "make test"},
                    "tool_response": "ok\n" * 200,
                }
            ]
        case _:
            pass
    return json.dumps(said | more).encode()


def soon(holds: Callable[[], object], within_s: float) -> bool:
    until_s = time.monotonic() + within_s
    while not holds():
        if time.monotonic() > until_s:
            return False
        time.sleep(_LOOK_S)
    return True
