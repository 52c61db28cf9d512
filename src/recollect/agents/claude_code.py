"""All that is known of Claude Code: its events and their shapes, what it does with an answer, its settings files,
its transcripts. Learnt from the client itself; where versions differ, the version is named.

Reads no state of ours and decides nothing. The splice into a settings file is splice.py's.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from recollect.agents import Ability, Form, Level, claude_memory
from recollect.agents.payload import first as _first
from recollect.agents.payload import moment as _moment
from recollect.agents.payload import object_of as _payload
from recollect.agents.payload import text as _text
from recollect.agents.transcript import Utterance, Voice, last_lines
from recollect.base.errors import BadInput, NoProject
from recollect.base.moment import Moment
from recollect.base.text import storable
from recollect.model.act import Deed, Doing
from recollect.model.outcome import Report, State
from recollect.model.session import Event, EventName, Reply, ToolCall

if TYPE_CHECKING:
    from recollect.agents import Hook, Places, ServerPlace, Transcript

HOST = "claude-code"
TITLE = "Claude Code"
PROGRAM = "claude"
ABILITIES = frozenset(Ability) - {Ability.PLUGIN}
LEVELS = tuple(Level)
SETTINGS_FORM = Form.JSON
OFF_SWITCH = "disableAllHooks"

_EVENTS = {
    "SessionStart": EventName.SESSION_STARTED,
    "UserPromptSubmit": EventName.PROMPT,
    "PreToolUse": EventName.TOOL_CALLED,
    "PostToolBatch": EventName.TOOLS_RAN,
    "PostToolUse": EventName.TOOLS_RAN,
    "PostToolUseFailure": EventName.TOOL_FAILED,
    "SubagentStart": EventName.SUBAGENT_STARTED,
    "SubagentStop": EventName.SUBAGENT_ENDED,
    "PreCompact": EventName.COMPACTING,
    "Stop": EventName.TURN_ENDED,
    "PermissionDenied": EventName.PERMISSION_DENIED,
    "SessionEnd": EventName.SESSION_ENDED,
}

# Where added context reaches the model and does nothing else. At Stop it would make the agent go on talking, at
# PreCompact it would become part of the instructions for the summary.
_INJECTS = frozenset(
    "SessionStart UserPromptSubmit PreToolUse PostToolUse PostToolUseFailure PostToolBatch SubagentStart".split()
)
# Longer output is written to a file by the client, and the model gets a preview. It counts in UTF-16.
_MAX_OUTPUT_UNITS = 9_999

# Who may have written a prompt: a person in the composer, or a program that a person runs (`-p`, the SDK). The others
# (system, loop_wakeup, schedule_wakeup, poll_event) are the client's own doing. Clients may leave the field out.
_PEOPLE = frozenset({"", "user", "sdk"})
_MACHINE_MADE = (
    "<task-notification", "<<autonomous-loop", "<scheduled-task", "<teammate-message", "<cross-session-message",
    "<channel", "<local-command-", "<command-name>", "[Request interrupted by user",
)  # fmt: skip
_MOST_SILENT_S = 1e9
_TOOL_ERROR = "<tool_use_error>"
_EXIT_CODE = re.compile(r"Exit code [1-9]")


# What it tells us


def parse(event: str, body: bytes, *, at: Moment, environ: Mapping[str, str]) -> Event:
    payload = _payload(body)
    session_id = _text(payload, "session_id")
    if not session_id:
        raise BadInput("The event names no session.")
    name = _EVENTS.get(event, EventName.OTHER)
    if name is EventName.SUBAGENT_ENDED and not _text(payload, "agent_type"):
        name = EventName.OTHER  # compaction is announced as a subagent without a type
    prompt = _text(payload, "prompt") if name is EventName.PROMPT else ""
    return Event(
        name=name,
        host=HOST,
        session_id=session_id,
        at=at,
        cwd=_text(payload, "cwd"),
        project_folder=environ.get("CLAUDE_PROJECT_DIR", ""),
        transcript=_text(payload, "agent_transcript_path") or _text(payload, "transcript_path"),
        prompt_id=_text(payload, "prompt_id"),
        agent_id=_text(payload, "agent_id"),
        agent_type=_text(payload, "agent_type"),
        source=_first(payload, "source", "reason" if name is EventName.SESSION_ENDED else "trigger"),
        text=prompt or _first(payload, *_WORDS.get(name, ())),
        machine_made=name is EventName.PROMPT and _machine_made(prompt, _text(payload, "source")),
        tools=tuple(_tools(event, payload)),
        silent_s=_seconds(payload.get("seconds_since_last_response")),
    )


_WORDS = {
    EventName.TURN_ENDED: ("last_assistant_message",),
    EventName.SUBAGENT_ENDED: ("last_assistant_message",),
    EventName.TOOL_FAILED: ("error",),
    EventName.PERMISSION_DENIED: ("reason",),
    EventName.COMPACTING: ("custom_instructions",),
}


def _seconds(value: object) -> float | None:
    if not isinstance(value, int | float) or isinstance(value, bool):
        return None
    return float(value) if 0 <= value <= _MOST_SILENT_S else None


def _machine_made(prompt: str, source: str) -> bool:
    return source not in _PEOPLE or prompt.lstrip().startswith(_MACHINE_MADE)


def _tools(event: str, payload: Mapping[str, object]) -> Iterator[ToolCall]:
    match event:
        case "PreToolUse" | "PermissionDenied":
            yield _tool(payload)
        case "PostToolUse":  # comes only when the tool succeeded
            yield _tool(payload, output=_output(payload.get("tool_response")), failed=False)
        case "PostToolUseFailure":
            yield _tool(payload, output=_text(payload, "error"), failed=True)
        case "PostToolBatch":
            calls = payload.get("tool_calls")
            for call in calls if isinstance(calls, list) else ():
                if isinstance(call, dict):
                    output = _output(call.get("tool_response"))
                    yield _tool(call, output=output, failed=_seems_failed(_text(call, "tool_name"), output))
        case _:
            pass


def _tool(call: Mapping[str, object], *, output: str = "", failed: bool | None = None) -> ToolCall:
    given = call.get("tool_input")
    return ToolCall(
        id=_text(call, "tool_use_id"),
        name=_text(call, "tool_name"),
        input=given if isinstance(given, dict) else {},
        output=output,
        failed=failed,
    )


def _seems_failed(tool: str, output: str) -> bool | None:
    """A batch does not say. A refused input has a tag of its own, and so has a command that ended badly."""
    if output.startswith(_TOOL_ERROR) or (tool == "Bash" and _EXIT_CODE.match(output)):
        return True
    return None


def _output(response: object) -> str:
    """What the model sees of a result, as near as the event tells it."""
    match response:
        case str():
            return response
        case {"stdout": str(out), "stderr": str(err)}:
            return "\n".join(part for part in (out, err) if part)
        case {"file": {"content": str(content)}} | {"content": str(content)}:
            return content
        case list():
            texts = [_text(block, "text") for block in response if isinstance(block, dict)]
            return "\n".join(text for text in texts if text)
        case None:
            return ""
        case _:
            return json.dumps(response, ensure_ascii=False)


# What we answer


def render(event: str, reply: Reply) -> bytes:
    if event not in _INJECTS:
        return b""
    specific: dict[str, object] = {"hookEventName": event}
    if reply.read_instead and event == "PreToolUse":
        # Outside the project a read would be asked about, and this is a file we just wrote.
        specific |= {
            "permissionDecision": "allow",
            "permissionDecisionReason": "recall",
            "updatedInput": {**reply.read_input, "file_path": reply.read_instead},
        }
    if reply.context:
        specific["additionalContext"] = _within_limit(reply.context)
    answer: dict[str, object] = {"systemMessage": storable(reply.notice)} if reply.notice else {}
    if len(specific) > 1:
        answer["hookSpecificOutput"] = specific
    return json.dumps(answer, ensure_ascii=False).encode("utf-8", "replace") if answer else b""


def _within_limit(text: str) -> str:
    text = storable(text)
    if len(text) * 2 <= _MAX_OUTPUT_UNITS:
        return text
    units = text.encode("utf-16-le")
    return text if len(units) <= 2 * _MAX_OUTPUT_UNITS else units[: 2 * _MAX_OUTPUT_UNITS].decode("utf-16-le", "ignore")


# Its transcripts

# Most of a transcript's bytes are whole requests and snapshots. What a line is stands in its first fields: before it
# come values that hold neither a quote nor an object, and a quote inside a text would be escaped.
_LINE_HEAD = re.compile(
    rb'\{(?:(?!"type"|"attachment"|"message")"\w+":\s?(?:null|true|false|"[^"\\]*"|[\d.]+),\s?)*'
    rb'"(type|attachment)":\s?(?:\{"type":\s?)?"([\w-]+)'
)
_SPEAKING = frozenset({b"user", b"assistant", b"attachment"})


def may_speak(line: bytes) -> bool:
    head = _LINE_HEAD.match(line)
    if head is None:
        return True
    key, value = head.groups()
    return value in _SPEAKING if key == b"type" else value.startswith(b"hook_")


def transcripts(places: Places, within: Path | None = None) -> Iterator[Transcript]:
    from recollect.agents import claude_code_past  # hooks come here too, and need none of it

    return claude_code_past.transcripts(within or claude_memory.config_folder(places) / "projects")


def utterances(line: Mapping[str, object]) -> Iterator[Utterance]:
    match line.get("type"):
        case "user" | "assistant" as role:
            message = line.get("message")
            if isinstance(message, dict) and not line.get("isMeta"):
                yield from _spoken(role == "user", line, message.get("content"))
        case "attachment":
            attachment = line.get("attachment")
            if isinstance(attachment, dict) and _text(attachment, "type").startswith("hook_"):
                yield _utterance(line, Voice.INJECTION, _output(_strings(attachment.get("content"))))
        case _:
            pass


def _spoken(is_user: bool, line: Mapping[str, object], content: object) -> Iterator[Utterance]:
    blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
    for block in blocks if isinstance(blocks, list) else ():
        if not isinstance(block, dict):
            continue
        match block.get("type"):
            case "text":
                yield _utterance(line, _voice(is_user, line, _text(block, "text")), _text(block, "text"))
            case "tool_use":
                given = block.get("input")
                call = ToolCall(
                    id=_text(block, "id"), name=_text(block, "name"), input=given if isinstance(given, dict) else {}
                )
                yield _utterance(line, Voice.TOOL_CALL, call=call)
            case "tool_result":
                output = _output(block.get("content"))
                call = ToolCall(
                    id=_text(block, "tool_use_id"), name="", input={}, output=output,
                    failed=block.get("is_error") is True, refused=line.get("toolDenialKind") in _DENIALS,
                )  # fmt: skip
                yield _utterance(line, Voice.TOOL_RESULT, output, call=call)
                if call.failed and (words := _refusal_words(line, call)):
                    yield _utterance(line, Voice.PROMPT, words, call=call)
            case _:
                pass


def _refusal_words(line: Mapping[str, object], call: ToolCall) -> str:
    """What the person said when refusing the call. Older clients wrote it only among their own words for the model."""
    if call.refused:
        return _text(line, "userFeedback")
    if not call.output.startswith(_REFUSED) or _REFUSED_SAYING not in call.output:
        return ""
    return call.output.partition(_REFUSED_SAYING)[2].partition(_AFTER_REFUSAL)[0].strip()


def _voice(is_user: bool, line: Mapping[str, object], text: str) -> Voice:
    if line.get("isCompactSummary"):
        return Voice.SUMMARY
    if is_user and text.startswith("<system-reminder>"):
        return Voice.INJECTION
    return Voice.PROMPT if is_user else Voice.REPLY


def _utterance(line: Mapping[str, object], voice: Voice, text: str = "", call: ToolCall | None = None) -> Utterance:
    made = voice is Voice.PROMPT and (line.get("isSidechain") is True or _machine_made(text, _prompt_source(line)))
    return Utterance(
        voice=voice,
        text=storable(text),
        id=_text(line, "uuid"),
        call=call,
        session=_text(line, "sessionId"),
        prompt_id=_text(line, "promptId"),
        # Older clients wrote a subagent's lines among the others and did not name it.
        agent_id=_text(line, "agentId") or ("sidechain" if line.get("isSidechain") is True else ""),
        at=_moment(_text(line, "timestamp")),
        machine_made=made or line.get("isApiErrorMessage") is True,
    )


def _prompt_source(line: Mapping[str, object]) -> str:
    """In the words of the event's `source`; the transcript tells apart how a person entered it."""
    written = _text(line, "promptSource")
    return "user" if written in {"typed", "queued", "suggestion_accepted"} else written


# Its tools

_DEEDS = {
    "Bash": Deed.RUN, "BashOutput": Deed.OTHER, "Edit": Deed.EDIT, "MultiEdit": Deed.EDIT, "Write": Deed.EDIT,
    "NotebookEdit": Deed.EDIT, "Read": Deed.READ, "Glob": Deed.SEARCH, "Grep": Deed.SEARCH, "LS": Deed.SEARCH,
    "WebFetch": Deed.FETCH, "WebSearch": Deed.FETCH, "Agent": Deed.DELEGATE, "Task": Deed.DELEGATE,
}  # fmt: skip
_SAYS = ("command", "pattern", "url", "query", "description")
_NAMES_FILES = ("file_path", "notebook_path", "path")
_REFUSED = (
    "The user doesn't want to proceed with this tool use",
    "The user doesn't want to take this action right now",
    "Permission to use ",
    "Permission for this action has been denied",
    # Without a terminal nobody is asked, and the answer is no.
    "This command requires approval",
    "Claude requested permissions to ",
)
_REFUSED_SAYING = "the user said:\n"
_AFTER_REFUSAL = "\n\nNote: The user's next message"
# Written beside a result by 2.1.325; the others it knows are an interruption and trouble of the client's own.
_DENIALS = frozenset({"user-rejected", "permission-rule", "automode-blocked"})


def doing(call: ToolCall) -> Doing:
    files = tuple(text for key in _NAMES_FILES if (text := _text(call.input, key)))
    return Doing(_DEEDS.get(call.name, Deed.OTHER), call.name, _first(call.input, *_SAYS), files)


def is_refused(output: str) -> bool:
    return output.startswith(_REFUSED)


_NOTIFIED = "<task-notification>"
_STATES = {
    "completed": State.COMPLETED, "failed": State.FAILED, "killed": State.KILLED, "stopped": State.KILLED,
    "cancelled": State.KILLED,
}  # fmt: skip
_NO_AGENT = "Background command"
"""A command that goes on by itself is told of in the same way."""


def reported(text: str) -> Report | None:
    """Of the first notification in it. Its tags are the client's own and come in this order before any text of the
    agent's: what stands in a result cannot be taken for the state."""
    _, found, body = text.partition(_NOTIFIED)
    if not found:
        return None
    head = body.partition("<result>")[0]
    state = _STATES.get(_tagged(head, "status").lower(), State.UNKNOWN)
    summary, said = _tagged(head, "summary"), _tagged(body, "result")
    if summary.startswith(_NO_AGENT):
        return None
    return Report(_tagged(head, "task-id"), state, summary, said or summary)


def _tagged(text: str, tag: str) -> str:
    inner = text.partition(f"<{tag}>")[2]
    return inner.partition(f"</{tag}>")[0].strip() if inner else ""


# A fork's own transcript is not there when it starts, and the event does not name its parent. It says how long ago
# the parent was last answered, in whole seconds: this much for the rounding and for what the hook took.
_ORIGIN_WITHIN_S = 1.5
_MOST_SIBLINGS = 20


def origin(event: Event) -> Path | None:
    own = Path(event.transcript)
    if not event.transcript or own.is_file():
        return own if event.transcript else None
    if event.silent_s is None:
        return None
    answered = event.at.plus(seconds=-event.silent_s)
    found = [
        path
        for path in _written_since(own.parent, answered.plus(seconds=-_ORIGIN_WITHIN_S))
        if (at := _last_answered(path)) and abs(at.micros - answered.micros) <= _ORIGIN_WITHIN_S * 1e6
    ]
    return found[0] if len(found) == 1 else None


def _written_since(folder: Path, since: Moment) -> list[Path]:
    """Transcripts, the newest first."""
    try:
        with os.scandir(folder) as entries:
            found = [(entry.stat().st_mtime_ns, entry.name) for entry in entries if entry.name.endswith(".jsonl")]
    except OSError:
        return []
    young = sorted((one for one in found if one[0] >= since.micros * 1_000), reverse=True)
    return [folder / name for _, name in young[:_MOST_SIBLINGS]]


def _last_answered(path: Path) -> Moment | None:
    for line in last_lines(path):
        if line.get("type") == "assistant" and not line.get("isSidechain"):
            return _moment(_text(line, "timestamp"))
    return None


def _strings(content: object) -> object:
    """Hook attachments hold a text, or a list of texts."""
    return "\n".join(part for part in content if isinstance(part, str)) if isinstance(content, list) else content


# Its settings

# Each with the first version that surely knows it: an older client that meets an unknown event skips the whole
# settings file (2.1.325 skips the event alone).
_HOOKS: tuple[tuple[str, tuple[int, ...]], ...] = (
    ("SessionStart", (1, 0, 62)),
    ("UserPromptSubmit", (1, 0, 54)),
    ("PreToolUse", (1, 0, 38)),
    ("PostToolBatch", (2, 1, 152)),
    ("PostToolUseFailure", (2, 1, 33)),
    ("SubagentStart", (2, 0, 43)),
    ("SubagentStop", (1, 0, 41)),
    ("PreCompact", (1, 0, 48)),
    ("Stop", (1, 0, 38)),
    ("PermissionDenied", (2, 1, 89)),
    ("SessionEnd", (1, 0, 85)),
)
_BEFORE_BATCHES = "PostToolUse"
# Ten times our own longest deadline, for a machine that is busy. Named for every event: SessionEnd has 1.5 s else.
_TIMEOUT_S = 5
_ASK_VERSION_S = 10
_VERSION = re.compile(r"(\d+)\.(\d+)\.(\d+)")


def folder(places: Places) -> Path:
    return claude_memory.config_folder(places)


def unapproved(level: Level, places: Places) -> str:
    return ""


def answers(places: Places) -> tuple[Path, ...]:
    return ()  # an answer may stand anywhere: it comes with the leave to read it


def settings_path(level: Level, places: Places) -> Path:
    if level is Level.USER:
        return claude_memory.config_folder(places) / "settings.json"
    if places.project is None:
        raise NoProject("There is no project here.", hint="Go into a project's folder, or leave --user.")
    return places.project / ".claude" / ("settings.json" if level is Level.PROJECT else "settings.local.json")


def server_place(level: Level, places: Places) -> ServerPlace:
    from recollect.agents import ServerPlace

    if level is not Level.USER and places.project is None:
        raise NoProject("There is no project here.", hint="Go into a project's folder, or leave --user.")
    if level is Level.PROJECT and places.project is not None:
        return ServerPlace(places.project / ".mcp.json", ("mcpServers",))
    named = places.environ.get("CLAUDE_CONFIG_DIR", "")
    state = (Path(os.path.abspath(named)) if named else places.user_home) / ".claude.json"
    return ServerPlace(
        state, ("mcpServers",) if level is Level.USER else ("projects", str(places.project), "mcpServers")
    )


def server_json(command: str) -> Mapping[str, object]:
    # Without alwaysLoad the tools are only named, and a server that is slow to start misses the first turn.
    return {"type": "stdio", "command": command, "args": [], "alwaysLoad": True}


def skill(level: Level, places: Places) -> tuple[Path, str] | None:
    if level is Level.LOCAL:
        return None  # a project has no skills that are not shared
    folder = settings_path(level, places).parent / "skills" / "recollect"
    return folder / "SKILL.md", Path(__file__).with_name("skill.md").read_text(encoding="utf-8")


def hooks(places: Places) -> tuple[Hook, ...]:
    from recollect.agents import Hook

    events = hook_events(_version(places.environ))
    return tuple(Hook(event, _TIMEOUT_S, is_prompt=event == "UserPromptSubmit") for event in events)


def hook_events(version: tuple[int, ...] | None) -> tuple[str, ...]:
    """What a client of this version can tell us; a current one where the version is unknown."""
    known = [event for event, since in _HOOKS if version is None or version >= since]
    if "PostToolBatch" not in known:
        known.append(_BEFORE_BATCHES)
    return tuple(known)


def hook_json(command: str, hook: Hook) -> Mapping[str, object]:
    spinner = {"statusMessage": hook.spinner} if hook.spinner else {}
    return {"type": "command", "command": command, "timeout": hook.timeout_s, **spinner}


def _version(environ: Mapping[str, str]) -> tuple[int, ...] | None:
    import shutil  # only where something is installed: hooks come here too
    import subprocess

    program = shutil.which(PROGRAM, path=environ.get("PATH", os.defpath))
    if program is None:
        return None
    try:
        told = subprocess.run(
            [program, "--version"], stdin=subprocess.DEVNULL, capture_output=True, timeout=_ASK_VERSION_S,
            env=dict(environ), check=False,
        )  # fmt: skip
    except (OSError, subprocess.SubprocessError):
        return None
    found = _VERSION.search(told.stdout.decode("utf-8", "replace"))
    return tuple(int(part) for part in found.groups()) if found else None


# Its own memory, and its skills

SKILL_FILE = claude_memory.SKILL_FILE
rule_files = claude_memory.rule_files
shelf = claude_memory.shelf
keepsake_name = claude_memory.keepsake_name
is_keepsake_name = claude_memory.is_keepsake_name
keepsake_text = claude_memory.keepsake_text
keepsake_line = claude_memory.keepsake_line
index_room = claude_memory.index_room
skills_folder = claude_memory.skills_folder
skill_text = claude_memory.skill_text
