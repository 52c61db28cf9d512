"""A transcript that a test writes line by line, as the client does, with the events that its hooks leave."""

import json
from pathlib import Path

from recollect.app.core import App
from recollect.base.moment import Moment
from recollect.model.session import Act, EventName, Pointer, SessionPart


class Transcript:
    def __init__(self, app: App, folder: Path, session: str = "s-1") -> None:
        self.app, self.session = app, session
        self.path = folder / f"{session}.jsonl"
        self.number = 0
        self.agent = ""  # the subagent whose transcript it is

    def line(self, type: str, content: object, /, **more: object) -> None:
        self.number += 1
        at = Moment(self.app.clock.now().micros + 1_000 * self.number).iso()
        said = {
            "type": type, "uuid": f"{self.session}-u{self.number}", "timestamp": at, "sessionId": self.session,
            "message": {"content": content}, **more,
        }  # fmt: skip
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(said) + "\n")

    def replied(self, text: str) -> None:
        self.line("assistant", [{"type": "text", "text": text}])

    def called(
        self, tool: str, given: dict[str, str], output: str = "ok", *, failed: bool = False
    ) -> None:
        id = f"toolu_{self.session}_{self.number}"
        self.line("assistant", [{"type": "tool_use", "id": id, "name": tool, "input": given}])
        self.line(
            "user",
            [{"type": "tool_result", "tool_use_id": id, "content": output, "is_error": failed}],
        )

    def ran(self, command: str, output: str, *, failed: bool = False) -> None:
        self.called("Bash", {"command": command}, output, failed=failed)

    def event(self, name: EventName) -> None:
        at = Moment(self.app.clock.now().micros - 5_000_000 + self.number)
        pointer = Pointer(
            name=str(name), host="claude-code", session=self.session, at=at, prompt=f"p{self.number}",
            transcript=str(self.path), agent=self.agent,
        )  # fmt: skip
        self.app.writer(self.app.scope).put(pointer)


Parts = list[SessionPart]


def told(parts: Parts) -> list[Act]:
    return [act for part in parts for act in part.new]


def texts(parts: Parts) -> list[str]:
    return [act.text for act in told(parts)]
