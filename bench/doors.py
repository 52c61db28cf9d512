"""The doors through which a text comes in, each as a function that takes it there: hooks, transcripts, notes, commands.

Everything happens in one process, in a scratch home, without a model of vectors: what is measured is our own reading.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from contextlib import nullcontext, suppress
from pathlib import Path
from typing import Any
from unittest.mock import patch

from bench.threads import an_app
from recollect.base.clock import FixedClock
from recollect.base.errors import RecollectError
from recollect.hooks.answer import Hooks
from recollect.jobs import transcripts
from recollect.jobs.transcripts import ReadingState
from recollect.ops import (
    imports,
    memories,
    notes,
    past_sessions,
    recall,
    rules,
    steering,
    transfer,
)

Door = Callable[[str], None]
_HOST = "claude-code"


class Doors:
    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._app = an_app(folder, None)
        self._clock = FixedClock(self._app.clock.now())
        self._app.clock = self._clock
        self._hooks = Hooks(lambda *_: nullcontext(self._app), folder / "recalls", self._app.clock)
        self._reading = ReadingState()
        self._sessions = 0

    @property
    def all(self) -> Mapping[str, Door]:
        return {
            "prompt": self._prompt,
            "command": lambda text: self._call("Bash", command=text),
            "path": lambda text: self._call("Read", file_path=f"/{text}"),
            "edit": lambda text: self._call(
                "Edit", file_path="a.py", old_string="b", new_string=text
            ),
            "task": lambda text: self._call("Agent", prompt=text, description="look"),
            "read: prompt": lambda text: self._read(_said("user", text)),
            "read: answer": lambda text: self._read(_said("assistant", text)),
            "read: output": lambda text: self._read(*_ran("make test", text)),
            "read: command": lambda text: self._read(*_ran(text, "error: not found")),
            "read: path": lambda text: self._read(
                *_used("Edit", file_path=f"/{text}", new_string="b")
            ),
            "read: edit": lambda text: self._read(
                *_used("Edit", file_path="/a.py", new_string=text)
            ),
            "read: commit": lambda text: self._read(
                *_ran(f'git commit -m "{text}"', "", failed=False)
            ),
            "read: failure": lambda text: self._read(
                *_ran(text, text), *_ran(text[::-1], "ok", failed=False)
            ),
            "import": self._import,
            "rule": lambda text: self._ask(rules.add, text),
            "capture": lambda text: self._ask(rules.capture, text),
            "note": self._note,
            "note head": lambda text: self._note(f"---\ntags: [{text}]\n---\nWords.\n"),
            "rules file": lambda text: self._ask(imports.rules_file, self._file("rules.md", text)),
            "agent's note": lambda text: self._ask(
                imports.memory_folder, str(Path(self._file("folder/a.md", text)).parent)
            ),
            "jsonl": lambda text: self._ask(
                transfer.import_jsonl, self._file("a.jsonl", json.dumps({"type": text}))
            ),
            "setting": self._setting,
            "pin": lambda text: self._ask(memories.pin, text),
            "focus": lambda text: self._ask(steering.focus, text),
            "name": lambda text: self._ask(memories.show, text),
            "question": lambda text: self._ask(recall.recall, (text,)),
            "search": lambda text: self._ask(recall.search, (text,)),
        }

    def close(self) -> None:
        self._app.close()

    def _ask(self, operation: Callable[..., object], *given: object) -> None:
        with suppress(RecollectError):  # a text that is refused is dealt with, too
            operation(self._app, *given)

    def _tell(self, event: str, transcript: str = "", **given: Any) -> None:
        cwd = str(self._app.require_project().root)
        said = {
            "session_id": f"s-{self._sessions}",
            "transcript_path": transcript,
            "cwd": cwd,
            "hook_event_name": event,
            **given,
        }
        until_s = time.monotonic() + 60
        with suppress(RecollectError):
            answer = self._hooks.answer(
                _HOST, event, json.dumps(said).encode(), {"CLAUDE_PROJECT_DIR": cwd}, cwd, until_s
            )
            answer.after(True)

    def _prompt(self, text: str) -> None:
        self._sessions += 1
        self._tell("UserPromptSubmit", prompt=text, prompt_id="p1")

    def _call(self, tool: str, **given: str) -> None:
        self._sessions += 1
        self._tell("PreToolUse", tool_name=tool, tool_input=given, tool_use_id="toolu_1")

    def _read(self, *lines: dict[str, Any]) -> None:
        path = self._transcript(lines)
        self._tell("Stop", transcript=str(path))
        self._clock.at = self._clock.at.plus(
            seconds=5
        )  # pointers are followed once they have settled
        while transcripts.read_some(self._app, self._reading):
            pass

    def _import(self, text: str) -> None:
        lines = [
            _said("user", text),
            *_ran(text, text),
            *_ran(f"git commit -m '{text}'", "", failed=False),
            _said("assistant", text),
        ]
        path = self._transcript(lines)
        with patch.object(past_sessions, "embed_imported", lambda _app: ()):
            self._ask(past_sessions.import_past, str(path))

    def _transcript(self, lines: Any) -> Path:
        self._sessions += 1
        session = f"s-{self._sessions}"
        cwd = str(self._app.require_project().root)
        path = self._folder / f"{session}.jsonl"
        at = self._app.clock.now().iso()
        with path.open("w", encoding="utf-8", errors="surrogatepass") as file:
            for number, line in enumerate([_said("user", "please go on with the parser"), *lines]):
                id = f"{session}-{number}"
                shared = {"uuid": id, "sessionId": session, "timestamp": at, "cwd": cwd}
                file.write(json.dumps(shared | line) + "\n")
        return path

    def _note(self, text: str) -> None:
        self._ask(notes.import_notes, str(Path(self._file("vault/note.md", text)).parent))

    def _setting(self, text: str) -> None:
        """A line of the project's settings, which every hook reads."""
        conf = self._app.require_project().root / ".ai" / "agent.conf"
        conf.parent.mkdir(exist_ok=True)
        conf.write_text(f"MEMORY_RECALL={text}\n", encoding="utf-8", errors="replace")
        self._call("Bash", command="make test")
        conf.unlink()

    def _file(self, name: str, text: str) -> str:
        path = self._folder / "files" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8", errors="replace")
        return str(path)


def _said(role: str, text: str) -> dict[str, Any]:
    return {"type": role, "message": {"role": role, "content": [{"type": "text", "text": text}]}}


def _used(
    tool: str, output: str = "done", *, failed: bool = False, **given: str
) -> list[dict[str, Any]]:
    id = f"toolu_{abs(hash((tool, output[:50], *(one[:50] for one in given.values()))))}"
    use = {"type": "tool_use", "id": id, "name": tool, "input": given}
    result = {"type": "tool_result", "tool_use_id": id, "content": output, "is_error": failed}
    return [
        {"type": "assistant", "message": {"role": "assistant", "content": [use]}},
        {"type": "user", "message": {"role": "user", "content": [result]}},
    ]


def _ran(command: str, output: str, *, failed: bool = True) -> list[dict[str, Any]]:
    return _used("Bash", output, failed=failed, command=command)
