"""All that is known of Codex: its events and their shapes, what it does with an answer, its settings, its transcripts.
Learnt from the client itself, 0.166.0.

Its events are spelt as Claude Code spells them. It has no tool that reads a file (it runs commands), so nothing can be
read in place of a virtual file; and it runs no hook that the person has not looked at and allowed.
"""

from __future__ import annotations

import json
import os
import re
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path

from recollect.agents import Ability, Form, Hook, Level, Places, ServerPlace, prompts
from recollect.agents.payload import first, inner, moment, object_of, text
from recollect.agents.transcript import Utterance, Voice
from recollect.base.errors import BadInput, NoProject
from recollect.base.moment import Moment
from recollect.base.text import counted, storable
from recollect.model.act import Deed, Doing
from recollect.model.outcome import Report
from recollect.model.session import Event, EventName, Reply, ToolCall
from recollect.wire.pointer import checksum

HOST = "codex"
TITLE = "Codex"
PROGRAM = "codex"
ABILITIES = frozenset({
    Ability.HOOKS, Ability.START, Ability.PROMPT, Ability.CALLS, Ability.COMPACTION, Ability.END, Ability.NOTICES,
    Ability.OUTCOMES, Ability.TRANSCRIPTS, Ability.SERVER,
})  # fmt: skip
LEVELS = (Level.USER, Level.PROJECT)
SETTINGS_FORM = Form.JSON
OFF_SWITCH = ""

_EVENTS = {
    "SessionStart": EventName.SESSION_STARTED,
    "UserPromptSubmit": EventName.PROMPT,
    "PreToolUse": EventName.TOOL_CALLED,
    "PostToolUse": EventName.TOOLS_RAN,
    "PreCompact": EventName.COMPACTING,
    "Stop": EventName.TURN_ENDED,
    "SessionEnd": EventName.SESSION_ENDED,
}
# Where added context becomes a message of the role "developer".
_INJECTS = frozenset({"SessionStart", "UserPromptSubmit", "PreToolUse", "PostToolUse"})
_TIMEOUT_S = 5
_LAST_TIMEOUT_S = 3
"""Of a session's end: of more than that it complains."""
_MAX_CHARS = 10_000
_FORMS = prompts.Forms(
    machine=("# AGENTS.md instructions", "Another language model started to solve this problem"),
    machine_tags=frozenset({
        "environment_context", "user_instructions", "turn_aborted", "skill", "subagent_notification", "INSTRUCTIONS",
        "collaboration_mode", "user_shell_command", "user_action", "in-app-browser-context", "image",
    }),
    placeholders=re.compile(r"\[Image #\d+\]"),
    # What an IDE or the app tells of its files stands before it.
    request=re.compile(r"^## My request(?: for Codex)?:", re.MULTILINE),
)  # fmt: skip


# What it tells us


def parse(event: str, body: bytes, *, at: Moment, environ: Mapping[str, str]) -> Event:
    payload = object_of(body)
    session_id = text(payload, "session_id")
    if not session_id:
        raise BadInput("The event names no session.")
    name = _EVENTS.get(event, EventName.OTHER)
    prompt = text(payload, "prompt") if name is EventName.PROMPT else ""
    said = prompts.read(prompt, _FORMS)
    return Event(
        name=name,
        host=HOST,
        session_id=session_id,
        at=at,
        cwd=text(payload, "cwd"),
        transcript=text(payload, "transcript_path"),
        prompt_id=first(payload, "turn_id", "prompt_id"),
        prompt_mark=checksum(prompt),
        agent_id=text(payload, "agent_id"),
        agent_type=text(payload, "agent_type"),
        source=first(payload, "source", "reason" if name is EventName.SESSION_ENDED else "trigger"),
        text=said.words or text(payload, _WORDS.get(name, "")),
        plan=said.plan,
        machine_made=name is EventName.PROMPT and said.is_machine_made,
        tools=_tools(name, payload),
    )


_WORDS = {EventName.TURN_ENDED: "last_assistant_message"}


def _tools(name: EventName, payload: Mapping[str, object]) -> tuple[ToolCall, ...]:
    if name not in (EventName.TOOL_CALLED, EventName.TOOLS_RAN):
        return ()
    # How a command ended is not said here; the transcript says it.
    call = ToolCall(
        id=text(payload, "tool_use_id"), name=text(payload, "tool_name"), input=inner(payload, "tool_input"),
        output=_output(payload.get("tool_response")),
    )  # fmt: skip
    return (call,)


def _output(response: object) -> str:
    return response if isinstance(response, str) else "" if response is None else json.dumps(response)


# What we answer


def render(event: str, reply: Reply) -> bytes:
    answer: dict[str, object] = {"systemMessage": storable(reply.notice)} if reply.notice else {}
    if reply.context and event in _INJECTS:
        said = storable(reply.context)[:_MAX_CHARS]
        answer["hookSpecificOutput"] = {"hookEventName": event, "additionalContext": said}
    if not answer or event not in _INJECTS:
        return b""
    return json.dumps(answer, ensure_ascii=False).encode("utf-8", "replace")


# Its transcripts

_BY_HOOKS = "hooks.additional_context"
_BY_PERSON = "user.text"
_SPEAKING = (b'"response_item"', b'"compacted"')
_HEAD_BYTES = 200
_ENDED = re.compile(r"^(?:Process exited with code|Exit code:) (-?\d+)", re.MULTILINE)
_OUTPUT = re.compile(r"^Output:\n", re.MULTILINE)


def may_speak(line: bytes) -> bool:
    return any(kind in line[:_HEAD_BYTES] for kind in _SPEAKING)


def utterances(line: Mapping[str, object]) -> Iterator[Utterance]:
    payload = inner(line, "payload")
    match line.get("type"), payload.get("type"):
        case "compacted", _:
            yield _utterance(line, Voice.SUMMARY, text(payload, "message"))
        case "response_item", "message":
            yield from _spoken(line, payload)
        case "response_item", "function_call" | "custom_tool_call" | "local_shell_call":
            call = ToolCall(id=first(payload, "call_id", "id"), name=text(payload, "name"), input=_input(payload))
            yield _utterance(line, Voice.TOOL_CALL, call=call)
        case "response_item", "function_call_output" | "custom_tool_call_output":
            output, failed = _result(payload.get("output"))
            call = ToolCall(id=text(payload, "call_id"), name="", input={}, output=output, failed=failed)
            yield _utterance(line, Voice.TOOL_RESULT, output, call)
        case _:
            pass


def _spoken(line: Mapping[str, object], payload: Mapping[str, object]) -> Iterator[Utterance]:
    kinds = inner(payload, "internal_chat_message_metadata_passthrough").get("content_item_kinds")
    said = _parts(payload.get("content"))
    match payload.get("role"):
        case "assistant":
            yield _utterance(line, Voice.REPLY, said)
        case "developer" if isinstance(kinds, list) and _BY_HOOKS in kinds:
            yield _utterance(line, Voice.INJECTION, said)
        case "user" if not isinstance(kinds, list) or _BY_PERSON in kinds:  # older clients do not say who wrote it
            for voice, words in prompts.read(said, _FORMS).voices():
                yield _utterance(line, voice, words)
        case _:
            pass


def _parts(content: object) -> str:
    parts = [text(part, "text") for part in content if isinstance(part, dict)] if isinstance(content, list) else []
    return "\n".join(part for part in parts if part)


def _input(payload: Mapping[str, object]) -> Mapping[str, object]:
    """Arguments come as JSON text, a patch as text, a command of older clients in an action."""
    given = first(payload, "arguments", "input")
    try:
        read = json.loads(given) if given else payload.get("action")
    except (ValueError, RecursionError):
        read = None
    return read if isinstance(read, dict) else {"input": given}


def _result(output: object) -> tuple[str, bool | None]:
    """What the command printed, without the client's heading, and whether it failed."""
    said = _parts(output) if isinstance(output, list) else _output(output)
    head, _, body = said.partition("Output:\n")
    ended = _ENDED.search(head)
    if ended is None:
        return said, True if said.startswith("unsupported call") else None
    return body if _OUTPUT.search(said) else said, int(ended[1]) != 0


def _utterance(line: Mapping[str, object], voice: Voice, said: str = "", call: ToolCall | None = None) -> Utterance:
    payload = inner(line, "payload")
    return Utterance(
        voice=voice,
        text=storable(said),
        id=first(payload, "id", "call_id"),
        call=call,
        prompt_id=text(inner(payload, "internal_chat_message_metadata_passthrough"), "turn_id"),
        at=moment(text(line, "timestamp")),
    )


def origin(event: Event) -> Path | None:
    return None  # a fork's transcript begins with the lines of the one before


# Its tools

_DEEDS = {
    "Bash": Deed.RUN, "exec_command": Deed.RUN, "shell": Deed.RUN, "shell_command": Deed.RUN, "": Deed.RUN,
    "apply_patch": Deed.EDIT, "view_image": Deed.READ, "web_search": Deed.FETCH, "spawn_agent": Deed.DELEGATE,
}  # fmt: skip
_PATCHED = re.compile(r"^\*\*\* (?:Add|Update|Delete) File: (.+)$", re.MULTILINE)
_REFUSED = ("exec command rejected by user", "patch rejected by user", "rejected by user")


def doing(call: ToolCall) -> Doing:
    deed = _DEEDS.get(call.name, Deed.OTHER)
    if deed is Deed.EDIT:
        patch = first(call.input, "input", "patch", "command")
        return Doing(deed, call.name, "", tuple(name.strip() for name in _PATCHED.findall(patch)))
    files = tuple(found for key in ("path", "file_path") if (found := text(call.input, key)))
    return Doing(deed, call.name, first(call.input, "cmd", "query", "message", "prompt") or _command(call), files)


def _command(call: ToolCall) -> str:
    """Of a list, what the shell is told to run."""
    match call.input.get("command"):
        case str() as command:
            return command
        case [*words] if words and all(isinstance(word, str) for word in words):
            return str(words[-1]) if len(words) > 2 and str(words[1]).startswith("-") else " ".join(map(str, words))
        case _:
            return ""


def is_refused(output: str) -> bool:
    return output.startswith(_REFUSED)


def reported(text: str) -> Report | None:
    return None


# Its settings


def folder(places: Places) -> Path:
    named = places.environ.get("CODEX_HOME", "")
    return Path(os.path.abspath(named)) if named else places.user_home / ".codex"


def settings_path(level: Level, places: Places) -> Path:
    return _below(level, places) / "hooks.json"


def hooks(places: Places) -> tuple[Hook, ...]:
    return tuple(Hook(event, _LAST_TIMEOUT_S if event == "SessionEnd" else _TIMEOUT_S) for event in _EVENTS)


def hook_json(command: str, hook: Hook) -> Mapping[str, object]:
    return {"type": "command", "command": command, "timeout": hook.timeout_s}


def server_place(level: Level, places: Places) -> ServerPlace:
    return ServerPlace(_below(level, places) / "config.toml", ("mcp_servers",), Form.TOML)


def server_json(command: str) -> Mapping[str, object]:
    return {"command": command, "args": []}


def unapproved(level: Level, places: Places) -> str:
    """Which hooks were allowed stands in the person's own settings, by file, event and place in its list."""
    file = settings_path(level, places)
    try:
        kept = tomllib.loads((folder(places) / "config.toml").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        kept = {}
    state = inner(inner(kept, "hooks"), "state")
    allowed = {key for key, one in state.items() if isinstance(one, dict) and text(one, "trusted_hash")}
    waiting = [event for event in _EVENTS if not any(key.startswith(f"{file}:{_snake(event)}:") for key in allowed)]
    if not waiting:
        return ""
    return (
        f"Codex runs {counted(len(waiting), 'hook')} only once you have allowed them: type /hooks in a session of it."
    )


def _below(level: Level, places: Places) -> Path:
    if level is Level.USER:
        return folder(places)
    if places.project is None:
        raise NoProject("There is no project here.", hint="Go into a project's folder, or leave --user.")
    return places.project / ".codex"


def _snake(event: str) -> str:
    return re.sub(r"(?<!^)(?=[A-Z])", "_", event).lower()
