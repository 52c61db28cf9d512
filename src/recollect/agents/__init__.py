"""The agents we serve. Each has one file that knows its events, its shapes and its settings; the rest of the program
knows only what is declared here.

A new agent is one such file and one line in `_MODULES`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from enum import StrEnum
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import NamedTuple, Protocol, cast

from recollect.agents.transcript import Cursor, Tail, Utterance
from recollect.base.errors import BadInput
from recollect.base.moment import Moment
from recollect.model.act import Doing
from recollect.model.ask import Heard
from recollect.model.memory import Lane, RuleType
from recollect.model.outcome import Report
from recollect.model.session import Event, Reply, ToolCall

__all__ = [
    "DEFAULT_HOST", "Agent", "Answers", "Cursor", "Hook", "Keepsake", "Level", "Places", "ServerPlace", "Shelf",
    "Skill", "Tail", "Transcript", "Utterance", "agent", "answers", "hosts", "origin", "parse", "render", "spoken",
    "utterances",
]  # fmt: skip

_MODULES = {"claude-code": "claude_code"}
_ANSWERS = "claude_code_print"
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


class Transcript(NamedTuple):
    """One file that a session left, as far as its place and its first lines tell."""

    path: Path
    session: str = ""
    agent: str = ""
    """The subagent whose own it is."""
    cwd: str = ""
    """Where the session was begun."""
    began: Moment | None = None
    size: int = 0
    changed: Moment = Moment(0)
    problem: str = ""
    """Why it cannot be read."""


class Shelf(NamedTuple):
    """The memory that an agent keeps of a project for itself."""

    base: Path
    """The agent's own folder. Where it is not there, the agent was never used; below it, folders may be made."""
    folder: Path
    index_file: str
    """The file there that it always reads."""
    unread: str = ""
    """Why it would not read it now, where that can be told."""


class Keepsake(NamedTuple):
    """A rule on its way into such a memory; its words are harmless already."""

    id: str
    words: str
    rule_type: RuleType
    lane: Lane
    everywhere: bool
    """Not of this project alone."""
    since: Moment


class Skill(NamedTuple):
    """Rules of one kind, as a skill of a project."""

    topic: str
    title: str
    rules: tuple[str, ...]
    updated: Moment


class ServerPlace(NamedTuple):
    """Where an agent is told of a server of tools: a member of an object in a file."""

    path: Path
    keys: tuple[str, ...]
    """The way to the object."""


class Agent(Protocol):
    TITLE: str
    OFF_SWITCH: str
    """The key that switches off every hook of a settings file."""
    SKILL_FILE: str

    def parse(self, event: str, body: bytes, *, at: Moment, environ: Mapping[str, str]) -> Event: ...

    def render(self, event: str, reply: Reply) -> bytes: ...

    def utterances(self, line: Mapping[str, object]) -> Iterator[Utterance]: ...

    def may_speak(self, line: bytes) -> bool:
        """By a look at a raw line: False only where `utterances` would surely find nothing in it."""

    def transcripts(self, places: Places, within: Path | None = None) -> Iterator[Transcript]:
        """Every transcript it has left, or all below a folder, or one file. In no order; none where there is none."""

    def doing(self, call: ToolCall) -> Doing:
        """What a call does, in neutral words."""

    def is_refused(self, output: str) -> bool:
        """Whether a result says that the person did not allow the call."""

    def reported(self, text: str) -> Report | None:
        """What a message that no person wrote tells of a subagent; None where it tells of none."""

    def origin(self, event: Event) -> Path | None: ...

    def settings_path(self, level: Level, places: Places) -> Path:
        """NoProject where the level needs a project and there is none."""

    def hooks(self, places: Places) -> tuple[Hook, ...]:
        """What this installation of the agent can tell us."""

    def hook_json(self, command: str, timeout_s: int) -> Mapping[str, object]:
        """One hook as its settings spell it; `splice` puts it into its list."""

    def shelf(self, places: Places) -> Shelf:
        """NoProject where there is none."""

    def keepsake_name(self, keepsake: Keepsake) -> str:
        """Of its file."""

    def is_keepsake_name(self, name: str) -> bool: ...

    def keepsake_text(self, keepsake: Keepsake) -> str: ...

    def keepsake_line(self, keepsake: Keepsake) -> str:
        """As it stands in the index."""

    def index_room(self, own: str) -> tuple[int, int]:
        """How many lines and bytes of ours the agent still reads beside what others wrote into its index."""

    def skills_folder(self, places: Places) -> Path:
        """NoProject where there is none."""

    def skill_text(self, skill: Skill) -> str: ...

    def server_place(self, level: Level, places: Places) -> ServerPlace:
        """NoProject as above."""

    def server_json(self, command: str) -> Mapping[str, object]:
        """A server as its settings spell it, its tools at hand from the first turn on."""

    def skill(self, level: Level, places: Places) -> tuple[Path, str] | None:
        """A file that teaches it to use its memory when asked to, and its text; None where none can be."""


class Answers(Protocol):
    """An agent's program that can be asked one question, and is let go."""

    def arguments(self, *, model: str, reads: bool, turns: int) -> tuple[str, ...]:
        """What is added to the command."""

    def environ(self, outer: Mapping[str, str], key: str) -> dict[str, str]:
        """What it is run with: nothing of the session that we were called from."""

    def heard(self, out: bytes) -> Heard: ...


def answers() -> Answers:
    """What is known of the program that MEMORY_LLM_COMMAND names."""
    return cast(Answers, import_module(f"recollect.agents.{_ANSWERS}"))


def hosts() -> tuple[str, ...]:
    return tuple(_MODULES)


@cache
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
    for said in spoken(host, tail):
        yield from said


def spoken(host: str, tail: Tail) -> Iterator[tuple[Utterance, ...]]:
    """The same, a line at a time; lines in which nothing is said are left out."""
    speaks = agent(host)
    tail.wanted = speaks.may_speak
    for line in tail:
        said = tuple(speaks.utterances(line))
        if said:
            yield said


def origin(event: Event) -> Path | None:
    """The transcript that a starting session goes on from; None where it cannot be told which one that is."""
    return agent(event.host).origin(event)
