"""More agents, learnt from the programs themselves: Codex (0.166.0) and Gemini CLI (0.61.0), whose settings name our
hooks; Pi (0.73.1), which loads a file of ours that calls us; Copilot CLI (1.0.64), whose past sessions can be read."""

from __future__ import annotations

import errno
import hashlib
import io
import json
import re
import tomllib
from collections.abc import Iterator, Mapping
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import Any, BinaryIO

from recollect.agents import Form, Hook, Level, Places, ServerPlace, Transcript, prompts
from recollect.agents.base_agent import (
    Agent,
    as_text,
    blocks,
    encode,
    first,
    inner,
    joined_text,
    project_of,
    text,
)
from recollect.agents.transcript import Head, Line, Utterance, Voice
from recollect.base.moment import Moment
from recollect.base.structs import replace
from recollect.base.text import counted, storable
from recollect.model.session import Event, EventName, Reply, ToolAction, ToolCall, ToolUse

_OURS = "recollect"
_METADATA = "internal_chat_message_metadata_passthrough"
_CODEX_ENDED = re.compile(r"^(?:Process exited with code|Exit code:) (-?\d+)", re.MULTILINE)
_PATCHED = re.compile(r"^\*\*\* (?:Add|Update|Delete) File: (.+)$", re.MULTILINE)


class Codex(Agent, host="codex"):
    """Its events are spelt as Claude Code spells them. It has no tool that reads a file (it runs commands), so nothing
    can be read in place of a virtual file; and it runs no hook that the person has not looked at and allowed."""

    def tools(self, name: EventName, payload: Line) -> Iterator[ToolCall]:
        # How a command ended is not said here; the transcript says it.
        if name in (EventName.TOOL_CALLED, EventName.TOOLS_RAN):
            yield self.tool(payload, output=as_text(payload.get("tool_response")))

    def describe_call(self, call: ToolCall) -> ToolUse:
        found = super().describe_call(call)
        if found.action is ToolAction.EDIT:
            patch = first(call.input, "input", "patch", "command")
            return replace(
                found, what="", files=tuple(name.strip() for name in _PATCHED.findall(patch))
            )
        command = call.input.get("command")
        words = [
            one
            for one in (command if isinstance(command, list) else [command])
            if isinstance(one, str)
        ]
        if found.what:
            return found
        # A shell's name and option, then the command itself.
        is_shell = len(words) > 2 and words[1].startswith("-")
        return replace(found, what=words[-1] if is_shell else " ".join(words))

    # Its transcripts

    def utterances(self, line: Line) -> Iterator[Utterance]:
        payload = inner(line, "payload")
        said, kinds = (
            joined_text(payload.get("content")),
            inner(payload, _METADATA).get("content_item_kinds"),
        )
        kinds = (
            kinds if isinstance(kinds, list) else ["user.text"]
        )  # older clients do not say who wrote it
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
                id, name = first(payload, "call_id", "id"), text(payload, "name")
                call = ToolCall(id=id, name=name, input=_codex_input(payload))
                yield self.utterance(line, Voice.TOOL_CALL, call=call)
            case "response_item", "function_call_output" | "custom_tool_call_output", _:
                yield self.result_utterance(
                    line, text(payload, "call_id"), *_codex_result(payload.get("output"))
                )
            case _:
                pass

    def line_fields(self, line: Line) -> dict[str, Any]:
        payload = inner(line, "payload")
        return {
            "id": first(payload, "id", "call_id"),
            "prompt_id": text(inner(payload, _METADATA), "turn_id"),
        }

    def session_head(self, line: Line) -> Head:
        """The first line says where the session began. A subagent's session is a file of its own."""
        payload = inner(line, "payload") if line.get("type") == "session_meta" else {}
        source, id = inner(payload, "source").get("subagent"), text(payload, "id")
        parent = (
            text(inner(source, "thread_spawn"), "parent_thread_id")
            if isinstance(source, dict)
            else ""
        )
        return text(payload, "cwd"), parent or id, text(line, "timestamp"), id if source else ""

    # Its settings

    def server_place(self, level: Level, places: Places) -> ServerPlace:
        return ServerPlace(
            self.folder_of(level, places) / "config.toml", ("mcp_servers",), Form.TOML
        )

    def unapproved(self, level: Level, places: Places) -> str:
        """Which hooks were allowed stands in the person's own settings, by file, event and place in its list."""
        file = self.settings_path(level, places)
        try:
            kept = tomllib.loads((self.folder(places) / "config.toml").read_text(encoding="utf-8"))
        except (OSError, ValueError):
            kept = {}
        state = inner(inner(kept, "hooks"), "state")
        allowed = [
            key for key, one in state.items() if isinstance(one, dict) and text(one, "trusted_hash")
        ]
        places_of = (
            f"{file}:{re.sub(r'(?<!^)(?=[A-Z])', '_', event).lower()}:" for event in self.EVENTS
        )
        waiting = sum(not any(key.startswith(place) for key in allowed) for place in places_of)
        if not waiting:
            return ""
        return f"Codex runs {counted(waiting, 'hook')} only once you have allowed them: type /hooks in a session."


def _codex_input(payload: Line) -> Line:
    """Arguments come as JSON text, a patch as text, a command of older clients in an action."""
    given = first(payload, "arguments", "input")
    try:
        read = json.loads(given) if given else payload.get("action")
    except (ValueError, RecursionError):
        read = None
    return read if isinstance(read, dict) else {"input": given}


def _codex_result(output: object) -> tuple[str, bool | None]:
    """What the command printed, without the client's heading, and whether it failed."""
    said = joined_text(output) if isinstance(output, list) else as_text(output)
    head, _, body = said.partition("Output:\n")
    ended = _CODEX_ENDED.search(head)
    if ended is None:
        return said, True if said.startswith("unsupported call") else None
    return body if "\nOutput:\n" in f"\n{said}" else said, ended[1].strip("-0") != ""


# What hooks added. A person's text in the same tags cannot be told from it.
_ADDED, _ADDED_END = "<hook_context>", "</hook_context>"
# What a command printed stands in a frame; how it ended is said only where it ended badly.
_FRAME = re.compile(
    r"^<untrusted_context>\n(?:Output: )?|\n(?:Process Group PGID: \d+\n)?</untrusted_context>\s*$"
)
_FOLDERS = re.compile(rb"/(?:[^/\s\x00-\x1f\"'\\<>|:*?]+/)+")
_LOOKED_AT_BYTES, _MOST_CHAT_BYTES = 2_000_000, 64_000_000
_GEMINI_FAILED = re.compile(r"^Exit Code: -?[1-9]", re.MULTILINE)


def _take_added(text: str) -> tuple[str, tuple[str, ...]]:
    """The text without what hooks added and the blanks around it, and what they added. Found by hand: a pattern would
    try each of a million blanks, or each of a thousand openings without an end."""
    kept: list[str] = []
    added: list[str] = []
    at = 0
    while (start := text.find(_ADDED, at)) >= 0:
        inside = start + len(_ADDED)
        end = text.find(_ADDED_END, inside)
        if end < 0:
            break
        piece = text[at:start].rstrip()
        kept.append(piece.lstrip() if at else piece)
        added.append(text[inside:end])
        at = end + len(_ADDED_END)
    kept.append(text[at:].lstrip() if at else text)
    return "".join(kept), tuple(added)


class Gemini(Agent, host="gemini"):
    """What a hook adds it puts between `<hook_context>` tags, its angle brackets escaped, into the person's own
    message: so prompts come back with it, and it is taken out again here. Before a tool runs nothing can be said, only
    the tool's input changed; and that it compresses its history is announced at every turn, whether or not it does, so
    it is not asked."""

    def event_name(self, event: str, payload: Line) -> EventName:
        name, path = (
            super().event_name(event, payload),
            text(inner(payload, "tool_input"), "file_path"),
        )
        is_virtual_read = text(payload, "tool_name") == "read_file" and ".ai/recall/" in path
        if name is EventName.TOOL_CALLED and not is_virtual_read:
            return EventName.OTHER  # nothing can be said
        is_failure = name is EventName.TOOLS_RAN and inner(payload, "tool_response").get("error")
        return EventName.TOOL_FAILED if is_failure else name

    def read_prompt(self, prompt: str) -> prompts.Prompt:
        return super().read_prompt(_take_added(prompt)[0])

    def refine(self, parsed: Event, event: str, payload: Line) -> Event:
        """It reads within its project and its own temporary folder of that project, so an answer to a virtual read is
        put there, beside its chats."""
        own = Path(parsed.transcript).parent.parent
        is_own = Path(parsed.transcript).match(str(Path(self.FOLDER, "tmp/*/chats/*")))
        below = str(own / _OURS / "recalls") if is_own else ""
        error = (
            inner(payload, "tool_response").get("error")
            if parsed.name is EventName.TOOL_FAILED
            else None
        )
        return replace(parsed, text=parsed.text or as_text(error), reads_below=below)

    def tools(self, name: EventName, payload: Line) -> Iterator[ToolCall]:
        if name in (EventName.TOOL_CALLED, *self.ENDED):
            output = as_text(inner(payload, "tool_response").get("llmContent"))
            yield self.tool(payload, output=_take_added(output)[0], failed=self.ENDED.get(name))

    def redirect(self, event: str, reply: Reply) -> dict[str, object]:
        # Merged into the input that was given.
        return (
            {"tool_input": {"file_path": reply.read_instead}}
            if event == "BeforeTool" and reply.read_instead
            else {}
        )

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
            for added in _take_added(written)[1]:
                yield self.utterance(
                    line, Voice.INJECTION, added.replace("&lt;", "<").replace("&gt;", ">")
                )
            yield from self.prompt_utterances(line, written)
            return
        response = inner(answered, "response")
        output = _take_added(first(response, "error", "output"))[0] or as_text(response or None)
        is_command = text(answered, "name") == "run_shell_command"
        failed = "error" in response or (is_command and bool(_GEMINI_FAILED.search(output)))
        yield self.result_utterance(line, text(answered, "id"), _FRAME.sub("", output), failed)

    def folder(self, places: Places) -> Path:
        return Path(places.environ.get("GEMINI_CLI_HOME") or places.user_home) / self.FOLDER

    def transcripts(self, places: Places, within: Path | None = None) -> Iterator[Transcript]:
        """A chat names its project by a checksum: which folder that is of is said beside newer chats, and is found for
        older ones among the projects that are known and the folders that the chat itself names."""
        known = {_checksum(folder): folder for folder in (str(places.project or ""), *places.known)}
        with suppress(OSError, ValueError, AttributeError, RecursionError):
            listed = inner(
                json.loads((self.folder(places) / "projects.json").read_bytes()), "projects"
            )
            known |= {_checksum(folder): folder for folder in listed}
        for found in super().transcripts(places, within):
            if found.path.suffix == ".json" and found.path.with_suffix(".jsonl").exists():
                continue  # taken over when the session was resumed
            if found.cwd and found.cwd not in known and not found.problem:
                known |= {_checksum(folder): folder for folder in _named_folders(found.path)}
            yield found._replace(cwd=known.get(found.cwd, found.cwd))

    def open(self, path: Path) -> BinaryIO:
        """A chat of an older version is one JSON document."""
        if path.suffix != ".json":
            return super().open(path)
        found = path.stat()
        return io.BytesIO(_as_lines(path, found.st_mtime_ns, found.st_size))

    def session_head(self, line: Line) -> Head:
        id = text(line, "sessionId")
        subagent = id if line.get("kind") == "subagent" else ""
        return text(line, "projectHash"), id, first(line, "startTime", "timestamp"), subagent

    # Its settings

    def hook_json(self, command: str, hook: Hook) -> Mapping[str, object]:
        return {
            "type": "command",
            "name": _OURS,
            "command": command,
            "timeout": hook.timeout_s * 1_000,
        }

    def server_place(self, level: Level, places: Places) -> ServerPlace:
        return ServerPlace(self.settings_path(level, places), ("mcpServers",), self.SETTINGS_FORM)


def _checksum(folder: str) -> str:
    return hashlib.sha256(folder.encode("utf-8", "surrogateescape")).hexdigest()


def _named_folders(chat: Path) -> Iterator[str]:
    """What stands beside the chats, then every folder above a path in it."""
    with suppress(OSError):
        for beside in chat.parents[1:3]:
            with suppress(FileNotFoundError):
                yield (beside / ".project_root").read_text(encoding="utf-8").strip()
        with open(chat, "rb") as file:
            found = {
                part.decode("utf-8", "replace")
                for part in _FOLDERS.findall(file.read(_LOOKED_AT_BYTES))
            }
        yield from {str(above) for one in found for above in (Path(one), *Path(one).parents)}


@lru_cache(maxsize=1)
def _as_lines(chat: Path, changed_ns: int, size: int) -> bytes:
    """As newer versions write it: first what was said, then its calls, then what they brought."""
    if size > _MOST_CHAT_BYTES:
        raise OSError(errno.EFBIG, "too large")
    try:
        head = json.loads(chat.read_bytes())
        messages = blocks(head.pop("messages"))
    except (ValueError, RecursionError, AttributeError, KeyError, TypeError):
        raise OSError(errno.EINVAL, "not a chat") from None
    lines = [head]
    for message in messages:
        calls = blocks(message.get("toolCalls"))
        lines.append({**message, "toolCalls": []})
        for call in calls:
            result = {
                "type": "user",
                "timestamp": call.get("timestamp"),
                "content": call.get("result"),
            }
            lines += [{**message, "content": "", "toolCalls": [call]}, result]
    return b"".join(json.dumps(line, separators=(",", ":")).encode() + b"\n" for line in lines)


class Pi(Agent, host="pi"):
    """An extension of ours (pi.ts) tells us of its events."""

    def event_name(self, event: str, payload: Line) -> EventName:
        name = super().event_name(event, payload)
        is_failure = name is EventName.TOOLS_RAN and payload.get("is_error") is True
        return EventName.TOOL_FAILED if is_failure else name

    def refine(self, parsed: Event, event: str, payload: Line) -> Event:
        # However a session starts, the extension begins with nothing, and what it gets goes into no history.
        sources = {
            "session_compact": "compact",
            "session_start": "startup",
            "session_shutdown": parsed.source,
        }
        said_ms, at = payload.get("at_ms"), parsed.at
        # It may be heard late, and a session's lines from before its start are not its own.
        if isinstance(said_ms, int) and 0 <= at.micros - said_ms * 1_000 <= 3_600 * 1_000_000:
            at = Moment(said_ms * 1_000)
        is_made = parsed.name is EventName.PROMPT and text(payload, "source") == "extension"
        return replace(
            parsed,
            at=at,
            source=sources.get(event, ""),
            machine_made=parsed.machine_made or is_made,
        )

    def tools(self, name: EventName, payload: Line) -> Iterator[ToolCall]:
        if text(payload, "tool_use_id"):
            yield self.tool(
                payload, output=text(payload, "tool_output"), failed=self.ENDED.get(name)
            )

    def render(self, event: str, reply: Reply) -> bytes:
        said = (
            {"context": reply.context, "read_instead": reply.read_instead}
            if event in self.INJECTS
            else {}
        )
        told = {"notice": reply.notice} if self.shows_notice(event) else {}
        return encode({key: storable(text) for key, text in (said | told).items()})

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
            case "message", "toolResult" if text(message, "toolName") != "recall":  # ours, in Pi
                failed = message.get("isError") is True
                yield self.result_utterance(
                    line, text(message, "toolCallId"), joined_text(content), failed
                )
            case "message", "toolResult" | "custom":  # memory is not to be learnt from memory
                yield self.utterance(line, Voice.INJECTION, joined_text(content))
            case _:
                pass

    def session_head(self, line: Line) -> Head:
        line = line if line.get("type") == "session" else {}
        return text(line, "cwd"), text(line, "id"), text(line, "timestamp"), ""

    def folder(self, places: Places) -> Path:
        named = places.environ.get(self.FOLDER_VARIABLE, "")
        return (
            places.user_home / named[2:]
            if named == "~" or named.startswith("~/")
            else super().folder(places)
        )

    def plugin(self, level: Level, places: Places, home: Path) -> tuple[Path, str]:
        within = self.folder(places) if level is Level.USER else project_of(places) / ".pi"
        written = Path(__file__).with_name("pi.ts").read_text(encoding="utf-8")
        named = f"const INSTALLED_HOME = {json.dumps(str(home))};"
        return within / "extensions" / "recollect.ts", written.replace(
            'const INSTALLED_HOME = "";', named, 1
        )


_BY_PERSON = (
    "",
    "user",
    "immediate-prompt",
)  # the client also speaks as the user: skills, notices, its autopilot


class Copilot(Agent, host="copilot"):
    """It does not call us yet. What a person typed is its own field; what the client added to it is not read."""

    def utterances(self, line: Line) -> Iterator[Utterance]:
        data = inner(line, "data")
        match line.get("type"):
            case "user.message" if text(data, "source") in _BY_PERSON:
                yield from self.prompt_utterances(line, text(data, "content"))
            case "assistant.message":
                if said := text(data, "content"):
                    yield self.utterance(line, Voice.REPLY, said)
                for asked in blocks(data.get("toolRequests")):
                    yield self.call_utterance(line, asked, "toolCallId", "arguments")
            case "tool.execution_complete":
                output = text(inner(data, "result"), "content") or first(
                    inner(data, "error"), "message", "code"
                )
                yield self.result_utterance(
                    line, text(data, "toolCallId"), output, data.get("success") is False
                )
            case _:
                pass

    def session_head(self, line: Line) -> Head:
        data = inner(line, "data") if line.get("type") == "session.start" else {}
        return (
            text(inner(data, "context"), "cwd"),
            text(data, "sessionId"),
            text(line, "timestamp"),
            "",
        )
