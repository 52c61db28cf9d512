"""The real Codex and Gemini CLI in the world of tests/e2e: a scratch home, a scratch project, a stand-in for their
model services. `tools/get_agents NAME` puts them in place. As there, nothing of the caller's reaches them."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Mapping
from pathlib import Path

from tests.agents_e2e.services import Service
from tests.e2e.client import AGENTS, DUMMY_KEY, PATIENCE_MS, WAIT_S, World
from tests.e2e.stand_in import Turn

_CODEX = """\
model = "gpt-5.1-codex"
model_provider = "stand-in"

[model_providers.stand-in]
name = "stand-in"
base_url = "{url}/v1"
wire_api = "responses"
env_key = "STAND_IN_KEY"
request_max_retries = 0
stream_max_retries = 0
"""
_GEMINI = {
    "security": {"auth": {"selectedType": "gemini-api-key"}},
    "privacy": {"usageStatisticsEnabled": False},
    "telemetry": {"enabled": False},
    "general": {"enableAutoUpdate": False},
}


class Agent:
    """One program, in one world."""

    name = ""
    program = ""  # Below `.agents`, as a pattern

    def __init__(self, world: World) -> None:
        self.world = world

    @property
    def settings(self) -> Path:
        raise NotImplementedError

    def prepare(self, url: str) -> None:
        """Its own settings: where the service is."""
        raise NotImplementedError

    def command(self, prompt: str) -> list[str]:
        raise NotImplementedError

    def environ(self, url: str) -> Mapping[str, str]:
        raise NotImplementedError

    def install(self) -> None:
        """Recollect in it, with all the time for its hooks that they may want."""
        self.world.recollect("install", "--agent", self.name)
        if self.settings.exists():
            text = self.settings.read_text(encoding="utf-8")
            patient = re.sub(r"( --deadline-ms \d+)? 2>/dev/null", f" --deadline-ms {PATIENCE_MS} 2>/dev/null", text)
            self.settings.write_text(patient, encoding="utf-8")
        self.world.recollect("daemon", "start")

    def uninstall(self) -> None:
        self.world.recollect("uninstall")

    def run(self, prompt: str, *script: Turn) -> Service:
        """A session of one prompt, from its start to its end."""
        with Service(script) as service:
            self.prepare(service.url)
            environ = {
                **self.world.environ(), "HTTPS_PROXY": service.url, "HTTP_PROXY": service.url,
                "NO_PROXY": "127.0.0.1,localhost", **self.environ(service.url),
            }  # fmt: skip
            done = subprocess.run(
                self.command(prompt), cwd=self.world.project, env=environ, stdin=subprocess.DEVNULL,
                capture_output=True, text=True, timeout=WAIT_S,
            )  # fmt: skip
        assert done.returncode == 0, (done.returncode, done.stdout[-2000:], done.stderr[-2000:])
        assert not service.unsaid(), (service.unsaid(), done.stdout[-2000:], done.stderr[-2000:])
        return service


class Codex(Agent):
    name = "codex"
    program = "codex/node_modules/@openai/codex-*/vendor/*/bin/codex"

    @property
    def settings(self) -> Path:
        return self.world.home / ".codex" / "hooks.json"

    def prepare(self, url: str) -> None:
        config = self.world.home / ".codex" / "config.toml"
        config.parent.mkdir(exist_ok=True)
        text = config.read_text(encoding="utf-8") if config.exists() else ""
        if "stand-in" not in text:
            text = _CODEX.format(url=url) + text
        config.write_text(re.sub(r"http://127\.0\.0\.1:\d+", url, text), encoding="utf-8")

    def command(self, prompt: str) -> list[str]:
        options = ["--skip-git-repo-check", "--dangerously-bypass-hook-trust", "-s", "read-only"]
        return [str(found(self)), "exec", *options, prompt]

    def environ(self, url: str) -> Mapping[str, str]:
        return {"STAND_IN_KEY": DUMMY_KEY}


class Gemini(Agent):
    name = "gemini"
    program = "gemini/node_modules/.bin/gemini"

    @property
    def settings(self) -> Path:
        return self.world.home / ".gemini" / "settings.json"

    def prepare(self, url: str) -> None:
        self.settings.parent.mkdir(exist_ok=True)
        old = json.loads(self.settings.read_text(encoding="utf-8")) if self.settings.exists() else {}
        if not old.keys() >= _GEMINI.keys():
            self.settings.write_text(json.dumps({**_GEMINI, **old}, indent=2), encoding="utf-8")

    def command(self, prompt: str) -> list[str]:
        return [str(found(self)), "--skip-trust", "-m", "gemini-2.5-flash", "--approval-mode", "yolo", "-p", prompt]

    def environ(self, url: str) -> Mapping[str, str]:
        return {"GEMINI_API_KEY": DUMMY_KEY, "GOOGLE_GEMINI_BASE_URL": url}


class OpenCode(Agent):
    """Its service is asked as Claude Code's is."""

    name = "opencode"
    program = "opencode/node_modules/opencode-*/bin/opencode"

    @property
    def settings(self) -> Path:
        return self.world.home / ".config" / "opencode" / "opencode.json"

    def install(self) -> None:
        self.world.recollect("install", "--agent", self.name)
        self.original = self.plugin.read_text(encoding="utf-8")
        patient = f'["opencode", event, "--deadline-ms", "{PATIENCE_MS}"]'
        text = self.original.replace('["opencode", event]', patient).replace("WAIT_MS = 2000", "WAIT_MS = 9000")
        self.plugin.write_text(text, encoding="utf-8")
        self.world.recollect("daemon", "start")

    def uninstall(self) -> None:
        self.plugin.write_text(self.original, encoding="utf-8")  # an edited one would be left alone
        super().uninstall()

    @property
    def plugin(self) -> Path:
        return self.settings.parent / "plugin" / "recollect.js"

    def prepare(self, url: str) -> None:
        self.settings.parent.mkdir(parents=True, exist_ok=True)
        old = json.loads(self.settings.read_text(encoding="utf-8")) if self.settings.exists() else {}
        provider = {"anthropic": {"options": {"baseURL": f"{url}/v1", "apiKey": DUMMY_KEY}}}
        new = {**old, "provider": provider, "autoupdate": False, "share": "disabled"}
        self.settings.write_text(json.dumps(new, indent=2), encoding="utf-8")

    def command(self, prompt: str) -> list[str]:
        return [str(found(self)), "run", "-m", "anthropic/claude-sonnet-4-5", prompt]

    def environ(self, url: str) -> Mapping[str, str]:
        return {"OPENCODE_DISABLE_AUTOUPDATE": "1", "OPENCODE_DISABLE_MODELS_FETCH": "1"}


AGENT_TYPES: tuple[type[Agent], ...] = (Codex, Gemini, OpenCode)


def found(kind: Agent | type[Agent]) -> Path | None:
    return next(AGENTS.glob(kind.program), None)
