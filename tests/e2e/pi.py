"""The real Pi in a world of its own, as client.py has it for Claude Code: a scratch home, a scratch project, a stand-in
for its model service. `tools/get_agents pi` puts it in place.

It is driven over its pipes (`--mode rpc`), so that a session may have several prompts, and notices can be seen.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import threading
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from tests.e2e.client import AGENTS, DUMMY_KEY, ROOT, WAIT_S, World
from tests.e2e.stand_in import Asked, Lane, StandIn, Turn

PACKAGE = "@mariozechner/pi-coding-agent"
MODEL = "claude-sonnet-4-5"
PATIENCE = 15


def lacking() -> str:
    """Why Pi cannot be driven here; empty when it can."""
    if sys.platform == "win32":
        return "the real Pi is driven on Linux and macOS only"
    if shutil.which("node") is None:
        return "node is not on PATH"
    found = AGENTS / "pi" / "node_modules" / PACKAGE / "package.json"
    if not found.exists():
        return "the real Pi is not here: tools/get_agents pi gets it"
    pinned = json.loads((ROOT / "tools" / "agents" / "pi" / "package.json").read_text(encoding="utf-8"))["dependencies"]
    version = json.loads(found.read_text(encoding="utf-8"))["version"]
    return "" if version == pinned[PACKAGE] else f"the real Pi is {version}, not {pinned[PACKAGE]}"


def folder(world: World) -> Path:
    return world.home / ".pi" / "agent"


def extension(world: World) -> Path:
    return folder(world) / "extensions" / "recollect.ts"


def install(world: World) -> None:
    """Recollect in Pi, its daemon at work, and all the time that answers may want."""
    world.recollect("install", "--agent", "pi")
    path = extension(world)
    text = path.read_text(encoding="utf-8")
    assert "const PATIENCE = 1;" in text
    path.write_text(text.replace("const PATIENCE = 1;", f"const PATIENCE = {PATIENCE};"), encoding="utf-8")
    world.recollect("daemon", "start")


class PiSession:
    """Prompts in, answers out."""

    def __init__(self, world: World, *script: Turn, args: tuple[str, ...] = ()) -> None:
        self.service = StandIn(script)
        self.notices: list[str] = []
        self._world = world
        self._args = args

    @property
    def asked(self) -> list[Asked]:
        return self.service.of(Lane.MAIN)

    def __enter__(self) -> Self:
        self.service.__enter__()
        models = folder(self._world) / "models.json"
        models.parent.mkdir(parents=True, exist_ok=True)
        models.write_text(json.dumps({"providers": {"anthropic": {"baseUrl": self.service.url}}}), encoding="utf-8")
        program = AGENTS / "pi" / "node_modules" / PACKAGE / "dist" / "cli.js"
        options = ["--mode", "rpc", "--provider", "anthropic", "--model", MODEL, *self._args]
        environ = {
            **self._world.environ(), "ANTHROPIC_API_KEY": DUMMY_KEY, "PI_OFFLINE": "1", "PI_TELEMETRY": "0",
            "HTTPS_PROXY": self.service.url, "HTTP_PROXY": self.service.url, "NO_PROXY": "127.0.0.1",
        }  # fmt: skip
        self._errors = (self._world.root / "pi.err").open("w+", encoding="utf-8")
        self._pi = subprocess.Popen(
            [str(shutil.which("node")), str(program), *options], cwd=self._world.project, env=environ,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._errors, text=True,
        )  # fmt: skip
        self._watch = threading.Timer(WAIT_S, self._pi.kill)
        self._watch.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        _, code = self._pi.communicate(), self._pi.returncode
        self._watch.cancel()
        self.service.__exit__(kind, error, at)
        self._errors.seek(0)
        said = self._errors.read()
        self._errors.close()
        if error is None:
            assert (code, said) == (0, ""), f"Pi ended with {code}: {said}"
            assert not self.service.unsaid(), f"the model was never asked for {self.service.unsaid()}"

    def say(self, prompt: str) -> None:
        """Until Pi has nothing more to do about it."""
        self.send("prompt", message=prompt)
        self.until("agent_end")

    def send(self, kind: str, **given: object) -> None:
        assert self._pi.stdin is not None
        self._pi.stdin.write(json.dumps({"type": kind, **given}) + "\n")
        self._pi.stdin.flush()

    def until(self, kind: str) -> dict[str, Any]:
        assert self._pi.stdout is not None
        for line in self._pi.stdout:
            told: dict[str, Any] = json.loads(line)
            match told:
                case {"type": "extension_ui_request", "method": "notify", "message": str(message)}:
                    self.notices.append(message)
                case {"type": "response", "success": False}:
                    raise AssertionError(f"Pi refused: {told}")
                case {"type": found} if found == kind:
                    return told
                case _:
                    pass
        self._errors.seek(0)
        raise AssertionError(f"Pi ended before it was done: {self._errors.read()}")


def system(asked: Asked) -> str:
    """Its system prompt."""
    return json.dumps(asked.body.get("system", ""), ensure_ascii=False)
