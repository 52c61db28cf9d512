"""From the bytes a hook was given to the bytes it prints.

Raises as `ops` does: BadInput for an event that cannot be read, StoreBusy or StoreFull where trying later helps. What
was put in front of the agent counts only when the hook has confirmed that it printed it.
"""

from __future__ import annotations

import json
import os
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
from recollect.hooks.events import EVENTS
from recollect.hooks.once import Once
from recollect.hooks.visit import Said, Tasks, Thought, Visit
from recollect.model.session import Event, EventName
from recollect.ops import notices, rendered, sessions
from recollect.ops.app import App

_SESSIONS = 1_000
_TRANSCRIPT_WITHIN_S = 60.0
"""An agent makes a session's transcript when all hooks of its first prompt have ended."""
_WAY = "RECOLLECT_VIA"  # set by a plugin's calls; those that settings make have none


Own = Callable[[str, str, Mapping[str, str]], AbstractContextManager[App]]
"""An App that is nobody else's, for what takes long."""


class Apps(Protocol):
    def app(self, project_folder: str, cwd: str, environ: Mapping[str, str]) -> AbstractContextManager[App]:
        """The App of a project, for one thread."""


def do_nothing(_confirmed: bool) -> None:
    pass


def cannot_wait(_seconds: float) -> float:
    return 0.0


class Received(Enum):
    NEW = auto()
    KNOWN = auto()
    """A daemon had taken it, and its hook did not learn of that in time."""
    NOT_YET = auto()
    """There is no transcript yet: to be tried again."""
    LOST = auto()
    """A prompt that stands in no transcript: nobody will ever read it."""


@dataclass(frozen=True, slots=True)
class Answer:
    stdout: bytes = b""
    """What the hook prints, as it is."""
    after: Callable[[bool], None] = do_nothing
    """To be called once it was sent, with whether the hook confirmed that it printed it."""
    is_kept: bool = True
    """Whether the event was written down; an agent is told what is remembered even where it could not be."""


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
        transcript_bytes: int = 0,
    ) -> Answer:
        """`until_s`, by the monotonic clock: when the answer has to be there. `hold` asks for so many seconds more and
        says until when they are granted, 0 where they are not. `transcript_bytes`: before the event."""
        if environ.get("BLOCK_HOOK_AGENTS", "0") not in ("", "0"):
            return Answer()
        host = host or agents.DEFAULT_HOST
        event = agents.parse(host, event_name, body, at=self._clock.now(), environ=environ)
        row = EVENTS.get(event.name)
        if row is None or not self._once.is_first(sessions.pointer(event).key, environ.get(_WAY, "")):
            return Answer()
        place = self._place(event, cwd)
        with self._apps.app(place, event.cwd or cwd, environ) as app:
            folder = Path(event.reads_below or self._folder or rendered.folder_of(app))
            visit = Visit(app, event, until_s, self._tasks, folder, transcript_bytes)
            said = row.handler(visit)
            is_seen = notices.are_shown(app, event.host)
        if said.thought is not None:  # the App is free again: no other hook waits for what is thought
            said = self._thought(said, said.thought, visit, place, environ, hold)
        stdout = agents.render(host, event_name, said.reply if is_seen else replace(said.reply, notice=""))
        is_kept = not visit.unwritten
        return Answer(
            stdout,
            lambda confirmed: self._afterwards(said, visit, place, environ, confirmed and bool(stdout)),
            is_kept,
        )

    def receive(self, pointer: Mapping[str, object]) -> Received:
        """An event that no daemon took when it happened, as the hook left it (wire/spool.py)."""
        event = _from_spool(pointer)
        size, mark = pointer.get("transcript_bytes"), pointer.get("mark")
        size = size if isinstance(size, int) else 0
        can_be_read = event.name is not EventName.PROMPT or os.path.exists(event.transcript)
        if not can_be_read and event.transcript and _is_young(event.at, self._clock.now()):
            return Received.NOT_YET
        with self._apps.app(self._place(event, event.cwd), event.cwd, {}) as app:
            is_new = sessions.receive(app, sessions.pointer(event, size, mark if isinstance(mark, str) else ""))
        if not is_new:
            return Received.KNOWN
        return Received.NEW if can_be_read else Received.LOST

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

    def _afterwards(self, said: Said, visit: Visit, place: str, environ: Mapping[str, str], was_printed: bool) -> None:
        if said.after is None and not (was_printed and said.showings):
            return
        # Where this fails, a memory is at worst shown once more.
        with suppress(RecollectError), self._apps.app(place, visit.event.cwd or place, environ) as app:
            if was_printed:
                for showing in said.showings:
                    sessions.arrived(app, showing)
            if said.after is not None:
                said.after(replace(visit, app=app), was_printed)

    def _place(self, event: Event, cwd: str) -> str:
        """A session stays with the project that it first spoke of, wherever its agent goes."""
        with self._guard:
            place = self._places.get(event.session_id) or event.project_folder or event.cwd or cwd
            self._places[event.session_id] = event.project_folder or place
            self._places.move_to_end(event.session_id)
            while len(self._places) > _SESSIONS:
                self._places.popitem(last=False)
            return self._places[event.session_id]


def _is_young(at: Moment, now: Moment) -> bool:
    """What is of the future is of a clock that was set back since; it would be waited for until then."""
    return abs(now.micros - at.micros) < _TRANSCRIPT_WITHIN_S * 1_000_000


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
