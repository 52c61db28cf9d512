"""Sessions as a person looks at them: a list, and one session turn by turn: what was told, done, heard and kept."""

from __future__ import annotations

from collections.abc import Mapping

from recollect.base.moment import Moment
from recollect.base.structs import Struct
from recollect.model.memory import Kind, Status
from recollect.model.session import Ending


class SessionRow(Struct):
    id: str
    agent: str  # its title: `Claude Code`
    began: Moment
    last_at: Moment
    prompts: int
    told: int  # memories
    kept: int  # memories
    tokens: int  # about so many were added to it, as far as that is on record
    has_transcript: bool


class Sessions(Struct):  # newest first
    sessions: tuple[SessionRow, ...]
    total: int
    offset: int = 0


class Reason(Struct):  # why a memory was told
    id: str
    title: str
    why: str = ""  # a sentence; empty where that is no longer on record
    passage: str = ""
    components: Mapping[str, float] | None = None


class Told(Struct):  # one text that was put in front of the agent
    event: str
    at: Moment
    text: str  # as the agent got it; empty where its transcript does not hold it
    tokens: int
    reasons: tuple[Reason, ...]
    left_out: Mapping[
        str, tuple[str, ...]
    ]  # ids of memories that came near, by the reason in words
    delivered: bool = True


class CallStep(Struct):
    id: str
    tool: str
    what: str
    ended: Ending | None = None  # None: nothing is known against it
    problem: str = ""  # the error, or what the person said when refusing it
    told: tuple[Told, ...] = ()  # just before it

    @property
    def matters(self) -> bool:
        """It failed, was refused, or was told something before it."""
        return bool(self.ended or self.told)


class Quote(
    Struct
):  # a person's words in the prompt they are from, of which about 600 characters are left
    text: str
    start: int
    end: int


class HeardSentence(Struct):  # of a prompt
    words: str
    rule: str  # as it is kept, or would be
    why: str
    is_near: bool  # it reads like a rule
    memory: str = ""  # the rule that says so now
    status: Status | None = None  # of that rule


class KeptMemory(Struct):
    id: str
    kind: Kind
    title: str
    status: Status


class TurnSteps(Struct):
    number: int  # from 1; 0 is what came before the first prompt
    at: Moment
    prompt: str
    is_plan: bool = False  # the agent's own plan began it, not a person's words
    told: tuple[Told, ...] = ()
    calls: tuple[CallStep, ...] = ()  # the first ones, and those that failed or were told something
    all_calls: int = 0
    failed_calls: int = 0
    reply: str = ""  # the agent's last words
    ended: Ending | None = None
    helped: tuple[str, ...] = ()  # memories that counted as having helped
    heard: tuple[HeardSentence, ...] = ()
    kept: tuple[KeptMemory, ...] = ()  # besides the rules in `heard`


class Timeline(Struct):
    session: SessionRow
    turns: tuple[TurnSteps, ...]
    all_turns: int
    note: str = ""  # what is missing, and why
