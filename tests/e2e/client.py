"""The real Claude Code (`tools/get_agents`) in a world of its own: a scratch home, a scratch project, a stand-in for
its model service. It is started with a whole environment of our making, so it finds no key but the dummy one and no way
out but the stand-in. Recollect runs from this tree, with its home inside the scratch home.

    with world.session(says("Hello."), says("Again.")) as session:
        session.say("hi")
        session.say("and again")
    assert session.service.asked[-1].holds("what memory had to say")
"""

from __future__ import annotations

import json
import os
import platform
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple, Self

import pytest

from tests.e2e.stand_in import Asked, Lane, StandIn, Turn

ROOT = Path(__file__).resolve().parent.parent.parent
AGENTS = ROOT / ".agents"
DUMMY_KEY = "sk-test-dummy"
WAIT_S = 120
PATIENCE_MS = 4_000  # within the client's own time-out for our hooks
# A model with a small window compacts only once the service refuses a request, unless this is set.
WINDOW_TOKENS = 100_000
FULL = (
    990_000  # what a turn claims to have read to make the client compact by itself before the next
)

# Context reaches the first in messages of the role "system", the second in parts of the user's messages.
MODELS = ("claude-sonnet-5", "claude-haiku-4-5-20251001")
# For claims in which it makes no difference where the context stands.
# The client sends what hooks add in another role to some models; most tests do not depend on it.
both_models = pytest.mark.parametrize("world", MODELS, indirect=True)
PACKAGE = "@anthropic-ai/claude-code"

# What tests keep, and look for in what the model is told.
RULE = "Write every commit subject in the imperative mood"
VALIDATORS = "Solana validators restart with the vestibule flag"
BREAD = "Sourdough wants eleven hours in the cellar"
SUMMARY = "<summary>We spoke of one thing and another.</summary>"
SECRET = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"


def binary() -> Path:
    machine = {"x86_64": "x64", "amd64": "x64"}.get(platform.machine().lower(), "arm64")
    return AGENTS / "node_modules" / f"{PACKAGE}-{sys.platform}-{machine}" / "claude"


def lacking(package: str = PACKAGE, where: str = ".") -> str:
    """Why this agent cannot be driven here; empty when it can. `where`: its folder below AGENTS."""
    if sys.platform == "win32":
        return "real agents are driven on Linux and macOS only"
    path = AGENTS / where / "node_modules" / package / "package.json"
    if not path.exists():
        return f"{package} is not here: tools/get_agents gets it"
    pinned = json.loads(
        (ROOT / "tools" / "agents" / where / "package.json").read_text(encoding="utf-8")
    )
    found, wanted = (
        json.loads(path.read_text(encoding="utf-8"))["version"],
        pinned["dependencies"][package],
    )
    return "" if found == wanted else f"{package} is {found}, not {wanted}: run tools/get_agents"


class HookRun(NamedTuple):
    """One run of a hook, as the client saw it. The client tells of no SessionEnd, PreCompact or PostCompact."""

    event: str
    code: int
    out: str
    err: str


class World:
    """A home, a project and a runtime folder; and the client, and Recollect, in them."""

    def __init__(self, root: Path, model: str = MODELS[0]) -> None:
        self.root = root
        self.model = model
        self.home, self.project, self.runtime = root / "home", root / "project", root / "run"
        for folder in (self.home, self.project, self.runtime):
            folder.mkdir(mode=0o700)
        (self.project / ".git").mkdir()
        (self.project / ".git" / "HEAD").write_text("ref: refs/heads/main\n", encoding="ascii")

    @property
    def settings(self) -> Path:
        """The user's settings of the client."""
        return self.home / ".claude" / "settings.json"

    def environ(self) -> dict[str, str]:
        """All that any program here is given."""
        return {
            "HOME": str(self.home), "PATH": "/usr/local/bin:/usr/bin:/bin", "LANG": "C.UTF-8", "TERM": "xterm-256color",
            "TMPDIR": str(self.runtime), "XDG_RUNTIME_DIR": str(self.runtime),
            "RECOLLECT_HOME": str(self.home / ".recollect"),
        }  # fmt: skip

    def client_environ(self, service: StandIn) -> dict[str, str]:
        off = (
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC",
            "DISABLE_TELEMETRY",
            "DISABLE_ERROR_REPORTING",
        )
        return {
            **self.environ(), "ANTHROPIC_BASE_URL": service.url, "ANTHROPIC_API_KEY": DUMMY_KEY,
            "HTTPS_PROXY": service.url, "HTTP_PROXY": service.url, "NO_PROXY": "127.0.0.1",
            "CLAUDE_CODE_AUTO_COMPACT_WINDOW": str(WINDOW_TOKENS), "CLAUDE_CODE_TMPDIR": str(self.runtime),
            **dict.fromkeys((*off, "DISABLE_AUTOUPDATER"), "1"),
        }  # fmt: skip

    def session(
        self, *script: Turn, args: Iterable[str] = (), environ: Mapping[str, str] | None = None
    ) -> Session:
        """The client in the project, where the model will say just what the script says."""
        return Session(self, script, ["--model", self.model, *args], environ or {})

    def pin(self, text: str, *options: str) -> str:
        return str(self.json("pin", text, *options)["ids"][0])

    def run(self, prompt: str, *script: Turn, **options: Any) -> Session:
        """A session of one prompt, from its start to its end."""
        with self.session(*script, **options) as session:
            session.say(prompt)
        return session

    def recollect(self, *args: str, check: bool = True) -> subprocess.CompletedProcess[str]:
        done = subprocess.run(
            [sys.executable, "-m", "recollect", *args], cwd=self.project, stdin=subprocess.DEVNULL, text=True,
            env={**self.environ(), "PYTHONPATH": str(ROOT / "src")}, capture_output=True, timeout=WAIT_S,
        )  # fmt: skip
        assert done.returncode == 0 or not check, (args, done.returncode, done.stdout, done.stderr)
        return done

    def json(self, *args: str, check: bool = True) -> Any:
        """What a command says as data; nothing where it says nothing."""
        return json.loads(self.recollect(*args, "--json", check=check).stdout or "{}")

    def install(self) -> None:
        """Recollect in this world, its daemon at work, and all the time for its hooks that they may want: here a busy
        machine would only fail tests that have nothing to do with time."""
        self.recollect("install", "--user")
        patient = self.settings.read_text(encoding="utf-8").replace(
            " || :", f" --deadline-ms {PATIENCE_MS} || :"
        )
        self.settings.write_text(patient, encoding="utf-8")
        self.recollect("daemon", "start")

    def client(self, *args: str) -> str:
        """What one call of the client says, without a session."""
        with StandIn() as service:
            done = subprocess.run(
                [str(binary()), *args], cwd=self.project, env=self.client_environ(service), stdin=subprocess.DEVNULL,
                capture_output=True, text=True, timeout=WAIT_S,
            )  # fmt: skip
        assert done.returncode == 0, (args, done.returncode, done.stdout, done.stderr)
        return done.stdout + done.stderr

    def log(self) -> str:
        return (self.home / ".recollect" / "logs" / "recollect.log").read_text(encoding="utf-8")

    def processes(self) -> list[int]:
        """Those that know of this world. Seen on Linux only."""
        found = []
        for folder in Path("/proc").glob("[0-9]*"):
            with suppress(OSError):  # it has ended, or is not ours to look at
                known = (folder / "cmdline").read_bytes() + (folder / "environ").read_bytes()
                found += [int(folder.name)] if os.fsencode(self.root) in known else []
        return found

    def end(self) -> list[int]:
        """Stops the daemon; what still runs long after is killed, and is the answer."""
        if (self.home / ".recollect").exists():
            self.recollect("daemon", "stop", check=False)
        until = time.monotonic() + WAIT_S / 4
        while self.processes() and time.monotonic() < until:
            time.sleep(0.05)
        left = self.processes()
        for pid in left:
            os.kill(pid, signal.SIGKILL)
        return left


@contextmanager
def scratch_world(model: str = MODELS[0]) -> Iterator[World]:
    """No process of a test may outlive it."""
    # Not tmp_path: the path of a socket may have about 100 bytes, and pytest's folders take most of them.
    root = Path(tempfile.mkdtemp(prefix="e")).resolve()
    world = World(root, model)
    yield world
    left = world.end()
    shutil.rmtree(root)
    assert not left, f"still running: {left}"


class Piped:
    """A client without a terminal: lines of JSON in, lines of JSON out, and a stand-in for its model service."""

    def __init__(self, world: World, script: Iterable[Turn]) -> None:
        self.service = StandIn(script)
        self._world = world
        self.command: list[str] = []
        self.environ: Mapping[str, str] = {}

    @property
    def asked(self) -> list[Asked]:
        """What the main conversation asked."""
        return self.service.of(Lane.MAIN)

    def __enter__(self) -> Self:
        self.service.__enter__()
        self._errors = (self._world.root / "client.err").open("w+", encoding="utf-8")
        self._client = subprocess.Popen(
            self.command, cwd=self._world.project, env=self.environ, stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, stderr=self._errors, text=True,
        )  # fmt: skip
        # Reading a line has no time-out of its own.
        self._watch = threading.Timer(WAIT_S, self._client.kill)
        self._watch.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        _, code = self._client.communicate(), self._client.returncode
        self._watch.cancel()
        self.service.__exit__(kind, error, at)
        said = self.errors()
        self._errors.close()
        if error is None:
            assert (code, said) == (0, ""), f"the client ended with {code}: {said}"
            assert not self.service.unsaid(), (
                f"the model was never asked for {self.service.unsaid()}"
            )

    def errors(self) -> str:
        self._errors.seek(0)
        return self._errors.read()

    def send(self, message: Mapping[str, object]) -> None:
        assert self._client.stdin is not None
        self._client.stdin.write(json.dumps(message) + "\n")
        self._client.stdin.flush()

    def lines(self) -> Iterator[dict[str, Any]]:
        assert self._client.stdout is not None
        yield from map(json.loads, self._client.stdout)
        raise AssertionError(f"the client ended before it answered: {self.errors()}")


class Session(Piped):
    """Prompts in, answers out, as often as the test likes."""

    def __init__(
        self, world: World, script: Iterable[Turn], args: list[str], environ: Mapping[str, str]
    ) -> None:
        super().__init__(world, script)
        self.id = ""
        self.hooks: list[HookRun] = []
        streams = ["--input-format", "stream-json", "--output-format", "stream-json", "--verbose"]
        self.command = [str(binary()), "-p", *streams, "--include-hook-events", *args]
        self.environ = {**world.client_environ(self.service), **environ}

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        super().__exit__(kind, error, at)
        failed = [
            run
            for run in self.hooks
            if run.code or run.err or not isinstance(json.loads(run.out or "{}"), dict)
        ]
        assert error or not failed, f"hooks that failed: {failed}"
        answered = {"SessionStart", "UserPromptSubmit", "PreToolUse", "SubagentStart", "Stop"}
        assert {run.event for run in self.hooks if run.out} <= answered, (
            "what is only listened to is not answered"
        )

    def say(self, prompt: str) -> str:
        """The client's answer to a prompt, all its tools used and its hooks run."""
        self.send({"type": "user", "message": {"role": "user", "content": prompt}})
        return self.hear()

    def hear(self) -> str:
        """The client's next answer, to a prompt of its own making perhaps."""
        for told in self.lines():
            self.id = told.get("session_id", self.id)
            if told.get("subtype") == "hook_response":
                self.hooks.append(
                    HookRun(told["hook_event"], told["exit_code"], told["stdout"], told["stderr"])
                )
            if told["type"] == "result":
                return str(told["result"])
        raise AssertionError
