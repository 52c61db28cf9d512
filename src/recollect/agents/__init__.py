"""The agents we serve. Each is a row of data and a class (base_agent.py says what is in them); the rest of the program
knows only what is declared here. What not every agent can do is named (`Ability`): code that needs an ability asks
`hosts` for the agents that have it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from enum import StrEnum
from functools import cache
from importlib import import_module
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, cast

from recollect.agents.transcript import Cursor, Tail, Transcript, Utterance
from recollect.base.errors import BadInput
from recollect.base.moment import Moment
from recollect.model.memory import Rule
from recollect.model.session import Event

if TYPE_CHECKING:
    from recollect.agents.base_agent import Agent
    from recollect.agents.claude_code import ClaudeCode

__all__ = ["Cursor", "Tail", "Transcript", "Utterance"]

DEFAULT_HOST = "claude-code"
_HOSTS = (DEFAULT_HOST, "codex", "gemini", "opencode", "pi", "copilot")
_MODULES = {DEFAULT_HOST: "claude_code", "opencode": "opencode"}


class Ability(StrEnum):  # what an agent can do with us, or we with it, where not every one can
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
    OUTCOMES = "outcomes"  # it says how a call went
    TRANSCRIPTS = "transcripts"  # what was said can be read while the session goes on
    PAST = "past"  # what was said before we came can be read
    SERVER = "server"  # it can be offered our tools
    TEACHING = "teaching"  # a file can teach it to use its memory when asked to
    OWN_MEMORY = "own-memory"  # it keeps a memory of a project that rules can be written into
    SKILLS = "skills"  # it reads a project's rules as skills


class Form(StrEnum):  # how a settings file is written
    JSON = "json"
    COMMENTED = "commented"  # JSON with comments and trailing commas
    TOML = "toml"


class Level(StrEnum):  # whose settings
    USER = "user"
    PROJECT = "project"  # the project's, shared through its repository
    LOCAL = "local"  # the project's, on this machine alone


class Places(NamedTuple):  # where a person's files and a project's are
    user_home: Path
    project: Path | None
    environ: Mapping[str, str]
    known: tuple[str, ...] = ()  # folders of other projects


class Hook(NamedTuple):  # one event that an agent is asked to report to us
    event: str
    timeout_s: int
    spinner: str = ""  # what the agent shows while it waits; where it has a field for that
    is_prompt: bool = False  # a person waits for it with a prompt
    deadline_ms: int = 0  # where the event's name says nothing to the hook process (wire/hook.py)


class ServerPlace(
    NamedTuple
):  # where an agent is told of an MCP server: a member of an object in a file
    path: Path
    keys: tuple[str, ...]  # the way to the object
    form: Form = Form.JSON


class Addon(NamedTuple):  # our plugin in an agent that manages plugins itself
    name: str
    version: str
    call: Path  # its script: `hook EVENT`, `mcp`
    update: str  # the agent's own command that renews it
    remove: str


class RuleCopy(NamedTuple):  # a rule to be written into the memory that an agent keeps for itself
    rule: Rule
    words: str  # harmless already
    everywhere: bool  # not for this project alone


def hosts(able: Ability | None = None) -> tuple[str, ...]:
    """All of them, or those that have an ability."""
    return tuple(host for host in _HOSTS if able is None or able in agent(host).ABILITIES)


def callers() -> tuple[str, ...]:
    """Agents that can be made to call us; for the others only past sessions are read."""
    return hosts(Ability.PROMPT)


@cache
def agent(host: str) -> Agent:
    if host not in _HOSTS:
        raise BadInput(f"No agent is known as {host!r}.", hint=f"Known: {', '.join(_HOSTS)}.")
    import_module(f"recollect.agents.{_MODULES.get(host, 'other_agents')}")
    found: Agent = import_module("recollect.agents.base_agent").BY_HOST[host]
    return found


def title_of(host: str) -> str:
    """What people call it; one that this version does not know is called by its own name."""
    return agent(host).TITLE if host in _HOSTS else host


def default_agent() -> ClaudeCode:
    """The one that also keeps a memory of its own, reads skills and manages plugins."""
    return cast("ClaudeCode", agent(DEFAULT_HOST))


def parse_pointer(pointer: Mapping[str, object]) -> Event:
    """An event that a hook left in the spool (wire/pointer.py), parsed from what is left of its payload."""
    said = {name: value for name, value in pointer.items() if isinstance(value, str)}
    calls, at_ns = pointer.get("tools"), pointer.get("at_ns")
    if not isinstance(at_ns, int):
        raise BadInput("The pointer does not say when it was left.")
    ids = [one for one in calls if isinstance(one, str)] if isinstance(calls, list) else []
    names = {
        "session_id": "session", "prompt_id": "prompt", "agent_id": "agent", "agent_type": "agent_type",
        "source": "source", "transcript_path": "transcript", "cwd": "cwd",
    }  # fmt: skip
    payload: dict[str, object] = {field: said.get(name, "") for field, name in names.items()}
    payload |= {
        "tool_use_id": ids[0] if ids else "",
        "tool_calls": [{"tool_use_id": id} for id in ids],
    }
    body, environ = json.dumps(payload).encode(), {"CLAUDE_PROJECT_DIR": said.get("project", "")}
    served = agent(said.get("host") or DEFAULT_HOST)
    return served.parse(said.get("event", ""), body, at=Moment(at_ns // 1_000), environ=environ)


def utterances(host: str, tail: Tail) -> Iterator[Utterance]:
    """What was said in a transcript since the tail's cursor."""
    return chain.from_iterable(utterances_by_line(host, tail))


def utterances_by_line(host: str, tail: Tail) -> Iterator[tuple[Utterance, ...]]:
    """The same, line by line; lines in which nothing is said are left out."""
    served = agent(host)
    if served.ABILITIES & {Ability.TRANSCRIPTS, Ability.PAST}:
        tail.wanted, tail.open = served.may_speak, served.open
        for line in tail:
            try:
                said = tuple(served.utterances(line))
            except (
                ValueError,
                TypeError,
                LookupError,
                ArithmeticError,
                AttributeError,
                RecursionError,
            ):
                tail.skipped += 1  # of a form that nobody foresaw: one line less, not all after it
                continue
            if said:
                yield said
