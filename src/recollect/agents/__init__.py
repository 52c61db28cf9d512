"""The agents we serve. Each has one file that knows its events, its shapes and its settings; the rest of the program
knows only what is declared here.

A new agent is one such file and one line in `_MODULES`. What not every agent can do is named (`Ability`); each file
declares those of its agent (`ABILITIES`), and who needs one asks `hosts` for the agents that have it.
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
    "DEFAULT_HOST", "Ability", "Addon", "Agent", "Answers", "Cursor", "Form", "Hook", "Keepsake", "Level", "Places",
    "Plugin", "ServerPlace", "Shelf", "Skill", "Tail", "Transcript", "Utterance", "addon_hosts", "addons", "agent",
    "answers", "hosts", "is_able", "origin", "parse", "render", "spoken", "utterances",
]  # fmt: skip

_MODULES = {
    "claude-code": "claude_code", "codex": "codex", "gemini": "gemini", "opencode": "opencode", "pi": "pi",
}  # fmt: skip
_ADDONS = {"claude-code": "claude_plugin"}
_ANSWERS = "claude_code_print"
DEFAULT_HOST = "claude-code"


class Ability(StrEnum):
    """What an agent can do with us, or we with it, where not every one can."""

    HOOKS = "hooks"
    """A settings file of its own names our hooks."""
    PLUGIN = "plugin"
    """A file of ours is loaded by it, and calls us."""
    START = "start"
    """What is told at a session's start reaches the model."""
    PROMPT = "prompt"
    """And so does what comes with a prompt."""
    CALLS = "calls"
    """And what is told before a tool runs."""
    READS = "reads"
    """A read of a virtual file can be answered."""
    SUBAGENTS = "subagents"
    """It says when a subagent starts, and that one can be told something."""
    COMPACTION = "compaction"
    """It says when it compacts."""
    END = "end"
    """It says when a session ends."""
    NOTICES = "notices"
    """It shows a person a line of ours."""
    OUTCOMES = "outcomes"
    """How a call went can be told."""
    TRANSCRIPTS = "transcripts"
    """What was said can be read afterwards."""
    PAST = "past"
    """And so can what was said before we came."""
    SERVER = "server"
    """It can be offered our tools."""
    TEACHING = "teaching"
    """A file can teach it to use its memory when asked to."""
    SHELF = "shelf"
    """It keeps a memory of a project that rules can be written into."""
    SKILLS = "skills"
    """It reads a project's rules as skills."""


class Form(StrEnum):
    """How a settings file is written."""

    JSON = "json"
    COMMENTED = "commented"
    """JSON with comments and trailing commas."""
    TOML = "toml"


class Hook(NamedTuple):
    """One event an agent is asked to tell us of."""

    event: str
    timeout_s: int
    spinner: str = ""
    """What the agent shows while it is waited for; where it has a word for that."""
    is_prompt: bool = False
    """A person waits for it with a prompt."""
    deadline_ms: int = 0
    """Where the event's name says nothing to the hook process (wire/hook.py)."""


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
    form: Form = Form.JSON


class Plugin(NamedTuple):
    """A file of ours that an agent loads."""

    path: Path
    text: str


class Addon(NamedTuple):
    """Our plugin in an agent that keeps its own list of them."""

    host: str
    name: str
    version: str
    call: Path
    """Its script: `hook EVENT`, `mcp`."""
    update: str
    """The agent's own command that renews it."""
    remove: str


class Agent(Protocol):
    """What stands below the name of an ability is there only where an agent has it (tests/agents/test_abilities.py)."""

    TITLE: str
    PROGRAM: str
    """What it is called on the command line."""
    ABILITIES: frozenset[Ability]
    LEVELS: tuple[Level, ...]
    """Whose settings it has."""

    def folder(self, places: Places) -> Path:
        """Where it keeps what is its own: there once it was used."""

    def parse(self, event: str, body: bytes, *, at: Moment, environ: Mapping[str, str]) -> Event: ...

    def render(self, event: str, reply: Reply) -> bytes: ...

    def doing(self, call: ToolCall) -> Doing:
        """What a call does, in neutral words."""

    def is_refused(self, output: str) -> bool:
        """Whether a result says that the person did not allow the call."""

    def reported(self, text: str) -> Report | None:
        """What a message that no person wrote tells of a subagent; None where it tells of none."""

    def origin(self, event: Event) -> Path | None: ...

    def unapproved(self, level: Level, places: Places) -> str:
        """What a person has still to allow before it calls us, in one sentence; empty where nothing is to be."""

    # READS

    def answers(self, places: Places) -> tuple[Path, ...]:
        """Folders of ours among its own, in which such answers stand; none where it reads them anywhere."""

    # TRANSCRIPTS

    def utterances(self, line: Mapping[str, object]) -> Iterator[Utterance]: ...

    def may_speak(self, line: bytes) -> bool:
        """By a look at a raw line: False only where `utterances` would surely find nothing in it."""

    # PAST

    def transcripts(self, places: Places, within: Path | None = None) -> Iterator[Transcript]:
        """Every transcript it has left, or all below a folder, or one file. In no order; none where there is none."""

    # HOOKS

    SETTINGS_FORM: Form
    OFF_SWITCH: str
    """The key that switches off every hook of a settings file; empty where it has none."""

    def settings_path(self, level: Level, places: Places) -> Path:
        """NoProject where the level needs a project and there is none."""

    def hooks(self, places: Places) -> tuple[Hook, ...]:
        """What this installation of the agent can tell us."""

    def hook_json(self, command: str, hook: Hook) -> Mapping[str, object]:
        """One hook as its settings spell it; `splice` puts it into its list."""

    # PLUGIN

    def plugin(self, level: Level, places: Places, home: Path) -> Plugin:
        """`home`: ours. NoProject as above."""

    # SERVER

    def server_place(self, level: Level, places: Places) -> ServerPlace:
        """NoProject as above."""

    def server_json(self, command: str) -> Mapping[str, object]:
        """A server as its settings spell it, its tools at hand from the first turn on."""

    # TEACHING

    def skill(self, level: Level, places: Places) -> tuple[Path, str] | None:
        """A file that teaches it to use its memory when asked to, and its text; None where none can be."""

    # SHELF

    def shelf(self, places: Places) -> Shelf:
        """NoProject where there is none."""

    def rule_files(self, places: Places) -> tuple[Path, ...]:
        """Where people write rules for it, whether or not they are there."""

    def keepsake_name(self, keepsake: Keepsake) -> str:
        """Of its file."""

    def is_keepsake_name(self, name: str) -> bool: ...

    def keepsake_text(self, keepsake: Keepsake) -> str: ...

    def keepsake_line(self, keepsake: Keepsake) -> str:
        """As it stands in the index."""

    def index_room(self, own: str) -> tuple[int, int]:
        """How many lines and bytes of ours the agent still reads beside what others wrote into its index."""

    # SKILLS

    SKILL_FILE: str

    def skills_folder(self, places: Places) -> Path:
        """NoProject where there is none."""

    def skill_text(self, skill: Skill) -> str: ...


def hosts(able: Ability | None = None) -> tuple[str, ...]:
    """All of them, or those that have an ability."""
    return tuple(host for host in _MODULES if able is None or is_able(host, able))


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


def addons(places: Places) -> tuple[Addon, ...]:
    """Ours that are switched on here."""
    found = (import_module(f"recollect.agents.{module}").addon(places) for module in _ADDONS.values())
    return tuple(one for one in found if one is not None)


def addon_hosts() -> tuple[str, ...]:
    """Agents that we have a plugin for."""
    return tuple(_ADDONS)


def is_able(host: str, ability: Ability) -> bool:
    return ability in agent(host).ABILITIES


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
    if Ability.TRANSCRIPTS not in speaks.ABILITIES:
        return
    tail.wanted = speaks.may_speak
    for line in tail:
        said = tuple(speaks.utterances(line))
        if said:
            yield said


def origin(event: Event) -> Path | None:
    """The transcript that a starting session goes on from; None where it cannot be told which one that is."""
    return agent(event.host).origin(event)
