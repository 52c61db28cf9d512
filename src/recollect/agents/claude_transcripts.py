"""Claude Code's transcripts: what each line says and who said it, which ones it left, and what a fork goes on from.

`<config>/projects/<folder of the session, spelt with dashes>/<session>.jsonl`; subagents below it in
`<session>/subagents/agent-<id>.jsonl`, with older clients beside it as `agent-<id>.jsonl`. The spelling with dashes
cannot be read back, so where a session was begun is taken from its own lines.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from recollect.agents import Places, Transcript, prompts
from recollect.agents.base_agent import Agent, Line, as_text, blocks, joined_text
from recollect.agents.payload import inner, moment, text
from recollect.agents.transcript import Cursor, Tail, Utterance, Voice
from recollect.agents.transcript_finder import Head
from recollect.base.moment import Moment
from recollect.base.text import storable
from recollect.model.session import Event, ToolCall
from recollect.wire.pointer import file_size

# Who may have written a prompt: a person in the composer, or a program that a person runs (`-p`, the SDK). The others
# (system, loop_wakeup, schedule_wakeup, poll_event) are the client's own use. Clients may leave the field out.
PEOPLE = frozenset({"", "user", "sdk"})
_CONTINUED = "This session is being continued from a previous conversation"
# Most of a transcript's bytes are whole requests and snapshots. What a line is stands in its first fields: before it
# come values that hold neither a quote nor an object, and a quote inside a text would be escaped.
_LINE_HEAD = re.compile(
    rb'\{(?:(?!"type"|"attachment"|"message")"\w+":\s?(?:null|true|false|"[^"\\]*"|[\d.]+),\s?)*'
    rb'"(type|attachment)":\s?(?:\{"type":\s?)?"([\w-]+)'
)
_SPEAKING = frozenset({b"user", b"assistant", b"attachment", b"queue-operation"})
_QUEUE = {"enqueue": Voice.QUEUED, "remove": Voice.SENT, "dequeue": Voice.UNQUEUED, "popAll": Voice.UNQUEUED}
_REMINDER, _REMINDER_END = "<system-reminder>", "</system-reminder>"
_REFUSED_SAYING = "the user said:\n"
_AFTER_REFUSAL = "\n\nNote: The user's next message"
# Written beside a result by 2.1.325; the others it knows are an interruption and trouble of the client's own.
_DENIALS = frozenset({"user-rejected", "permission-rule", "automode-blocked"})
_SUBAGENT = "agent-"
# A fork's own transcript is not there when it starts, and the event does not name its parent. It says how long ago
# the parent was last answered, in whole seconds: this much for the rounding and for what the hook took.
_ORIGIN_WITHIN_S = 1.5
_MAX_SIBLINGS = 20
_LAST_BYTES = 1 << 20


class ClaudeTranscripts(Agent):
    def may_speak(self, line: bytes) -> bool:
        head = _LINE_HEAD.match(line)
        if head is None:
            return True
        key, value = head.groups()
        return value in _SPEAKING if key == b"type" else value.startswith((b"hook_", b"queued_command"))

    def utterances(self, line: Line) -> Iterator[Utterance]:
        match line.get("type"):
            case "user" | "assistant" as role:
                if not line.get("isMeta"):
                    yield from self._messages(role == "user", line, inner(line, "message").get("content"))
            case "queue-operation":
                voice = _QUEUE.get(text(line, "operation"))
                if voice is not None:
                    content = text(line, "content")
                    words = self.read_prompt(content).words
                    is_typed = not words.startswith(("/", "{")) and bool(words or not content)
                    yield replace(self.utterance(line, voice, words if is_typed else ""), machine_made=not is_typed)
            case "attachment":
                attachment = inner(line, "attachment")
                if text(attachment, "type").startswith("hook_"):
                    added = attachment.get("content")  # a text, or a list of texts
                    if isinstance(added, list):
                        added = "\n".join(one for one in added if isinstance(one, str))
                    yield self.utterance(line, Voice.INJECTION, shown_output(added))
                elif text(attachment, "type") == "queued_command":
                    # Typed while the agent was at work, and given to it between two calls.
                    is_typed = attachment.get("commandMode") == "prompt" and not attachment.get("isMeta")
                    yield from self._prompt(line, shown_output(attachment.get("prompt")), by_person=is_typed)
            case _:
                pass

    def _messages(self, is_user: bool, line: Line, content: object) -> Iterator[Utterance]:
        written = []
        for block in blocks([{"type": "text", "text": content}] if isinstance(content, str) else content):
            match block.get("type"):
                case "text" if is_user:
                    written.append(text(block, "text"))
                case "text":
                    yield self.utterance(line, Voice.REPLY, text(block, "text"))
                case "tool_use":
                    yield self.call_utterance(line, text(block, "id"), text(block, "name"), inner(block, "input"))
                case "tool_result":
                    result = self.result_utterance(
                        line, text(block, "tool_use_id"), shown_output(block.get("content")),
                        block.get("is_error") is True, refused=line.get("toolDenialKind") in _DENIALS,
                    )  # fmt: skip
                    yield result
                    if words := self._refusal_words(line, result.call):
                        yield self.utterance(line, Voice.PROMPT, words, call=result.call)
                case _:
                    pass
        if any(written):  # an IDE puts what it tells into a block of its own, a hook gets all of them as one text
            yield from self._prompt(line, "\n".join(written), by_person=_is_by_person(line))

    def _prompt(self, line: Line, written: str, *, by_person: bool) -> Iterator[Utterance]:
        if line.get("isCompactSummary") or written.startswith(_CONTINUED):
            yield self.utterance(line, Voice.SUMMARY, written)
            return
        is_reminded = written.startswith(_REMINDER)
        if is_reminded:
            yield self.utterance(line, Voice.INJECTION, written[: written.rfind(_REMINDER_END) + len(_REMINDER_END)])
        said = self.read_prompt(written) if by_person else prompts.Prompt()
        for voice, words in said.voices():
            yield self.utterance(line, voice, words)
        if said.is_machine_made and not is_reminded:
            yield replace(self.utterance(line, Voice.PROMPT, written), machine_made=True)

    def _refusal_words(self, line: Line, call: ToolCall | None) -> str:
        """What the person said when refusing the call. Older clients wrote it only among their own words for the
        model."""
        if call is None or not call.failed or not (call.refused or self.is_refused(call.output)):
            return ""
        if call.refused:
            return text(line, "userFeedback")
        return call.output.partition(_REFUSED_SAYING)[2].partition(_AFTER_REFUSAL)[0].strip()

    def line_fields(self, line: Line) -> dict[str, Any]:
        return {
            "id": text(line, "uuid"),
            "session": text(line, "sessionId"),
            "prompt_id": text(line, "promptId"),
            # Older clients wrote a subagent's lines among the others and did not name it.
            "agent_id": text(line, "agentId") or ("sidechain" if line.get("isSidechain") is True else ""),
            "machine_made": line.get("isApiErrorMessage") is True,
        }

    # Which ones it left

    def transcripts(self, places: Places, within: Path | None = None) -> Iterator[Transcript]:
        for found in super().transcripts(places, within):
            yield found if found.problem and not found.size and not found.session else _named(found)

    def session_head(self, line: Line) -> Head:
        return Head(text(line, "cwd"), text(line, "sessionId"), text(line, "timestamp"), text(line, "agentId"))

    def origin(self, event: Event) -> Path | None:
        own = Path(event.transcript)
        if not event.transcript or own.is_file():
            return own if event.transcript else None
        if event.silent_s is None:
            return None
        answered = event.at.plus(seconds=-event.silent_s)
        found = [
            path
            for path in _written_since(own.parent, answered.plus(seconds=-_ORIGIN_WITHIN_S))
            if (at := _last_answered(path, self.may_speak))
            and abs(at.micros - answered.micros) <= _ORIGIN_WITHIN_S * 1e6
        ]
        return found[0] if len(found) == 1 else None


def _named(found: Transcript) -> Transcript:
    """A session's file is named after it, and its first lines may be another's; a subagent's is named after that."""
    stem = storable(found.path.stem)
    if not stem.startswith(_SUBAGENT):
        return found._replace(session=stem, agent="")
    parent = found.path.parent
    own = storable(parent.parent.name) if parent.name == "subagents" else stem
    session = own if found.session == stem else found.session
    return found._replace(session=session, agent=found.agent or stem.removeprefix(_SUBAGENT))


def shown_output(response: object) -> str:
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


def _is_by_person(line: Line) -> bool:
    """The transcript tells apart how a person entered it."""
    source = text(line, "promptSource")
    return line.get("isSidechain") is not True and source in PEOPLE | {"typed", "queued", "suggestion_accepted"}


def _written_since(folder: Path, since: Moment) -> list[Path]:
    """Transcripts, the newest first."""
    try:
        with os.scandir(folder) as entries:
            found = [(entry.stat().st_mtime_ns, entry.name) for entry in entries if entry.name.endswith(".jsonl")]
    except OSError:
        return []
    young = sorted((one for one in found if one[0] >= since.micros * 1_000), reverse=True)
    return [folder / name for _, name in young[:_MAX_SIBLINGS]]


def _last_answered(path: Path, may_speak: Callable[[bytes], bool]) -> Moment | None:
    tail = Tail(path, Cursor(max(0, file_size(str(path)) - _LAST_BYTES)))
    tail.wanted = may_speak
    answers = [line for line in tail if line.get("type") == "assistant" and not line.get("isSidechain")]
    return moment(text(answers[-1], "timestamp")) if answers else None
