"""Agents that take a page or less: OpenCode (1.18.33) and Pi (0.73.1), which load a file of ours that calls us, and
Copilot CLI (1.0.64), whose past sessions can be read. All learnt from the programs themselves.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from recollect.agents import Form, Level, Places, ServerPlace, prompts
from recollect.agents.base_agent import ENDED, Agent, blocks, encode, first, inner, joined_text, project_of, text
from recollect.agents.transcript import Head, Line, Utterance, Voice
from recollect.base.moment import Moment
from recollect.base.text import storable
from recollect.model.session import Event, EventName, Reply, ToolCall
from recollect.wire import stub

_QUOTED = re.compile(r'\s*"((?:[^"\\]|\\.)*)"\s*', re.DOTALL)
_OUTPUTS, _OURS = "tool-output", "recollect"
_RECALL_TOOL = "recall"  # ours, in Pi
_LATEST_S = 3_600


class OpenCode(Agent, host="opencode"):
    """A plugin of ours (opencode.js) runs the hook, so events and answers are in words of our own. Its sessions stand
    in a database of its own, which is not read: what a person says is captured as it is said, what the agent did is
    not. Nothing can be said before a tool runs."""

    def read_prompt(self, prompt: str) -> prompts.Prompt:
        """`opencode run` puts an argument with spaces between quotes; quoted text would count as nobody's word."""
        quoted = _QUOTED.fullmatch(prompt)
        return super().read_prompt(quoted[1].replace('\\"', '"') if quoted else prompt)

    def render(self, event: str, reply: Reply) -> bytes:
        context = "" if event == "PreToolUse" else self.limit(storable(reply.context))
        return encode({"context": context, "read": reply.read_instead})

    def refine(self, parsed: Event, event: str, payload: Line) -> Event:
        """Outside the project it asks before it reads, except in the folder of long outputs that the plugin names."""
        own = Path(text(payload, "outputs"))
        is_own = own.is_absolute() and (own.parent.name, own.name) == ("opencode", _OUTPUTS)
        return replace(parsed, reads_below=str(own / _OURS / "recalls") if is_own else "")

    def answer_folders(self, places: Places) -> tuple[Path, ...]:
        return (_xdg(places, "XDG_DATA_HOME", ".local/share") / _OUTPUTS / _OURS,)

    def folder(self, places: Places) -> Path:
        return _xdg(places, "XDG_CONFIG_HOME", ".config")

    def plugin(self, level: Level, places: Places, home: Path) -> tuple[Path, str]:
        script = json.dumps(stub.script_path(str(home)), ensure_ascii=False)
        written = Path(__file__).with_name("opencode.js").read_text(encoding="utf-8")
        return self.folder_of(level, places) / "plugin" / "recollect.js", written.replace('"@HOOK@"', script)

    def server_place(self, level: Level, places: Places) -> ServerPlace:
        own = self.folder(places) if level is Level.USER else project_of(places)
        commented = own / "opencode.jsonc"
        path = commented if commented.is_file() else own / "opencode.json"
        return ServerPlace(path, ("mcp",), Form.COMMENTED)

    def server_json(self, command: str) -> Mapping[str, object]:
        return {"type": "local", "command": [command], "enabled": True}


def _xdg(places: Places, variable: str, usual: str) -> Path:
    named = places.environ.get(variable, "")
    return (Path(named) if os.path.isabs(named) else places.user_home / usual) / "opencode"


class Pi(Agent, host="pi"):
    """An extension of ours (pi.ts) tells us of its events."""

    def event_name(self, event: str, payload: Line) -> EventName:
        name = super().event_name(event, payload)
        is_failure = name is EventName.TOOLS_RAN and payload.get("is_error") is True
        return EventName.TOOL_FAILED if is_failure else name

    def refine(self, parsed: Event, event: str, payload: Line) -> Event:
        # However a session starts, the extension begins with nothing, and what it gets goes into no history.
        sources = {"session_compact": "compact", "session_start": "startup", "session_shutdown": parsed.source}
        said_ms, at = payload.get("at_ms"), parsed.at
        # It may be heard late, and a session's lines from before its start are not its own.
        if isinstance(said_ms, int) and 0 <= at.micros - said_ms * 1_000 <= _LATEST_S * 1_000_000:
            at = Moment(said_ms * 1_000)
        is_made = parsed.name is EventName.PROMPT and text(payload, "source") == "extension"
        return replace(parsed, at=at, source=sources.get(event, ""), machine_made=parsed.machine_made or is_made)

    def tools(self, name: EventName, payload: Line) -> Iterator[ToolCall]:
        if text(payload, "tool_use_id"):
            yield self.tool(payload, output=text(payload, "tool_output"), failed=ENDED.get(name))

    def render(self, event: str, reply: Reply) -> bytes:
        answer = {"context": reply.context, "notice": reply.notice, "read_instead": reply.read_instead}
        return encode({key: storable(said) for key, said in answer.items()}) if event in self.INJECTS else b""

    def origin(self, event: Event) -> Path | None:
        return Path(event.transcript) if event.transcript else None

    def utterances(self, line: Line) -> Iterator[Utterance]:
        """Of its session files: a tree of entries, one per line, written once the model has first answered."""
        message = inner(line, "message")
        content = message.get("content")
        match line.get("type"), message.get("role"):
            case "custom_message", _:
                yield self.utterance(line, Voice.INJECTION, joined_text(line.get("content")))
            case "compaction" | "branch_summary", _:
                yield self.utterance(line, Voice.SUMMARY, text(line, "summary"))
            case "message", "user":
                yield from self.prompt_utterances(line, joined_text(content))
            case "message", "assistant":
                for block in blocks(content):
                    if block.get("type") == "text":
                        yield self.utterance(line, Voice.REPLY, text(block, "text"))
                    elif block.get("type") == "toolCall":
                        yield self.call_utterance(line, block, "id", "arguments")
            case "message", "toolResult" if text(message, "toolName") != _RECALL_TOOL:
                failed = message.get("isError") is True
                yield self.result_utterance(line, text(message, "toolCallId"), joined_text(content), failed)
            case "message", "toolResult" | "custom":  # memory is not to be learnt from memory
                yield self.utterance(line, Voice.INJECTION, joined_text(content))
            case _:
                pass

    def folder(self, places: Places) -> Path:
        named = places.environ.get(self.FOLDER_VARIABLE, "")
        return places.user_home / named[2:] if named == "~" or named.startswith("~/") else super().folder(places)

    def plugin(self, level: Level, places: Places, home: Path) -> tuple[Path, str]:
        within = self.folder(places) if level is Level.USER else project_of(places) / ".pi"
        written = Path(__file__).with_name("pi.ts").read_text(encoding="utf-8")
        named = f"const INSTALLED_HOME = {json.dumps(str(home))};"
        return within / "extensions" / "recollect.ts", written.replace('const INSTALLED_HOME = "";', named, 1)


class Copilot(Agent, host="copilot"):
    """It does not call us yet. What a person typed is its own field; what the client added to it is not read."""

    def utterances(self, line: Line) -> Iterator[Utterance]:
        data = inner(line, "data")
        match line.get("type"):
            case "user.message":
                yield from self.prompt_utterances(line, text(data, "content"))
            case "assistant.message":
                if said := text(data, "content"):
                    yield self.utterance(line, Voice.REPLY, said)
                for asked in blocks(data.get("toolRequests")):
                    yield self.call_utterance(line, asked, "toolCallId", "arguments")
            case "tool.execution_complete":
                output = text(inner(data, "result"), "content") or first(inner(data, "error"), "message", "code")
                yield self.result_utterance(line, text(data, "toolCallId"), output, data.get("success") is False)
            case _:
                pass

    def session_head(self, line: Line) -> Head:
        data = inner(line, "data") if line.get("type") == "session.start" else {}
        return text(inner(data, "context"), "cwd"), text(data, "sessionId"), text(line, "timestamp"), ""
