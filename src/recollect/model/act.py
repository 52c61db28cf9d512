"""What happened in a session, the same for every agent: things said, and tool calls with their results."""

from dataclasses import dataclass
from enum import StrEnum

from recollect.base.moment import Moment


class Speaker(StrEnum):
    PERSON = "person"
    AGENT = "agent"
    TOOL = "tool"
    MACHINE = "machine"  # a message no person wrote: a task notification, the words of an IDE or a command


class ToolAction(StrEnum):
    """The kind of a tool call, whatever the agent calls its tool."""

    RUN = "run"
    EDIT = "edit"
    READ = "read"
    SEARCH = "search"
    FETCH = "fetch"  # text from the web: never a rule's wording
    DELEGATE = "delegate"
    OTHER = "other"


@dataclass(frozen=True, slots=True)
class ToolUse:
    """One tool call, in neutral words."""

    action: ToolAction
    tool: str = ""  # the agent's own name for it
    what: str = ""  # what was asked for: the command, the pattern, the address, the task
    files: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Act:
    """Free of secrets and of everything we showed the agent."""

    id: str  # the same whenever the same line is read again
    at: Moment
    speaker: Speaker
    text: str = ""  # what was said; for a call, the result as the agent saw it, without the middle where it is long
    use: ToolUse | None = None
    failed: bool | None = None  # None: the host does not say
    refused: bool = False  # the person did not allow the call
    refuses: str = ""  # the id of the call that the person refused with these words
    agent: str = ""  # inside a subagent
    plan: bool = False  # the agent's own plan, handed on by the client: it begins a turn, as a prompt does
    prompt_id: str = ""
    partial: bool = False  # parts of its text are missing: it was long, or had something fenced like our own text


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionPart:
    """The latest part of a session: what is new, after acts that were processed before."""

    host: str
    session: str
    agent: str = ""
    cwd: str = ""
    transcript: str = ""
    acts: tuple[Act, ...] = ()
    new_from: int = 0  # acts before this one were processed already: they are context for the new ones
    compacting: bool = False  # the agent is about to lose all but a summary
    ended: bool = False
    turned: bool = False  # the agent has answered a prompt
    past: bool = False  # read long after it happened: no notices, and `now` is the time of the last act

    @property
    def new(self) -> tuple[Act, ...]:
        return self.acts[self.new_from :]
