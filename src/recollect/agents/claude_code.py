"""Claude Code: its events and their shapes, what it does with an answer, its tools, its settings, its transcripts.
Learnt from the client itself. Its memory, skills and plugins: claude_memory.py.

Transcripts: `<config>/projects/<folder of the session, spelt with dashes>/<session>.jsonl`; subagents below it in
`<session>/subagents/agent-<id>.jsonl`, with older clients beside it as `agent-<id>.jsonl`. The spelling with dashes
cannot be read back, so where a session was begun is taken from its own lines."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any, ClassVar

from recollect.agents import Hook, Level, Places, ServerPlace, Transcript, prompts
from recollect.agents.base_agent import as_text, blocks, inner, joined_text, project_of, text
from recollect.agents.claude_memory import ClaudeMemory
from recollect.agents.transcript import Cursor, Head, Line, Tail, Utterance, Voice, moment
from recollect.base.moment import Moment
from recollect.base.paths import find_program
from recollect.base.structs import replace
from recollect.base.text import storable
from recollect.model.session import Event, EventName, Reply, SubagentReport, SubagentState, ToolCall
from recollect.wire.pointer import file_size

_FAILED_COMMAND = re.compile(r"Exit code [1-9]")
_STATES = {
    "completed": SubagentState.COMPLETED, "failed": SubagentState.FAILED, "killed": SubagentState.KILLED,
    "stopped": SubagentState.KILLED, "cancelled": SubagentState.KILLED,
}  # fmt: skip

# Who may have written a prompt: a person in the composer, or a program that a person runs (`-p`, the SDK). The others
# (system, loop_wakeup, schedule_wakeup, poll_event) are the client's own use. Clients may leave the field out.
_PEOPLE = frozenset({"", "user", "sdk"})
_ENTERED = _PEOPLE | {
    "typed",
    "queued",
    "suggestion_accepted",
}  # the transcript tells apart how a person did it
_CONTINUED = "This session is being continued from a previous conversation"
# Most of a transcript's bytes are whole requests and snapshots. What a line is stands in its first fields: before it
# come values that hold neither a quote nor an object, and a quote inside a text would be escaped.
_LINE_HEAD = re.compile(
    rb'\{(?:(?!"type"|"attachment"|"message")"\w+":\s?(?:null|true|false|"[^"\\]*"|[\d.]+),\s?)*'
    rb'"(type|attachment)":\s?(?:\{"type":\s?)?"([\w-]+)'
)
_SPEAKING = frozenset({b"user", b"assistant", b"attachment", b"queue-operation"})
_QUEUE = {
    "enqueue": Voice.QUEUED,
    "remove": Voice.SENT,
    "dequeue": Voice.UNQUEUED,
    "popAll": Voice.UNQUEUED,
}
_REMINDER, _REMINDER_END = "<system-reminder>", "</system-reminder>"
# Written beside a result by 2.1.325; the others it knows are an interruption and trouble of the client's own.
_DENIALS = frozenset({"user-rejected", "permission-rule", "automode-blocked"})
_SUBAGENT = "agent-"
# A fork's own transcript is not there when it starts, and the event does not name its parent. It says how long ago
# the parent was last answered, in whole seconds: this much for the rounding and for what the hook took.
_ORIGIN_WITHIN_S = 1.5


_SKILLS = ("recollect", "memory")  # `/recollect` and `/memory`: one skill under two names


class ClaudeCode(ClaudeMemory, host="claude-code"):
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
        is_made = parsed.name is EventName.PROMPT and text(payload, "source") not in _PEOPLE
        said_s = payload.get("seconds_since_last_response")
        silent_s = float(said_s) if isinstance(said_s, int | float) and 0 <= said_s <= 1e9 else None
        return replace(parsed, machine_made=parsed.machine_made or is_made, silent_s=silent_s)

    def tools(self, name: EventName, payload: Line) -> Iterator[ToolCall]:
        match name:
            case EventName.TOOL_CALLED | EventName.PERMISSION_DENIED:
                yield self.tool(payload)
            case EventName.TOOL_FAILED:
                yield self.tool(payload, output=text(payload, "error"), failed=True)
            case EventName.TOOLS_RAN if (
                "tool_calls" in payload
            ):  # a batch, which does not say how each went
                for call in blocks(payload["tool_calls"]):
                    output, is_command = (
                        _shown_output(call.get("tool_response")),
                        text(call, "tool_name") == "Bash",
                    )
                    # A refused input has a tag of its own, and so has a command that ended badly.
                    failed = output.startswith("<tool_use_error>") or (
                        is_command and _FAILED_COMMAND.match(output)
                    )
                    yield self.tool(call, output=output, failed=True if failed else None)
            case EventName.TOOLS_RAN if (
                "tool_name" in payload
            ):  # comes only when the tool succeeded
                yield self.tool(
                    payload, output=_shown_output(payload.get("tool_response")), failed=False
                )

    def subagent_report(self, text: str) -> SubagentReport | None:
        """Of the first notification in it. Its tags are the client's own and come in this order before any text of the
        agent's: what stands in a result cannot be taken for the state."""

        def tagged(within: str, tag: str) -> str:
            return within.partition(f"<{tag}>")[2].partition(f"</{tag}>")[0].strip()

        _, found, body = text.partition("<task-notification>")
        head = body.partition("<result>")[0]
        summary = tagged(head, "summary")
        if not found or summary.startswith("Background command"):  # reported in the same way
            return None
        state = _STATES.get(tagged(head, "status").lower(), SubagentState.UNKNOWN)
        return SubagentReport(
            tagged(head, "task-id"), state, summary, tagged(body, "result") or summary
        )

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

    # Its settings

    def settings_path(self, level: Level, places: Places) -> Path:
        return (
            self.folder_of(level, places)
            / f"settings{'.local' if level is Level.LOCAL else ''}.json"
        )

    def server_place(self, level: Level, places: Places) -> ServerPlace:
        keys = ("mcpServers",)
        if level is Level.PROJECT:
            return ServerPlace(project_of(places) / ".mcp.json", keys)
        named = places.environ.get(self.FOLDER_VARIABLE, "")
        state = (Path(os.path.abspath(named)) if named else places.user_home) / ".claude.json"
        return ServerPlace(
            state, keys if level is Level.USER else ("projects", str(project_of(places)), *keys)
        )

    def server_json(self, command: str) -> Mapping[str, object]:
        # Without alwaysLoad the tools are only named, and a server that is slow to start misses the first turn.
        return {"type": "stdio", "command": command, "args": [], "alwaysLoad": True}

    SKILLS_NOTE = "In Claude Code, /memory is now Recollect's; its own comes back with `uninstall`."

    def skills(self, level: Level, places: Places, program: str) -> Mapping[Path, str]:
        if level is Level.LOCAL:
            return {}  # a project has no skills that are not shared
        folder = self.folder_of(level, places) / "skills"
        text = Path(__file__).with_name("skill.md").read_text(encoding="utf-8")
        text = text.replace("{recollect}", shlex.quote(program))
        return {folder / name / self.SKILL_FILE: text.replace("{name}", name) for name in _SKILLS}

    def hooks(self, places: Places) -> tuple[Hook, ...]:
        path = places.environ.get("PATH", os.defpath)
        program = find_program(self.PROGRAM, path, places.user_home)
        version = _version(program) if program else None  # unknown: a current one
        known = [
            event
            for event, since in self.EVENTS_SINCE.items()
            if version is None or version >= since
        ]
        events = known if "PostToolBatch" in known else [*known, "PostToolUse"]
        return tuple(
            Hook(event, self.TIMEOUT_S, is_prompt=event == "UserPromptSubmit") for event in events
        )

    # Its transcripts

    def may_speak(self, line: bytes) -> bool:
        head = _LINE_HEAD.match(line)
        if head is None:
            return True
        key, value = head.groups()
        return (
            value in _SPEAKING
            if key == b"type"
            else value.startswith((b"hook_", b"queued_command"))
        )

    def utterances(self, line: Line) -> Iterator[Utterance]:
        attachment = inner(line, "attachment")
        match line.get("type"), attachment.get("type"):
            case "user" | "assistant" as role, _:
                if not line.get("isMeta"):
                    yield from self._messages(
                        role == "user", line, inner(line, "message").get("content")
                    )
            case "queue-operation", _:
                voice, content = _QUEUE.get(text(line, "operation")), text(line, "content")
                words = self.read_prompt(content).words
                is_typed = not words.startswith(("/", "{")) and bool(words or not content)
                if voice is not None:
                    yield replace(
                        self.utterance(line, voice, words if is_typed else ""),
                        machine_made=not is_typed,
                    )
            case (
                "attachment",
                "queued_command",
            ):  # typed while the agent was at work, and given to it between two calls
                is_typed = attachment.get("commandMode") == "prompt" and not attachment.get(
                    "isMeta"
                )
                yield from self._prompt(
                    line, _shown_output(attachment.get("prompt")), by_person=is_typed
                )
            case "attachment", str(kind) if kind.startswith("hook_"):
                added = attachment.get("content")  # a text, or a list of texts
                if isinstance(added, list):
                    added = "\n".join(one for one in added if isinstance(one, str))
                yield self.utterance(line, Voice.INJECTION, _shown_output(added))
            case _:
                pass

    def _messages(self, is_user: bool, line: Line, content: object) -> Iterator[Utterance]:
        written = []
        for block in blocks(
            [{"type": "text", "text": content}] if isinstance(content, str) else content
        ):
            match block.get("type"):
                case "text" if is_user:
                    written.append(text(block, "text"))
                case "text":
                    yield self.utterance(line, Voice.REPLY, text(block, "text"))
                case "tool_use":
                    yield self.call_utterance(line, block, "id", "input")
                case "tool_result":
                    yield from self._result(line, block)
                case _:
                    pass
        if any(
            written
        ):  # an IDE puts what it tells into a block of its own, a hook gets all of them as one text
            by_person = (
                line.get("isSidechain") is not True and text(line, "promptSource") in _ENTERED
            )
            yield from self._prompt(line, "\n".join(written), by_person=by_person)

    def _result(self, line: Line, block: Line) -> Iterator[Utterance]:
        output, failed = _shown_output(block.get("content")), block.get("is_error") is True
        refused = text(line, "toolDenialKind") in _DENIALS
        result = self.result_utterance(
            line, text(block, "tool_use_id"), output, failed, refused=refused
        )
        yield result
        words = (
            text(line, "userFeedback") if refused else ""
        )  # what the person said when refusing the call
        if not refused and self.is_refused(
            output
        ):  # older clients wrote it among words of their own
            words = (
                output.partition("the user said:\n")[2]
                .partition("\n\nNote: The user's next message")[0]
                .strip()
            )
        if failed and words:
            yield self.utterance(line, Voice.PROMPT, words, call=result.call)

    def _prompt(self, line: Line, written: str, *, by_person: bool) -> Iterator[Utterance]:
        if line.get("isCompactSummary") or written.startswith(_CONTINUED):
            yield self.utterance(line, Voice.SUMMARY, written)
            return
        is_reminded = written.startswith(_REMINDER)
        if is_reminded:
            yield self.utterance(
                line, Voice.INJECTION, written[: written.rfind(_REMINDER_END) + len(_REMINDER_END)]
            )
        said = self.read_prompt(written) if by_person else prompts.Prompt()
        for voice, words in said.voices():
            yield self.utterance(line, voice, words)
        if said.is_machine_made and not is_reminded:
            yield replace(self.utterance(line, Voice.PROMPT, written), machine_made=True)

    def line_fields(self, line: Line) -> dict[str, Any]:
        return {
            "id": text(line, "uuid"),
            "session": text(line, "sessionId"),
            "prompt_id": text(line, "promptId"),
            # Older clients wrote a subagent's lines among the others and did not name it.
            "agent_id": text(line, "agentId")
            or ("sidechain" if line.get("isSidechain") is True else ""),
            "machine_made": line.get("isApiErrorMessage") is True,
        }

    def transcripts(self, places: Places, within: Path | None = None) -> Iterator[Transcript]:
        """A session's file is named after it, and its first lines may be another's; a subagent's is named after it."""
        for found in super().transcripts(places, within):
            stem, parent = storable(found.path.stem), found.path.parent
            if found.problem and not found.size and not found.session:
                yield found
            elif not stem.startswith(_SUBAGENT):
                yield found._replace(session=stem, agent="")
            else:
                own = storable(parent.parent.name) if parent.name == "subagents" else stem
                session = own if found.session == stem else found.session
                yield found._replace(
                    session=session, agent=found.agent or stem.removeprefix(_SUBAGENT)
                )

    def session_head(self, line: Line) -> Head:
        cwd = "" if line.get("type") == "session" else text(line, "cwd")  # another agent's line
        return cwd, text(line, "sessionId"), text(line, "timestamp"), text(line, "agentId")

    def origin(self, event: Event) -> Path | None:
        own = Path(event.transcript)
        if not event.transcript or os.path.isfile(own):
            return own if event.transcript else None
        if event.silent_s is None:
            return None
        answered = event.at.plus(seconds=-event.silent_s)
        try:
            with os.scandir(own.parent) as entries:
                found = [
                    (one.stat().st_mtime_ns, one.path)
                    for one in entries
                    if one.name.endswith(".jsonl")
                ]
        except (OSError, ValueError):  # the latter where the path cannot be one
            return None
        since_ns = answered.plus(seconds=-_ORIGIN_WITHIN_S).micros * 1_000
        young = [
            Path(path) for changed_ns, path in sorted(found, reverse=True) if changed_ns >= since_ns
        ]
        near = [
            path
            for path in young[:20]
            if (at := self._last_answered(path))
            and abs(at.micros - answered.micros) <= _ORIGIN_WITHIN_S * 1e6
        ]
        return near[0] if len(near) == 1 else None

    def _last_answered(self, path: Path) -> Moment | None:
        tail = Tail(path, Cursor(max(0, file_size(str(path)) - (1 << 20))))
        tail.wanted = self.may_speak
        answers = [
            line for line in tail if line.get("type") == "assistant" and not line.get("isSidechain")
        ]
        return moment(text(answers[-1], "timestamp")) if answers else None


def _shown_output(response: object) -> str:
    """What the model sees of a result, as near as the event tells it."""
    match response:
        case {"stdout": str(out), "stderr": str(err)}:
            return "\n".join(part for part in (out, err) if part)
        case {"file": {"content": str(content)}} | {"content": str(content)}:
            return content
        case list():
            return joined_text(response)
        case _:
            return as_text(response)


@cache
def _version(program: str) -> list[int] | None:
    import subprocess  # only where something is installed: hooks come here too

    try:
        said = subprocess.run(
            [program, "--version"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=10,
            cwd=os.path.dirname(
                program
            ),  # not the folder of a project, whose settings it might read
        )
    except (OSError, subprocess.SubprocessError):
        return None
    found = re.search(rb"(\d+)\.(\d+)\.(\d+)", said.stdout)
    return [int(part) for part in found.groups()] if found else None
