"""All that is known of Pi: what our extension (pi.ts) tells of its events, what it does with an answer, where Pi finds
it, and Pi's session files. Learnt from 0.73.1.

Reads no state of ours and decides nothing.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from recollect.agents import Ability, Level, prompts
from recollect.agents.payload import moment, object_of
from recollect.agents.payload import text as _text
from recollect.agents.transcript import Utterance, Voice
from recollect.base.errors import BadInput, NoProject
from recollect.base.moment import Moment
from recollect.base.text import storable
from recollect.model.act import Deed, Doing
from recollect.model.outcome import Report
from recollect.model.session import Event, EventName, Reply, ToolCall
from recollect.wire.pointer import checksum

if TYPE_CHECKING:
    from recollect.agents import Places, Plugin

HOST = "pi"
TITLE = "Pi"
PROGRAM = "pi"
ABILITIES = frozenset(
    {
        Ability.PLUGIN, Ability.START, Ability.PROMPT, Ability.CALLS, Ability.READS, Ability.COMPACTION, Ability.END,
        Ability.NOTICES, Ability.OUTCOMES, Ability.TRANSCRIPTS,
    }
)  # fmt: skip
LEVELS = (Level.USER, Level.PROJECT)

_EVENTS = {
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
_INJECTS = frozenset({"session_start", "input", "tool_call"})
_OUR_TOOL = "recall"
_LATEST_S = 3_600
_FORMS = prompts.Forms(machine_tags=frozenset({"skill", "file"}), has_commands=True)


# What it tells us


def parse(event: str, body: bytes, *, at: Moment, environ: Mapping[str, str]) -> Event:
    payload = object_of(body)
    session_id = _text(payload, "session_id")
    if not session_id:
        raise BadInput("The event names no session.")
    name = _EVENTS.get(event, EventName.OTHER)
    if name is EventName.TOOLS_RAN and payload.get("is_error") is True:
        name = EventName.TOOL_FAILED
    said_by = _text(payload, "source")
    prompt = _text(payload, "prompt") if name is EventName.PROMPT else ""
    said = prompts.read(prompt, _FORMS)
    return Event(
        name=name,
        host=HOST,
        session_id=session_id,
        at=_when(payload, at),
        cwd=_text(payload, "cwd"),
        transcript=_text(payload, "transcript_path"),
        prompt_id=_text(payload, "prompt_id"),
        prompt_mark=checksum(prompt),
        source=_source(event, payload),
        text=said.words or _text(payload, "text"),
        plan=said.plan,
        machine_made=name is EventName.PROMPT and (said.is_machine_made or said_by == "extension"),
        tools=tuple(_tools(name, payload)),
    )


def _when(payload: Mapping[str, object], heard: Moment) -> Moment:
    """When it happened, if it was heard late: what stands in a session file from before its start is not its own."""
    said = payload.get("at_ms")
    if not isinstance(said, int) or isinstance(said, bool):
        return heard
    return Moment(said * 1_000) if 0 <= heard.micros - said * 1_000 <= _LATEST_S * 1_000_000 else heard


def _source(event: str, payload: Mapping[str, object]) -> str:
    match event:
        case "session_compact":
            return "compact"
        case "session_start":
            # However it starts, the extension begins with nothing, and what it gets goes into no history.
            return "startup"
        case "session_shutdown":
            return _text(payload, "reason") or _text(payload, "source")
        case _:
            return ""


def _tools(name: EventName, payload: Mapping[str, object]) -> Iterator[ToolCall]:
    id = _text(payload, "tool_use_id")
    if not id:
        return
    given = payload.get("tool_input")
    failed = {EventName.TOOLS_RAN: False, EventName.TOOL_FAILED: True}.get(name)
    yield ToolCall(
        id=id,
        name=_text(payload, "tool_name"),
        input=given if isinstance(given, dict) else {},
        output=_text(payload, "tool_output"),
        failed=failed,
    )


# What we answer


def render(event: str, reply: Reply) -> bytes:
    if event not in _INJECTS:
        return b""
    answer = {"context": reply.context, "notice": reply.notice, "read_instead": reply.read_instead}
    said = {key: storable(text) for key, text in answer.items() if text}
    return json.dumps(said, ensure_ascii=False).encode("utf-8", "replace") if said else b""


def answers(places: Places) -> tuple[Path, ...]:
    return ()  # it reads whatever it can read


# Its tools

_DEEDS = {
    "bash": Deed.RUN, "edit": Deed.EDIT, "write": Deed.EDIT, "read": Deed.READ, "grep": Deed.SEARCH,
    "find": Deed.SEARCH, "ls": Deed.SEARCH,
}  # fmt: skip


def doing(call: ToolCall) -> Doing:
    path, says = _text(call.input, "path"), _text(call.input, "command") or _text(call.input, "pattern")
    return Doing(_DEEDS.get(call.name, Deed.OTHER), call.name, says, (path,) if path else ())


def is_refused(output: str) -> bool:
    return False  # it asks nobody for leave


def reported(text: str) -> Report | None:
    return None  # it has no subagents


def origin(event: Event) -> Path | None:
    return Path(event.transcript) if event.transcript else None


# Its session files: a tree of entries, one a line, written once the model has first answered


def may_speak(line: bytes) -> bool:
    return line.startswith((b'{"type":"message"', b'{"type":"custom_message"', b'{"type":"compaction"', b'{"type": "'))


def utterances(line: Mapping[str, object]) -> Iterator[Utterance]:
    match line.get("type"):
        case "message":
            message = line.get("message")
            if isinstance(message, dict):
                yield from _spoken(line, message)
        case "custom_message":
            yield _utterance(line, Voice.INJECTION, _joined(line.get("content")))
        case "compaction" | "branch_summary":
            yield _utterance(line, Voice.SUMMARY, _text(line, "summary"))
        case _:
            pass


def _spoken(line: Mapping[str, object], message: Mapping[str, object]) -> Iterator[Utterance]:
    content = message.get("content")
    match message.get("role"):
        case "user":
            for voice, words in prompts.read(_joined(content), _FORMS).voices():
                yield _utterance(line, voice, words)
        case "assistant":
            for block in _blocks(content):
                if block.get("type") == "text":
                    yield _utterance(line, Voice.REPLY, _text(block, "text"))
                elif block.get("type") == "toolCall":
                    given = block.get("arguments")
                    call = ToolCall(
                        id=_text(block, "id"), name=_text(block, "name"), input=given if isinstance(given, dict) else {}
                    )
                    yield _utterance(line, Voice.TOOL_CALL, call=call)
        case "toolResult":
            output = _joined(content)
            if _text(message, "toolName") == _OUR_TOOL:  # memory is not to be learnt from memory
                yield _utterance(line, Voice.INJECTION, output)
                return
            call = ToolCall(
                id=_text(message, "toolCallId"), name="", input={}, output=output, failed=message.get("isError") is True
            )
            yield _utterance(line, Voice.TOOL_RESULT, output, call)
        case "custom":
            yield _utterance(line, Voice.INJECTION, _joined(content))
        case _:
            pass


def _joined(content: object) -> str:
    if isinstance(content, str):
        return content
    return "\n".join(text for block in _blocks(content) if (text := _text(block, "text")))


def _blocks(content: object) -> list[Mapping[str, object]]:
    return [block for block in content if isinstance(block, dict)] if isinstance(content, list) else []


def _utterance(line: Mapping[str, object], voice: Voice, text: str = "", call: ToolCall | None = None) -> Utterance:
    at = moment(_text(line, "timestamp"))
    return Utterance(voice=voice, text=storable(text), id=_text(line, "id"), call=call, at=at)


# Where it finds us


def folder(places: Places) -> Path:
    named = places.environ.get("PI_CODING_AGENT_DIR", "")
    if named == "~" or named.startswith("~/"):
        return places.user_home / named[2:]
    return Path(os.path.abspath(named)) if named else places.user_home / ".pi" / "agent"


def unapproved(level: Level, places: Places) -> str:
    return ""


def plugin(level: Level, places: Places, home: Path) -> Plugin:
    from recollect.agents import Plugin

    if level is Level.USER:
        within = folder(places)
    elif places.project is None:
        raise NoProject("There is no project here.", hint="Go into a project's folder, or leave --project.")
    else:
        within = places.project / ".pi"
    text = Path(__file__).with_suffix(".ts").read_text(encoding="utf-8")
    named = f"const INSTALLED_HOME = {json.dumps(str(home))};"
    return Plugin(within / "extensions" / "recollect.ts", text.replace('const INSTALLED_HOME = "";', named, 1))
