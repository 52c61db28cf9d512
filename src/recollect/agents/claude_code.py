"""Claude Code: its events and their shapes, what it does with an answer, its tools, its settings. Learnt from the
client itself; where versions differ, the version is named. Its transcripts: claude_transcripts.py; its memory, skills
and plugins: claude_memory.py.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import ClassVar

from recollect.agents import Hook, Level, Places, ServerPlace
from recollect.agents.base_agent import Line, blocks, project_of
from recollect.agents.claude_memory import ClaudeMemory
from recollect.agents.claude_transcripts import PEOPLE, ClaudeTranscripts, shown_output
from recollect.agents.payload import text
from recollect.model.session import Event, EventName, Reply, SubagentReport, SubagentState, ToolCall

# Longer output is written to a file by the client, and the model gets a preview. It counts in UTF-16.
_MAX_OUTPUT_UNITS = 9_999
_MAX_SILENT_S = 1e9
_TOOL_ERROR = "<tool_use_error>"
_EXIT_CODE = re.compile(r"Exit code [1-9]")
_NOTIFIED = "<task-notification>"
_NO_AGENT = "Background command"  # a command that goes on by itself is reported in the same way
_STATES = {
    "completed": SubagentState.COMPLETED, "failed": SubagentState.FAILED, "killed": SubagentState.KILLED,
    "stopped": SubagentState.KILLED, "cancelled": SubagentState.KILLED,
}  # fmt: skip
_BATCHES, _BEFORE_BATCHES = "PostToolBatch", "PostToolUse"
_VERSION_S = 10
_VERSION = re.compile(r"(\d+)\.(\d+)\.(\d+)")


class ClaudeCode(ClaudeTranscripts, ClaudeMemory, host="claude-code"):
    """It injects nothing at Stop, where added context would make the agent go on talking, nor at PreCompact, where it
    would become part of the instructions for the summary."""

    # The first version that surely knows an event: an older client that meets an unknown event skips the whole settings
    # file (2.1.325 skips the event alone).
    EVENTS_SINCE: ClassVar[Mapping[str, list[int]]]

    # What it tells us

    def event_name(self, event: str, payload: Line) -> EventName:
        name = super().event_name(event, payload)
        # Compaction is announced as a subagent without a type.
        is_compaction = name is EventName.SUBAGENT_ENDED and not text(payload, "agent_type")
        return EventName.OTHER if is_compaction else name

    def refine(self, parsed: Event, event: str, payload: Line) -> Event:
        is_machine_made = parsed.name is EventName.PROMPT and text(payload, "source") not in PEOPLE
        silent_s = payload.get("seconds_since_last_response")
        is_said = (
            isinstance(silent_s, int | float) and not isinstance(silent_s, bool) and 0 <= silent_s <= _MAX_SILENT_S
        )
        return replace(
            parsed,
            machine_made=parsed.machine_made or is_machine_made,
            silent_s=float(str(silent_s)) if is_said else None,
        )

    def tools(self, name: EventName, payload: Line) -> Iterator[ToolCall]:
        match name:
            case EventName.TOOL_CALLED | EventName.PERMISSION_DENIED:
                yield self.tool(payload)
            case EventName.TOOL_FAILED:
                yield self.tool(payload, output=text(payload, "error"), failed=True)
            case EventName.TOOLS_RAN if "tool_calls" in payload:  # a batch, which does not say how each went
                for call in blocks(payload["tool_calls"]):
                    output = shown_output(call.get("tool_response"))
                    yield self.tool(call, output=output, failed=_seems_failed(text(call, "tool_name"), output))
            case EventName.TOOLS_RAN if "tool_name" in payload:  # comes only when the tool succeeded
                yield self.tool(payload, output=shown_output(payload.get("tool_response")), failed=False)

    def subagent_report(self, text: str) -> SubagentReport | None:
        """Of the first notification in it. Its tags are the client's own and come in this order before any text of the
        agent's: what stands in a result cannot be taken for the state."""
        _, found, body = text.partition(_NOTIFIED)
        head = body.partition("<result>")[0]
        summary = _tagged(head, "summary")
        if not found or summary.startswith(_NO_AGENT):
            return None
        state = _STATES.get(_tagged(head, "status").lower(), SubagentState.UNKNOWN)
        return SubagentReport(_tagged(head, "task-id"), state, summary, _tagged(body, "result") or summary)

    # What we answer

    def redirect(self, event: str, reply: Reply) -> dict[str, object]:
        if not reply.read_instead or event != "PreToolUse":
            return {}
        # Outside the project a read would be asked about, and this is a file we just wrote.
        return {
            "permissionDecision": "allow",
            "permissionDecisionReason": "recall",
            "updatedInput": {**reply.read_input, "file_path": reply.read_instead},
        }

    def limit(self, context: str) -> str:
        units = context.encode("utf-16-le")[: 2 * _MAX_OUTPUT_UNITS]
        return units.decode("utf-16-le", "ignore")

    # Its settings

    def settings_path(self, level: Level, places: Places) -> Path:
        name = "settings.local.json" if level is Level.LOCAL else "settings.json"
        return self.folder_of(level, places) / name

    def server_place(self, level: Level, places: Places) -> ServerPlace:
        keys = ("mcpServers",)
        if level is Level.PROJECT:
            return ServerPlace(project_of(places) / ".mcp.json", keys)
        named = places.environ.get(self.FOLDER_VARIABLE, "")
        state = (Path(os.path.abspath(named)) if named else places.user_home) / ".claude.json"
        return ServerPlace(state, keys if level is Level.USER else ("projects", str(project_of(places)), *keys))

    def server_json(self, command: str) -> Mapping[str, object]:
        # Without alwaysLoad the tools are only named, and a server that is slow to start misses the first turn.
        return {"type": "stdio", "command": command, "args": [], "alwaysLoad": True}

    def skill(self, level: Level, places: Places) -> tuple[Path, str] | None:
        if level is Level.LOCAL:
            return None  # a project has no skills that are not shared
        path = self.folder_of(level, places) / "skills" / "recollect" / self.SKILL_FILE
        return path, Path(__file__).with_name("skill.md").read_text(encoding="utf-8")

    def hooks(self, places: Places) -> tuple[Hook, ...]:
        import shutil

        program = shutil.which(self.PROGRAM, path=places.environ.get("PATH", os.defpath))
        events = hook_events(_version(program) if program else None)
        return tuple(Hook(event, self.TIMEOUT_S, is_prompt=event == "UserPromptSubmit") for event in events)


def _seems_failed(tool: str, output: str) -> bool | None:
    """A refused input has a tag of its own, and so has a command that ended badly."""
    is_failure = output.startswith(_TOOL_ERROR) or (tool == "Bash" and _EXIT_CODE.match(output))
    return True if is_failure else None


def _tagged(text: str, tag: str) -> str:
    return text.partition(f"<{tag}>")[2].partition(f"</{tag}>")[0].strip()


def hook_events(version: list[int] | None) -> tuple[str, ...]:
    """What a client of this version can report; a current one where the version is unknown."""
    known = [event for event, since in ClaudeCode.EVENTS_SINCE.items() if version is None or version >= since]
    return tuple(known if _BATCHES in known else [*known, _BEFORE_BATCHES])


@cache
def _version(program: str) -> list[int] | None:
    import subprocess  # only where something is installed: hooks come here too

    try:
        said = subprocess.run([program, "--version"], stdin=subprocess.DEVNULL, capture_output=True, timeout=_VERSION_S)
    except (OSError, subprocess.SubprocessError):
        return None
    found = _VERSION.search(said.stdout.decode("utf-8", "replace"))
    return [int(part) for part in found.groups()] if found else None
