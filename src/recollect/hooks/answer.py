"""From the bytes a hook was given to the bytes it prints.

Raises as `ops` does: BadInput for an event that cannot be read, StoreBusy or StoreFull where trying later helps. What
was put in front of the agent counts only when the hook has confirmed that it printed it.
"""

from __future__ import annotations

import json
import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass, replace
from enum import Enum, auto
from pathlib import Path
from typing import Protocol

from recollect import agents
from recollect.base.clock import Clock, SystemClock
from recollect.base.errors import BadInput, RecollectError
from recollect.base.moment import Moment
from recollect.hooks import settled
from recollect.hooks.events import EVENTS
from recollect.hooks.once import Once
from recollect.hooks.visit import Said, Tasks, Thought, Visit
from recollect.model.session import Event
from recollect.ops import rendered, sessions
from recollect.ops.app import App
from recollect.ops.sessions import Showing

_SESSIONS = 1_000
_WAY = "RECOLLECT_VIA"  # set by a plugin's calls; those that settings make have none


Own = Callable[[str, str, Mapping[str, str]], AbstractContextManager[App]]
"""An App that is nobody else's, for what takes long."""


class Apps(Protocol):
    def app(self, project_folder: str, cwd: str, environ: Mapping[str, str]) -> AbstractContextManager[App]:
        """The App of a project, for one thread."""


def nothing() -> None:
    pass


def cannot_wait(_seconds: float) -> float:
    return 0.0


class Received(Enum):
    WHOLE = auto()
    NOT_YET = auto()
    """Its transcript may still get what it points at: to be tried again."""
    LOST = auto()
    """It is noted, but what it points at was never written: an agent that was killed."""


@dataclass(frozen=True, slots=True)
class Answer:
    stdout: bytes = b""
    """What the hook prints, as it is."""
    confirm: Callable[[], None] = nothing
    """To be called once it is printed."""
    after: Callable[[], None] = nothing
    """To be called when it is sent, whether or not it will be printed."""


class Hooks:
    def __init__(self, apps: Apps, folder: str | Path = "", clock: Clock | None = None, own: Own | None = None) -> None:
        """`folder`: where rendered recalls go; found from the home where none is given. Without `own` nothing is said
        that takes longer than a hook has."""
        self._apps = apps
        self._own = own
        self._folder = folder
        self._clock = clock or SystemClock()
        self._tasks = Tasks()
        self._once = Once()
        self._places: OrderedDict[str, str] = OrderedDict()
        self._guard = threading.Lock()

    def answer(
        self,
        host: str,
        event_name: str,
        body: bytes,
        environ: Mapping[str, str],
        cwd: str,
        until_s: float,
        hold: Callable[[float], float] = cannot_wait,
    ) -> Answer:
        """`until_s`, by the monotonic clock: when the answer has to be there. `hold` asks for so many seconds more and
        says until when they are granted, 0 where they are not."""
        if environ.get("BLOCK_HOOK_AGENTS", "0") not in ("", "0"):
            return Answer()
        host = host or agents.DEFAULT_HOST
        event = agents.parse(host, event_name, body, at=self._clock.now(), environ=environ)
        row = EVENTS.get(event.name)
        if row is None or not self._once.is_first(sessions.pointer(event, 0).key, environ.get(_WAY, "")):
            return Answer()
        place = self._place(event, cwd)
        with self._apps.app(place, event.cwd or cwd, environ) as app:
            folder = Path(event.reads_below or self._folder or rendered.folder_of(app))
            visit = Visit(app, event, until_s, self._tasks, folder)
            said = row.handler(visit)
        if said.thought is not None:  # the App is free again: no other hook waits for what is thought
            said = self._thought(said, said.thought, visit, place, environ, hold)
        stdout = agents.render(host, event_name, said.reply)
        return Answer(
            stdout,
            (lambda: self._arrived(said.showings, place, environ)) if stdout and said.showings else nothing,
            (lambda: self._afterwards(said, visit, place, environ)) if said.after else nothing,
        )

    def deliver(self, host: str, event_name: str, body: bytes, environ: Mapping[str, str], cwd: str) -> None:
        """An event whose hook has gone: it is kept if keeping is all that is done about it. The hook may have died
        before it left a pointer; if it left one, that changes nothing the second time."""
        event = agents.parse(host or agents.DEFAULT_HOST, event_name, body, at=self._clock.now(), environ=environ)
        row = EVENTS.get(event.name)
        if row is not None and not row.injects:
            self.answer(host, event_name, body, environ, cwd, 0.0)

    def receive(self, pointer: Mapping[str, object]) -> Received:
        """An event that no daemon took when it happened, as the hook left it (wire/spool.py)."""
        event = _from_spool(pointer)
        size, mark = pointer.get("transcript_bytes"), pointer.get("mark")
        size = size if isinstance(size, int) else 0
        is_written = settled.is_written(event, size)
        if not is_written and settled.may_be_written_yet(event, self._clock.now()):
            return Received.NOT_YET
        with self._apps.app(self._place(event, event.cwd), event.cwd, {}) as app:
            sessions.receive(app, sessions.pointer(event, size, mark if isinstance(mark, str) else ""))
        return Received.WHOLE if is_written else Received.LOST

    def _thought(
        self,
        said: Said,
        better: Thought,
        visit: Visit,
        place: str,
        environ: Mapping[str, str],
        hold: Callable[[float], float],
    ) -> Said:
        until_s = hold(better.seconds) if self._own else 0.0
        if until_s and self._own:
            with suppress(RecollectError), self._own(place, visit.event.cwd or place, environ) as app:
                return better.think(replace(visit, app=app, until_s=until_s))
        return said

    def _afterwards(self, said: Said, visit: Visit, place: str, environ: Mapping[str, str]) -> None:
        with suppress(RecollectError), self._apps.app(place, visit.event.cwd or place, environ) as app:
            if said.after is not None:
                said.after(replace(visit, app=app))

    def _arrived(self, showings: tuple[Showing, ...], place: str, environ: Mapping[str, str]) -> None:
        try:
            with self._apps.app(place, place, environ) as app:
                for showing in showings:
                    sessions.arrived(app, showing)
        except RecollectError:
            pass  # at worst it is shown once more

    def _place(self, event: Event, cwd: str) -> str:
        """A session stays with the project that it first spoke of, wherever its agent goes."""
        with self._guard:
            place = self._places.get(event.session_id) or event.project_folder or event.cwd or cwd
            self._places[event.session_id] = event.project_folder or place
            self._places.move_to_end(event.session_id)
            while len(self._places) > _SESSIONS:
                self._places.popitem(last=False)
            return self._places[event.session_id]


def _from_spool(pointer: Mapping[str, object]) -> Event:
    """The host's own file knows which event it is, so it is handed what is left of the payload."""

    def text(name: str) -> str:
        value = pointer.get(name)
        return value if isinstance(value, str) else ""

    calls = pointer.get("tools")
    ids = [one for one in calls if isinstance(one, str)] if isinstance(calls, list) else []
    left = {
        "session_id": text("session"),
        "prompt_id": text("prompt"),
        "agent_id": text("agent"),
        "agent_type": text("agent_type"),
        "source": text("source"),
        "transcript_path": text("transcript"),
        "cwd": text("cwd"),
        "tool_use_id": ids[0] if ids else "",
        "tool_calls": [{"tool_use_id": id} for id in ids],
    }
    at_ns = pointer.get("at_ns")
    if not isinstance(at_ns, int):
        raise BadInput("The pointer does not say when it was left.")
    environ = {"CLAUDE_PROJECT_DIR": text("project")}
    host = text("host") or agents.DEFAULT_HOST
    return agents.parse(host, text("event"), json.dumps(left).encode(), at=Moment(at_ns // 1_000), environ=environ)
