"""What an agent was shown, and what it sent: the values that session state is kept in."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from enum import StrEnum

from recollect.base.moment import Moment


class Way(StrEnum):
    """How a memory was shown. Each way shows it once: a rule that was told at the start is still worth a reminder
    before the very call that it speaks of."""

    TOLD = "told"
    REMINDED = "reminded"


@dataclass(frozen=True, slots=True)
class Talker:
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
    call: str = ""
    """The tool call that it was shown before, if any."""


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
    size: int = 0
    """Of the transcript, when the event came."""
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
