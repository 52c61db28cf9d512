"""Pi, 0.73.1: what our extension (pi.ts) tells of its events, what it does with an answer, where Pi finds it, and Pi's
session files. Learnt from the program itself.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path

from recollect.agents import Ability, Level, Places, Plugin, prompts
from recollect.agents.base_agent import Agent, blocks, encode, joined_text, project_of
from recollect.agents.payload import first, inner, text
from recollect.agents.transcript import Utterance, Voice
from recollect.base.moment import Moment
from recollect.base.text import storable
from recollect.model.act import Deed
from recollect.model.session import Event, EventName, Reply, ToolCall

_OUR_TOOL = "recall"
_LATEST_S = 3_600
_SPEAKING = (b'{"type":"message"', b'{"type":"custom_message"', b'{"type":"compaction"', b'{"type": "')


class Pi(Agent):
    HOST = "pi"
    TITLE = "Pi"
    PROGRAM = "pi"
    ABILITIES = frozenset({
        Ability.PLUGIN, Ability.START, Ability.PROMPT, Ability.CALLS, Ability.READS, Ability.COMPACTION, Ability.END,
        Ability.NOTICES, Ability.OUTCOMES, Ability.TRANSCRIPTS,
    })  # fmt: skip
    FOLDER = ".pi/agent"
    FOLDER_VARIABLE = "PI_CODING_AGENT_DIR"
    EVENTS = {
        "session_start": EventName.SESSION_STARTED,
        "session_compact": EventName.SESSION_STARTED,
        "input": EventName.PROMPT,
        "tool_call": EventName.TOOL_CALLED,
        "tool_result": EventName.TOOLS_RAN,
        "agent_end": EventName.TURN_ENDED,
        "session_before_compact": EventName.COMPACTING,
        "session_shutdown": EventName.SESSION_ENDED,
    }
    # Where the extension puts an answer in front of the model.
    INJECTS = frozenset({"session_start", "input", "tool_call"})
    FORMS = prompts.Forms(machine_tags=frozenset({"skill", "file"}), has_commands=True)
    DEEDS = {
        "bash": Deed.RUN, "edit": Deed.EDIT, "write": Deed.EDIT, "read": Deed.READ, "grep": Deed.SEARCH,
        "find": Deed.SEARCH, "ls": Deed.SEARCH,
    }  # fmt: skip
    SAYS = ("command", "pattern")
    FILES = ("path",)

    # What it tells us

    def event_name(self, event: str, payload: Mapping[str, object]) -> EventName:
        name = super().event_name(event, payload)
        is_failure = name is EventName.TOOLS_RAN and payload.get("is_error") is True
        return EventName.TOOL_FAILED if is_failure else name

    def happened_at(self, payload: Mapping[str, object], heard: Moment) -> Moment:
        """When it happened, if it was heard late: lines of a session file from before its start are not its own."""
        said = payload.get("at_ms")
        if not isinstance(said, int) or isinstance(said, bool):
            return heard
        return Moment(said * 1_000) if 0 <= heard.micros - said * 1_000 <= _LATEST_S * 1_000_000 else heard

    def source(self, event: str, name: EventName, payload: Mapping[str, object]) -> str:
        if event == "session_shutdown":
            return first(payload, "reason", "source")
        # However it starts, the extension begins with nothing, and what it gets goes into no history.
        return {"session_compact": "compact", "session_start": "startup"}.get(event, "")

    def words(self, name: EventName, payload: Mapping[str, object]) -> str:
        return text(payload, "text")

    def is_machine_made(self, payload: Mapping[str, object]) -> bool:
        return text(payload, "source") == "extension"

    def tools(self, name: EventName, payload: Mapping[str, object]) -> Iterator[ToolCall]:
        failed = {EventName.TOOLS_RAN: False, EventName.TOOL_FAILED: True}.get(name)
        if text(payload, "tool_use_id"):
            yield self.tool(payload, output=text(payload, "tool_output"), failed=failed)

    def render(self, event: str, reply: Reply) -> bytes:
        if event not in self.INJECTS:
            return b""
        answer = {"context": reply.context, "notice": reply.notice, "read_instead": reply.read_instead}
        return encode({key: storable(said) for key, said in answer.items() if said})

    def origin(self, event: Event) -> Path | None:
        return Path(event.transcript) if event.transcript else None

    # Its session files: a tree of entries, one per line, written once the model has first answered

    def may_speak(self, line: bytes) -> bool:
        return line.startswith(_SPEAKING)

    def utterances(self, line: Mapping[str, object]) -> Iterator[Utterance]:
        match line.get("type"):
            case "message":
                yield from self._messages(line, inner(line, "message"))
            case "custom_message":
                yield self.utterance(line, Voice.INJECTION, joined_text(line.get("content")))
            case "compaction" | "branch_summary":
                yield self.utterance(line, Voice.SUMMARY, text(line, "summary"))
            case _:
                pass

    def _messages(self, line: Mapping[str, object], message: Mapping[str, object]) -> Iterator[Utterance]:
        content = message.get("content")
        match message.get("role"):
            case "user":
                yield from self.prompt_utterances(line, joined_text(content))
            case "assistant":
                for block in blocks(content):
                    if block.get("type") == "text":
                        yield self.utterance(line, Voice.REPLY, text(block, "text"))
                    elif block.get("type") == "toolCall":
                        call = ToolCall(id=text(block, "id"), name=text(block, "name"), input=inner(block, "arguments"))
                        yield self.utterance(line, Voice.TOOL_CALL, call=call)
            case "toolResult" if text(message, "toolName") != _OUR_TOOL:
                output, failed = joined_text(content), message.get("isError") is True
                call = ToolCall(id=text(message, "toolCallId"), name="", input={}, output=output, failed=failed)
                yield self.utterance(line, Voice.TOOL_RESULT, output, call)
            case "toolResult" | "custom":  # memory is not to be learnt from memory
                yield self.utterance(line, Voice.INJECTION, joined_text(content))
            case _:
                pass

    # Where it finds us

    def folder(self, places: Places) -> Path:
        named = places.environ.get(self.FOLDER_VARIABLE, "")
        return places.user_home / named[2:] if named == "~" or named.startswith("~/") else super().folder(places)

    def plugin(self, level: Level, places: Places, home: Path) -> Plugin:
        within = self.folder(places) if level is Level.USER else project_of(places) / ".pi"
        written = Path(__file__).with_suffix(".ts").read_text(encoding="utf-8")
        named = f"const INSTALLED_HOME = {json.dumps(str(home))};"
        path = within / "extensions" / "recollect.ts"
        return Plugin(path, written.replace('const INSTALLED_HOME = "";', named, 1))


AGENT = Pi()
