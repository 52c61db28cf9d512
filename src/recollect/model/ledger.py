"""What an agent was shown, and what it sent: the values that session state is kept in."""

from __future__ import annotations

import hashlib
from collections.abc import Set
from dataclasses import dataclass
from enum import StrEnum

from recollect.base.moment import Moment


class Way(StrEnum):
    """How an agent came to know it. Each way shows a thing once: a rule that was told at the start is still worth a
    reminder before the very call that it speaks of."""

    TOLD = "told"
    REMINDED = "reminded"
    OWN = "own"  # a turn of its own session, which it need not be told about


_BODY = "body"
_KEY_CHARS = 6


def ledger_mark(memory: str, turn: str = "", start: int = 0) -> str:
    """What the ledger enters for a passage: the memory, the turn ("": the body) and where in its text the passage
    begins."""
    return f"{turn_mark(memory, turn)}.{start}"


def turn_mark(memory: str, turn: str = "") -> str:
    """For all passages of a turn. A memory's id alone stands for all of the memory."""
    return f"{memory}#{turn[-_KEY_CHARS:] or _BODY}"


def memory_of(mark: str) -> str:
    return mark.partition("#")[0]


def is_entered(marks: Set[str], mark: str) -> bool:
    """This passage, or all of its turn, or all of its memory."""
    return mark in marks or mark.rpartition(".")[0] in marks or memory_of(mark) in marks


@dataclass(frozen=True, slots=True)
class LedgerKey:
    """Whose ledger it is: an agent of a session, since when it last lost what it was shown."""

    session: str
    agent: str = ""
    epoch: int = 0


@dataclass(frozen=True, slots=True)
class Sight:
    """A memory as an agent was shown it."""

    memory: str
    way: Way
    at: Moment
    call: str = ""  # the tool call that it was shown before, if any


@dataclass(frozen=True, slots=True, kw_only=True)
class Pointer:
    """An event that was received: where to read what happened, never what was said."""

    name: str
    host: str
    session: str
    at: Moment
    agent: str = ""
    prompt: str = ""
    calls: tuple[str, ...] = ()
    source: str = ""
    transcript: str = ""
    size: int = 0  # of the transcript, when the event came
    cwd: str = ""
    mark: str = ""
    """Tells prompts apart that share an id (one that waited in line has the id of the one before). Kept in the key
    alone."""

    @property
    def key(self) -> str:
        """The same for the same event, however often it is delivered. Not made of the time or the size, which
        differ between the hook that gave up and the daemon that did not."""
        said = (self.host, self.session, self.name, self.agent, self.prompt, self.source, self.mark, *self.calls)
        spelt = b"".join(b"%d:%b" % (len(part.encode()), part.encode()) for part in said)
        return hashlib.blake2b(spelt, digest_size=16).hexdigest()
