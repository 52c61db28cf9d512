"""How something went: a call, a turn, a subagent; with the memories that bore on it. Kept for a while."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from enum import StrEnum

from recollect.base.moment import Moment
from recollect.base.text import clip, one_line

TEXT_CHARS = 300


class Ending(StrEnum):
    SUCCESS = "success"
    FAILURE = "failure"
    RE_ASK = "re-ask"  # a person said that what was done did not do
    AGENT_FAILURE = "agent_failure"  # a subagent failed, or was killed
    REFUSAL = "refusal"  # a person did not allow the call


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    kind: Ending
    at: Moment
    session: str
    act: str  # the id of the act that it speaks of: the same thing read twice is one outcome
    agent: str = ""  # inside a subagent
    actor: str = ""  # the tool that ran, the subagent, the person
    action: str = ""  # what was done, in a line
    next_state: str = ""  # what came of it, in a line: the head of an error, what the person said
    tags: tuple[str, ...] = ()
    shown: tuple[str, ...] = ()
    """Memories that were put in front of the agent just before; as it is kept, those of them that bore on it."""

    @property
    def key(self) -> str:
        said = (self.session, self.agent, str(self.kind), self.act)
        spelt = b"".join(b"%d:%b" % (len(part.encode()), part.encode()) for part in said)
        return hashlib.blake2b(spelt, digest_size=16).hexdigest()


class State(StrEnum):
    """How a subagent ended."""

    COMPLETED = "completed"
    FAILED = "failed"
    KILLED = "killed"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Report:
    """What a host tells of a subagent that ended."""

    agent: str
    state: State
    summary: str = ""
    text: str = ""


def cut(text: str) -> str:
    """One line, short enough to be kept."""
    return clip(one_line(text), TEXT_CHARS)
