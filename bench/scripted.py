"""Scripted sessions: written down as a transcript in a project of their own, read to the end, and asked what an agent
would be told next. Everything happens in a scratch folder, through the real App and the real hooks (cli/stage.py)."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from recollect.base.moment import Moment
from recollect.cli import stage
from recollect.model.memory import Kind, Rule, Status
from recollect.model.query import Query
from recollect.model.result import Scope

Step = Mapping[str, Any]
"""`{"do": "run", "what", "out", "failed"}`, edit, read, search, fetch; `{"do": "say" | "reply", "text"}`."""
_BEGIN = Moment.parse("2026-03-02T09:00:00Z")


_TOOLS = {"run": "Bash", "edit": "Edit", "read": "Read", "search": "Grep", "fetch": "WebFetch"}
_INPUTS = {"run": "command", "search": "pattern", "fetch": "url"}


class Stage(stage.Stage):
    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        super().__init__(folder, "work", begin=_BEGIN, actor="bench")

    def play_steps(self, session: str, steps: Sequence[Step]) -> None:
        self.play(
            session,
            [
                message
                for number, step in enumerate(steps)
                for message in _messages(session, number, step)
            ],
        )

    def told(self, event: str, session: str, **more: object) -> str:
        """What a hook prints for the agent to read."""
        printed = self.hook(event, session, **more)
        return json.dumps(printed, ensure_ascii=False) if printed else ""

    def rules(self) -> list[Rule]:
        """Whatever has become of them."""
        wanted = Query(kinds=(Kind.RULE,), statuses=tuple(Status), limit=100_000)
        found = [one for scope in Scope for one in self.own.reader(scope).find(wanted)]
        return [one for one in found if isinstance(one, Rule)]


def _messages(session: str, number: int, step: Step) -> Iterator[tuple[str, dict[str, Any]]]:
    if step["do"] in ("say", "reply"):
        yield "user" if step["do"] == "say" else "assistant", {"type": "text", "text": step["text"]}
        return
    id = f"toolu_{session}_{number:06}"
    given = {_INPUTS.get(step["do"], "file_path"): step.get("what") or step.get("file", "")}
    yield "assistant", {"type": "tool_use", "id": id, "name": _TOOLS[step["do"]], "input": given}
    yield (
        "user",
        {
            "type": "tool_result",
            "tool_use_id": id,
            "content": step["out"],
            "is_error": bool(step["failed"]),
        },
    )
