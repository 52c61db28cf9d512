"""Scripted sessions: written down as a transcript in a project of their own, digested, and asked what an agent would be
told next. Everything happens in a scratch folder, through the real App and the real hooks."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Self

from recollect import agents
from recollect.base import project as projects
from recollect.base.clock import FixedClock
from recollect.base.moment import Moment
from recollect.base.paths import Home
from recollect.base.settings import load
from recollect.hooks.answer import Hooks
from recollect.model.ledger import Pointer
from recollect.model.memory import Kind, Rule, Status
from recollect.model.query import Query
from recollect.model.result import Scope
from recollect.model.session import EventName
from recollect.ops import digest
from recollect.ops.app import App

Step = Mapping[str, Any]
"""`{"do": "run", "what", "out", "failed"}`, edit, read, search, fetch; `{"do": "say" | "reply", "text"}`."""
_TOOLS = {"run": "Bash", "edit": "Edit", "read": "Read", "search": "Grep", "fetch": "WebFetch"}
_GIVEN = {"run": "command", "search": "pattern", "fetch": "url"}
_PATIENCE_S = 60.0
"""What counts here is what is said, not how soon."""
_BEGIN = Moment.parse("2026-03-02T09:00:00Z")


class Stage:
    """One project, in a home of its own."""

    def __init__(self, folder: Path) -> None:
        self._work, self._transcripts = folder / "work", folder / "transcripts"
        (self._work / ".git").mkdir(parents=True)
        self._transcripts.mkdir()
        self._clock = FixedClock(_BEGIN)
        self._line = 0
        self.own = App(
            home=Home(folder / "home"), project=projects.find(self._work, folder), settings=load(None, None, {}),
            clock=self._clock, actor="bench",
        )  # fmt: skip
        self._hooks = Hooks(self, folder / "rendered", self._clock)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.own.close()

    @contextmanager
    def app(self, _project: str, _cwd: str, _environ: Mapping[str, str]) -> Iterator[App]:
        """For the hooks: always the same one."""
        yield self.own

    def play(self, session: str, steps: Sequence[Step]) -> None:
        """As the agent would have written the session down; then it is read to its end."""
        path = self._transcripts / f"{session}.jsonl"
        with path.open("a", encoding="utf-8") as file:
            for line in self._lines(steps):
                file.write(json.dumps(line, ensure_ascii=False) + "\n")
        sessions = self.own.writing(Scope.PROJECT).sessions
        ended = Pointer(
            name=str(EventName.TURN_ENDED), host=agents.DEFAULT_HOST, session=session, at=self._clock.now(),
            prompt=str(self._line), transcript=str(path), size=path.stat().st_size,
        )  # fmt: skip
        sessions.receive(ended)
        self._wait(10)
        digest.digest(self.own)

    def told(self, event: str, session: str, **more: object) -> str:
        """What a hook prints for the agent to read."""
        self._wait(10)
        payload = {
            "session_id": session, "cwd": str(self._work), "hook_event_name": event, **more,
            "transcript_path": str(self._transcripts / f"{session}.jsonl"),
        }  # fmt: skip
        body = json.dumps(payload).encode()
        until_s = time.monotonic() + _PATIENCE_S
        answer = self._hooks.answer(agents.DEFAULT_HOST, event, body, {}, str(self._work), until_s)
        answer.after(True)
        return answer.stdout.decode()

    def rules(self) -> list[Rule]:
        """Whatever has become of them."""
        wanted = Query(kinds=(Kind.RULE,), statuses=tuple(Status), limit=100_000)
        found = [one for scope in Scope for one in self.own.reading(scope).find(wanted)]
        return [one for one in found if isinstance(one, Rule)]

    def _lines(self, steps: Sequence[Step]) -> Iterator[dict[str, Any]]:
        for step in steps:
            self._line += 1
            self._wait(60)
            if step["do"] in ("say", "reply"):
                yield self._said("user" if step["do"] == "say" else "assistant", [_text(step["text"])])
                continue
            id = f"toolu_{self._line:06}"
            given = {_GIVEN.get(step["do"], "file_path"): step.get("what") or step.get("file", "")}
            yield self._said("assistant", [_block("tool_use", id=id, name=_TOOLS[step["do"]], input=given)])
            result = _block("tool_result", tool_use_id=id, content=step["out"], is_error=bool(step["failed"]))
            yield self._said("user", [result])

    def _said(self, role: str, content: list[dict[str, Any]]) -> dict[str, Any]:
        at = self._clock.now().iso()
        return {"type": role, "uuid": f"line-{self._line}-{role}", "timestamp": at, "message": {"content": content}}

    def _wait(self, seconds: float) -> None:
        self._clock.at = self._clock.at.plus(seconds=seconds)


def _text(said: str) -> dict[str, Any]:
    return _block("text", text=said)


def _block(type: str, **fields: object) -> dict[str, Any]:
    return {"type": type, **fields}
