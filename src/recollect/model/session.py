"""Who is talking to us, what they said, and what we answer. Hosts' own shapes are turned into these, and back,
at the door (`agents`)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from recollect.base.moment import Moment

_PLAN_CHARS = 1_000


class EventName(StrEnum):
    SESSION_STARTED = "session-started"
    PROMPT = "prompt"
    TOOL_CALLED = "tool-called"  # it has not run yet
    TOOLS_RAN = "tools-ran"
    TOOL_FAILED = "tool-failed"
    TURN_ENDED = "turn-ended"
    SUBAGENT_STARTED = "subagent-started"
    SUBAGENT_ENDED = "subagent-ended"
    COMPACTING = "compacting"
    PERMISSION_DENIED = "permission-denied"
    SESSION_ENDED = "session-ended"
    OTHER = "other"  # an event that this version knows nothing of


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    id: str
    host: str
    started_at: Moment
    number: int = 0  # counts sessions that were used, not opened: 0 until the first message
    epoch: int = 0  # rises when the agent loses what it was shown (compaction, clear)


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCall:
    id: str
    name: str  # the agent's own name of the tool
    input: Mapping[str, object]
    output: str = ""  # what the model sees of the result; empty before it ran
    failed: bool | None = None  # None: the host does not say
    refused: bool = False  # the host says that it was not allowed


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    name: EventName
    host: str
    session_id: str
    at: Moment
    cwd: str = ""
    project_folder: str = ""  # what the agent says its project is; it does not follow `cd`
    transcript: str = ""
    prompt_id: str = ""
    prompt_mark: str = ""  # check sum of the whole prompt, as the host sent it
    agent_id: str = ""  # inside a subagent
    agent_type: str = ""
    source: str = ""
    """Why a session started or ended, or what made it compact: startup, resume, clear, compact, fork, auto…"""
    text: str = ""  # what the person typed; the last words of the agent; the error
    plan: str = ""  # the agent's own plan, where the client begins a turn with it. No word of a person's.
    machine_made: bool = False  # a prompt that no person wrote: a task notification, a scheduled wake-up
    tools: tuple[ToolCall, ...] = ()
    reads_below: str = ""  # where a file has to stand for this agent to read it, where that is not anywhere
    silent_s: float | None = None
    """Of a session that goes on from another: how long ago that one was last answered, where the host says so."""

    @property
    def asked(self) -> str:
        """What a prompt is about; of a plan its beginning, which says it."""
        return self.text or self.plan[:_PLAN_CHARS]


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """What an event is answered with. Empty: nothing is printed at all."""

    context: str = ""  # for the model
    notice: str = ""  # one line for the person's eyes
    read_instead: str = ""
    """A file that we just wrote, read in place of the virtual one. The only reply that decides a permission."""
    read_input: Mapping[str, object] = field(default_factory=dict)
    """The input of the read that is redirected: hosts replace the whole of it, so an offset and a limit are copied."""
    shown: tuple[str, ...] = ()  # memories that count as shown once the hook has confirmed that it printed this

    def __bool__(self) -> bool:
        return bool(self.context or self.notice or self.read_instead)
