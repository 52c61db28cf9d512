"""The agents we serve. Each has one file that knows its events, its shapes and its settings; the rest of the program
knows only what is declared here.

A new agent is one such file and one line in `_MODULES`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from enum import StrEnum
from importlib import import_module
from pathlib import Path
from typing import NamedTuple, Protocol, cast

from recollect.agents.transcript import Cursor, Tail, Utterance
from recollect.base.errors import BadInput
from recollect.base.moment import Moment
from recollect.model.session import Event, Reply

__all__ = [
    "DEFAULT_HOST", "Agent", "Cursor", "Hook", "Level", "Places", "Tail", "Utterance", "agent", "hosts", "origin",
    "parse", "render", "utterances",
]  # fmt: skip

_MODULES = {"claude-code": "claude_code"}
DEFAULT_HOST = "claude-code"


class Hook(NamedTuple):
    """One event an agent is asked to tell us of."""

    event: str
    timeout_s: int


class Level(StrEnum):
    """Whose settings."""

    USER = "user"
    PROJECT = "project"
    """The project's, shared through its repository."""
    LOCAL = "local"
    """The project's, on this machine alone."""


class Places(NamedTuple):
    """Where the files of a person and of a project stand."""

    user_home: Path
    project: Path | None
    environ: Mapping[str, str]


class Agent(Protocol):
    TITLE: str
    OFF_SWITCH: str
    """The key that switches off every hook of a settings file."""

    def parse(self, event: str, body: bytes, *, at: Moment, environ: Mapping[str, str]) -> Event: ...

    def render(self, event: str, reply: Reply) -> bytes: ...

    def utterances(self, line: Mapping[str, object]) -> Iterator[Utterance]: ...

    def origin(self, event: Event) -> Path | None: ...

    def settings_path(self, level: Level, places: Places) -> Path:
        """NoProject where the level needs a project and there is none."""

    def hooks(self, places: Places) -> tuple[Hook, ...]:
        """What this installation of the agent can tell us."""

    def hook_json(self, command: str, timeout_s: int) -> Mapping[str, object]:
        """One hook as its settings spell it; `settings_file` puts it into its list."""


def hosts() -> tuple[str, ...]:
    return tuple(_MODULES)


def agent(host: str) -> Agent:
    module = _MODULES.get(host)
    if module is None:
        raise BadInput(f"No agent is known as {host!r}.", hint=f"Known: {', '.join(_MODULES)}.")
    return cast(Agent, import_module(f"recollect.agents.{module}"))


def parse(host: str, event: str, body: bytes, *, at: Moment, environ: Mapping[str, str]) -> Event:
    """What an agent said, as a value. Raises BadInput, and nothing else, for what cannot be read."""
    return agent(host).parse(event, body, at=at, environ=environ)


def render(host: str, event: str, reply: Reply) -> bytes:
    """What the hook prints; nothing at all for an empty reply, or where the agent would misread one."""
    return agent(host).render(event, reply) if reply else b""


def utterances(host: str, tail: Tail) -> Iterator[Utterance]:
    """What was said in a transcript since the tail's cursor."""
    spoken = agent(host).utterances
    for line in tail:
        yield from spoken(line)


def origin(event: Event) -> Path | None:
    """The transcript that a starting session goes on from; None where it cannot be told which one that is."""
    return agent(event.host).origin(event)
