"""What the rest of the program knows of agents: their abilities, and the values that they are asked for."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path
from typing import NamedTuple

from recollect.base.moment import Moment
from recollect.model.memory import Lane, RuleType


class Ability(StrEnum):
    """What an agent can do with us, or we with it, where not every one can."""

    HOOKS = "hooks"  # a settings file of its own names our hooks
    PLUGIN = "plugin"  # it loads a file of ours, which calls us
    START = "start"  # what we say at a session's start reaches the model
    PROMPT = "prompt"  # and so does what we add to a prompt
    CALLS = "calls"  # and what we say before a tool runs
    READS = "reads"  # a read of a virtual file can be answered
    SUBAGENTS = "subagents"  # it reports when a subagent starts, and that one can be told something
    COMPACTION = "compaction"  # it reports when it compacts
    END = "end"  # it reports when a session ends
    NOTICES = "notices"  # it shows a person a line of ours
    OUTCOMES = "outcomes"  # how a call went can be told
    TRANSCRIPTS = "transcripts"  # what was said can be read afterwards
    PAST = "past"  # and so can what was said before we came
    SERVER = "server"  # it can be offered our tools
    TEACHING = "teaching"  # a file can teach it to use its memory when asked to
    OWN_MEMORY = "own-memory"  # it keeps a memory of a project that rules can be written into
    SKILLS = "skills"  # it reads a project's rules as skills


class Form(StrEnum):
    """How a settings file is written."""

    JSON = "json"
    COMMENTED = "commented"  # JSON with comments and trailing commas
    TOML = "toml"


class Level(StrEnum):
    """Whose settings."""

    USER = "user"
    PROJECT = "project"  # the project's, shared through its repository
    LOCAL = "local"  # the project's, on this machine alone


class Places(NamedTuple):
    """Where the files of a person and of a project stand."""

    user_home: Path
    project: Path | None
    environ: Mapping[str, str]


class Hook(NamedTuple):
    """One event that an agent is asked to report to us."""

    event: str
    timeout_s: int
    spinner: str = ""  # what the agent shows while it waits; where it has a field for that
    is_prompt: bool = False  # a person waits for it with a prompt
    deadline_ms: int = 0  # where the event's name says nothing to the hook process (wire/hook.py)


class ServerPlace(NamedTuple):
    """Where an agent is told of an MCP server: a member of an object in a file."""

    path: Path
    keys: tuple[str, ...]  # the way to the object
    form: Form = Form.JSON


class Plugin(NamedTuple):
    """A file of ours that an agent loads."""

    path: Path
    text: str


class Addon(NamedTuple):
    """Our plugin in an agent that manages plugins itself."""

    host: str
    name: str
    version: str
    call: Path  # its script: `hook EVENT`, `mcp`
    update: str  # the agent's own command that renews it
    remove: str


class Transcript(NamedTuple):
    """One file that a session left, as far as its place and its first lines tell."""

    path: Path
    session: str = ""
    agent: str = ""  # the subagent whose transcript it is
    cwd: str = ""  # where the session was begun
    began: Moment | None = None
    size: int = 0
    changed: Moment = Moment(0)
    problem: str = ""  # why it cannot be read


class OwnMemory(NamedTuple):
    """The memory that an agent keeps of a project for itself."""

    base: Path  # the agent's own folder. If it is missing, the agent was never used; below it, folders may be made.
    folder: Path
    index_file: str  # the file there that it always reads
    unread: str = ""  # why it would not read it now, where that can be told


class RuleCopy(NamedTuple):
    """A rule to be written into such a memory; its words are harmless already."""

    id: str
    words: str
    rule_type: RuleType
    lane: Lane
    everywhere: bool  # not for this project alone
    since: Moment


class Skill(NamedTuple):
    """Rules of one kind, as a skill of a project."""

    topic: str
    title: str
    rules: tuple[str, ...]
    updated: Moment
