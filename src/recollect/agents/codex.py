"""Codex, 0.166.0: its events, what it does with an answer, its settings, its transcripts. Learnt from the client.

Its events are spelt as Claude Code spells them. It has no tool that reads a file (it runs commands), so nothing can be
read in place of a virtual file; and it runs no hook that the person has not looked at and allowed.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from recollect.agents import Form, Level, Places, ServerPlace
from recollect.agents.base_agent import Agent, as_text, first, inner, joined_text, text
from recollect.agents.transcript import Head, Line, Utterance, Voice
from recollect.base.text import counted
from recollect.model.session import EventName, ToolAction, ToolCall, ToolUse

_METADATA = "internal_chat_message_metadata_passthrough"
_ENDED = re.compile(r"^(?:Process exited with code|Exit code:) (-?\d+)", re.MULTILINE)
_PATCHED = re.compile(r"^\*\*\* (?:Add|Update|Delete) File: (.+)$", re.MULTILINE)


class Codex(Agent, host="codex"):
    def tools(self, name: EventName, payload: Line) -> Iterator[ToolCall]:
        # How a command ended is not said here; the transcript says it.
        if name in (EventName.TOOL_CALLED, EventName.TOOLS_RAN):
            yield self.tool(payload, output=as_text(payload.get("tool_response")))

    def describe_call(self, call: ToolCall) -> ToolUse:
        found = super().describe_call(call)
        if found.action is ToolAction.EDIT:
            patch = first(call.input, "input", "patch", "command")
            return replace(found, what="", files=tuple(name.strip() for name in _PATCHED.findall(patch)))
        command = call.input.get("command")
        words = [one for one in (command if isinstance(command, list) else [command]) if isinstance(one, str)]
        is_shell = len(words) > 2 and words[1].startswith("-")  # its name and option, then the command itself
        return found if found.what else replace(found, what=words[-1] if is_shell else " ".join(words))

    # Its transcripts

    def utterances(self, line: Line) -> Iterator[Utterance]:
        payload = inner(line, "payload")
        said, kinds = joined_text(payload.get("content")), inner(payload, _METADATA).get("content_item_kinds")
        kinds = kinds if isinstance(kinds, list) else ["user.text"]  # older clients do not say who wrote it
        match line.get("type"), payload.get("type"), payload.get("role"):
            case "compacted", _, _:
                yield self.utterance(line, Voice.SUMMARY, text(payload, "message"))
            case "response_item", "message", "assistant":
                yield self.utterance(line, Voice.REPLY, said)
            case "response_item", "message", "developer" if "hooks.additional_context" in kinds:
                yield self.utterance(line, Voice.INJECTION, said)
            case "response_item", "message", "user" if "user.text" in kinds:
                yield from self.prompt_utterances(line, said)
            case "response_item", "function_call" | "custom_tool_call" | "local_shell_call", _:
                call = ToolCall(id=first(payload, "call_id", "id"), name=text(payload, "name"), input=_input(payload))
                yield self.utterance(line, Voice.TOOL_CALL, call=call)
            case "response_item", "function_call_output" | "custom_tool_call_output", _:
                yield self.result_utterance(line, text(payload, "call_id"), *_result(payload.get("output")))
            case _:
                pass

    def line_fields(self, line: Line) -> dict[str, Any]:
        payload = inner(line, "payload")
        return {"id": first(payload, "id", "call_id"), "prompt_id": text(inner(payload, _METADATA), "turn_id")}

    def session_head(self, line: Line) -> Head:
        """The first line says where the session began."""
        payload = inner(line, "payload") if line.get("type") == "session_meta" else {}
        return text(payload, "cwd"), text(payload, "id"), text(line, "timestamp"), ""

    # Its settings

    def server_place(self, level: Level, places: Places) -> ServerPlace:
        return ServerPlace(self.folder_of(level, places) / "config.toml", ("mcp_servers",), Form.TOML)

    def unapproved(self, level: Level, places: Places) -> str:
        """Which hooks were allowed stands in the person's own settings, by file, event and place in its list."""
        file = self.settings_path(level, places)
        try:
            kept = tomllib.loads((self.folder(places) / "config.toml").read_text(encoding="utf-8"))
        except (OSError, ValueError):
            kept = {}
        state = inner(inner(kept, "hooks"), "state")
        allowed = [key for key, one in state.items() if isinstance(one, dict) and text(one, "trusted_hash")]
        places_of = (f"{file}:{re.sub(r'(?<!^)(?=[A-Z])', '_', event).lower()}:" for event in self.EVENTS)
        waiting = sum(not any(key.startswith(place) for key in allowed) for place in places_of)
        if not waiting:
            return ""
        return f"Codex runs {counted(waiting, 'hook')} only once you have allowed them: type /hooks in a session."


def _input(payload: Line) -> Line:
    """Arguments come as JSON text, a patch as text, a command of older clients in an action."""
    given = first(payload, "arguments", "input")
    try:
        read = json.loads(given) if given else payload.get("action")
    except (ValueError, RecursionError):
        read = None
    return read if isinstance(read, dict) else {"input": given}


def _result(output: object) -> tuple[str, bool | None]:
    """What the command printed, without the client's heading, and whether it failed."""
    said = joined_text(output) if isinstance(output, list) else as_text(output)
    head, _, body = said.partition("Output:\n")
    ended = _ENDED.search(head)
    if ended is None:
        return said, True if said.startswith("unsupported call") else None
    return body if "\nOutput:\n" in f"\n{said}" else said, int(ended[1]) != 0
