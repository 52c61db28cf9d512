"""Gemini CLI, 0.61.0: its events, what it does with an answer, its settings, its transcripts. Learnt from the client.

What a hook adds it puts between `<hook_context>` tags, its angle brackets escaped, into the person's own message: so
prompts come back with it, and it is taken out again here. Before a tool runs nothing can be said, only the tool's input
changed; and that it compresses its history is announced at every turn, whether or not it does, so it is not asked.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from recollect.agents import Hook, Level, Places, ServerPlace, Transcript, prompts
from recollect.agents.base_agent import ENDED, Agent, as_text, blocks, first, inner, joined_text, text
from recollect.agents.transcript import Head, Line, Utterance, Voice
from recollect.model.session import Event, EventName, Reply, ToolCall

_OURS = "recollect"
# What hooks added. A person's text in the same tags cannot be told from it.
_ADDED = re.compile(r"\s*<hook_context>(.*?)</hook_context>\s*", re.DOTALL)
# What a command printed stands in a frame; how it ended is said only where it ended badly.
_FRAME = re.compile(r"^<untrusted_context>\n(?:Output: )?|\n(?:Process Group PGID: \d+\n)?</untrusted_context>\s*$")
_ENDED = re.compile(r"^Exit Code: -?[1-9]", re.MULTILINE)


class Gemini(Agent, host="gemini"):
    def event_name(self, event: str, payload: Line) -> EventName:
        name, path = super().event_name(event, payload), text(inner(payload, "tool_input"), "file_path")
        is_virtual_read = text(payload, "tool_name") == "read_file" and ".ai/recall/" in path
        if name is EventName.TOOL_CALLED and not is_virtual_read:
            return EventName.OTHER  # nothing can be said
        is_failure = name is EventName.TOOLS_RAN and inner(payload, "tool_response").get("error")
        return EventName.TOOL_FAILED if is_failure else name

    def read_prompt(self, prompt: str) -> prompts.Prompt:
        return super().read_prompt(_ADDED.sub("", prompt))

    def refine(self, parsed: Event, event: str, payload: Line) -> Event:
        """It reads within its project and its own temporary folder of that project, so an answer to a virtual read is
        put there, beside its chats."""
        own = Path(parsed.transcript).parent.parent
        is_own = Path(parsed.transcript).match(str(Path(self.FOLDER, "tmp/*/chats/*")))
        below = str(own / _OURS / "recalls") if is_own else ""
        error = inner(payload, "tool_response").get("error") if parsed.name is EventName.TOOL_FAILED else None
        return replace(parsed, text=parsed.text or as_text(error), reads_below=below)

    def tools(self, name: EventName, payload: Line) -> Iterator[ToolCall]:
        if name in (EventName.TOOL_CALLED, *ENDED):
            output = as_text(inner(payload, "tool_response").get("llmContent"))
            yield self.tool(payload, output=_ADDED.sub("", output), failed=ENDED.get(name))

    def redirect(self, event: str, reply: Reply) -> dict[str, object]:
        # Merged into the input that was given.
        return {"tool_input": {"file_path": reply.read_instead}} if event == "BeforeTool" and reply.read_instead else {}

    def answer_folders(self, places: Places) -> tuple[Path, ...]:
        return tuple(self.folder(places).glob(f"tmp/*/{_OURS}"))

    # Its transcripts

    def may_speak(self, line: bytes) -> bool:
        # A line that sets fields anew holds messages that were there before.
        return not line.startswith(b'{"$set"') and super().may_speak(line)

    def utterances(self, line: Line) -> Iterator[Utterance]:
        content = line.get("content")
        if line.get("type") == "gemini":
            for call in blocks(line.get("toolCalls")):
                yield self.call_utterance(line, call, "id", "args")
            # With its calls a message comes a second time.
            if not line.get("toolCalls") and (said := joined_text(content)):
                yield self.utterance(line, Voice.REPLY, said)
        elif line.get("type") == "user":
            for part in blocks(content if isinstance(content, list) else [{"text": content}]):
                yield from self._by_user(line, text(part, "text"), inner(part, "functionResponse"))

    def _by_user(self, line: Line, written: str, answered: Line) -> Iterator[Utterance]:
        """Results of tools stand in the user's role, too."""
        if not answered:
            for added in _ADDED.findall(written):
                yield self.utterance(line, Voice.INJECTION, added.replace("&lt;", "<").replace("&gt;", ">"))
            yield from self.prompt_utterances(line, written)
            return
        response = inner(answered, "response")
        output = _ADDED.sub("", first(response, "error", "output")) or as_text(response or None)
        failed = "error" in response or (text(answered, "name") == "run_shell_command" and bool(_ENDED.search(output)))
        yield self.result_utterance(line, text(answered, "id"), _FRAME.sub("", output), failed)

    def transcripts(self, places: Places, within: Path | None = None) -> Iterator[Transcript]:
        """A chat names its project by a checksum alone: only that of the project here is recognised."""
        project = str(places.project or "")
        checksum = hashlib.sha256(project.encode("utf-8", "surrogateescape")).hexdigest()
        for found in super().transcripts(places, within):
            if found.path.parent.name == "chats" or within:
                yield found._replace(cwd=project if found.cwd == checksum else "")

    def session_head(self, line: Line) -> Head:
        return text(line, "projectHash"), text(line, "sessionId"), first(line, "startTime", "timestamp"), ""

    # Its settings

    def hook_json(self, command: str, hook: Hook) -> Mapping[str, object]:
        return {"type": "command", "name": _OURS, "command": command, "timeout": hook.timeout_s * 1_000}

    def server_place(self, level: Level, places: Places) -> ServerPlace:
        return ServerPlace(self.settings_path(level, places), ("mcpServers",), self.SETTINGS_FORM)
