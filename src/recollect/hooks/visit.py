"""What a handler has before it, and what it says."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from recollect.model.session import Event, Reply, ToolCall
from recollect.ops.app import App
from recollect.ops.sessions import Showing

_SESSIONS = 200
_TASKS = 20
_TASK_CHARS = 4_000


@dataclass(frozen=True, slots=True)
class Visit:
    app: App
    event: Event
    until_s: float
    """By the monotonic clock: when the answer has to be there."""
    tasks: Tasks
    folder: Path
    """Where rendered recalls go."""
    transcript_bytes: int = 0
    """How long the transcript was before the event."""
    unwritten: list[str] = field(default_factory=list)
    """What could not be written so far, and why. Then the hook keeps its pointer."""

    @property
    def left_s(self) -> float:
        return self.until_s - time.monotonic()


@dataclass(frozen=True, slots=True)
class Thought:
    """Something better, that takes longer than a hook has by itself."""

    seconds: float
    think: Callable[[Visit], Said]
    """With an App of its own: nobody waits for that one while it is thought. Until then the visit's time has grown."""


@dataclass(frozen=True, slots=True)
class Said:
    reply: Reply = field(default_factory=Reply)
    showings: tuple[Showing, ...] = ()
    after: Callable[[Visit, bool], None] | None = None
    """What nobody waits for, with the same event, an App of its own, and whether the reply was printed."""
    thought: Thought | None = None
    """Said instead of this, where the hook can wait for it."""


class Tasks:
    """What subagents were just given to do. A subagent's start does not say; the call before it did. In memory
    alone: it is what someone said, as they said it."""

    def __init__(self) -> None:
        self._given: OrderedDict[str, list[tuple[str, str]]] = OrderedDict()
        self._guard = threading.Lock()

    def give(self, session: str, call: ToolCall) -> None:
        task, kind = call.input.get("prompt"), call.input.get("subagent_type")
        if not isinstance(task, str) or not (isinstance(kind, str) or "description" in call.input):
            return
        with self._guard:
            given = self._given.setdefault(session, [])
            given.append((kind if isinstance(kind, str) else "", task[:_TASK_CHARS]))
            del given[:-_TASKS]
            self._given.move_to_end(session)
            while len(self._given) > _SESSIONS:
                self._given.popitem(last=False)

    def take(self, session: str, kind: str) -> str:
        """The oldest that was given to this kind of agent and not taken yet; else the oldest. Empty: none is known."""
        with self._guard:
            given = self._given.get(session, [])
            which = next((number for number, (to, _) in enumerate(given) if to == kind), 0)
            return given.pop(which)[1] if given else ""

    def forget(self, session: str) -> None:
        with self._guard:
            self._given.pop(session, None)
