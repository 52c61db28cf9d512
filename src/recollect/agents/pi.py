"""Pi, 0.73.1: what our extension (pi.ts) tells of its events, what it does with an answer, where Pi finds it, and Pi's
session files. Learnt from the program itself.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from recollect.agents import Level, Places
from recollect.agents.base_agent import ENDED, Agent, Line, blocks, encode, joined_text, project_of
from recollect.agents.payload import inner, text
from recollect.agents.transcript import Utterance, Voice
from recollect.base.moment import Moment
from recollect.base.text import storable
from recollect.model.session import Event, EventName, Reply, ToolCall

_OUR_TOOL = "recall"
_LATEST_S = 3_600


class Pi(Agent, host="pi"):
    # What it tells us

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
        if event not in self.INJECTS:
            return b""
        answer = {"context": reply.context, "notice": reply.notice, "read_instead": reply.read_instead}
        return encode({key: storable(said) for key, said in answer.items() if said})

    def origin(self, event: Event) -> Path | None:
        return Path(event.transcript) if event.transcript else None

    # Its session files: a tree of entries, one per line, written once the model has first answered

    def utterances(self, line: Line) -> Iterator[Utterance]:
        match line.get("type"):
            case "message":
                yield from self._messages(line, inner(line, "message"))
            case "custom_message":
                yield self.utterance(line, Voice.INJECTION, joined_text(line.get("content")))
            case "compaction" | "branch_summary":
                yield self.utterance(line, Voice.SUMMARY, text(line, "summary"))
            case _:
                pass

    def _messages(self, line: Line, message: Line) -> Iterator[Utterance]:
        content = message.get("content")
        match message.get("role"):
            case "user":
                yield from self.prompt_utterances(line, joined_text(content))
            case "assistant":
                for block in blocks(content):
                    if block.get("type") == "text":
                        yield self.utterance(line, Voice.REPLY, text(block, "text"))
                    elif block.get("type") == "toolCall":
                        yield self.call_utterance(
                            line, text(block, "id"), text(block, "name"), inner(block, "arguments")
                        )
            case "toolResult" if text(message, "toolName") != _OUR_TOOL:
                failed = message.get("isError") is True
                yield self.result_utterance(line, text(message, "toolCallId"), joined_text(content), failed)
            case "toolResult" | "custom":  # memory is not to be learnt from memory
                yield self.utterance(line, Voice.INJECTION, joined_text(content))
            case _:
                pass

    # Where it finds us

    def folder(self, places: Places) -> Path:
        named = places.environ.get(self.FOLDER_VARIABLE, "")
        return places.user_home / named[2:] if named == "~" or named.startswith("~/") else super().folder(places)

    def plugin(self, level: Level, places: Places, home: Path) -> tuple[Path, str]:
        within = self.folder(places) if level is Level.USER else project_of(places) / ".pi"
        written = Path(__file__).with_suffix(".ts").read_text(encoding="utf-8")
        named = f"const INSTALLED_HOME = {json.dumps(str(home))};"
        return within / "extensions" / "recollect.ts", written.replace('const INSTALLED_HOME = "";', named, 1)
