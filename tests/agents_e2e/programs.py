"""The real Codex, Gemini CLI and OpenCode in the world of tests/e2e: a scratch home, a scratch project, and stand-ins
for their model services (Responses, generateContent, Messages). `tools/get_agents NAME` puts them in place. Nothing of
the caller's reaches them.

As with tests/e2e/stand_in.py, the script says what the model says, what it was asked is kept, and everything else that
the program reaches for is refused. Only requests that carry tools play the script: the others are the program's own.
"""

import json
import re
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from tests.e2e.client import AGENTS, DUMMY_KEY, PATIENCE_MS, WAIT_S, World
from tests.e2e.stand_in import Asked, Door, Lane, StandIn, Turn, Use

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


_PROXIES = {"HTTPS_PROXY": "{url}", "HTTP_PROXY": "{url}", "NO_PROXY": "127.0.0.1,localhost"}


class Heard(Asked):
    """One request."""

    @property
    def messages(self) -> tuple[tuple[str, str], ...]:
        """Role and text of every part that the model reads."""
        return tuple(_texts(self.body))

    def roles(self, marker: str) -> set[str]:
        """In which roles a marker stands."""
        return {role for role, text in self.messages if marker in text}


class Service(StandIn):
    @staticmethod
    def door() -> type[Door]:
        return _AgentDoor

    @property
    def heard(self) -> list[Heard]:
        """What was asked with tools at hand."""
        return [Heard(Lane.MAIN, asked.body) for asked in self.of(Lane.MAIN)]


def _texts(body: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for item in body.get("input", ()):  # Responses
        role = item.get("role", item.get("type", ""))
        parts = item.get("content", ())
        yield from ((role, part.get("text", "")) for part in parts if isinstance(part, dict))
        if isinstance(item.get("output"), str):
            yield role, item["output"]
    for item in body.get("messages", ()):  # Messages
        parts = (
            item["content"]
            if isinstance(item["content"], list)
            else [{"type": "text", "text": item["content"]}]
        )
        for part in parts:
            answered = part.get("content", ()) if part.get("type") == "tool_result" else ()
            blocks = [{"text": answered}] if isinstance(answered, str) else answered
            yield from (("tool", block.get("text", "")) for block in blocks)
            yield item["role"], part.get("text", "")
    for item in body.get("contents", ()):  # generateContent
        for part in item.get("parts", ()):
            if "functionResponse" in part:
                yield (
                    "tool",
                    "\n".join(str(one) for one in part["functionResponse"]["response"].values()),
                )
            yield item.get("role", ""), part.get("text", "")


class _AgentDoor(Door):
    def do_POST(self) -> None:
        raw = self.rfile.read(int(self.headers.get("content-length", 0)))
        path = self.path.partition("?")[0]
        is_contents = path.endswith(("GenerateContent", ":generateContent"))
        if not is_contents and not path.endswith(("/responses", "/messages")):
            return self._refuse()
        body = json.loads(raw)
        turn = self.server.stand_in.answer(
            Heard(Lane.MAIN if body.get("tools") else Lane.ASIDE, body)
        )
        if is_contents:
            self._contents(turn, is_stream="stream" in path)
        elif path.endswith("/messages"):
            self._stream(turn, "claude", tokens=10)
        else:
            self._responses(turn)

    def _responses(self, turn: Turn) -> None:
        self._head(200, "text/event-stream")
        name = self.server.stand_in.next_id
        response = name("resp")
        self._event("response.created", response={"id": response})
        for index, part in enumerate(turn.says):
            item: dict[str, object]
            if isinstance(part, Use):
                item = {
                    "type": "function_call", "id": name("fc"), "call_id": name("call"), "name": part.tool,
                    "arguments": json.dumps(part.input),
                }  # fmt: skip
            else:
                content = [{"type": "output_text", "text": part, "annotations": []}]
                item = {
                    "type": "message",
                    "id": name("msg"),
                    "role": "assistant",
                    "content": content,
                }
            self._event("response.output_item.done", output_index=index, item=item)
        tokens = turn.tokens or 10
        usage = {
            "input_tokens": tokens, "input_tokens_details": {"cached_tokens": 0}, "output_tokens": 5,
            "output_tokens_details": {"reasoning_tokens": 0}, "total_tokens": tokens + 5,
        }  # fmt: skip
        self._event("response.completed", response={"id": response, "usage": usage})

    def _contents(self, turn: Turn, *, is_stream: bool) -> None:
        parts = [
            {"functionCall": {"name": part.tool, "args": part.input}}
            if isinstance(part, Use)
            else {"text": part}
            for part in turn.says
        ]
        told = {
            "candidates": [
                {"content": {"role": "model", "parts": parts}, "finishReason": "STOP", "index": 0}
            ],
            "usageMetadata": {
                "promptTokenCount": 10,
                "candidatesTokenCount": 5,
                "totalTokenCount": 15,
            },
            "modelVersion": "gemini",
        }
        if not is_stream:
            return self._json(told)
        self._head(200, "text/event-stream")
        self.wfile.write(f"data: {json.dumps(told)}\r\n\r\n".encode())


class Agent:
    """One program, in one world."""

    name = program = settings_file = (
        ""  # its program below `.agents`, as a pattern; its file in the home folder
    )
    options: tuple[str, ...] = ()  # before the prompt
    variables: Mapping[str, str] = {}

    def __init__(self, world: World) -> None:
        self.world, self.settings = world, world.home / self.settings_file

    def prepare(self, url: str) -> None:
        """Its own settings: where the service is."""
        raise NotImplementedError

    def install(self) -> None:
        """Recollect in it, with all the time for its hooks that they may want."""
        self.world.recollect("install", "--agent", self.name)
        if self.settings.exists():
            text = self.settings.read_text(encoding="utf-8")
            patient = re.sub(
                r"( --deadline-ms \d+)? 2>/dev/null",
                f" --deadline-ms {PATIENCE_MS} 2>/dev/null",
                text,
            )
            self.settings.write_text(patient, encoding="utf-8")
        self.world.recollect("daemon", "start")

    def uninstall(self) -> None:
        self.world.recollect("uninstall")

    def run(self, prompt: str, *script: Turn) -> Service:
        """A session of one prompt, from its start to its end."""
        with Service(script) as service:
            self.prepare(service.url)
            environ = {
                name: value.format(url=service.url)
                for name, value in {**_PROXIES, **self.variables}.items()
            }
            done = subprocess.run(
                [str(found(self)), *self.options, prompt], cwd=self.world.project, env=self.world.environ() | environ,
                stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=WAIT_S,
            )  # fmt: skip
        assert done.returncode == 0, (done.returncode, done.stdout[-2000:], done.stderr[-2000:])
        assert not service.unsaid(), (service.unsaid(), done.stdout[-2000:], done.stderr[-2000:])
        return service


class Codex(Agent):
    name = "codex"
    program = "codex/node_modules/@openai/codex-*/vendor/*/bin/codex"
    settings_file = ".codex/hooks.json"
    options = (
        "exec",
        "--skip-git-repo-check",
        "--dangerously-bypass-hook-trust",
        "-s",
        "read-only",
    )
    variables: Mapping[str, str] = {"STAND_IN_KEY": DUMMY_KEY}

    def prepare(self, url: str) -> None:
        config = self.world.home / ".codex" / "config.toml"
        config.parent.mkdir(exist_ok=True)
        text = config.read_text(encoding="utf-8") if config.exists() else ""
        if "stand-in" not in text:
            text = _CODEX.format(url=url) + text
        config.write_text(re.sub(r"http://127\.0\.0\.1:\d+", url, text), encoding="utf-8")


class Gemini(Agent):
    name = "gemini"
    program = "gemini/node_modules/.bin/gemini"
    settings_file = ".gemini/settings.json"
    options = ("--skip-trust", "-m", "gemini-2.5-flash", "--approval-mode", "yolo", "-p")
    variables: Mapping[str, str] = {"GEMINI_API_KEY": DUMMY_KEY, "GOOGLE_GEMINI_BASE_URL": "{url}"}

    def prepare(self, url: str) -> None:
        self.settings.parent.mkdir(exist_ok=True)
        old = (
            json.loads(self.settings.read_text(encoding="utf-8")) if self.settings.exists() else {}
        )
        if not old.keys() >= _GEMINI.keys():
            self.settings.write_text(json.dumps({**_GEMINI, **old}, indent=2), encoding="utf-8")


class OpenCode(Agent):
    """Its service is asked as Claude Code's is."""

    name = "opencode"
    program = "opencode/node_modules/opencode-*/bin/opencode"
    settings_file = ".config/opencode/opencode.json"
    options = ("run", "-m", "anthropic/claude-sonnet-4-5")
    variables: Mapping[str, str] = {
        "OPENCODE_DISABLE_AUTOUPDATE": "1",
        "OPENCODE_DISABLE_MODELS_FETCH": "1",
    }

    def install(self) -> None:
        self.world.recollect("install", "--agent", self.name)
        self.original = self.plugin.read_text(encoding="utf-8")
        patient = f'["opencode", event, "--deadline-ms", "{PATIENCE_MS}"]'
        text = self.original.replace('["opencode", event]', patient).replace(
            "WAIT_MS = 2000", "WAIT_MS = 9000"
        )
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
        old = (
            json.loads(self.settings.read_text(encoding="utf-8")) if self.settings.exists() else {}
        )
        provider = {"anthropic": {"options": {"baseURL": f"{url}/v1", "apiKey": DUMMY_KEY}}}
        new = {**old, "provider": provider, "autoupdate": False, "share": "disabled"}
        self.settings.write_text(json.dumps(new, indent=2), encoding="utf-8")


AGENT_TYPES: tuple[type[Agent], ...] = (Codex, Gemini, OpenCode)


def found(kind: Agent | type[Agent]) -> Path | None:
    return next(AGENTS.glob(kind.program), None)
