"""The agents we serve. Each has a file that knows its events, its shapes and its settings; the rest of the program
knows only what is declared here.

A new agent is one such file (base_agent.py says what is in it) and one line in `_MODULES`. What not every agent can do
is named (`Ability`); code that needs an ability asks `hosts` for the agents that have it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, cast

from recollect.agents.shapes import (
    Ability,
    Addon,
    Form,
    Hook,
    Level,
    OwnMemory,
    Places,
    Plugin,
    RuleCopy,
    ServerPlace,
    Skill,
    Transcript,
)
from recollect.agents.transcript import Cursor, Tail, Utterance
from recollect.base.errors import BadInput
from recollect.base.moment import Moment
from recollect.model.ask import Answer
from recollect.model.session import Event, Reply

if TYPE_CHECKING:
    from recollect.agents.base_agent import Agent

__all__ = [
    "DEFAULT_HOST", "Ability", "Addon", "Cursor", "Form", "Hook", "Level", "ModelClient", "OwnMemory", "Places",
    "Plugin", "RuleCopy", "ServerPlace", "Skill", "Tail", "Transcript", "Utterance", "addon_hosts", "addons", "agent",
    "callers", "hosts", "is_able", "model_client", "origin", "parse", "parse_pointer", "render", "utterances",
    "utterances_by_line",
]  # fmt: skip

_MODULES = {
    "claude-code": "claude_code", "codex": "codex", "gemini": "gemini", "opencode": "opencode", "pi": "pi",
    "copilot": "copilot",
}  # fmt: skip
_ADDONS = ("claude-code",)
_MODEL_CLIENT = "claude_print"
DEFAULT_HOST = "claude-code"


def hosts(able: Ability | None = None) -> tuple[str, ...]:
    """All of them, or those that have an ability."""
    return tuple(host for host in _MODULES if able is None or is_able(host, able))


def callers() -> tuple[str, ...]:
    """Those that can be made to call us; of the others only past sessions are read."""
    return hosts(Ability.PROMPT)


class ModelClient(Protocol):
    """An agent's program, run once to answer one question."""

    def arguments(self, *, model: str, reads: bool, turns: int) -> tuple[str, ...]:
        """What is added to the command."""

    def environ(self, outer: Mapping[str, str], key: str) -> dict[str, str]:
        """What it is run with: nothing of the session that we were called from."""

    def read_answer(self, out: bytes) -> Answer: ...


def model_client() -> ModelClient:
    """What is known of the program that MEMORY_LLM_COMMAND names."""
    return cast(ModelClient, import_module(f"recollect.agents.{_MODEL_CLIENT}"))


def addons(places: Places) -> tuple[Addon, ...]:
    """Ours that are switched on here."""
    found = (agent(host).addon(places) for host in _ADDONS)
    return tuple(one for one in found if one is not None)


def addon_hosts() -> tuple[str, ...]:
    """Agents that we have a plugin for."""
    return _ADDONS


def is_able(host: str, ability: Ability) -> bool:
    return ability in agent(host).ABILITIES


@cache
def agent(host: str) -> Agent:
    module = _MODULES.get(host)
    if module is None:
        raise BadInput(f"No agent is known as {host!r}.", hint=f"Known: {', '.join(_MODULES)}.")
    return cast("Agent", import_module(f"recollect.agents.{module}").AGENT)


def parse(host: str, event: str, body: bytes, *, at: Moment, environ: Mapping[str, str]) -> Event:
    """What an agent said, as a value. Raises BadInput, and nothing else, for what cannot be read."""
    return agent(host).parse(event, body, at=at, environ=environ)


def parse_pointer(pointer: Mapping[str, object]) -> Event:
    """An event that a hook left in the spool (wire/spool.py). The host's own file knows which event it is, so it gets
    what is left of the payload."""

    def text(name: str) -> str:
        value = pointer.get(name)
        return value if isinstance(value, str) else ""

    calls = pointer.get("tools")
    ids = [one for one in calls if isinstance(one, str)] if isinstance(calls, list) else []
    fields = {
        "session_id": "session", "prompt_id": "prompt", "agent_id": "agent", "agent_type": "agent_type",
        "source": "source", "transcript_path": "transcript", "cwd": "cwd",
    }  # fmt: skip
    left = {
        **{field: text(name) for field, name in fields.items()},
        "tool_use_id": ids[0] if ids else "",
        "tool_calls": [{"tool_use_id": id} for id in ids],
    }
    at_ns = pointer.get("at_ns")
    if not isinstance(at_ns, int):
        raise BadInput("The pointer does not say when it was left.")
    environ = {"CLAUDE_PROJECT_DIR": text("project")}
    host = text("host") or DEFAULT_HOST
    return parse(host, text("event"), json.dumps(left).encode(), at=Moment(at_ns // 1_000), environ=environ)


def render(host: str, event: str, reply: Reply) -> bytes:
    """What the hook prints; nothing at all for an empty reply, or where the agent would misread one."""
    return agent(host).render(event, reply) if reply else b""


def utterances(host: str, tail: Tail) -> Iterator[Utterance]:
    """What was said in a transcript since the tail's cursor."""
    for said in utterances_by_line(host, tail):
        yield from said


def utterances_by_line(host: str, tail: Tail) -> Iterator[tuple[Utterance, ...]]:
    """The same, line by line; lines in which nothing is said are left out."""
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
