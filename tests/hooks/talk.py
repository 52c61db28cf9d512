"""A session of an agent, as its hooks see it: events in, what would be printed out."""

import json
import time
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from pathlib import Path
from typing import Any, NamedTuple

from recollect.app.core import App
from recollect.hooks.answer import Answer, Hooks
from recollect.model.result import Scope


class Heard(NamedTuple):
    """What the agent and the person get to see of an answer."""

    context: str
    notice: str
    decision: str
    input: Mapping[str, Any]
    raw: bytes


class Talk:
    def __init__(
        self,
        app: App,
        *,
        session: str = "s-1",
        hooks: Hooks | None = None,
        host: str = "claude-code",
    ) -> None:
        self.app = app
        self.host = host
        self.session = session
        self.folder = app.home.root.parent / "runtime" / "recalls"
        self.folder.parent.mkdir(mode=0o700, exist_ok=True)
        self.hooks = hooks or Hooks(lambda *_: nullcontext(app), self.folder, app.clock)
        self.transcript = ""
        self.prompts = 0

    def tell(
        self,
        event: str,
        *,
        confirm: bool = True,
        left_s: float = 60,
        environ: Mapping[str, str] = {},
        **given: Any,
    ) -> Heard:
        answer = self.answer(event, left_s=left_s, environ=environ, **given)
        answer.after(confirm)
        return heard(answer.stdout)

    def answer(
        self,
        event: str,
        *,
        left_s: float = 60,
        environ: Mapping[str, str] = {},
        transcript_bytes: int = 0,
        send: Callable[[bytes], None] = lambda _stdout: None,
        **given: Any,
    ) -> Answer:
        cwd = str(Path.cwd())
        shared = {
            "session_id": self.session,
            "transcript_path": self.transcript,
            "cwd": cwd,
            "hook_event_name": event,
        }
        body = json.dumps(shared | {"prompt_id": f"p{self.prompts}"} | given).encode()
        until_s = time.monotonic() + left_s
        return self.hooks.answer(
            self.host, event, body, {"CLAUDE_PROJECT_DIR": cwd, **environ}, cwd, until_s,
            transcript_bytes=transcript_bytes, send=send,
        )  # fmt: skip

    def start(self, source: str = "startup", **given: Any) -> Heard:
        return self.tell("SessionStart", source=source, **given)

    def say(self, prompt: str, **given: Any) -> Heard:
        self.prompts += 1
        return self.tell("UserPromptSubmit", prompt=prompt, **given)

    def call(
        self, tool: str, *, agent_id: str = "", call: str = "toolu_1", **tool_input: Any
    ) -> Heard:
        inside: dict[str, Any] = {"agent_id": agent_id, "agent_type": "helper"} if agent_id else {}
        return self.tell(
            "PreToolUse", tool_name=tool, tool_input=tool_input, tool_use_id=call, **inside
        )

    def read(self, path: str, **more: Any) -> str:
        """The text of the file that is read in its place."""
        return Path(str(self.call("Read", file_path=path, **more).input["file_path"])).read_text(
            encoding="utf-8"
        )


Another = Callable[[str], Talk]


def heard(stdout: bytes) -> Heard:
    said = json.loads(stdout) if stdout else {}
    specific = said.get("hookSpecificOutput", {})
    return Heard(
        specific.get("additionalContext", ""),
        said.get("systemMessage", ""),
        specific.get("permissionDecision", ""),
        specific.get("updatedInput", {}),
        stdout,
    )


def events(app: App) -> list[str]:
    """The names of what was received, in order."""
    return [pointer.name for _, pointer in app.reader(Scope.PROJECT).events()]


def log_of(app: App) -> str:
    path = app.home.logs / "recollect.log"
    return path.read_text(encoding="utf-8") if path.exists() else ""
