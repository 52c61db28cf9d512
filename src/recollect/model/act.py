"""What happened in a session, as every agent would tell it: things said, and tool calls with what came of them."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from recollect.base.moment import Moment


class Speaker(StrEnum):
    PERSON = "person"
    AGENT = "agent"
    TOOL = "tool"
    MACHINE = "machine"  # a message that no person wrote: a task notification, what an IDE or a command says


class Deed(StrEnum):
    """What kind of thing a tool call does, whatever the agent calls its tool."""

    RUN = "run"
    EDIT = "edit"
    READ = "read"
    SEARCH = "search"
    FETCH = "fetch"  # text out of the web: never a rule's wording
    DELEGATE = "delegate"
    OTHER = "other"


@dataclass(frozen=True, slots=True)
class Doing:
    """One tool call, in neutral words."""

    deed: Deed
    tool: str = ""  # the agent's own name of it
    what: str = ""  # the command, the pattern, the address, the task: one text that says what was asked for
    files: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Act:
    """Free of secrets and of everything that we ourselves put in front of the agent."""

    id: str  # the same whenever the same line is read again
    at: Moment
    speaker: Speaker
    text: str = ""  # what was said; for a call, what the agent saw of its result, its middle left out where it is long
    doing: Doing | None = None
    failed: bool | None = None  # None: the host does not say
    refused: bool = False  # the person did not allow the call
    refuses: str = ""  # the id of the call that the person refused with these words
    agent: str = ""  # inside a subagent
    plan: bool = False  # a plan of the agent's own, handed on by the client: it begins a turn, as a prompt does
    prompt_id: str = ""
    partial: bool = False
    """Its text is not all that was seen: it was long, or something in a fence like ours was taken out."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionPart:
    """The end of a session as it stands: what is new, after what was looked at before."""

    host: str
    session: str
    agent: str = ""
    cwd: str = ""
    transcript: str = ""
    acts: tuple[Act, ...] = ()
    new_from: int = 0  # acts before this one were taken in already: they are there to understand the new ones by
    compacting: bool = False  # the agent is about to lose all but a summary
    ended: bool = False
    turned: bool = False  # the agent has said what it had to say to a prompt
    past: bool = False
    """Read long after it happened: nobody is told anything, and the clock stands at the time of the last act."""

    @property
    def new(self) -> tuple[Act, ...]:
        return self.acts[self.new_from :]
