"""The real Pi in a world of its own, as client.py has it for Claude Code: a scratch home, a scratch project, a stand-in
for its model service. `tools/get_agents pi` puts it in place.

It is driven over its pipes (`--mode rpc`), so that a session may have several prompts, and notices can be seen.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from pathlib import Path

from tests.e2e import client
from tests.e2e.client import AGENTS, DUMMY_KEY, Piped, World
from tests.e2e.stand_in import Asked, Turn

PACKAGE = "@mariozechner/pi-coding-agent"
MODEL = "claude-sonnet-4-5"
PATIENCE = 15


def lacking() -> str:
    """Why Pi cannot be driven here; empty when it can."""
    return "node is not on PATH" if shutil.which("node") is None else client.lacking(PACKAGE, "pi")


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


class PiSession(Piped):
    """Prompts in, answers out."""

    def __init__(self, world: World, *script: Turn, args: tuple[str, ...] = ()) -> None:
        super().__init__(world, script)
        self.notices: list[str] = []
        self._args = args

    def command(self) -> list[str]:
        models = folder(self._world) / "models.json"
        models.parent.mkdir(parents=True, exist_ok=True)
        models.write_text(json.dumps({"providers": {"anthropic": {"baseUrl": self.service.url}}}), encoding="utf-8")
        program = AGENTS / "pi" / "node_modules" / PACKAGE / "dist" / "cli.js"
        options = ["--mode", "rpc", "--provider", "anthropic", "--model", MODEL, *self._args]
        return [str(shutil.which("node")), str(program), *options]

    def environ(self) -> Mapping[str, str]:
        return {
            **self._world.environ(), "ANTHROPIC_API_KEY": DUMMY_KEY, "PI_OFFLINE": "1", "PI_TELEMETRY": "0",
            "HTTPS_PROXY": self.service.url, "HTTP_PROXY": self.service.url, "NO_PROXY": "127.0.0.1",
        }  # fmt: skip

    def say(self, prompt: str) -> None:
        """Until Pi has nothing more to do about it."""
        self.send({"type": "prompt", "message": prompt})
        self.until("agent_end")

    def until(self, kind: str) -> None:
        for told in self.lines():
            match told:
                case {"type": "extension_ui_request", "method": "notify", "message": str(message)}:
                    self.notices.append(message)
                case {"type": "response", "success": False}:
                    raise AssertionError(f"Pi refused: {told}")
                case {"type": found} if found == kind:
                    return
                case _:
                    pass


def system(asked: Asked) -> str:
    """Its system prompt."""
    return json.dumps(asked.body.get("system", ""), ensure_ascii=False)
